"""The outline of a JSON text from its beginning: which keys stand where, without decoding it.

Formats are told apart by their keys, and a file may be large, so only its first bytes are looked at. They may end
anywhere; what stood before the cut counts. In JSON lines the first value is looked at. Nothing here raises, whatever
the bytes are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]

ITEM = "[]"
"""Stands in a path for any element of an array."""

_DEPTH = 5
_TOKEN = re.compile(rb'[\s,:]*(?:("[^"\\]*+(?:\\.[^"\\]*+)*+")(\s*:)?|([{}\[\]])|[^\s"{}\[\],:]++)', re.DOTALL)


@lru_cache(maxsize=2)  # several sniffers ask for the same beginning
def outline(head: bytes) -> frozenset[Path]:
    """The paths of the keys in the first value, down to five levels: `("data", "[]", "id")` for ids below data.

    >>> sorted(outline(b'[{"role": "user", "content": [{"ty'))
    [('[]',), ('[]', 'content'), ('[]', 'content', '[]'), ('[]', 'role')]
    """
    found: set[Path] = set()
    here: list[str] = []  # for each open object the key that is being read, for each open array ITEM
    kinds: list[bytes] = []
    data = head.removeprefix(b"\xef\xbb\xbf")
    at = 0
    while match := _TOKEN.match(data, at):  # a string that the end cuts off matches nothing
        at = match.end()
        text, colon, bracket = match.groups()
        if bracket is None:
            if text is not None and colon is not None and kinds and kinds[-1] == b"{":
                here[-1] = _plain(text)
                if len(here) <= _DEPTH:
                    found.add(tuple(here))
        elif bracket in b"{[":
            if kinds and kinds[-1] == b"[" and len(here) <= _DEPTH:
                found.add(tuple(here))
            here.append(ITEM if bracket == b"[" else "")
            kinds.append(bracket)
        elif kinds:
            here.pop()
            kinds.pop()
        if not kinds:
            break
    return frozenset(found)


def _plain(quoted: bytes) -> str:
    return quoted[1:-1].decode("utf-8", "replace")


def below(paths: frozenset[Path], *prefix: str) -> frozenset[str]:
    """The keys directly below a path."""
    size = len(prefix)
    return frozenset(path[size] for path in paths if len(path) == size + 1 and path[:size] == prefix)
