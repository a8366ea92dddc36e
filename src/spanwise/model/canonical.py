"""Values made comparable: the same bytes for the same value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode


def canonical(value: object) -> bytes:
    """The same bytes for the same value: keys sorted, whole floats as integers, spaces around text taken off.

    >>> canonical({"b": 1.0, "a": " x "}) == canonical({"a": "x", "b": 1})
    True
    """
    try:
        encoded = _encode(value)
        # Encoded text has no space outside strings: what is canonical already is not walked through.
        if b".0" in encoded or b'" ' in encoded or b' "' in encoded:
            encoded = _encode(_plain(value))
    except (TypeError, ValueError, RecursionError):
        # Nested beyond reason, or of a type that JSON does not know: the repr still tells values apart.
        return hashlib.sha256(shown(value).encode(errors="backslashreplace")).digest()
    return encoded


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[object]", value)]
    return value


def shown(value: object) -> str:
    """The repr of a value, also of one that is nested deeper than repr goes."""
    try:
        return repr(value)
    except RecursionError:
        return " ".join(_walk(value))


def _walk(value: object) -> Iterator[str]:
    """The leaves and brackets of a nested value, without recursion; a container seen before is not entered again."""
    ahead: list[tuple[bool, object]] = [(False, value)]
    seen: set[int] = set()
    while ahead:
        is_text, item = ahead.pop()
        inner = None if is_text else _inside(item)
        if inner is None:
            yield str(item) if is_text else _leaf(item)
        elif id(item) in seen:
            yield "..."
        else:
            seen.add(id(item))
            yield f"{type(item).__name__}("
            ahead.append((True, ")"))
            ahead.extend((False, one) for one in reversed(inner))


def _inside(item: object) -> list[object] | None:
    if isinstance(item, Mapping):
        fields = cast("Mapping[object, object]", item)
        return [one for pair in fields.items() for one in pair]
    if isinstance(item, list | tuple):
        return list(cast("list[object]", item))
    if isinstance(item, msgspec.Struct):
        return [getattr(item, name) for name in item.__struct_fields__]
    return None


def _leaf(item: object) -> str:
    try:
        return repr(item)
    except RecursionError:
        return type(item).__name__
