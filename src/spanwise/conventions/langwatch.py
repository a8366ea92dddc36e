"""LangWatch's SDKs: `langwatch.span.type` says what a span stands for, content stands in envelopes that name its type.

Its handler of LangChain's callbacks leaves out what a model asked for, says that what a tool returned was said by
someone unknown, and writes a graph's state without saying whose its messages are.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._payloads import answered, asked, call_arguments, documents, reply, searched
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_TYPE = "langwatch.span.type"
_KINDS: Mapping[str, Kind] = {
    "llm": "llm",
    "tool": "tool",
    "agent": "agent",
    "rag": "retrieval",
    "guardrail": "guardrail",
    "evaluation": "evaluation",
    **dict.fromkeys(("span", "chain", "workflow", "component", "module", "task"), "workflow"),
}
_DEPTH = 5


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says."""
    return _KINDS.get(str(span.attributes.get(_TYPE)), "other")


def is_hollow(span: RawSpan) -> bool:
    """The root that the SDK makes where the app opened a span outside of a trace: that one is not below it."""
    attributes = span.attributes
    return (
        attributes.get(_TYPE) == "span"
        and span.parent_id is None
        and "langwatch.origin" in attributes
        and "langwatch.input" not in attributes
        and "langwatch.output" not in attributes
    )


def _held(value: object, memo: Memo, *, depth: int = 0) -> object:
    """What an envelope holds, its messages with a speaker each."""
    decoded = memo.json(value)
    fields = mapping_of(decoded)
    if fields is None or not {"type", "value"} <= fields.keys():
        return decoded
    found = memo.json(fields["value"])
    if fields["type"] == "list" and depth < _DEPTH:
        held = [_held(item, memo, depth=depth + 1) for item in items(found) or ()]
        return [one for item in held for one in items(item) or (item,)]
    if fields["type"] == "chat_messages":
        return [_spoken(item) for item in items(found) or ()]
    state = mapping_of(found) or {}
    said = items(state.get("messages"))
    return found if said is None else {**state, "messages": [_spoken(item) for item in said]}


def _spoken(item: object) -> object:
    """A message of a state, and one whose speaker is not known, with the speaker that its fields show."""
    pair = items(item)
    if pair is not None and len(pair) == 2:
        return {"role": pair[0], "content": pair[1]}
    fields = mapping_of(item)
    if fields is None or fields.get("role", fields.get("type", "unknown")) != "unknown":
        return item
    if "tool_call_id" in fields or "role" in fields:
        return {**fields, "role": "tool"}
    return {**fields, "role": "user" if {"usage_metadata", "response_metadata"}.isdisjoint(fields) else "assistant"}


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool by its span's name, with what it was given and returned."""
    get = span.attributes.get
    given, returned = get("langwatch.input"), _held(get("langwatch.output"), memo)
    said = items(returned)
    only = mapping_of(said[0]) if said is not None and len(said) == 1 else None
    if only is not None and only.get("role") == "tool":
        returned = only.get("content")
    return ToolFields(span.name or None, None if given is None else call_arguments(_held(given, memo), memo), returned)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """What was counted of a model call; the model stands where GenAI's conventions have it."""
    counted = mapping_of(memo.json(span.attributes.get("langwatch.metrics"))) or {}
    return LLMFields(
        None,
        None,
        first_int(counted, "prompt_tokens"),
        first_int(counted, "completion_tokens"),
        first_int(counted, "cache_read_input_tokens"),
        first_int(counted, "cache_creation_input_tokens"),
        first_int(counted, "reasoning_tokens"),
        first_number(counted, "cost"),
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered."""
    if span.attributes.get(_TYPE) != "llm":
        return Messages(None, None)
    given = _held(span.attributes.get("langwatch.input"), memo)
    text = text_of(given)
    sent = messages_of(given, memo) if text is None else (Message("user", (Part("text", text),)),)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered; nothing where neither text nor a call is left of it."""
    got = span.attributes.get("langwatch.output")
    if got is None or span.attributes.get(_TYPE) != "llm":
        return None
    said = reply(_held(got, memo), memo)
    return said if any(part.text or part.type == "tool_call" for one in said or () for part in one.parts) else None


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The messages of the state that a graph returned."""
    state = mapping_of(_held(span.attributes.get("langwatch.output"), memo)) or {}
    return messages_of(state.get("messages"), memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent or a workflow."""
    get = span.attributes.get
    given, got = (_held(get(key), memo) for key in ("langwatch.input", "langwatch.output"))
    return AgentFields(agent_name(span), asked(given, memo), answered(got, memo))


def agent_name(span: RawSpan) -> str | None:
    """The name of an agent's span; a workflow's is no agent's."""
    return span.name or None if span.attributes.get(_TYPE) == "agent" else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retrieval."""
    get = span.attributes.get
    found = get("langwatch.rag_contexts", get("langwatch.contexts"))
    if found is None:
        found = _held(get("langwatch.output"), memo)
    return RetrievalFields(searched(_held(get("langwatch.input"), memo), memo), documents(found, memo))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools among what a model call was made with."""
    used = mapping_of(memo.json(span.attributes.get("langwatch.params"))) or {}
    return definitions_of(used.get("tools"), memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Thread and user, which Python's SDK writes among the metadata of the trace."""
    attributes = span.attributes
    said = mapping_of(memo.json(attributes.get("metadata"))) or {}
    return ContextFields(
        first_text(attributes, "langwatch.thread.id") or first_text(said, "thread_id"),
        first_text(attributes, "langwatch.user.id") or first_text(said, "user_id"),
        None,
        tuple(tag for tag in items(memo.json(said.get("labels"))) or () if isinstance(tag, str)),
    )


CONVENTION = Convention(
    name="langwatch",
    title="LangWatch",
    keys=(_TYPE,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    record=record,
    agent=agent,
    agent_name=agent_name,
    retrieval=retrieval,
    definitions=definitions,
    context=context,
    content_switch="Leave out capture_input=False and capture_output=False of `langwatch.span` and `langwatch.trace`.",
)
