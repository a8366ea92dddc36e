"""Text for people: excerpts that fit on a line."""

from __future__ import annotations

import msgspec

_QUOTE = 160


def excerpt(value: object, *, limit: int = _QUOTE) -> str:
    """A value on one line, cut behind `limit` characters."""
    text = value if isinstance(value, str) else _shown(value)
    begun = " ".join(text[: limit * 4].split())
    # What lies further behind may be more than space.
    whole = len(begun) <= limit and not text[limit * 4 :].strip()
    return begun if whole else begun[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
