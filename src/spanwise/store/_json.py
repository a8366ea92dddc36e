"""Values as the database takes them, whatever a trace holds: JSON, texts, whole numbers, times."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec

_encode = msgspec.json.Encoder().encode
_DEPTH = 64
_BITS = 4096
_LONGEST_KEY = 200
_INT64 = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_NS = 253_402_300_799 * 1_000_000_000
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_UNFIT = re.compile("[\x00\ud800-\udfff]")


class Encoded(str):
    """Text that is JSON already: the engine writes it as it is."""

    __slots__ = ()


def encoded(value: object) -> Encoded:
    """The value as JSON that every database takes.

    Numbers that are none become null, lone surrogates and the character NUL escapes; what JSON does not know, or what
    lies deeper than 64 levels, becomes the name of its type.
    """
    try:
        text = _encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        text = json.dumps(_plain(value, 0), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # Postgres takes no \u0000 in JSON. What stands after an even number of backslashes only looks like one.
    return Encoded(_NUL.sub(lambda found: f"{found[1]}\\\\x00", text) if "\\u0000" in text else text)


def serialize(value: object) -> str:
    """What the engine writes for a value of a JSON column."""
    return value if isinstance(value, Encoded) else encoded(value)


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else f"<{type(value).__name__}>"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < _DEPTH:
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {clean(str(key)): _plain(item, depth + 1) for key, item in items}
        if isinstance(value, list | tuple):
            return [_plain(item, depth + 1) for item in cast("list[object]", value)]
    return f"<{type(value).__name__}>"


def clean(text: str) -> str:
    """The text, with the characters that no database takes written as escapes."""
    return _UNFIT.sub(lambda found: f"\\x{ord(found[0]):02x}", text) if _UNFIT.search(text) else text


def key(text: str) -> str:
    """An id as a database can look it up: a very long one keeps its beginning and a hash of the whole."""
    text = clean(text)
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[: _LONGEST_KEY - 33]}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def key_or_none(text: str | None) -> str | None:
    """An id as a database can look it up, or None."""
    return key(text) if text else None


def whole(number: float) -> int:
    """The number within the 64 bits that a database has for it."""
    return int(max(min(number, _INT64), -_INT64))


def real(number: float | None) -> float | None:
    """The number, unless it is none."""
    return number if number is not None and math.isfinite(number) else None


def moment(ns: int) -> datetime | None:
    """A time of nanoseconds since 1970; None for one that is not recorded, or beyond the calendar."""
    return at(ns) if 0 < ns < _LATEST_NS else None


def at(ns: int) -> datetime:
    """A time of nanoseconds since 1970, to the microsecond."""
    return _EPOCH + timedelta(microseconds=ns // 1000)
