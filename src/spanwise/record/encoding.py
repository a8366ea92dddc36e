"""Values as the text of span attributes: JSON, bounded in size, never an exception.

What is cut ends in a mark, by which a reader tells a cut value from a whole one. The work is bounded too: what is
larger than the limit is pruned before it is encoded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import msgspec

LIMIT = 65_536
"""Characters per attribute."""
MARK = "…[truncated]"
_DEPTH = 32
_DOCUMENTS = 1_000


def text_of(value: object, *, limit: int = LIMIT) -> str:
    """The value as text: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return clean(cut(value, limit))
    if _fits(value, limit):
        text = _json(value)
        return text if len(text) <= limit else cut(text, limit)
    text = _json(_pruned(value, _Budget(limit)))
    return text[:limit].rstrip("]}") + MARK  # without its end it is no JSON: nobody takes it for the whole


def cut(text: str, limit: int = LIMIT) -> str:
    """The text, or its beginning and the mark."""
    return text if len(text) <= limit else text[:limit] + MARK


def clean(text: str) -> str:
    """The text without what UTF-8 cannot carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _plain(value: object) -> object:
    """Something that JSON knows nothing of: a model's fields, else what it says of itself."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(mode="json")
        except Exception:  # noqa: BLE001  (the value may be anybody's)
            return said(value)
    return said(value)


def said(value: object) -> str:
    """`str(value)`, or its type where that fails."""
    try:
        return clean(cut(str(value)))
    except Exception:  # noqa: BLE001  (the value may be anybody's)
        return f"<{type(value).__name__}>"


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


def _json(value: object) -> str:
    try:
        return _encode(value).decode()
    except Exception:  # noqa: BLE001  (keys that are no text, cycles, numbers out of range, surrogates)
        return _encode(_pruned(value, _Budget(LIMIT))).decode()


def _fits(value: object, budget: int) -> bool:
    """Whether a value is small, as far as its texts, lists and mappings tell."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str or kind is bytes or kind is bytearray:
            budget -= len(cast("str", item))
        elif kind is dict:
            held = cast("dict[object, object]", item)
            budget -= 2 * len(held)
            if budget >= 0:
                stack.extend(held)
                stack.extend(held.values())
        elif kind in _SEQUENCES:
            listed = cast("list[object]", item)
            budget -= 2 * len(listed)
            if budget >= 0:
                stack.extend(listed)
        else:
            budget -= 1
        if budget < 0:
            return False
    return True


_SEQUENCES = frozenset({list, tuple, set, frozenset})


class _Budget:
    """How much may still be taken."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, many: int) -> bool:
        """Take some, if there is any left."""
        self.left -= many
        return self.left >= 0


def _pruned(value: object, budget: _Budget, depth: int = 0) -> object:
    """A copy as far as the budget goes, of nothing but what JSON knows; texts that were cut say so."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        kept = cut(clean(value[: budget.left + 1]), max(budget.left, 0))
        budget.take(len(kept))
        return kept
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else said(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= _DEPTH:
        return MARK
    if isinstance(value, Mapping):
        return _pruned_mapping(cast("Mapping[object, object]", value), budget, depth)
    if isinstance(value, list | tuple | set | frozenset):
        out: list[object] = []
        for item in cast("Iterable[object]", value):
            if not budget.take(4):
                break
            out.append(_pruned(item, budget, depth + 1))
        return out
    plain = _plain(value)
    return _pruned(plain, budget, depth + 1)


def _pruned_mapping(value: Mapping[object, object], budget: _Budget, depth: int) -> dict[str, object]:
    out: dict[str, object] = {}
    for key, item in value.items():
        name = said(key)
        if not budget.take(len(name) + 4):
            break
        out[name] = _pruned(item, budget, depth + 1)
    return out


class Later:
    """A value that is made when it is wanted."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def made(value: object) -> object:
    """The value, made if it is one for later."""
    return value.make() if type(value) is Later else value


def text_or_none(value: object) -> str | None:
    """The value as text; None for None, which is no value here."""
    value = made(value)
    return None if value is None else text_of(value)


def field(value: object, *names: str) -> object:
    """The first of some names that a mapping holds or an object has."""
    for name in names:
        if isinstance(value, Mapping):
            found = cast("Mapping[str, object]", value).get(name)
        else:
            found = getattr(value, name, None)
        if found is not None:
            return found
    return None


def messages_of(value: object, role: str = "user") -> str | None:
    """Messages in the form of the conventions, each a role and its parts; None for none.

    Of a conversation that is too long the newest messages are kept, behind a mark.
    """
    if value is None:
        return None
    if type(value) is str and len(value) <= LIMIT // 12:
        return _json([_parts(role, _text(value))])
    single = isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)
    listed: list[object] = [value] if single else list(cast("Iterable[object]", value))
    kept: list[str] = []
    total = 0
    for at in range(len(listed) - 1, -1, -1):
        text = _bounded(_message(listed[at], role))
        total += len(text)
        if kept and total > LIMIT:
            dropped = _parts("system", _text(f"{at + 1} earlier messages {MARK}"))
            kept.append(_json(dropped))
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]" if kept else None


def _bounded(message: Mapping[str, object]) -> str:
    for budget in (LIMIT // 2, LIMIT // 12):  # JSON writes some characters as six
        text = _json(message if _fits(message, budget) else _pruned(message, _Budget(budget)))
        if len(text) <= LIMIT:
            return text
    return _json(_pruned(message, _Budget(LIMIT // 48)))


def _parts(role: str, *parts: object) -> dict[str, object]:
    return {"role": role, "parts": list(parts)}


def _text(content: object) -> dict[str, object]:
    return {"type": "text", "content": content if isinstance(content, str) else text_of(content)}


def _message(item: object, role: str) -> dict[str, object]:
    if isinstance(item, str):
        return _parts(role, _text(item))
    given = field(item, "role")
    role = given if isinstance(given, str) else role
    parts = field(item, "parts")
    if isinstance(parts, list | tuple):
        return _parts(role, *cast("Sequence[object]", parts))
    content = field(item, "content", "text")
    if role == "tool":
        response = {"type": "tool_call_response", "id": field(item, "tool_call_id", "id"), "response": content}
        return _parts(role, response)
    calls = field(item, "tool_calls")
    found: list[object] = []
    if isinstance(content, list | tuple):
        found += [_block(block) for block in cast("Sequence[object]", content)]
    elif content is not None:
        found.append(_text(content))
    elif calls is None:
        found.append(_text(said(item)))
    message = _parts(role, *found, *tool_calls_of(calls))
    reason = field(item, "finish_reason")
    return {**message, "finish_reason": reason} if isinstance(reason, str) else message


def _block(block: object) -> object:
    text = field(block, "text")
    return _text(text) if isinstance(text, str) else _text(block) if isinstance(block, str) else block


def tool_calls_of(calls: object) -> list[object]:
    """The parts of a message that stand for requests of tools: OpenAI's form, or name, arguments and id."""
    if not isinstance(calls, Iterable) or isinstance(calls, str | bytes | Mapping):
        return []
    out: list[object] = []
    for call in cast("Iterable[object]", calls):
        function = field(call, "function") or call
        arguments = field(function, "arguments", "args", "input")
        part = {
            "type": "tool_call",
            "id": field(call, "id", "call_id", "tool_call_id"),
            "name": field(function, "name"),
            "arguments": decoded(arguments),
        }
        out.append({name: value for name, value in part.items() if value is not None})
    return out


def decoded(value: object) -> object:
    """What JSON text of an object holds; anything else as it is."""
    if isinstance(value, str) and value[:1] == "{" and len(value) <= LIMIT:
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def documents_of(value: object, *, content: bool) -> str | None:
    """Documents as JSON, each with id, score and content as far as it has them; None for what is no list."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    listed: list[dict[str, object]] = []
    for item in cast("Iterable[object]", value):
        if len(listed) == _DOCUMENTS:
            break
        listed.append(_document(item, content=content))
    text = _json(listed)
    if len(text) > LIMIT:
        each = LIMIT // (2 * len(listed))
        for fields in listed:
            if isinstance(fields.get("content"), str):
                fields["content"] = cut(str(fields["content"]), max(each - len(MARK), 0))
        text = _json(listed)
    return cut(text)


def _pair(given: object) -> tuple[object, object]:
    """A document and its score, where they are given so, as LangChain does."""
    if not isinstance(given, tuple):
        return given, None
    held = cast("tuple[object, ...]", given)
    return (held[0], held[1]) if len(held) == 2 and not hasattr(held, "_fields") else (held, None)


def _document(given: object, *, content: bool) -> dict[str, object]:
    item, score = _pair(given)
    if isinstance(item, str):
        return {"content": cut(item), **_scored(score)} if content else _scored(score)
    out: dict[str, object] = {}
    named = field(item, "id", "doc_id", "document_id")
    if named is not None:
        out["id"] = cut(said(named), 256)
    out |= _scored(score if score is not None else field(item, "score", "relevance_score"))
    text = field(item, "content", "text", "page_content") if content else None
    if text is not None:
        out["content"] = text_of(text)
    return out


def _scored(score: object) -> dict[str, object]:
    try:
        number = float(cast("float", score))
    except (TypeError, ValueError, OverflowError):
        return {}
    return {"score": number} if math.isfinite(number) else {}


def mapping_text(value: Mapping[str, object], *, limit: int) -> str:
    """A mapping as JSON; of one that is too large the first entries that fit."""
    text = _json(value) if _fits(value, limit) else ""
    if text and len(text) <= limit:
        return text
    kept: dict[str, object] = {}
    for key, item in value.items():
        if _fits(item, limit) and len(_json({**kept, key: item})) <= limit:
            kept[key] = item
    return _json(kept)
