"""The messages of a chat transcript, in GenAI's form: OpenAI's chat and Responses items, Anthropic's blocks.

The shapes are those that recorded spans carry too, so the conventions' reader of messages reads them; what only
transcripts have is brought into its shapes first: calls of tools that the provider runs itself, the functions of
older APIs, refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spanwise.conventions._messages import message_of
from spanwise.model.content import Memo, Message, Part
from spanwise.sources._chat_shapes import (
    interface_parts,
    is_framed,
    is_pydantic,
    pydantic_messages,
    said_by_langchain,
)
from spanwise.sources._records import Fields, fields_of, list_of, text_of

ITEM_TYPES = frozenset({"message", "function_call", "function_call_output", "reasoning"})
_ARGUMENTS = ("arguments", "action", "operation", "queries", "code", "input")
_OWN = frozenset({"status", "output"})
"""What the call of a tool bears that OpenAI ran itself."""
_RESULTS = ("output", "results", "outputs", "error")


@dataclass(slots=True, kw_only=True)
class Turn:
    """One message, with what it says of the model call that it came from."""

    message: Message
    model: str = ""
    usage: Fields | None = None
    item: bool = False
    """It is an item of OpenAI's Responses, of which several make one answer."""

    @property
    def calls(self) -> list[Part]:
        """The tools that the message asks for."""
        return [part for part in self.message.parts if part.type == "tool_call"]

    @property
    def results(self) -> list[Part]:
        """The results of tools that the message brings."""
        return [part for part in self.message.parts if part.type == "tool_result"]

    @property
    def genai(self) -> dict[str, object]:
        """The message in the form of `gen_ai.input.messages`."""
        return {"role": self.message.role, "parts": [_genai(part) for part in self.message.parts]}


def is_message(fields: Fields) -> bool:
    """The object is a message, or an item of OpenAI's Responses."""
    return isinstance(fields.get("role"), str) or is_framed(fields) or _is_item(text_of(fields.get("type")), fields)


def _is_item(kind: str, fields: Fields) -> bool:
    return (
        kind in ITEM_TYPES or kind.endswith("_call_output") or (kind.endswith("_call") and not _OWN.isdisjoint(fields))
    )


def turns_of(items: Iterable[object]) -> Iterator[Turn]:
    """The turns of a list of messages; items of one answer as one turn, and what is no message not at all."""
    held: Turn | None = None
    for item in items:
        for turn in _turns(item):
            if held is not None and held.item and turn.item and {held.message.role, turn.message.role} == {"assistant"}:
                held.message = Message("assistant", (*held.message.parts, *turn.message.parts))
                continue
            if held is not None:
                yield held
            held = turn
    if held is not None:
        yield held


def _turns(item: object) -> Iterator[Turn]:
    if isinstance(item, str) and item:
        yield Turn(message=Message("user", (Part("text", item),)))
    fields = fields_of(item)
    if fields is None:
        return
    kind = text_of(fields.get("type"))
    if kind.endswith("_call") and not _OWN.isdisjoint(fields) and "call_id" not in fields:
        yield from _own_call(kind, fields)
        return
    if is_pydantic(fields):
        used = fields_of(fields.get("usage"))
        for message in pydantic_messages(fields):
            yield Turn(message=message, model=text_of(fields.get("model_name")), usage=used)
            used = None
        return
    message = message_of(_shaped(fields), Memo())
    if message.role == "assistant" and any(part.type == "tool_result" for part in message.parts):
        yield from _apart(message)
        return
    model, used = said_by_langchain(fields) if is_framed(fields) else ("", None)
    yield Turn(
        message=message,
        model=model or text_of(fields.get("model")),
        usage=used or fields_of(fields.get("usage")),
        item=_is_item(kind, fields),
    )


def _shaped(fields: Fields) -> Fields:
    """The message in a shape that the reader knows."""
    shaped = dict(fields)
    kind = text_of(shaped.get("type"))
    if kind.endswith("_call_output"):
        shaped["type"] = "function_call_output"
    elif kind.endswith("_call"):
        shaped["type"] = "function_call"
        shaped.setdefault("name", kind.removesuffix("_call"))
        shaped["arguments"] = _first(fields, _ARGUMENTS)
    elif kind == "reasoning":
        shaped["content"] = _joined(shaped.get("summary")) or _joined(shaped.get("content"))
    function = fields_of(shaped.get("function_call"))
    if function is not None and not shaped.get("tool_calls"):
        shaped["tool_calls"] = [{"function": function}]
    if not shaped.get("content") and isinstance(shaped.get("refusal"), str):
        shaped["content"] = shaped["refusal"]
    content = list_of(shaped.get("content"))
    if content is not None:
        shaped["content"] = [_block(item) for item in content]
    parts = list_of(shaped.get("parts"))
    if parts is not None:
        shaped["parts"] = interface_parts(parts)
    return shaped


def _block(item: object) -> object:
    fields = fields_of(item)
    if fields is None:
        return item
    kind = text_of(fields.get("type"))
    if kind == "refusal":
        return {"type": "text", "text": fields.get("refusal")}
    if kind.endswith("_tool_result"):
        return {**fields, "type": "tool_result", "is_error": fields.get("is_error") is True or _failed(fields)}
    return {**fields, "type": "tool_use"} if kind.endswith("_tool_use") else fields


def _failed(fields: Fields) -> bool:
    """Anthropic reports the failure of a tool of its own as a result of type `..._error`."""
    return text_of((fields_of(fields.get("content")) or {}).get("type")).endswith("_error")


def _joined(value: object) -> str:
    """The texts of a list of parts, or the text itself."""
    if isinstance(value, str):
        return value
    texts = (text_of((fields_of(item) or {}).get("text")) for item in list_of(value) or ())
    return "\n".join(text for text in texts if text)


def _apart(message: Message) -> Iterator[Turn]:
    """An answer in which the provider ran tools itself: what came before each result, the result, what came after."""
    held: list[Part] = []
    for part in message.parts:
        if part.type == "tool_result":
            if held:
                yield Turn(message=Message("assistant", tuple(held)))
                held = []
            yield Turn(message=Message("tool", (part,)))
        else:
            held.append(part)
    if held:
        yield Turn(message=Message("assistant", tuple(held)))


def _own_call(kind: str, fields: Fields) -> Iterator[Turn]:
    """A call of a tool that OpenAI ran itself, such as `web_search_call`; its result is part of the item, if any."""
    name = text_of(fields.get("name")) or kind.removesuffix("_call")
    call_id = text_of(fields.get("id")) or None
    failed = fields.get("error") is not None or fields.get("status") == "failed"
    call = Part("tool_call", "", call_id, name, _first(fields, _ARGUMENTS))
    result = Part("tool_result", "", call_id, name, _first(fields, _RESULTS), failed)
    yield Turn(message=Message("assistant", (call,)), item=True)
    yield Turn(message=Message("tool", (result,)), item=True)


def _first(fields: Fields, keys: Iterable[str]) -> object:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _genai(part: Part) -> dict[str, object]:
    if part.type == "tool_call":
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.value}
    if part.type == "tool_result":
        return {
            "type": "tool_call_response",
            "id": part.id,
            "name": part.name,
            "response": part.value,
            "is_error": part.error,
        }
    return {"type": part.type, "content": part.text}
