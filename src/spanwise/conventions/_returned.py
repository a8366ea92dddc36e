"""What a tool returned, taken out of the envelopes in which messages carry it."""

from __future__ import annotations

from typing import cast

from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import Memo, Message, Part

TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
TEXT_BLOCKS = ('[{"type":"text"', '[{"type": "text"', '{"type":"text"', '{"type": "text"')
"""How a result begins that is a block of text or some, such as those of MCP's servers."""
_BLOCK = frozenset({"type", "text", "annotations", "meta", "_meta", "id"})


def plain(value: object, memo: Memo) -> object:
    """A tool result as the tool returned it: text blocks around it taken off, JSON text decoded.

    A tool that returned nothing leaves the text `null`, which is not the same as nothing recorded.

    >>> plain([{"text": "[1, 2]"}], Memo())
    [1, 2]
    """
    found = _unwrapped(value, memo)
    return "null" if found is None and value is not None else found


def _unwrapped(value: object, memo: Memo) -> object:
    decoded = memo.json(value)
    if isinstance(decoded, list | tuple):
        blocks = cast("list[object] | tuple[object, ...]", decoded)
        held = mapping_of(blocks[0]) if len(blocks) == 1 else None
        if held is not None and set(held) == {"json"}:  # Bedrock's block for a value
            return memo.json(held["json"])
        texts = [text for item in blocks if (text := _block_text(item)) is not None]
        return memo.json("\n".join(texts)) if blocks and len(texts) == len(blocks) else blocks
    fields = mapping_of(decoded)
    if fields is not None and len(fields) == 1:
        for key in ("result", "output", "content"):
            if isinstance(fields.get(key), str):
                return memo.json(fields[key])
    if fields is not None and fields.get("type") == "text" and fields.keys() <= _BLOCK:
        text = _block_text(fields)
        return decoded if text is None else memo.json(text)
    return decoded


def of_mcp(value: object, memo: Memo) -> object:
    """The text of the blocks in which MCP's servers answer; any other value as it is."""
    return plain(value, memo) if isinstance(value, str) and value.startswith(TEXT_BLOCKS) else value


def _block_text(item: object) -> str | None:
    fields = mapping_of(item)
    if fields is None:
        return None
    if set(fields) == {"text"} or text_of(fields.get("type")) in TEXT_TYPES or fields.get("block_type") == "text":
        return first_text(fields, "text", "content") or (
            "" if fields.get("text", fields.get("content")) == "" else None
        )
    return None


_NO_ERROR = frozenset({"", "none", "null", "no error", "no errors", "ok", "false"})
_REPORTED = frozenset({"message", "msg", "type", "code", "detail", "details", "reason", "status", "description"})


def is_failure(value: object) -> bool | None:
    """Whether what a result has under `error` says that the tool failed; None for data, which may be what it found.

    A text, a report with a message or a code, and a plain yes are failures. A number, a table or a list may be.

    >>> is_failure("no such city"), is_failure(None), is_failure({"404": 3})
    (True, False, None)
    """
    if isinstance(value, str):
        return value.strip().lower() not in _NO_ERROR
    if not value or value is True:
        return value is True
    fields = mapping_of(value)
    return None if fields is None or _REPORTED.isdisjoint(fields) else True


def of_google(part: Part, memo: Memo) -> Part:
    """The result without the mapping in which Google's API wants every function's response: `{"result": ...}`."""
    fields = mapping_of(memo.json(part.value)) if part.type == "tool_result" else None
    if fields is None or len(fields) != 1 or not ("result" in fields or "output" in fields):
        return part
    value = next(iter(fields.values()))
    return Part("tool_result", "", part.id, part.name, "null" if value is None else value, part.error)


def without_google_envelopes(sent: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    """The conversation with the results of tools as the tools returned them."""
    if sent is None or not any(part.type == "tool_result" for message in sent for part in message.parts):
        return sent
    return tuple(Message(one.role, tuple(of_google(part, memo) for part in one.parts)) for one in sent)


def text_within(value: object, memo: Memo) -> object:
    """The text that stands in JSON as text, which may be JSON again; any other value as it is."""
    decoded = memo.json(value)
    return decoded if type(decoded) is str else value
