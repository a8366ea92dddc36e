"""Pydantic AI's own messages, as MLflow writes them: requests and responses, whose parts tell their kind.

One request may hold what the user said, the results of tools and what the model has to try again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from spanwise.conventions._messages import items
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import Memo, Message, Part

Fields: TypeAlias = Mapping[str, object]
_ROLES: Mapping[str, str] = {
    "user-prompt": "user",
    "system-prompt": "system",
    "tool-return": "tool",
    "retry-prompt": "tool",
    "text": "assistant",
    "thinking": "assistant",
    "tool-call": "assistant",
}


def messages_of(value: object, memo: Memo) -> tuple[Message, ...] | None:
    """The messages of these requests and responses, each part by who said it; None where there are none."""
    found = [message for item in items(value) or (value,) for message in _messages(mapping_of(item) or {}, memo)]
    return tuple(found) or None


def _messages(fields: Fields, memo: Memo) -> Iterable[Message]:
    """One message for each run of parts that the same side said."""
    instructions = text_of(fields.get("instructions"))
    if instructions is not None:
        yield Message("system", (Part("text", instructions),))
    role, parts = "", list[Part]()
    for held in map(mapping_of, items(fields.get("parts")) or ()):
        kind = str((held or {}).get("part_kind"))
        said = _ROLES.get(kind, "assistant")
        if kind == "retry-prompt" and held is not None and text_of(held.get("tool_name")) is None:
            said = "user"  # an answer that has to be given again
        if said != role and parts:
            yield Message(role, tuple(parts))
            parts = []
        role = said
        parts.append(_part(kind, held or {}, memo))
    if parts:
        yield Message(role, tuple(parts))


def _part(kind: str, fields: Fields, memo: Memo) -> Part:
    content = fields.get("content")
    name, call_id = text_of(fields.get("tool_name")), text_of(fields.get("tool_call_id"))
    if kind == "tool-call":
        return Part("tool_call", "", call_id, name, memo.json(fields.get("args")))
    if kind == "tool-return" or (kind == "retry-prompt" and name is not None):
        value = "null" if content is None else memo.json(content)
        return Part("tool_result", "", call_id, name, value, kind == "retry-prompt")
    texts = [text for item in items(content) or (content,) if (text := text_of(item)) is not None]
    if kind == "thinking":
        return Part("reasoning", "\n".join(texts))
    return Part("text", "\n".join(texts)) if texts else Part("other")
