"""The made-up runs in the words of two dialects, as raw spans.

Attribute names and texts are made anew for each span, as a reader of files makes them: no name is the very object that
the code under test looks up, and no text's hash is known before the first use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from bench.workload import Event, Kind, Run
from spanwise.model.raw import STATUS_ERROR, RawEvent, RawSpan, Scope

Dialect: TypeAlias = Literal["genai", "openinference"]
Fields: TypeAlias = dict[str, object]

_MODEL = "gpt-4o-mini-2024-07-18"
_RESOURCE: Fields = {
    "service.name": "support-desk",
    "telemetry.sdk.language": "python",
    "telemetry.sdk.version": "1.45.2",
}
_SCOPES: Mapping[Dialect, Scope] = {
    "genai": Scope("opentelemetry.instrumentation.genai.langchain", "1.3b0", _RESOURCE),
    "openinference": Scope("openinference.instrumentation.openai_agents", "2.6.0", _RESOURCE),
}
_HTTP = Scope("opentelemetry.instrumentation.httpx", "0.66b0", _RESOURCE)
_DB = Scope("opentelemetry.instrumentation.psycopg", "0.66b0", _RESOURCE)
_SCHEMA = '{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}'
_PARAMETERS = json.loads(_SCHEMA)
_OFFERED = ("lookup", "search_documents", "calculate", "delegate_research", "fetch_page")
_OFFER = [{"type": "function", "name": name, "parameters": _PARAMETERS} for name in _OFFERED]


class _Names(dict[str, str]):
    """Equal names as one object each, which is not the one in the code: a reader's names are its own."""

    __slots__ = ()

    def __missing__(self, name: str) -> str:
        found = self[name] = name.encode().decode()
        return found


_NAMES = _Names()


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _sent(event: Event) -> str:
    return _dumps([{"role": "user", "parts": [{"type": "text", "content": event.prompt}]}])


def _got(event: Event) -> str:
    parts: list[object] = [
        {"type": "tool_call", "id": asked.call_id, "name": asked.tool, "arguments": asked.arguments}
        for asked in event.asked
    ] or [{"type": "text", "content": event.said}]
    reason = "tool_call" if event.asked else "stop"
    return _dumps([{"role": "assistant", "parts": parts, "finish_reason": reason}])


def _genai_agent(event: Event) -> Fields:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": event.agent,
        "gen_ai.agent.id": f"agent-{event.agent}",
        "gen_ai.agent.description": "Answers questions with tools.",
        "gen_ai.conversation.id": "conversation-1",
        "gen_ai.request.model": _MODEL,
        "gen_ai.tool.definitions": _dumps(
            [{"type": "function", "name": n, "parameters": _PARAMETERS} for n in _OFFERED]
        ),
        "gen_ai.input.messages": _sent(event),
        "gen_ai.output.messages": _dumps([{"role": "assistant", "parts": [{"type": "text", "content": event.said}]}]),
        "user.id": "user-17",
    }


def _genai_llm(event: Event) -> Fields:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": _MODEL,
        "gen_ai.response.id": f"chatcmpl-{event.start_ns:x}",
        "gen_ai.response.finish_reasons": ["tool_calls" if event.asked else "stop"],
        "gen_ai.request.temperature": 0.2,
        "gen_ai.usage.input_tokens": event.tokens[0],
        "gen_ai.usage.output_tokens": event.tokens[1],
        "gen_ai.usage.cache_read.input_tokens": event.tokens[2],
        "gen_ai.input.messages": _sent(event),
        "gen_ai.output.messages": _got(event),
        "server.address": "api.openai.com",
        "server.port": 443,
    }


def _genai_tool(event: Event) -> Fields:
    asked = event.asked[0]
    more: Fields = {"error.type": "TimeoutError"} if asked.failed else {}
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": asked.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Looks something up.",
        "gen_ai.tool.call.id": asked.call_id,
        "gen_ai.tool.call.arguments": _dumps(asked.arguments),
        "gen_ai.tool.call.result": asked.result,
        "gen_ai.agent.name": event.agent,
        "gen_ai.conversation.id": "conversation-1",
        "code.function.name": f"tools.{asked.tool}",
        "thread.id": 140_000 + event.index,
        "thread.name": "MainThread",
        **more,
    }


def _genai_retrieval(event: Event) -> Fields:
    return {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "qdrant",
        "gen_ai.data_source.id": "knowledge-base",
        "gen_ai.retrieval.query.text": event.prompt,
        "gen_ai.retrieval.documents": _dumps([{"id": f"doc-{n}", "score": 0.9 - n / 10} for n in range(4)]),
        "gen_ai.retrieval.top_k": 4,
        "gen_ai.agent.name": event.agent,
        "gen_ai.conversation.id": "conversation-1",
        "db.query.text": event.said,
        "server.address": "vectors.internal",
    }


def _openinference_agent(event: Event) -> Fields:
    return {
        "openinference.span.kind": "AGENT",
        "agent.name": event.agent,
        "graph.node.id": event.agent,
        "input.value": event.prompt,
        "input.mime_type": "text/plain",
        "output.value": event.said,
        "output.mime_type": "text/plain",
        "llm.system": "openai",
        "session.id": "conversation-1",
        "user.id": "user-17",
        "metadata": '{"tenant":"acme"}',
    }


def _openinference_llm(event: Event) -> Fields:
    fields: Fields = {
        "openinference.span.kind": "LLM",
        "llm.system": "openai",
        "llm.provider": "openai",
        "llm.model_name": _MODEL,
        "llm.token_count.prompt": event.tokens[0],
        "llm.token_count.completion": event.tokens[1],
        "llm.token_count.prompt_details.cache_read": event.tokens[2],
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": event.prompt,
        "llm.output_messages.0.message.role": "assistant",
    }
    for at, name in enumerate(_OFFERED):
        function = {"type": "function", "function": {"name": name, "parameters": _PARAMETERS}}
        fields[f"llm.tools.{at}.tool.json_schema"] = _dumps(function)
    if not event.asked:
        fields["llm.output_messages.0.message.content"] = event.said
    for at, asked in enumerate(event.asked):
        prefix = f"llm.output_messages.0.message.tool_calls.{at}.tool_call."
        fields[f"{prefix}id"] = asked.call_id
        fields[f"{prefix}function.name"] = asked.tool
        fields[f"{prefix}function.arguments"] = _dumps(asked.arguments)
    return fields


def _openinference_tool(event: Event) -> Fields:
    asked = event.asked[0]
    return {
        "openinference.span.kind": "TOOL",
        "tool.name": asked.tool,
        "tool.description": "Looks something up.",
        "tool.parameters": _SCHEMA,
        "tool_call.id": asked.call_id,
        "input.value": _dumps(asked.arguments),
        "input.mime_type": "application/json",
        "output.value": asked.result,
        "output.mime_type": "text/plain",
        "session.id": "conversation-1",
        "graph.node.id": f"{event.agent}-{asked.tool}",
        "metadata": '{"tenant":"acme"}',
    }


def _openinference_retrieval(event: Event) -> Fields:
    fields: Fields = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": event.prompt,
        "session.id": "conversation-1",
        "db.query.text": event.said,
    }
    for n in range(4):
        fields[f"retrieval.documents.{n}.document.id"] = f"doc-{n}"
        fields[f"retrieval.documents.{n}.document.score"] = 0.9 - n / 10
    return fields


def _http(event: Event) -> Fields:
    return {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "url.full": "https://api.openai.com/v1/chat/completions",
        "url.scheme": "https",
        "network.protocol.version": "1.1",
        "server.address": "api.openai.com",
        "server.port": 443,
        "user_agent.original": "OpenAI/Python 2.9.0",
        "http.response.body.size": 900 + event.index,
        "thread.name": "MainThread",
    }


def _db(event: Event) -> Fields:
    return {
        "db.system.name": "postgresql",
        "db.namespace": "support",
        "db.operation.name": "SELECT",
        "db.query.text": "SELECT name, size FROM places WHERE name = %s",
        "db.collection.name": "places",
        "server.address": "db.internal",
        "server.port": 5432,
        "network.peer.address": "10.0.0.7",
        "db.response.returned_rows": event.index % 50,
        "thread.name": "MainThread",
    }


_PLUMBING: Mapping[Kind, Callable[[Event], Fields]] = {"http": _http, "db": _db}
_WRITERS: Mapping[Dialect, Mapping[Kind, Callable[[Event], Fields]]] = {
    "genai": {
        "agent": _genai_agent,
        "llm": _genai_llm,
        "tool": _genai_tool,
        "retrieval": _genai_retrieval,
        **_PLUMBING,
    },
    "openinference": {
        "agent": _openinference_agent,
        "llm": _openinference_llm,
        "tool": _openinference_tool,
        "retrieval": _openinference_retrieval,
        **_PLUMBING,
    },
}
_TITLES: Mapping[Kind, str] = {
    "llm": "chat gpt-4o-mini",
    "retrieval": "retrieval",
    "http": "POST",
    "db": "SELECT places",
}


def _title(event: Event) -> str:
    if event.kind == "agent":
        return f"invoke_agent {event.agent}"
    return f"execute_tool {event.asked[0].tool}" if event.kind == "tool" else _TITLES[event.kind]


def spans_of(run: Run, *, dialect: Dialect, number: int) -> list[RawSpan]:
    """The run's spans by start, as a reader of OTLP/JSON hands them over; `number` makes the ids the run's own."""
    writers = _WRITERS[dialect]
    scopes = {"http": _HTTP, "db": _DB}
    trace_id = f"{0xABC0 << 112 | number:032x}"
    out: list[RawSpan] = []
    for event in run.events:
        failed = event.kind == "tool" and event.asked[0].failed
        raised = RawEvent(
            "exception",
            event.end_ns,
            {"exception.type": "TimeoutError", "exception.message": "the service did not answer"},
        )
        out.append(
            RawSpan(
                trace_id,
                span_id(number, event.index),
                None if event.parent < 0 else span_id(number, event.parent),
                _title(event),
                event.start_ns,
                event.end_ns,
                STATUS_ERROR if failed else 0,
                "the service did not answer" if failed else "",
                writers[event.kind](event),
                (raised,) if failed else (),
                scopes.get(event.kind, _SCOPES[dialect]),
                (),
                3 if event.kind in {"llm", "http", "db"} else 1,
            )
        )
    return [fresh(span) for span in out]


def span_id(number: int, index: int) -> str:
    """An id that looks random."""
    return f"{(number << 20 | index) * 0x9E3779B97F4A7C15 % (1 << 64) or 1:016x}"


def fresh(span: RawSpan) -> RawSpan:
    """The same span in new objects, as if it had just been read."""
    trace_id, span_id_, parent_id = span.trace_id, span.span_id, span.parent_id
    return RawSpan(
        trace_id.encode().decode() if type(trace_id) is str else trace_id,
        span_id_.encode().decode() if type(span_id_) is str else span_id_,
        parent_id.encode().decode() if type(parent_id) is str else parent_id,
        span.name,
        span.start_ns,
        span.end_ns,
        span.status_code,
        span.status_message,
        {
            _NAMES[name]: value.encode().decode() if type(value) is str else value
            for name, value in span.attributes.items()
        },
        span.events,
        span.scope,
        span.links,
        span.span_kind,
    )


def moved(span: RawSpan, *, parent: int | None = None, start_ns: int | None = None) -> RawSpan:
    """A copy of a span of run 1 below another parent (-1: none), or with another start and the same duration."""
    copy = fresh(span)
    if parent is not None:
        copy.parent_id = None if parent < 0 else span_id(1, parent)
    if start_ns is not None:
        copy.start_ns, copy.end_ns = start_ns, span.end_ns - span.start_ns + start_ns
    return copy


def text_of(spans: list[RawSpan]) -> float:
    """Characters of text in the attribute values, per span."""
    return sum(len(v) for span in spans for v in span.attributes.values() if isinstance(v, str)) / len(spans)
