"""Laminar: `lmnr.span.*`, from `@observe` and from the instrumentations that its SDK brings along.

What a function was given and returned is JSON under `lmnr.span.input` and `lmnr.span.output`. Model calls have GenAI's
attributes without an operation, and under GenAI's names the messages in the provider's own form.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, reply
from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import AgentFields, ContextFields, Memo, Message, Messages, ToolFields
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "DEFAULT": "workflow",
    "EXECUTOR": "workflow",
    "LLM": "llm",
    "TOOL": "tool",
    "EVALUATOR": "evaluation",
    "HUMAN_EVALUATOR": "evaluation",
    "EVALUATION": "other",
}
_SESSION = "lmnr.association.properties."


def kind(span: RawSpan) -> Kind | None:
    """The type of the span, unless GenAI's operation is more exact."""
    said = span.attributes.get("lmnr.span.type")
    found = _KINDS.get(said, "other") if isinstance(said, str) else None
    return _genai.kind(span) or found if found == "workflow" else found


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """A tool by its span's name, with the arguments and the result of its function."""
    given = span.attributes.get("lmnr.span.input")
    found = outcome(span.attributes.get("lmnr.span.output"), memo)
    arguments = None if given is None else call_arguments(given, memo)
    return ToolFields(span.name or None, arguments, found.value, found.call_id, found.failed)


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    given = span.attributes.get("gen_ai.input.messages")
    sent = messages_of(given, memo) if given is not None else None
    return Messages(sent or conversation(span.attributes.get("lmnr.span.input"), memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered: a list of the provider's choices, or of messages."""
    returned = memo.json(span.attributes.get("gen_ai.output.messages", span.attributes.get("lmnr.span.output")))
    listed = items(returned)
    if listed and all("message" in (mapping_of(item) or {}) for item in listed):
        return reply({"choices": listed}, memo)
    return None if returned is None else reply(returned, memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What a function was asked and what it returned; Laminar knows no agents."""
    given, returned = span.attributes.get("lmnr.span.input"), span.attributes.get("lmnr.span.output")
    return AgentFields(
        None,
        None if given is None else asked(given, memo),
        None if returned is None or span.status_code == STATUS_ERROR else answered(returned, memo),
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user."""
    return ContextFields(
        first_text(span.attributes, f"{_SESSION}session_id"), first_text(span.attributes, f"{_SESSION}user_id")
    )


CONVENTION = Convention(
    name="laminar",
    title="Laminar",
    hints=("lmnr.span.type",),
    kind=kind,
    tool=tool,
    messages=messages,
    output=output,
    agent=agent,
    context=context,
    content_switch="Leave ignore_input and ignore_output of `observe` off, and LMNR_TRACE_CONTENT unset.",
)
