"""Pipecat's own spans: a conversation, its turns, and the services that each turn used.

A turn is what a user said and what the bot did until it was done: one run. The model's spans are GenAI's by name, with
messages in `input`, text in `output` and tools in `tools`. What the model asked for stands in no answer, only in front
of the next one. Live models write a span for each thing that happened, and name no more than the calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import (
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "chat": "llm",
    "llm_response": "llm",
    "llm_tool_result": "tool",
    "llm_setup": "setup",
}
_FAILED = re.compile(r"The function `[^`]+` (?:is not currently available|failed and returned no result)\.")
"""What Pipecat tells the model of a function that it does not have, or that raised."""
_CACHE_APART = frozenset({"anthropic", "aws.bedrock"})
"""Providers whose input tokens exclude those that the cache took part in."""


def kind(span: RawSpan) -> Kind | None:
    """What the operation names; a turn has a number, and the conversation around all turns is no step."""
    attributes = span.attributes
    if "turn.number" in attributes:
        return "workflow"
    return _KINDS.get(str(attributes.get("gen_ai.operation.name")), "other")


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, tokens, and the time to the first byte, which is counted in seconds."""
    said = _genai.llm(span, memo)
    if said.ttft_ms is None:
        said.ttft_ms = _genai.ms_of(span.attributes.get("metrics.ttfb"))
    if said.provider in _CACHE_APART and said.input_tokens is not None:
        said.input_tokens += (said.cache_read_tokens or 0) + (said.cache_write_tokens or 0)
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent, in its provider's form, and what it said."""
    attributes = span.attributes
    sent = messages_of(attributes.get("input"), memo)
    for part in (part for message in sent or () for part in message.parts if part.type == "tool_result"):
        part.error = part.error or (isinstance(part.value, str) and _FAILED.fullmatch(part.value) is not None)
    told = text_of(attributes.get("gen_ai.system_instructions"))
    if sent is not None and told is not None and not any(message.role == "system" for message in sent):
        sent = (Message("system", (Part("text", told),)), *sent)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model said; of what a live one asked for the names alone."""
    attributes = span.attributes
    text, named = text_of(attributes.get("output")), text_of(attributes.get("function_calls.all_names"))
    parts = [Part("text", text)] if text is not None else []
    parts += [Part("tool_call", name=name) for name in (named or "").split(",") if name]
    return (Message("assistant", tuple(parts)),) if parts else None


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """A live model's call, when its result was sent back: name, result and id."""
    get = span.attributes.get
    failed = get("tool.result_status") == "error"
    return ToolFields(
        text_of(get("tool.function_name")), None, get("tool.result"), text_of(get("tool.call_id")), failed
    )


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered; Gemini's stand in lists of their own."""
    attributes = span.attributes
    listed = items(memo.json(attributes.get("tools", attributes.get("tools.definitions"))))
    if listed is None:
        return None
    out: list[object] = []
    for item in listed:
        held = items((mapping_of(item) or {}).get("function_declarations"))
        out += [item] if held is None else held
    return definitions_of(out, memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The conversation as the session, unless the app names one, and who was heard."""
    attributes = span.attributes
    return ContextFields(
        first_text(attributes, "session.id", "conversation.id"), first_text(attributes, "user.id", "user_id")
    )


CONVENTION = Convention(
    name="pipecat",
    title="Pipecat",
    scopes=("pipecat", "pipecat.turn"),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    tells_requests=False,
    definitions=definitions,
    context=context,
    content_switch="Let no span processor take input and output off Pipecat's spans.",
)
