"""Langfuse's SDKs from 3.0: `langfuse.observation.*`, from `@observe`, LangChain's handler, OpenAI's wrapper, Haystack.

The LangChain handler calls an agent whatever has "agent" in its name or class, output parsers and middleware hooks too,
and a chain an agent whose name has not: LangChain's own metadata, where it is recorded, names the agent. Before release
3.3.1 it calls tools, retrievers and chains alike a span. Usage is split into kinds that exclude each other (`input` is
what was not cached), unless a provider's own numbers were passed on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import NODES
from spanwise.conventions._langfuse_javascript import (
    is_javascript,
    is_retriever,
    told_apart,
    typed_response,
    with_results,
)
from spanwise.conventions._langgraph import passed_from_node, says_paused
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, documents, reply, searched
from spanwise.conventions._usages import CACHE_READ, CACHE_WRITE, INPUT, REASONING, provided, with_thoughts
from spanwise.conventions._values import first_int, first_number, first_text, int_of, mapping_of, number_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind, SpanError

Fields: TypeAlias = Mapping[str, object]

_KINDS: Mapping[str, Kind] = {
    "agent": "agent",
    "chain": "workflow",
    "span": "workflow",
    "generation": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
    "evaluator": "evaluation",
    "guardrail": "guardrail",
    "event": "other",
}
_OBSERVATION = "langfuse.observation."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_METADATA = "langfuse.observation.metadata."
_TRACE_METADATA = "langfuse.trace.metadata."
_HAYSTACK_TOOL, _HAYSTACK_ERROR = f"{_METADATA}haystack.tool.name", f"{_METADATA}haystack.tool.error"
_HAYSTACK_AGENT = "haystack.agent.run"
"""How Haystack names the run of whatever agent."""
_PLUMBING = (".before_agent", ".after_agent", "OutputParser")
# Entries that count what another entry counts already.
_COUNTED_TWICE = ("priority", "ephemeral")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the observation's type names, agents as the framework knows them."""
    attributes = span.attributes
    said = attributes.get("langfuse.observation.type")
    if not isinstance(said, str):
        return None
    found = _KINDS.get(said)
    if found == "agent":
        node = span.name in NODES and f"{_METADATA}langgraph_node" in attributes
        plumbing = node or span.name.endswith(_PLUMBING) or _is_router(attributes, span.name)
        return "workflow" if plumbing else found
    if said == "chain":
        return "agent" if _is_agent(span) else found
    if said == "span":
        haystack = attributes.get(f"{_METADATA}haystack.component.type") in ("Agent", '"Agent"')
        return "agent" if haystack else _langchain_kind(span) or found
    return found


def _is_router(attributes: Attributes, name: str) -> bool:
    """A function that names the next node of a LangGraph graph; a node bears its own name."""
    node, said = attributes.get(f"{_METADATA}langgraph_node"), attributes.get("langfuse.observation.output")
    return (
        isinstance(node, str) and node.strip('"') != name and isinstance(said, str) and said.strip('"').isidentifier()
    )


def _is_agent(span: RawSpan) -> bool:
    """LangChain names the agent: in its metadata, or in the state that LangGraph's prebuilt agents return.

    One that passes control returns nothing: the command that it ends with is printed in the status.
    """
    named = span.attributes.get("langfuse.observation.metadata.lc_agent_name")
    if isinstance(named, str) and named in (span.name, f'"{span.name}"'):
        return True
    state = span.attributes.get("langfuse.observation.output")
    if isinstance(state, str):
        return f'"type": "ai", "name": "{span.name}"' in state
    command = span.attributes.get("langfuse.observation.status_message")
    return isinstance(command, str) and command.startswith("Command(") and f" name='{span.name}'" in command


def _langchain_kind(span: RawSpan) -> Kind | None:
    """What the LangChain handler wrote as a span, before its observations had types of their own.

    LangChain passes a tool its color, and its inputs or the id of its call; retrievers and agents bear their names.
    """
    attributes = span.attributes
    if f"{_METADATA}ls_retriever_name" in attributes:
        return "retrieval"
    if f"{_METADATA}color" in attributes and (
        f"{_METADATA}inputs" in attributes or '"tool_call_id"' in str(attributes.get("langfuse.observation.output"))
    ):
        return "tool"
    if _is_agent(span):
        return "agent"
    return "retrieval" if is_retriever(span) else None


def failed(span: RawSpan) -> bool:
    """The observation's level tells a failure, or Haystack's metadata; the first releases left the status unset."""
    attributes = span.attributes
    return attributes.get("langfuse.observation.level") == "ERROR" or attributes.get(_HAYSTACK_ERROR) in (True, "true")


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool by its span's name; what it was given as its arguments, or as a recorded call of the function."""
    attributes = span.attributes
    given = attributes.get("langfuse.observation.input")
    message = text_of(attributes.get("langfuse.observation.status_message")) or ""
    returned = attributes.get("langfuse.observation.output")
    found = outcome(None if message and _is_thrown(memo.json(returned), message) else returned, memo)
    call_id = memo.json(attributes.get(f"{_METADATA}tool_call_id"))
    return ToolFields(
        text_of(memo.json(attributes.get(_HAYSTACK_TOOL))) or span.name or None,
        None if given is None else call_arguments(given, memo),
        found.value,
        text_of(call_id) or found.call_id,
        failed(span) or found.failed,
        message=message,
        paused=returned is None and says_paused(message),
    )


def _is_thrown(returned: object, message: str) -> bool:
    """JavaScript's `observe` writes what a function threw in the place of what it returned."""
    fields = mapping_of(returned)
    if fields is None or set(fields) != {"error"}:
        return False
    return (text_of(fields["error"]) or "").endswith(message)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, usage and cost of a generation."""
    attributes = span.attributes
    usage = mapping_of(memo.json(attributes.get("langfuse.observation.usage_details"))) or {}
    read = provided if "input" not in usage and first_int(usage, *INPUT) is not None else _own_usage
    said = read(usage)
    said.model = text_of(attributes.get("langfuse.observation.model.name"))
    said.provider = text_of(memo.json(attributes.get(f"{_METADATA}ls_provider")))
    said.cost_usd = _cost(mapping_of(memo.json(attributes.get("langfuse.observation.cost_details"))))
    begun = attributes.get("langfuse.observation.completion_start_time")
    if read is _own_usage and (said.provider or "").startswith("google") and is_javascript(span):
        if begun is not None and usage.get("input") == 0:  # what is left of more than all that came from a cache
            said.input_tokens = said.output_tokens = None
        with_thoughts(said, int_of(usage.get("total")), streamed=begun is not None)
    said.ttft_ms = _ms_until(begun, span.start_ns) if isinstance(begun, str) else None
    return said


def _ms_until(moment: str, start_ns: int) -> float | None:
    """Milliseconds from a start to a moment in ISO 8601, which Langfuse's SDK puts in quotes."""
    try:
        at = datetime.fromisoformat(moment.strip('"'))
    except ValueError:
        return None
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
    waited_ns = since // timedelta(microseconds=1) * 1000 - start_ns
    return waited_ns / 1e6 if waited_ns >= 0 else None


def _own_usage(usage: Fields) -> LLMFields:
    """Langfuse's numbers: each kind of token counted once, so that all kinds of a side make up its total."""
    sent, got = int_of(usage.get("input")), int_of(usage.get("output"))
    if sent is None or got is None or int_of(usage.get("total")) != sent + got:  # else the total says: nothing on top
        sent, got = _sum(usage, "input", "cached"), _sum(usage, "output")
    return LLMFields(
        input_tokens=sent,
        output_tokens=got,
        cache_read_tokens=first_int(usage, *CACHE_READ),
        cache_write_tokens=first_int(usage, *CACHE_WRITE),
        reasoning_tokens=first_int(usage, *REASONING),
    )


def _sum(usage: Fields, *sides: str) -> int | None:
    known = [
        number
        for key, value in usage.items()
        if any(side in key for side in sides)
        and not any(mark in key for mark in _COUNTED_TWICE)
        and (number := int_of(value)) is not None
    ]
    return sum(known) if known else None


def _cost(details: Fields | None) -> float | None:
    if details is None:
        return None
    total = first_number(details, "total")
    if total is not None:
        return total
    parts = [number for number in map(number_of, details.values()) if number is not None]
    return math.fsum(parts) if parts else None


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent, without the tools that the LangChain handler puts among the messages, and its answer."""
    given = memo.json(span.attributes.get("langfuse.observation.input"))
    fields = mapping_of(given)
    sent: tuple[Message, ...] | None
    if isinstance(given, str):
        sent = messages_of([given], memo) if given else None
    elif fields is not None and ("input" in fields or "instructions" in fields):
        sent = messages_of([*_instructions(fields), *_listed(fields.get("input"))], memo)
    else:
        held = items(fields.get("messages")) if fields is not None else items(given)
        sent = messages_of(with_results([one for one in held if _offered(one) is None]), memo) if held else None
    return Messages(sent, output(span, memo))


def _instructions(fields: Fields) -> Iterable[object]:
    text = text_of(fields.get("instructions"))
    return [{"role": "system", "content": text}] if text else []


def _listed(value: object) -> Iterable[object]:
    return items(value) or ([value] if isinstance(value, str | Mapping) and value else [])  # pyright: ignore[reportUnknownVariableType]  # a mapping of anything


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    got = span.attributes.get("langfuse.observation.output")
    return told_apart(reply(got, memo)) or typed_response(span, got)


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The messages in the state that LangChain's agent or graph returned."""
    state = memo.json(span.attributes.get("langfuse.observation.output"))
    held = items((mapping_of(state) or {}).get("messages"))
    return conversation(state if held is None else {"messages": with_results(held)}, memo)


def _offered(item: object) -> Fields | None:
    """The tool definition that a message of the LangChain handler holds; None for a real message."""
    fields = mapping_of(item)
    if fields is None or fields.get("role") != "tool" or "tool_call_id" in fields:
        return None
    return mapping_of(fields.get("content"))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools among a generation's input: beside the messages, or each as a message of its own."""
    given = memo.json(span.attributes.get("langfuse.observation.input"))
    fields = mapping_of(given)
    if fields is not None:
        return definitions_of(fields.get("tools") or fields.get("functions"), memo)
    found = [offered for offered in map(_offered, items(given) or ()) if offered is not None]
    return definitions_of(found, memo) if found else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """An agent by its span's name; question and answer as they were passed, or as the app set them on the trace."""
    attributes = span.attributes
    failed = attributes.get("langfuse.observation.level") == "ERROR"
    return AgentFields(
        span.name if kind(span) == "agent" and span.name != _HAYSTACK_AGENT else None,
        _first(asked, attributes, "langfuse.observation.input", "langfuse.trace.input", memo=memo),
        None
        if failed
        else _first(_answered, attributes, "langfuse.observation.output", "langfuse.trace.output", memo=memo),
    )


def _answered(returned: object, memo: Memo) -> str | None:
    """The final text in what was returned; what a tool said in LangChain's state is none, whatever its role."""
    state = mapping_of(memo.json(returned))
    held = items(state.get("messages")) if state is not None else None
    return answered(returned if state is None or held is None else {**state, "messages": with_results(held)}, memo)


def _first(read: Callable[[object, Memo], str | None], attributes: Attributes, *keys: str, memo: Memo) -> str | None:
    texts = (read(attributes[key], memo) for key in keys if key in attributes)
    return next((text for text in texts if text is not None), None)


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever."""
    given = span.attributes.get("langfuse.observation.input")
    returned = span.attributes.get("langfuse.observation.output")
    return RetrievalFields(
        None if given is None else searched(given, memo), None if returned is None else documents(returned, memo)
    )


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Who passed control by a tool, and to whom, in LangGraph's metadata."""
    return passed_from_node(span, memo, _METADATA)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session, user, tags and metadata of the trace."""
    attributes = span.attributes
    tags = items(memo.json(attributes.get("langfuse.trace.tags"))) or ()
    whole = mapping_of(memo.json(attributes.get("langfuse.trace.metadata"))) or {}
    metadata = {
        **whole,
        **{
            key.removeprefix(_TRACE_METADATA): memo.json(value)
            for key, value in attributes.items()
            if key.startswith(_TRACE_METADATA)
        },
    }
    return ContextFields(
        first_text(attributes, "session.id", "langfuse.session.id", "langfuse.trace.session_id"),
        first_text(attributes, "user.id", "langfuse.user.id", "langfuse.trace.user_id"),
        None,
        tuple(tag for tag in tags if isinstance(tag, str)),
        metadata or None,
    )


def error(span: RawSpan) -> SpanError | None:
    """The status message of an observation of level ERROR, with the exception's type where one was recorded."""
    message = text_of(span.attributes.get("langfuse.observation.status_message"))
    if message is None or span.attributes.get("langfuse.observation.level") != "ERROR":
        return None
    said = _genai.error(span)
    return SpanError(type=said.type if said else "", message=message)


CONVENTION = Convention(
    name="langfuse",
    title="Langfuse",
    scopes=("langfuse-sdk",),
    keys=("langfuse.observation.type",),
    kind=kind,
    failed=failed,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    record=record,
    agent=agent,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    error=error,
    content_switch="Set LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true.",
    records_all=True,
)
