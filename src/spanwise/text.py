"""Text for people, and text taken apart: excerpts that fit on a line, and the words of a text."""

from __future__ import annotations

import re
import unicodedata

import msgspec

_QUOTE = 160
# Chinese and Japanese put no space between words: there each sign stands for itself.
_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")


def words(text: str) -> list[str]:
    """The words and numbers of a text in their order, in lower case; whatever is neither letter nor digit divides them.

    >>> words("Refund-policy, Strasse 12: user_id")
    ['refund', 'policy', 'strasse', '12', 'user', 'id']
    """
    if text.isascii():
        return text.translate(_ASCII).split()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(unicodedata.normalize("NFKC", folded))  # folding may take a sign apart again


def excerpt(value: object, *, limit: int = _QUOTE) -> str:
    """A value on one line, cut behind `limit` characters."""
    text = value if isinstance(value, str) else _shown(value)
    if len(text) <= limit:
        return " ".join(text.split())
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
