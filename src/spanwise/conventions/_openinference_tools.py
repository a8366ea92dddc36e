"""What a tool was given and what it gave back, with the wrappers of instrumentations and frameworks taken off.

`input.value` holds how the tool's function was called: the bare value of a lone argument, the arguments, or those
inside `{"args": [...], "kwargs": {...}}`, together with context objects that the framework passed along. `output.value`
holds what came back: a value, a LangChain message or LangGraph command around it, an ADK function response,
LlamaIndex's or MCP's result object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from spanwise.conventions._langgraph import PRINTED, printed_message
from spanwise.conventions._messages import items
from spanwise.conventions._reprs import is_dump, is_object, read_repr
from spanwise.conventions._returned import is_failure, plain
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo
from spanwise.model.raw import Attributes

Fields: TypeAlias = Mapping[str, object]

CALL_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
_CONTEXT_KEYS = frozenset({"messages", "configurable", "tool_call_id", "stream_writer", "callbacks"})
CONTEXTS = frozenset({"state", "runtime", "tool_runtime", "config", "store", "context"})
_VALUES = frozenset({int, float, bool, list, type(None)})
"""Types of what a model gave, whatever its name."""
_RESPONSE_KEYS = frozenset({"id", "name", "response", "will_continue", "scheduling", "parts"})


class Given(msgspec.Struct):
    """What a tool was given; the call's id where the framework passes it along."""

    value: object = None
    call_id: str | None = None


class Outcome(msgspec.Struct):
    """What a tool gave back, and whether it is a failure, which the status code may not show."""

    value: object = None
    failed: bool = False
    call_id: str | None = None
    uncertain: bool = False
    """What it gave back may be data, or say that it failed."""
    name: str | None = None
    """Whose message it is, where that bears a name."""
    control: bool = False
    """It is what was given, as the type that the run's output has: no tool did any work."""


def given(attributes: Attributes, memo: Memo, *, beeai: bool = False) -> Given:
    """What the tool was given: as it was recorded, where that is text of an object of which nothing is left out."""
    recorded = attributes.get("input.value")
    if recorded is None:
        return Given(_from_parameters(memo.json(attributes.get("tool.parameters"))))
    value = decoded = memo.json(recorded)
    if isinstance(value, str) and value[:1] == "{":
        value = read_repr(value)
    fields = mapping_of(value)
    if beeai and fields is not None and "input" in fields and "options" in fields:
        value = fields["input"]
        fields = mapping_of(value)
    if fields is None:
        return Given(value)
    if "kwargs" in fields and is_object(fields.get("ctx")):  # a tool of LlamaIndex that takes the workflow's context
        fields = {name: held for name, held in fields.items() if name != "ctx"}
    if fields and fields.keys() <= CALL_KEYS:
        return _called(fields)
    found = without_context(fields)
    is_whole = fields is decoded and type(recorded) is str and found.value == fields
    return Given(recorded) if is_whole else found


def _called(fields: Fields) -> Given:
    """The arguments of a recorded call: the keywords, or the list of positional ones where there are no keywords."""
    named = mapping_of(fields.get("kwargs"))
    positional = items(fields.get("args"))
    if named and positional:
        return without_context({**named, "args": positional})
    return Given(list(positional)) if positional else without_context(named or {})


def without_context(fields: Fields) -> Given:
    """The arguments without objects, graph state and the call's own id, which the model did not give."""
    kept = {
        name: value
        for name, value in fields.items()
        if type(value) in _VALUES or (isinstance(value, str) and value[:1] != "<") or not _is_context(name, value)
    }
    return Given(kept, text_of(kept.pop("tool_call_id", None)) if len(kept) > 1 else None)


def _is_context(name: str, value: object) -> bool:
    if is_object(value):
        return True
    inner = mapping_of(value) if name in CONTEXTS else None
    return inner is not None and not _CONTEXT_KEYS.isdisjoint(inner)


def _from_parameters(value: object) -> object:
    """Arguments from `tool.parameters`, where it holds those and not the tool's schema."""
    listed = items(value)
    if listed is not None:  # Bedrock: [{"name": ..., "type": ..., "value": ...}]
        pairs = [pair for pair in map(mapping_of, listed) if pair is not None and "name" in pair and "value" in pair]
        return {str(pair["name"]): pair["value"] for pair in pairs} if pairs else None
    fields = mapping_of(value)
    if fields is None or "properties" in fields or fields.get("type") == "object":
        return None
    specs = [mapping_of(item) for item in fields.values()]
    if specs and all(spec is not None and "type" in spec for spec in specs):
        return None
    return fields


def outcome(value: object, memo: Memo) -> Outcome:
    """What the tool gave back."""
    decoded = memo.json(value)
    if isinstance(decoded, str) and decoded is not value:  # DSPy encodes text that is JSON already once more
        decoded = memo.json(decoded)
    if isinstance(decoded, str):
        if decoded[:2] == "[<" and is_dump(decoded[1:]):
            return Outcome()
        is_plain = decoded is value and not decoded.startswith(PRINTED)
        return Outcome(decoded) if is_plain else _from_repr(decoded, memo)
    listed = items(decoded)
    fields = mapping_of(listed[0] if listed is not None and len(listed) == 1 else decoded)
    if fields is not None and list(fields) == ["output"]:  # LangChain, before its messages were written as mappings
        return outcome(fields["output"], memo)
    if fields is not None:
        for read in (_from_message, _from_command, _from_llama_index, _from_response, _from_blocks):
            found = read(fields, memo)
            if found is not None:
                return found
    return Outcome("null" if decoded is None and value is not None else plain(decoded, memo))


def _from_message(fields: Fields, memo: Memo) -> Outcome | None:
    """A LangChain tool message, in each of its serialisations."""
    inner = mapping_of(fields.get("kwargs" if "lc" in fields else "data")) or fields
    if "content" not in inner or not ("tool_call_id" in inner or inner.get("type") == "tool"):
        return None
    failed, call_id = inner.get("status") == "error", first_text(inner, "tool_call_id")
    return Outcome(plain(inner["content"], memo), failed, call_id, name=first_text(inner, "name"))


def _from_command(fields: Fields, memo: Memo) -> Outcome | None:
    """A LangGraph command: the tool message that it adds to the state."""
    if "update" not in fields or "goto" not in fields:
        return None
    update = mapping_of(memo.json(fields["update"])) or {}
    for item in reversed(items(update.get("messages")) or ()):
        message = mapping_of(item)
        found = _from_message(message, memo) if message is not None else None
        if found is not None:
            return found
    return Outcome(dict(update) or fields.get("resume"))


def _from_llama_index(fields: Fields, memo: Memo) -> Outcome | None:
    if "tool_name" not in fields or not ("raw_output" in fields or "raw_input" in fields):
        return None
    raw = fields.get("raw_output")
    value = fields.get("blocks", fields.get("content")) if raw is None else raw
    typed = mapping_of(raw)
    named = (mapping_of(fields.get("raw_input")) or {}).get("kwargs") if typed else None
    return Outcome(plain(value, memo), fields.get("is_error") is True, control=named is not None and named == typed)


def _from_response(fields: Fields, memo: Memo) -> Outcome | None:
    """A function response of ADK, which says in the response itself that the tool failed."""
    if "response" not in fields or "name" not in fields or not fields.keys() <= _RESPONSE_KEYS:
        return None
    response = memo.json(fields["response"])
    inner = mapping_of(response)
    failed = inner is not None and (True if inner.get("status") == "error" else is_failure(inner.get("error")))
    if inner is not None and list(inner) == ["result"]:
        response = "null" if inner["result"] is None else inner["result"]
    return Outcome(plain(response, memo), failed is True, first_text(fields, "id"), failed is None)


def _from_blocks(fields: Fields, memo: Memo) -> Outcome | None:
    """A result object of MCP or of Strands, or a lone block of text."""
    blocks = items(fields.get("content"))
    only = list(fields) == ["content"] and blocks and "type" in (mapping_of(blocks[0]) or {})
    if blocks is not None and (only or not {"isError", "is_error", "toolUseId", "status"}.isdisjoint(fields)):
        failed = fields.get("isError") is True or fields.get("is_error") is True or fields.get("status") == "error"
        structured = fields.get("structuredContent")
        value = plain(blocks, memo) if blocks or structured is None else structured
        return Outcome(value, failed, first_text(fields, "toolUseId"))
    if fields.get("type") == "text" and isinstance(fields.get("text"), str):
        return Outcome(plain([fields], memo))
    return None


def _from_repr(text: str, memo: Memo) -> Outcome:
    """A tool message or a command as older instrumentations print it; any other text is the result itself."""
    found = printed_message(text, memo)
    if found is not None:
        return Outcome(found.value, found.failed, found.call_id)
    return Outcome(plain(text, memo))
