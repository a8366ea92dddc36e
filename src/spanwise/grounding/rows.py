"""Rows of tables and items of lists: how many there are, and what stands in the same column of another row."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from spanwise.grounding.features import Read
from spanwise.grounding.index import Index
from spanwise.grounding.passages import Passage, Passages
from spanwise.grounding.quantities import Fact, Quantity, relation
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import words_of

_MOST = 1000
_LISTED, _LOOKED, _CELLS = 12, 40, 40
_ROW = re.compile(r"[}\]]\s{0,8},\s{0,8}[{\[]")
# No colon within it: so the search for its end ends where another one begins.
_LIST = re.compile(r"\"([A-Za-z][\w -]{1,40})\"\s{0,3}:\s{0,3}(\[[^\[\]{}:]{1,4000}\])")
_NUMBERED = re.compile(r"[a-z]\d|\d[a-z]")
_SEPARATORS = ("|", "\t", ";", ",")


class Counts:
    """Counts the rows and items of some evidence; what was counted once is kept."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._rows: set[int] = set()
        self._seen = 0

    def of(self, fact: Quantity, claim: Read, passages: Sequence[Passage]) -> str:
        """What a small whole number counts: the rows of a text, or the items of a list that the claim names."""
        if fact.unit or fact.value != int(fact.value) or not 2 <= fact.value <= _MOST:
            return ""
        for text in self._index.texts[self._seen :]:
            if text[:2] in {"[{", "[["}:
                self._rows.add(len(_ROW.findall(text)) + 1)
        self._seen = len(self._index.texts)
        if fact.value in self._rows:
            return "the number of rows"
        sought = self._index.sought
        for passage in passages[:_LISTED]:
            for met in _LIST.finditer(passage.said):
                named = {slot for word in words_of(met[1]) for slot in sought.of(word.text)}
                if named & claim.context and _items(met[2]) == fact.value:
                    return f"the number of {met[1]}"
        return ""


def _items(text: str) -> int:
    """How many items a list in JSON has; 0 for what is none."""
    try:
        return len(msgspec.json.decode(text.encode("utf-8", "replace"), type=list[msgspec.Raw]))
    except msgspec.DecodeError:
        return 0


def beside(
    claim: Read, fact: Fact, same: Passage, passages: Sequence[Passage], read: Passages
) -> Steps[tuple[Passage, Fact] | None]:
    """The number that stands under the claim's name, where the claim's own stands in another row of the same table."""
    coded = (slot for word, slot in zip(claim.words, claim.slots, strict=True) if _NUMBERED.search(word.text))
    lacking = (claim.names | claim.first | (claim.context & {*coded})) - same.found
    if not lacking or _column(same.said, 0) is None:
        return None
    facts = (yield from read.read(same))[:_CELLS]
    column = next((_column(same.said, one.start) for one in facts if relation(fact, one) == "same"), None)
    if column is None:
        return None
    for other in passages[:_LOOKED]:
        yield
        if lacking & other.found and same.found & claim.context <= other.found and other != same:
            for seen in (yield from read.read(other))[:_CELLS]:
                if _column(other.said, seen.start) == column and relation(fact, seen) == "differs":
                    return other, seen
    return None


def _column(row: str, at: int) -> tuple[str, int, int] | None:
    """Which separator divides a row, in how many cells, and in which of them a place is; None for what is no row."""
    row, at = row.strip(), at - (len(row) - len(row.lstrip()))
    for mark in _SEPARATORS:
        many = row.count(mark)
        if many >= 2:
            return (mark, many, row.count(mark, 0, at)) if f"{mark} " not in row or mark == "|" else None
    return None
