"""Koog (JetBrains, for Kotlin and Java): GenAI attributes, `koog.*` for the nodes of an agent's strategy.

Content is `HIDDEN:non-empty` unless the feature is verbose. Roles are written with a capital, values that are text as
JSON once more, and a tool that did not run to its end has an empty object for its result. What an agent's own span has
for messages is the beginning of its prompt.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items
from spanwise.conventions._returned import text_within
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_CALLING = frozenset({"Tool", "tool"})
"""The role of a call, in messages and in events."""
_AS_TEXT = '{"tool_call_id":'
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def kind(span: RawSpan) -> Kind | None:
    """What the operation says; nodes and strategies of an agent are steps on its way."""
    return _genai.kind(span) or ("other" if "koog.event.id" in span.attributes else None)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """What the GenAI attributes say; without a result nobody knows whether there was such a tool."""
    said = _genai.tool(span, memo)
    said.result = text_within(said.result, memo)
    said.uncertain = said.result is None
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """GenAI's messages, the roles in small letters."""
    found = _genai.messages(span, memo)
    return Messages(_lowered(found.input, memo), _lowered(found.output, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The same of the answer alone."""
    return _lowered(_genai.output(span, memo), memo)


def _lowered(said: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    return None if said is None else tuple(_message(one, memo) for one in said)


def _message(said: Message, memo: Memo) -> Message:
    parts = tuple(_part(part, memo) for part in said.parts)
    told = parts and all(part.type == "tool_result" for part in parts)
    return Message("tool" if told else said.role.lower(), parts)


def _part(part: Part, memo: Memo) -> Part:
    """A part with its text out of JSON once more; of a tool that does not exist all is told as text."""
    if part.type == "tool_result":
        return replace(part, value=text_within(part.value, memo))
    told = mapping_of(memo.json(part.text)) if part.text.startswith(_AS_TEXT) else None
    if told is None:
        return part
    call_id, name = first_text(told, "tool_call_id"), first_text(told, "tool_name")
    if "tool_result" in told:
        return Part("tool_result", "", call_id, name, told["tool_result"])
    return Part("tool_call", "", call_id, name, told.get("tool_args"))


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """What GenAI's attributes say; before 1.0 each of parallel calls is a message, and all of them were added up."""
    said = _genai.llm(span, memo)
    answers = items(memo.json(span.attributes.get("gen_ai.output.messages")))
    if answers is None:  # hidden, but for how many there are: those that were sent have no index
        answers = [event.attributes for event in span.events if "index" in event.attributes]
    parts = len(answers) if all((mapping_of(one) or {}).get("role") in _CALLING for one in answers) else 1
    if parts > 1 and said.input_tokens is not None and said.output_tokens is not None:
        said.input_tokens //= parts
        said.output_tokens //= parts
    return said


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent's name or, where the app gave one, its id; the question and the answer stand on model calls."""
    return AgentFields(agent_name(span))


def agent_name(span: RawSpan) -> str | None:
    """The agent's name; an id that the app did not choose is none."""
    attributes = span.attributes
    named = text_of(attributes.get("gen_ai.agent.name")) or text_of(attributes.get("gen_ai.agent.id"))
    return None if named is None or _RANDOM.fullmatch(named) else named


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """No session: the conversation that is named is this one run."""
    return ContextFields("")


CONVENTION = Convention(
    name="koog",
    title="Koog",
    keys=("koog.event.id",),
    kind=kind,
    tool=tool,
    messages=messages,
    output=output,
    llm=llm,
    agent=agent,
    agent_name=agent_name,
    context=context,
    content_switch="Call setVerbose(true) where the feature OpenTelemetry is installed.",
)
