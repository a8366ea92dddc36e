"""JSON that is always written: one line, valid whatever a trace holds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import cast

import msgspec

from spanwise.report.escapes import UNSAFE

_encode = msgspec.json.Encoder().encode
_DEPTH = 64
_BITS = 4096


def to_line(document: Mapping[str, object]) -> str:
    """The document as one line of JSON without a line break at its end.

    Control characters, line separators and lone surrogates are written as escapes, and numbers that are none as null.
    What lies deeper than 64 levels, is of a type that JSON does not know, or is a number of more than a thousand digits
    becomes the name of its type.
    """
    try:
        text = _encode(document).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return json.dumps(_plain(document, 0), separators=(",", ":"), allow_nan=False)
    return text if text.isascii() else UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON escapes it; it can only stand inside a string."""
    return json.dumps(found.group())[1:-1]


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _BITS else f"<{type(value).__name__}>"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < _DEPTH:
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {str(key): _plain(item, depth + 1) for key, item in items}
        if isinstance(value, list | tuple):
            return [_plain(item, depth + 1) for item in cast("list[object]", value)]
    return f"<{type(value).__name__}>"
