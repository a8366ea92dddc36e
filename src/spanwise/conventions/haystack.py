"""Haystack's own tracer: `haystack.*`, under whatever scope the app gave to `OpenTelemetryTracer`.

A pipeline's components are one span each, told apart by their class. From 3.0 an agent's model calls and tools have
spans of their own; before, the chat generator and the tool invoker were components like others, and the invoker ran
all calls of a step in one span. Failures of tools stand in an attribute or in the result, never in the status.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definition_of, items, messages_of
from spanwise.conventions._payloads import answered, asked, conversation, documents, invoked, searched
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

_NAMES: Mapping[str, Kind] = {
    "haystack.pipeline.run": "workflow",
    "haystack.async_pipeline.run": "workflow",
    "haystack.agent.run": "agent",
    "haystack.agent.step": "other",
    "haystack.agent.step.llm": "llm",
    "haystack.agent.step.tool": "tool",
    "haystack.tracing.auto_enable": "setup",
}
_COMPONENTS: Mapping[str, Kind] = {"Agent": "agent", "ToolInvoker": "tool"}
_BY_ENDING: tuple[tuple[str, Kind], ...] = (
    ("Generator", "llm"),
    ("Retriever", "retrieval"),
    ("Embedder", "embedding"),
    ("Ranker", "rerank"),
)
_TYPE = "haystack.component.type"
_PRINTED_TOOL = re.compile(r"(?:^\[|, )\w+\(name='([^'\\]+)', description=")
_GIVEN = (
    "haystack.component.input",
    "haystack.agent.step.llm.input",
    "haystack.agent.input",
    "haystack.pipeline.input_data",
)
_RETURNED = (
    "haystack.component.output",
    "haystack.agent.step.llm.output",
    "haystack.agent.output",
    "haystack.pipeline.output_data",
)


def kind(span: RawSpan) -> Kind | None:
    """What the operation is; of a component, what its class does."""
    component = span.attributes.get(_TYPE)
    if not isinstance(component, str):
        return _NAMES.get(span.name)
    for ending, found in _BY_ENDING:
        if component.endswith(ending):
            return found
    return _COMPONENTS.get(component, "other")


def _content(attributes: Attributes, keys: Sequence[str], memo: Memo) -> Mapping[str, object]:
    for key in keys:
        if key in attributes:
            return mapping_of(memo.json(attributes[key])) or {}
    return {}


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """A tool that has a span of its own; a failure is marked beside the result."""
    attributes = span.attributes
    result = memo.json(attributes.get("haystack.agent.step.tool.output"))
    failed = attributes.get("haystack.tool.error") is True
    message = first_text(mapping_of(result) or {}, "error") if failed else None
    return ToolFields(
        text_of(attributes.get("haystack.tool.name")),
        attributes.get("haystack.agent.step.tool.input"),
        result if message is None else message,
        failed=failed,
        message=message or "",
    )


def several(span: RawSpan, memo: Memo) -> tuple[ToolFields, ...] | None:
    """The calls of a tool invoker: what it was sent, with the result of each."""
    attributes = span.attributes
    if attributes.get(_TYPE) != "ToolInvoker":
        return None
    sent = messages_of(memo.json(_content(attributes, _GIVEN, memo).get("messages")), memo)
    got = messages_of(memo.json(_content(attributes, _RETURNED, memo).get("tool_messages")), memo)
    return invoked(sent, got)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and usage from the metadata of the reply."""
    returned = _content(span.attributes, _RETURNED, memo)
    meta = _meta(returned)
    usage = mapping_of(meta.get("usage")) or {}
    sent = mapping_of(usage.get("prompt_tokens_details")) or mapping_of(usage.get("input_tokens_details")) or {}
    got = mapping_of(usage.get("completion_tokens_details")) or mapping_of(usage.get("output_tokens_details")) or {}
    return LLMFields(
        first_text(meta, "model"),
        None,
        first_int(usage, "prompt_tokens", "input_tokens"),
        first_int(usage, "completion_tokens", "output_tokens"),
        first_int(sent, "cached_tokens"),
        None,
        first_int(got, "reasoning_tokens"),
    )


def _meta(returned: Mapping[str, object]) -> Mapping[str, object]:
    """Of chat generators each reply has its metadata; of others they stand beside the replies."""
    replies = [mapping_of(item) or {} for item in items(returned.get("replies")) or ()]
    held = [
        mapping_of(item) for item in (*(fields.get("meta") for fields in replies), *(items(returned.get("meta")) or ()))
    ]
    for meta in held:
        if meta:
            return meta
    return {}


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it replied; an agent's whole conversation."""
    given = _content(span.attributes, _GIVEN, memo)
    sent = conversation(given, memo)
    prompt = text_of(given.get("prompt"))
    if sent is None and prompt is not None:
        sent = messages_of([prompt], memo)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The replies, of old generators as texts; what an agent's conversation came to."""
    returned = _content(span.attributes, _RETURNED, memo)
    replies = items(returned.get("replies"))
    if replies is None:
        return conversation(returned, memo)
    said = [{"role": "assistant", "content": one} if isinstance(one, str) else one for one in replies]
    return messages_of(said, memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """An agent by the name of its component; question and answer as the agent or the pipeline was called."""
    attributes = span.attributes
    given, returned = _content(attributes, _GIVEN, memo), _content(attributes, _RETURNED, memo)
    name = text_of(attributes.get("haystack.component.name")) if attributes.get(_TYPE) == "Agent" else None
    if "haystack.pipeline.input_data" in attributes or "haystack.pipeline.output_data" in attributes:
        queries = (asked(part, memo) for part in given.values() if mapping_of(part) is not None)
        answers = (_answer(mapping_of(part) or {}, memo) for part in reversed(list(returned.values())))
        return AgentFields(name, _first(queries), _first(answers))
    return AgentFields(name, asked(given, memo) if given else None, _answer(returned, memo))


def _first(texts: Iterable[str | None]) -> str | None:
    return next((text for text in texts if text), None)


def _answer(returned: Mapping[str, object], memo: Memo) -> str | None:
    """The answer that a component returned: its last reply or message, or an answer builder's first answer."""
    built = items(returned.get("answers"))
    if built:
        return first_text(mapping_of(built[0]) or {}, "data", "answer")
    replies = items(returned.get("replies"))
    if replies:
        last = replies[-1]
        return answered(last if isinstance(last, str) else {"messages": [last]}, memo)
    return answered({"messages": returned["messages"]}, memo) if returned.get("messages") else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever; one that searches by an embedding has no query."""
    given, returned = _content(span.attributes, _GIVEN, memo), _content(span.attributes, _RETURNED, memo)
    return RetrievalFields(searched(given, memo) if given else None, documents(returned, memo) if returned else None)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the agent has, or that the model was offered."""
    offered = memo.json(span.attributes.get("haystack.agent.tools"))
    if offered is None and span.attributes.get(_TYPE) != "ToolInvoker":
        offered = _content(span.attributes, _GIVEN, memo).get("tools")
    listed = _tools(offered)
    return None if listed is None else tuple(found for found in map(definition_of, listed) if found is not None)


def _tools(offered: object) -> list[object] | None:
    """The tools in a list, or in a set of them, as Haystack serialises either: `{"type": ..., "data": {...}}`."""
    if mapping_of(offered) is not None:
        offered = (offered,)
    if isinstance(offered, str):  # a tool that cannot be serialised leaves all of them printed
        return [{"name": name} for name in _PRINTED_TOOL.findall(offered)] or None
    listed = items(offered)
    if listed is None:
        return None
    out: list[object] = []
    for item in listed:
        data = mapping_of((mapping_of(item) or {}).get("data"))
        inner = items(data.get("tools")) if data is not None else None
        out += [(mapping_of(one) or {}).get("data", one) for one in inner] if inner is not None else [data or item]
    return out


CONVENTION = Convention(
    name="haystack",
    title="Haystack",
    scopes=("haystack",),
    hints=(
        "haystack.component.type",
        "haystack.pipeline.metadata",
        "haystack.agent.max_steps",
        "haystack.agent.step.llm.input",
        "haystack.tool.name",
    ),
    kind=kind,
    tool=tool,
    several=several,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    retrieval=retrieval,
    definitions=definitions,
    content_switch="Set HAYSTACK_CONTENT_TRACING_ENABLED=true.",
)
