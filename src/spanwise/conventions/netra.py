"""Netra's own spans, of functions that its SDK decorates and of what it instruments itself: `netra.span.type`.

What goes in and out stands in `input` and `output`, empty where nothing was recorded. Each argument is a text, whatever
it was, and a failure leaves the status unset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from spanwise.conventions import _genai, traceloop_legacy
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items
from spanwise.conventions._payloads import answered, asked, conversation, reply
from spanwise.conventions._returned import of_mcp
from spanwise.conventions._values import first_text, mapping_of, number_of, text_of
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind, SpanError

_TYPE = "netra.span.type"
_KINDS: Mapping[str, Kind] = {
    "AGENT": "agent",
    "TOOL": "tool",
    "GENERATION": "llm",
    "EMBEDDING": "embedding",
    "USAGE": "other",
}
_OWN = "netra.instrumentation."
_ENVELOPES = ({"status", "result"}, {"status", "error"})
"""In which Netra's instrumentation of Agno puts what a tool returned, or why it failed."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_LITERALS: Mapping[str, object] = {"True": True, "False": False, "None": None}


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says; all else that was decorated is a step."""
    said = span.attributes.get(_TYPE)
    return _KINDS.get(said, "workflow") if isinstance(said, str) else None


def failed(span: RawSpan) -> bool:
    """The error of a decorated function, or the mark on a tool's result."""
    attributes = span.attributes
    return "netra.entity.error" in attributes or attributes.get("tool.is_error") is True


def _held(attributes: Attributes, key: str, memo: Memo) -> object:
    """What was recorded, of a lone message its content."""
    value = memo.json(attributes.get(key) or None)
    listed = items(value)
    message = mapping_of(listed[0]) if listed and len(listed) == 1 else None
    return message["content"] if message is not None and set(message) == {"role", "content"} else value


def _argument(value: object, memo: Memo) -> object:
    """An argument as it was before it was made a text, as far as the text tells."""
    if not isinstance(value, str):
        return value
    if value in _LITERALS:
        return _LITERALS[value]
    return memo.json(value) if value[:1] in {"{", "["} or _NUMBER.fullmatch(value) else value


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool by the name that its instrumentation gives, else by that of the function."""
    attributes = span.attributes
    given = memo.json(_held(attributes, "input", memo))
    named = None if span.scope.name.startswith(_OWN) else mapping_of(given)
    returned = memo.json(of_mcp(_held(attributes, "output", memo), memo))
    envelope = mapping_of(returned) or {}
    wrapped = set(envelope) in _ENVELOPES and span.scope.name.startswith(_OWN)
    return ToolFields(
        first_text(attributes, "gen_ai.tool.name") or span.name or None,
        given if named is None else {key: _argument(value, memo) for key, value in named.items()},
        memo.json(envelope.get("result", envelope.get("error"))) if wrapped else returned,
        first_text(attributes, "gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        failed(span) or (wrapped and envelope.get("status") == "failure"),
    )


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and cost, where the app told them; how many units of what were used is not told apart."""
    attributes = span.attributes
    used = items(memo.json(attributes.get("netra.usage"))) or ()
    costs = [number_of((mapping_of(one) or {}).get("cost_in_usd")) for one in used]
    known = [cost for cost in costs if cost is not None]
    said = LLMFields(first_text(attributes, "netra.model"), first_text(attributes, "netra.llm_system"))
    said.cost_usd = math.fsum(known) if known else None
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered: messages, numbered attributes, or a prompt as the app told it."""
    attributes = span.attributes
    sent = conversation(memo.json(attributes.get("input") or None), memo) or traceloop_legacy.messages(span, memo).input
    prompt = text_of(attributes.get("netra.prompt"))
    if sent is None and prompt is not None:
        sent = (Message("user", (Part("text", prompt),)),)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered."""
    if span.attributes.get(_TYPE) != "GENERATION":
        return None
    got = span.attributes.get("output") or None
    return conversation(memo.json(got), memo) or traceloop_legacy.output(span, memo) or reply(got, memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent by its name; question and answer as they were passed and returned, no failure for an answer."""
    attributes = span.attributes
    name = first_text(attributes, "gen_ai.agent.name") or span.name if attributes.get(_TYPE) == "AGENT" else None
    given, returned = (attributes.get(key) or None for key in ("input", "output"))
    return AgentFields(name, asked(given, memo), None if failed(span) else answered(returned, memo))


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user, which every span below has."""
    attributes = span.attributes
    return ContextFields(
        first_text(attributes, "netra.session_id", "gen_ai.agent.conversation_id"),
        first_text(attributes, "netra.user_id", "gen_ai.agent.user_id"),
    )


def error(span: RawSpan) -> SpanError | None:
    """What a decorated function raised."""
    message = text_of(span.attributes.get("netra.entity.error"))
    if message is None:
        return None
    said = _genai.error(span)
    return SpanError(type=said.type if said else "", message=message)


CONVENTION = Convention(
    name="netra",
    title="Netra",
    keys=(_TYPE, "netra.session_id"),
    kind=kind,
    failed=failed,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    context=context,
    error=error,
    content_switch="Set NETRA_TRACE_CONTENT=true; of a generator the app tells the answer: Netra.set_output(...).",
)
