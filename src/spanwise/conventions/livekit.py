"""LiveKit Agents' own spans: GenAI's attributes in newer releases, `lk.*` beside them and before.

A session holds as many questions as its user asks: each turn of an agent is a run. A tool that failed leaves the status
unset. Content stands in `lk.pii.*`, in `lk.*` before that, with or without GenAI's. A node is the app's step around a
request to the model, and one call with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, Memo, Message, Messages, ToolFields
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind, SpanError

_TOOL = "lk.function_tool."
_KINDS: Mapping[str, Kind] = {
    "agent_turn": "agent",
    "function_tool": "tool",
    "llm_node": "llm",
    "llm_request": "llm",
    "agent_session": "other",
    "judge_evaluation": "evaluation",
}


def kind(span: RawSpan) -> Kind | None:
    """What the name of the span says, else GenAI's operation."""
    return _KINDS.get(span.name) or _genai.kind(span) or "other"


def _own(attributes: Attributes, key: str) -> object:
    """What is recorded under a key, which newer releases mark as personal."""
    return attributes.get(f"lk.pii.{key}", attributes.get(f"lk.{key}"))


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and id of a call, and what the model was told of it, be it an error."""
    attributes = span.attributes
    return ToolFields(
        first_text(attributes, "gen_ai.tool.name", f"{_TOOL}name"),
        attributes.get("gen_ai.tool.call.arguments", _own(attributes, "function_tool.arguments")),
        attributes.get("gen_ai.tool.call.result", _own(attributes, "function_tool.output")),
        first_text(attributes, "gen_ai.tool.call.id", f"{_TOOL}id"),
        failed(span),
    )


def failed(span: RawSpan) -> bool:
    """The tool raised; the status of its span is unset."""
    return span.attributes.get(f"{_TOOL}is_error") is True


def error(span: RawSpan) -> SpanError | None:
    """What the model was told of a tool that failed."""
    if not failed(span):
        return _genai.error(span)
    attributes = span.attributes
    return SpanError(
        type=first_text(attributes, "error.type") or "",
        message=text_of(_own(attributes, "function_tool.output")) or "",
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered."""
    said = _genai.messages(span, memo)
    context = mapping_of(memo.json(_own(span.attributes, "chat_ctx")))
    sent = messages_of(context.get("items"), memo) if said.input is None and context is not None else said.input
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered: text, and the tools that it asked for."""
    said = _genai.output(span, memo)
    if said is not None or span.name != "llm_node":
        return said
    attributes = span.attributes
    text = text_of(_own(attributes, "response.text"))
    calls = items(memo.json(_own(attributes, "response.function_calls"))) or ()
    if text is None and not calls:
        return None
    return messages_of([{"role": "assistant", "content": text, "tool_calls": calls}], memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of a turn; a turn that no user began has no question."""
    attributes = span.attributes
    return AgentFields(
        agent_name(span), text_of(_own(attributes, "user_input")), text_of(_own(attributes, "response.text"))
    )


def agent_name(span: RawSpan) -> str | None:
    """The agent's name, or the label of its class."""
    return first_text(span.attributes, "gen_ai.agent.name", "lk.agent_label") if kind(span) == "agent" else None


CONVENTION = Convention(
    name="livekit",
    title="LiveKit Agents",
    scopes=("livekit-agents",),
    kind=kind,
    tool=tool,
    messages=messages,
    output=output,
    agent=agent,
    agent_name=agent_name,
    failed=failed,
    error=error,
    content_switch="Leave the session's redaction off.",
)
