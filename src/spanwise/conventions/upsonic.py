"""Upsonic's own spans: `agent.run`, `tool.execute` and the steps of its pipeline; its model calls are GenAI's.

What a tool returned stands in an envelope (`{"func": ...}`), on its span as Python prints it. What it raised in the end
is told to the model without one, and the span says that all went well: without content a failure is not to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_ENVELOPE = "{'func"
"""How an envelope is printed, also one that was cut, or that begins with what a hook returned."""
_RETURNED = "func"


def kind(span: RawSpan) -> Kind | None:
    """What Upsonic's spans are by their names; those of model calls say it themselves."""
    if span.name == "agent.run":
        return "agent"
    if span.name == "tool.execute":
        return "tool"
    return "other" if span.name.startswith("pipeline.") else None


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The call, and what its envelope holds; of a long one, which is cut, the model was told the whole."""
    attributes = span.attributes
    told = memo.json(attributes.get("langfuse.observation.output"))
    printed = read_repr(told) if isinstance(told, str) else told
    held = mapping_of(printed)
    bare = isinstance(told, str) and not told.startswith(_ENVELOPE)
    return ToolFields(
        first_text(attributes, "upsonic.tool.name"),
        memo.json(attributes.get("langfuse.observation.input")),
        told if bare else memo.json(held.get(_RETURNED)) if held is not None else None,
        first_text(attributes, "upsonic.tool.call_id"),
        bare or attributes.get("upsonic.tool.success") is False,
        message=told if bare and isinstance(told, str) else "",
        uncertain=told is None,
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """A model's messages, the results in them out of their envelopes."""
    said = _genai.messages(span, memo)
    return Messages(_opened(said.input, memo), said.output)


def _opened(sent: Iterable[Message] | None, memo: Memo) -> tuple[Message, ...] | None:
    if sent is None:
        return None
    return tuple(Message(one.role, tuple(_result(part, memo) for part in one.parts)) for one in sent)


def _result(part: Part, memo: Memo) -> Part:
    if part.type != "tool_result":
        return part
    held = mapping_of(memo.json(part.value))
    if held is None or _RETURNED not in held:
        return replace(part, error=True)
    return replace(part, value=memo.json(held[_RETURNED]))


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent's name, its task's description, and what came of it."""
    attributes = span.attributes
    return AgentFields(
        first_text(attributes, "upsonic.agent.name"),
        text_of(attributes.get("upsonic.input")),
        text_of(attributes.get("upsonic.output")),
    )


CONVENTION = Convention(
    name="upsonic",
    title="Upsonic",
    scopes=("upsonic",),
    kind=kind,
    tool=tool,
    messages=messages,
    agent=agent,
    content_switch="Leave include_content of Upsonic's instrumentation on.",
)
