"""VoltAgent's own spans: `entity.type` and `span.type` say what one stands for, content stands in `input` and `output`.

The span of type `llm` is the AI SDK's whole loop: however often the model was called, it is one, and its usage is that
of the last call. The agent's span holds the sum of its own calls, without those of the agents below it. An agent that
another called has its name in `subagent.name`, while `entity.name` is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._payloads import answered, asked, documents, searched
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
    LLMFields,
    Memo,
    Message,
    Messages,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "llm": "workflow",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
    "guardrail": "guardrail",
    "scorer": "evaluation",
    "workflow-step": "workflow",
}
_ENTITIES: Mapping[str, Kind] = {"agent": "agent", "workflow": "workflow"}


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says; the span of an agent or a workflow itself has none."""
    get = span.attributes.get
    found = get("span.type")
    if found is None:
        return _ENTITIES.get(str(get("entity.type")), "other")
    if "tool.search.name" in span.attributes:  # how the search for tools works inside, below that call
        return "other"
    if found == "memory":
        return "workflow" if get("memory.operation") == "write" else "other"
    return _KINDS.get(str(found), "other")


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool call."""
    get = span.attributes.get
    return ToolFields(text_of(get("tool.name")), get("input"), get("output"), text_of(get("tool.call.id")))


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """An agent's model and the sum of its calls; a conversation's title is made with a single call."""
    attributes = span.attributes
    if "span.type" not in attributes:
        return _used(span, "usage.", first_text(attributes, "ai.model.name"))
    if attributes.get("llm.operation") == "generateTitle":
        return _used(span, "llm.usage.", first_text(attributes, "llm.model"))
    return LLMFields(first_text(attributes, "llm.model"), whole=True)


def _used(span: RawSpan, prefix: str, model: str | None) -> LLMFields:
    attributes = span.attributes
    return LLMFields(
        model,
        None,
        first_int(attributes, prefix + "prompt_tokens"),
        first_int(attributes, prefix + "completion_tokens"),
        first_int(attributes, prefix + "cached_tokens"),
        None,
        first_int(attributes, prefix + "reasoning_tokens"),
        first_number(attributes, "usage.cost"),
        whole=True,
        own=True,
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the agent has said so far, where that was written to its memory; no span of a model's call tells it."""
    return Messages(None, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The message that was written to the memory: text, and each tool call with its result."""
    if span.attributes.get("memory.operation") != "write":
        return None
    said = mapping_of((mapping_of(memo.json(span.attributes.get("input"))) or {}).get("message")) or {}
    if said.get("role") != "assistant":
        return None
    parts = [part for item in items(said.get("parts")) or () for part in _parts(mapping_of(item) or {}, memo)]
    return messages_of([{"role": "assistant", "parts": parts}], memo)


def _parts(fields: Mapping[str, object], memo: Memo) -> Iterable[object]:
    """A part of the AI SDK's message for a user interface: a call and its result are one."""
    kind = text_of(fields.get("type")) or ""
    name = text_of(fields.get("toolName")) if kind == "dynamic-tool" else kind.removeprefix("tool-")
    if name == kind:
        yield fields
        return
    call = {"toolCallId": fields.get("toolCallId"), "toolName": name}
    yield {**call, "type": "tool-call", "input": fields.get("input")}
    if str(fields.get("state")).startswith("output"):
        yield {**call, "type": "tool-result", "output": fields.get("output", fields.get("errorText"))}


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent or a workflow."""
    attributes = span.attributes
    if "span.type" in attributes:
        return AgentFields()
    name, got = agent_name(span), attributes.get("output")
    answer = answered(got, memo) if name is None else text_of(got)
    return AgentFields(name, asked(attributes.get("input"), memo), answer)


def agent_name(span: RawSpan) -> str | None:
    """The name of an agent; a workflow's is no agent's."""
    attributes = span.attributes
    if "span.type" in attributes or attributes.get("entity.type") != "agent":
        return None
    return first_text(attributes, "subagent.name", "entity.name")


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and what was found, which retrievers of VoltAgent return as one text."""
    got = span.attributes.get("output")
    found = documents(got, memo)
    text = text_of(got)
    if found is None and text is not None:
        found = () if text == "null" else (Document(content=text),)
    return RetrievalFields(_query(span, memo), found)


def _query(span: RawSpan, memo: Memo) -> str | None:
    given = span.attributes.get("input")
    return asked(given, memo) or searched(given, memo)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The names that a loop offered; an agent's own tools with descriptions, their parameters in Zod's form only."""
    offered = text_of(span.attributes.get("llm.tools"))
    if offered is not None:
        return definitions_of(offered.split(","), memo)
    state = mapping_of(memo.json(span.attributes.get("agent.stateSnapshot"))) or {}
    found = definitions_of(state.get("tools"), memo)
    return tuple(ToolDefinition(one.name, one.description) for one in found) if found else None


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The conversation as the session, and the user."""
    attributes = span.attributes
    return ContextFields(first_text(attributes, "conversation.id"), first_text(attributes, "user.id"))


CONVENTION = Convention(
    name="voltagent",
    title="VoltAgent",
    scopes=("@voltagent/core",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    agent_name=agent_name,
    retrieval=retrieval,
    definitions=definitions,
    context=context,
    content_switch="Let no span processor take input and output off VoltAgent's spans.",
)
