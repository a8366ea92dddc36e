"""Traceloop's OpenLLMetry up to 0.4x, and others that took over its form: messages flattened into numbered attributes.

A model call says `llm.request.type`, and has `gen_ai.prompt.N.*`, `gen_ai.completion.N.*` and
`llm.request.functions.N.*`. The attribute limit drops the oldest first, which are the type and the first prompts, so
the answer tells the dialect as well. Agents, tasks and tools had `traceloop.*` attributes then as they have now: the
newer dialect reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import LLMFields, Memo, Message, Messages, ToolDefinition
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

Indexed: TypeAlias = dict[int, dict[str, object]]

_KINDS: Mapping[str, Kind] = {
    "chat": "llm",
    "completion": "llm",
    "response": "llm",
    "unknown": "llm",
    "embedding": "embedding",
    "rerank": "rerank",
}
_HAYSTACK = "opentelemetry.instrumentation.haystack"
_PROMPT = "gen_ai.prompt."
_COMPLETION = "gen_ai.completion."
_FUNCTIONS = ("llm.request.functions.", "gen_ai.request.functions.")
# A number of more digits is no index: text of any length may stand in a key.
_NUMBERED = re.compile(r"(\d{1,9})\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d{1,9})\.(id|name|arguments)")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the type of the request names; a span that has a model's answer is a model call."""
    attributes = span.attributes
    request = attributes.get("llm.request.type")
    if isinstance(request, str):
        return _KINDS.get(request)
    if "gen_ai.operation.name" in attributes or "traceloop.span.kind" in attributes:
        return None
    return "llm" if "gen_ai.completion.0.role" in attributes or "gen_ai.prompt.0.role" in attributes else None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Tokens under names of this dialect's own; model, provider and the other tokens have GenAI names."""
    attributes = span.attributes
    return LLMFields(
        input_tokens=first_int(attributes, "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
        output_tokens=first_int(attributes, "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens"),
        reasoning_tokens=first_int(attributes, "gen_ai.usage.reasoning_tokens", "llm.usage.reasoning_tokens"),
    )


def numbered(attributes: Mapping[str, object], prefix: str) -> Indexed:
    """The attributes under a prefix by their number, in order of the numbers; gaps stay gaps."""
    found: Indexed = {}
    start = len(prefix)
    for key, value in attributes.items():
        if key.startswith(prefix):
            match = _NUMBERED.fullmatch(key, start)
            if match is not None:
                found.setdefault(int(match.group(1)), {})[match.group(2)] = value
    return {number: found[number] for number in sorted(found)}


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The conversation and the answer, put together from their numbered attributes."""
    return Messages(_gathered(span, _PROMPT, memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered; of Haystack's generators only the names of what they return are recorded."""
    return None if span.scope.name == _HAYSTACK else _gathered(span, _COMPLETION, memo)


def _gathered(span: RawSpan, prefix: str, memo: Memo) -> tuple[Message, ...] | None:
    role = "user" if prefix == _PROMPT else "assistant"
    writes = span.scope.name.startswith("netra.")  # a call in the place of words, of the Responses API without its id
    found = [_message(fields, role, memo, writes=writes) for fields in numbered(span.attributes, prefix).values()]
    if any("content" in message for message in found):
        for message in found:
            if message["role"] == "tool":
                message.setdefault("content", "")  # an empty text is left out
    # Of what the model said earlier some record nothing but that it did: it parts the results of two steps.
    silent = {"role": "assistant"} if prefix == _PROMPT else None
    return messages_of([message for message in found if len(message) > 1 or message == silent], memo)


def _message(fields: dict[str, object], role: str, memo: Memo, *, writes: bool) -> dict[str, object]:
    """One message in the form of OpenAI's chat; nothing but a role where its attributes hold no content."""
    out: dict[str, object] = {"role": text_of(fields.get("role")) or role}
    content = _content(fields.get("content"), memo) if out["role"] != "tool" else fields.get("content")
    if content is None:
        content = fields.get("user")  # a text completion's prompt
    if content is not None:
        out["content"] = content
    calls: Indexed = {}
    for key, value in fields.items():
        match = _CALL.fullmatch(key)
        if match is not None:
            calls.setdefault(int(match.group(1)), {})[match.group(2)] = value
    if calls:
        out["tool_calls"] = [calls[number] for number in sorted(calls)]
    call_id = first_text(fields, "tool_call_id")
    mute = call_id is None and not writes
    written = None if mute or out["role"] != "assistant" else _written_call(content, memo)
    if written is not None:
        return {"role": "assistant", "tool_calls": [{"id": call_id, **written}]}
    if call_id is not None:
        out["tool_call_id"] = call_id
        if isinstance(content, str) and content.startswith("Error"):  # no attribute says whether a tool failed
            out["status"] = "error"
    return out


def _written_call(content: object, memo: Memo) -> Mapping[str, object] | None:
    """The call that Netra writes in the place of words, the id beside it; nothing where words stand."""
    fields = mapping_of(memo.json(content))
    return fields if fields is not None and set(fields) == {"name", "arguments"} else None


def _content(value: object, memo: Memo) -> object:
    """Text, or the blocks that were written as JSON; LangChain's empty content was written as JSON too, as `""`."""
    if not isinstance(value, str):
        return value
    if value in {'""', "[]"}:
        return None
    if value.startswith("[{"):
        blocks = items(memo.json(value))
        if blocks and all("type" in (mapping_of(block) or {}) for block in blocks):
            return blocks
    return value


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The functions that the model was offered."""
    out: list[ToolDefinition] = []
    former, newer = (numbered(span.attributes, prefix) for prefix in _FUNCTIONS)
    for fields in (former or newer).values():
        name = text_of(fields.get("name"))
        if name is not None:
            schema = memo.json(fields.get("parameters", fields.get("input_schema")))
            out.append(ToolDefinition(name, text_of(fields.get("description")) or "", mapping_of(schema)))
    return tuple(out) or None


CONVENTION = Convention(
    name="traceloop_legacy",
    title="Traceloop OpenLLMetry up to 0.4x",
    keys=("llm.request.type", "gen_ai.prompt.0.role"),
    hints=("gen_ai.completion.0.role",),
    kind=kind,
    llm=llm,
    messages=messages,
    output=output,
    definitions=definitions,
    content_switch="Set TRACELOOP_TRACE_CONTENT=true.",
)
