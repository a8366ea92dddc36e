"""Passages of evidence: sentences, lines and rows of data, the smallest pieces in which words belong to one another."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from spanwise.grounding.index import Index, even
from spanwise.grounding.quantities import Fact, Quantity, facts_in, finding
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import STOP, Word, low, negations, raw_of, words_of

QUOTE = 240
_REACH = 400
_STEP, _RATED = 8, 200
"""So many passages are cut, and rated, in one step."""
# A line's end (JSON writes it as two signs), the end of a row of data, the end of a sentence.
# What may begin one stands first, so that the search goes from one such sign to the next.
_BOUNDARY = re.compile(
    r"[\s\\}\]).!?\u3002\uff01\uff1f](?:(?<=\n)|(?<=\\)n|(?<=[}\])])\s*,\s*(?=[{\[(\"'])|(?<=[.!?])(?=\s)"
    r"|(?<=[\u3002\uff01\uff1f])|(?<=\s)\|\s(?=\|))"
)
_ABBREVIATED = re.compile(
    r"\b(?:(?-i:[A-Z])|mr|mrs|ms|dr|prof|st|no|vs|approx|ca|e\.g|i\.e|inc|ltd|co|jr|sr|u\.s|u\.k|mio|mrd)$",
    re.IGNORECASE,
)
_KEY = re.compile(r"([A-Za-z_][\w -]{0,40})[\"']?\s{0,3}[:=]\s{0,3}[\"']?[$\u20ac\u00a3]?$")
_FALSE = re.compile(r"[:=]\s{0,3}(?:false|False|null|None)\b")


class Passage(NamedTuple):
    """A piece of a text, with its place in it in bytes, and the sought words in it."""

    text: int
    start: int
    end: int
    said: str
    found: frozenset[int]


class Passages:
    """The passages around the blocks that were looked at, each read once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._blocks: dict[int, list[Passage]] = {}
        self._facts: dict[tuple[int, int, int], list[Fact]] = {}
        self._words: dict[tuple[int, int, int], list[Word]] = {}

    def of(self, blocks: Iterable[int]) -> Steps[list[Passage]]:
        """The passages of some blocks, each once."""
        out: dict[tuple[int, int], Passage] = {}
        for number in blocks:
            for one in (yield from self._in(number)):
                out[one.text, one.start] = one
        return list(out.values())

    def _in(self, number: int) -> Steps[list[Passage]]:
        known = self._blocks.get(number)
        if known is not None:
            return known
        index = self._index
        block = index.blocks[number]
        whole = index.raws[block.text]
        start, said = even(whole, block.start - _REACH), index.around(number, _REACH)
        lowered = low(bytes(whole[start : even(whole, block.end + _REACH)]))
        found: list[Passage] = []
        at = start
        for count, piece in enumerate(_pieces(said)):
            if count % _STEP == _STEP - 1:
                yield
            size = len(piece) if piece.isascii() else len(raw_of(piece))
            # What the reach cuts is whole in the next block.
            if at + size > block.start and at < block.end and piece.strip():
                held = index.sought.found(lowered[at - start : at - start + size])
                found.append(Passage(block.text, at, at + size, piece, held))
            at += size
        self._blocks[number] = found
        yield
        return found

    def facts(self, passage: Passage) -> list[Fact]:
        """The numbers and dates of a passage."""
        key = passage[:3]
        held = self._facts.get(key)
        if held is None:
            held = self._facts[key] = facts_in(passage.said)
        return held

    def read(self, passage: Passage) -> Steps[list[Fact]]:
        """The same in steps: a passage that was not read before is one."""
        held = self._facts.get(passage[:3])
        if held is None:
            held = self._facts[passage[:3]] = yield from finding(passage.said)
            yield
        return held

    def forget(self) -> Steps[None]:
        """Let go of all that was read, in steps."""
        for held in (self._blocks, self._facts, self._words):
            while held:
                for _ in range(min(_STEP, len(held))):
                    held.popitem()
                yield

    def words(self, passage: Passage) -> list[Word]:
        """The words of a passage."""
        key = passage[:3]
        held = self._words.get(key)
        if held is None:
            held = self._words[key] = words_of(passage.said)
        return held

    def negated(self, passage: Passage, about: Collection[int]) -> bool:
        """The passage says that something of what is asked about, by its slots, is not so."""
        words = self.words(passage)
        of = self._index.sought.of
        for at in negations(words):
            around = words[max(0, at - 3) : at] + words[at + 1 : at + 5]
            if any(slot in about for one in around if one.text not in STOP for slot in of(one.text)):
                return True
        return bool(_FALSE.search(passage.said))

    def means(self, word: Word, slot: int) -> bool:
        """A word of a passage is one that a slot stands for."""
        return slot in self._index.sought.of(word.text)

    def columns(self, passages: Sequence[Passage]) -> list[list[float]]:
        """The numbers under each key of rows of data, as they follow one another."""
        out: dict[str, list[float]] = {}
        for passage in passages:
            for fact in self.facts(passage):
                if isinstance(fact, Quantity):
                    key = _KEY.search(passage.said, max(0, fact.start - 48), fact.start)
                    if key:
                        out.setdefault(key[1], []).append(fact.value)
        return [row for row in out.values() if len(row) > 1]


def _pieces(said: str) -> Iterable[str]:
    begun = 0
    for met in _BOUNDARY.finditer(said):
        if met.group() == "." and _ABBREVIATED.search(said, max(begun, met.start() - 8), met.start()):
            continue
        yield said[begun : met.end()]
        begun = met.end()
    yield said[begun:]


def ranking(passages: list[Passage], worth: Callable[[frozenset[int]], float]) -> Steps[list[Passage]]:
    """The passages, those with most of a claim's words first."""
    rated: list[tuple[float, int]] = []
    for first in range(0, len(passages), _RATED):
        rated += [(-worth(one.found), first + at) for at, one in enumerate(passages[first : first + _RATED])]
        yield
    rated.sort()
    return [passages[at] for _, at in rated]


def trimmed(passage: Passage, *, around: int | None = None) -> tuple[int, int]:
    """The places in a passage between which it is quoted: without space at its ends, and not too long.

    `around` is a place that must be in the quote.
    """
    said = passage.said
    start = len(said) - len(said.lstrip(" \t\r\n,"))
    end = len(said.rstrip(" \t\r\n,"))
    if end - start > QUOTE:
        middle = start if around is None else around
        start = max(start, min(middle - QUOTE // 2, end - QUOTE))
        end = start + QUOTE
    return start, max(start, end)
