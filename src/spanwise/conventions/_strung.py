"""What clients in JavaScript make of the parallel calls of a stream, and what they were.

OpenInference's and LangSmith's wrappers of OpenAI's client string them together as if each piece belonged to one call:
ids, names and arguments all stand behind each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from spanwise.model.content import Message, Part, ToolDefinition

_DECODER = json.JSONDecoder()
_MOST = 64


def apart(
    got: tuple[Message, ...] | None, tools: Callable[[], Sequence[ToolDefinition] | None]
) -> tuple[Message, ...] | None:
    """The answer with its calls taken apart by the tools that were offered; None where that cannot be done."""
    if got is None or not any(_is_strung(part) for message in got for part in message.parts):
        return got
    offered = tuple(tool.name for tool in tools() or ())
    out: list[Message] = []
    for message in got:
        parts: list[Part] = []
        for part in message.parts:
            calls = _calls(part, offered) if _is_strung(part) else [part]
            if calls is None:
                return None
            parts += calls
        out.append(Message(message.role, tuple(parts)))
    return tuple(out)


def _is_strung(part: Part) -> bool:
    """Whether its arguments are no JSON, but several objects behind each other."""
    return part.type == "tool_call" and isinstance(part.value, str) and "}{" in part.value


def _calls(part: Part, offered: Sequence[str]) -> list[Part] | None:
    given = _values(str(part.value))
    names = None if given is None else _names(part.name or "", offered, len(given))
    if given is None or names is None:
        return None
    ids = _ids(part.id or "", len(given))
    return [Part("tool_call", "", *call) for call in zip(ids, names, given, strict=True)]


def _values(text: str) -> list[object] | None:
    found: list[object] = []
    at = 0
    while at < len(text) and len(found) < _MOST:
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(value)
    return found if at == len(text) else None


def _names(text: str, offered: Sequence[str], count: int) -> list[str] | None:
    """The only way to read the text as so many names of offered tools."""
    ways: list[tuple[int, list[str]]] = [(0, [])]
    for _ in range(count):
        ways = [
            (at + len(name), [*way, name]) for at, way in ways for name in offered if name and text.startswith(name, at)
        ]
        if len(ways) > _MOST:
            return None
    whole = [way for at, way in ways if at == len(text)]
    return whole[0] if len(whole) == 1 else None


def _ids(text: str, count: int) -> list[str | None]:
    """The ids, which are of one length and begin alike; none where they are not."""
    size, rest = divmod(len(text), count)
    found = [text[at : at + size] for at in range(0, len(text), size)] if size and not rest else []
    if len(set(found)) != count or len({one[:4] for one in found}) > 1:
        return [None] * count
    return list(found)
