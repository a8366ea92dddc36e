"""Evidence, cut into blocks and cells, and which of the sought words stand where.

All words of all claims are looked for at once. A block of some four thousand bytes is divided into words by C, and what
of them is sought is a set; only in the few blocks that a claim has most in common with are cells of two hundred bytes
looked at, and two neighbouring cells are a window. So a page on which a claim's words are scattered does not
support it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from spanwise.grounding.words import STOP, forms_of, is_unspaced, low, raw_of, text_of

BLOCK = 4_000
CELL = 200
_NONE: frozenset[int] = frozenset()


class Sought:
    """The words of some claims. Each distinct one is a slot; a form may stand for several."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self._forms: dict[bytes, int] = {}
        self._more: dict[bytes, list[int]] = {}
        self._signs: dict[bytes, int] = {}
        self._all: set[bytes] = set()
        self._telling: set[bytes] = set()

    def slot(self, word: str) -> int:
        """The slot of a word; its forms are sought from now on."""
        at = self.slots.get(word)
        if at is None:
            at = self.slots[word] = len(self.slots)
            if is_unspaced(word):
                self._signs[raw_of(word)] = at
            else:
                for form in forms_of(word):
                    self.also(form, at, telling=word not in STOP)
        return at

    def also(self, form: str, at: int, *, telling: bool = True) -> None:
        """Seek one more form of a slot; one that is not telling only where a block is looked at closely."""
        key = raw_of(form)
        first = self._forms.setdefault(key, at)
        if first != at and at not in self._more.get(key, ()):
            self._more.setdefault(key, []).append(at)
        self._all.add(key)
        if telling:
            self._telling.add(key)

    def of(self, word: str) -> tuple[int, ...]:
        """The slots that a folded word stands for."""
        raw = raw_of(word)
        first = self._forms.get(raw, self._signs.get(raw))
        return () if first is None else (first, *self._more.get(raw, ()))

    def found(self, part: bytes) -> frozenset[int]:
        """The slots whose words stand in a lowered part of a text."""
        return self._slots(self._all.intersection(part.split()), part)

    def telling(self, part: bytes) -> frozenset[int]:
        """The same without the small words."""
        met = self._telling.intersection(part.split())
        return self._slots(met, part) if met or self._signs else _NONE

    def _slots(self, met: set[bytes], part: bytes) -> frozenset[int]:
        out = set(map(self._forms.__getitem__, met))
        for form in self._more.keys() & met:
            out.update(self._more[form])
        if self._signs and not part.isascii():
            out.update(at for sign, at in self._signs.items() if sign in part)
        return frozenset(out)


class Block(NamedTuple):
    """A part of a text, and the sought words in it, small ones left out."""

    text: int
    start: int
    end: int
    found: frozenset[int]


class Window(NamedTuple):
    """Two neighbouring cells of a text, in bytes, and the sought words in them."""

    text: int
    start: int
    end: int
    found: frozenset[int]


class Index:
    """Some texts, cut once, and searched for the words of some claims."""

    def __init__(self, sought: Sought) -> None:
        self.sought = sought
        self.texts: list[str] = []
        self.raws: list[bytes] = []
        self._lows: list[bytes] = []
        self.blocks: list[Block] = []
        self._cells: dict[int, list[Window]] = {}
        self._held: frozenset[int] | None = None
        self.size = 0

    def add(self, text: str) -> Iterable[None]:
        """Take a text; each step reads one block of it."""
        at = len(self.texts)
        raw = raw_of(text)
        lowered = low(raw)
        self.texts.append(text)
        self.raws.append(raw)
        self._lows.append(lowered)
        self.size += len(raw)
        add, telling = self.blocks.append, self.sought.telling
        for start, end in cut(raw, lowered, (0, len(raw)), BLOCK):
            add(Block(at, start, end, telling(lowered[start:end])))
            yield

    def held(self) -> frozenset[int]:
        """The sought words that stand anywhere."""
        if self._held is None:
            self._held = _NONE.union(*(block.found for block in self.blocks))
        return self._held

    def best(self, worth: Callable[[frozenset[int]], float], most: int) -> list[int]:
        """The numbers of the blocks that are worth most, the best first; none that is worth nothing."""
        rated = [(value, -number) for number, block in enumerate(self.blocks) if (value := worth(block.found)) > 0]
        rated.sort(reverse=True)
        return [-number for _, number in rated[:most]]

    def windows(self, numbers: Iterable[int]) -> list[Window]:
        """The windows in some blocks, and across their borders."""
        out: list[Window] = []
        seen: set[tuple[int, int]] = set()
        for number in numbers:
            row = self._around(number)
            pairs = pairwise(row) if len(row) > 1 else ((row[0], row[0]),)
            for first, second in pairs:
                if (first.text, first.start) not in seen:
                    seen.add((first.text, first.start))
                    out.append(Window(first.text, first.start, second.end, first.found | second.found))
        return out

    def _around(self, number: int) -> Sequence[Window]:
        """The cells of a block, with the last one before and the first one behind it."""
        text = self.blocks[number].text
        row = list(self.cells(number))
        if number and self.blocks[number - 1].text == text:
            row.insert(0, self.cells(number - 1)[-1])
        if number + 1 < len(self.blocks) and self.blocks[number + 1].text == text:
            row.append(self.cells(number + 1)[0])
        return row

    def cells(self, number: int) -> list[Window]:
        """The cells of a block."""
        held = self._cells.get(number)
        if held is None:
            block = self.blocks[number]
            lowered, found = self._lows[block.text], self.sought.found
            held = self._cells[number] = [
                Window(block.text, start, end, found(lowered[start:end]))
                for start, end in cut(self.raws[block.text], lowered, (block.start, block.end), CELL)
            ]
        return held

    def said(self, text: int, start: int, end: int) -> str:
        """What a text says between two places in bytes, wide letters as ASCII."""
        return text_of(self.raws[text][start:end])

    def around(self, number: int, reach: int) -> str:
        """The text of a block, and of its neighbours up to some bytes before and behind it."""
        block = self.blocks[number]
        raw = self.raws[block.text]
        return self.said(block.text, even(raw, block.start - reach), even(raw, block.end + reach))

    def place(self, text: int, at: int) -> int:
        """The place in a text, in signs, of a place in bytes."""
        raw = self.raws[text]
        return at if raw.isascii() else len(text_of(raw[:at]))


def cut(raw: bytes, lowered: bytes, place: tuple[int, int], size: int) -> Iterable[tuple[int, int]]:
    """Parts of about a size, each ending before a space, or where there is none for long; no sign is torn."""
    start, end = place
    find = lowered.find
    while start < end:
        stop = start + size
        if stop < end:
            space = find(b" ", stop, min(stop + size, end))
            stop = space if space >= 0 else min(stop + size, end)
            while stop < end and raw[stop] & 0xC0 == 0x80:
                stop += 1
        else:
            stop = end
        yield start, stop
        start = stop


def even(raw: bytes, at: int) -> int:
    """A place within a text, between signs."""
    at = max(0, min(at, len(raw)))
    while 0 < at < len(raw) and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


def weight_of(slots: Mapping[int, float]) -> Callable[[frozenset[int]], float]:
    """How much of some weighed slots stands in a set."""
    keys = frozenset(slots)

    def worth(found: frozenset[int]) -> float:
        met = keys & found
        return sum(map(slots.__getitem__, met)) if met else 0.0

    return worth
