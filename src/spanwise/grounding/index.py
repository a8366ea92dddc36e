"""Evidence, cut into blocks and cells, and which of the sought words stand where.

All words of all claims are looked for at once. A block of some four thousand bytes is divided into words by C, and what
of them is sought is a set; only in the few blocks that a claim has most in common with are cells of two hundred bytes
looked at, and two neighbouring cells are a window. So a page on which a claim's words are scattered does not
support it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from typing import NamedTuple

import msgspec

from spanwise.grounding.spellings import spellings_of
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import STOP, forms_of, is_unspaced, low, raw_of, text_of

BLOCK = 4_000
CELL = 200
PART = 32_768
"""So many signs of a text are made ready in one step."""
_RATED, _CELLS = 200, 10
"""So many blocks are rated, and cells looked at, in one step."""


@lru_cache(maxsize=2048)
def _raw_forms(word: str) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(map(raw_of, forms_of(word))))


class Sought:
    """The words of some claims. Each distinct one is a slot; a form may stand for several."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self._forms: dict[bytes, int] = {}
        self._first: dict[bytes, int] = {}  # of a form that stands for several slots: which it was sought for first
        self._near = 0  # the slots of near spellings, as a mask
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
                self._seek(_raw_forms(word), at, telling=word not in STOP)
        return at

    def also(self, form: str, *slots: int) -> None:
        """Seek one more form of some slots."""
        raw = (raw_of(form),)
        for at in slots:
            self._seek(raw, at, telling=True)

    def near(self, word: str) -> int | None:
        """The slot of the near spellings of a name, which are sought from now on; None where it has none."""
        key = f"~{word}"
        at = self.slots.get(key)
        if at is None and (spellings := spellings_of(word)):
            at = self.slots[key] = len(self.slots)
            self._near |= 1 << at
            self._seek(tuple(map(raw_of, spellings)), at, telling=True)
        return at

    def _seek(self, forms: Sequence[bytes], at: int, *, telling: bool) -> None:
        # Forms that are not telling are sought only where a block is looked at closely.
        if self._all.isdisjoint(forms):
            self._forms.update(dict.fromkeys(forms, 1 << at))
        else:
            for form in forms:
                before = self._forms.get(form, 0)
                words = before & ~self._near
                if words:
                    self._first.setdefault(form, words.bit_length() - 1)
                self._forms[form] = before | 1 << at
        self._all.update(forms)
        if telling:
            self._telling.update(forms)

    def of(self, word: str) -> tuple[int, ...]:
        """The slots that a folded word stands for, those of near spellings last."""
        raw = raw_of(word)
        mask = self._forms.get(raw)
        if mask is None:
            sign = self._signs.get(raw)
            return () if sign is None else (sign,)
        first = self._first.get(raw, (mask & ~self._near or mask).bit_length() - 1)
        return (first, *sorted(slots_of(mask ^ 1 << first)))

    def found(self, part: bytes) -> frozenset[int]:
        """The slots whose words stand in a lowered part of a text."""
        return slots_of(self._mask(self._all.intersection(part.split()), part))

    def telling(self, part: bytes) -> int:
        """The same without the small words, as a mask."""
        met = self._telling.intersection(part.split())
        return self._mask(met, part) if met or self._signs else 0

    def _mask(self, met: set[bytes], part: bytes) -> int:
        forms, mask = self._forms, 0
        for form in met:
            mask |= forms[form]
        if self._signs and not part.isascii():
            for sign, at in self._signs.items():
                if sign in part:
                    mask |= 1 << at
        return mask


@lru_cache(maxsize=1024)
def slots_of(mask: int) -> frozenset[int]:
    """The slots in a mask, in which each is one bit."""
    out: list[int] = []
    while mask:
        out.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return frozenset(out)


def mask_of(slots: Iterable[int]) -> int:
    """Some slots as a mask."""
    mask = 0
    for slot in slots:
        mask |= 1 << slot
    return mask


class Block(msgspec.Struct, frozen=True, gc=False):
    """A part of a text, and the sought words in it, small ones left out, as a mask."""

    text: int
    start: int
    end: int
    mask: int


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
        self.raws: list[bytes | bytearray] = []
        self.blocks: list[Block] = []
        self._parts: list[list[int]] = []
        self._bounds: dict[int, tuple[bytes, list[tuple[int, int]]]] = {}
        self._cells: dict[tuple[int, int], Window] = {}
        self._met: dict[int, int] = {}
        self._counted = 0
        self.size = 0

    def add(self, text: str) -> Steps[None]:
        """Take a text; each step reads one block of it, or makes a part of it ready."""
        at = len(self.texts)
        self.texts.append(text)
        if len(text) > PART:
            yield from self._add_long(at, text)
            return
        raw = raw_of(text)
        self.raws.append(raw)
        self._parts.append([0])
        self.size += len(raw)
        lowered = low(raw)
        add, telling = self.blocks.append, self.sought.telling
        for start, end in cut(raw, lowered, BLOCK):
            add(Block(at, start, end, telling(lowered[start:end])))
            yield

    def _add_long(self, at: int, text: str) -> Steps[None]:
        whole = bytearray()
        parts: list[int] = []
        self.raws.append(whole)
        self._parts.append(parts)
        add, telling = self.blocks.append, self.sought.telling
        ahead = lowered = b""
        for first in range(0, len(text), PART):
            raw = raw_of(text[first : first + PART])
            more = first + PART < len(text)
            begun = len(whole) - len(lowered)
            parts.append(len(whole))
            whole += raw
            self.size += len(raw)
            ahead += raw
            lowered += low(raw)
            if more:
                yield
            for start, end in cut(ahead, lowered, BLOCK):
                if more and start + 2 * BLOCK + 4 > len(lowered):  # where it ends shows in the next part
                    ahead, lowered = ahead[start:], lowered[start:]
                    break
                add(Block(at, begun + start, begun + end, telling(lowered[start:end])))
                yield

    def held(self) -> frozenset[int]:
        """The sought words that stand anywhere."""
        self._count()
        return frozenset(self._met)

    def _count(self) -> None:
        """In how many blocks each sought word stands, with those that were read since."""
        met = self._met
        for number in range(self._counted, len(self.blocks)):
            for slot in slots_of(self.blocks[number].mask):
                met[slot] = met.get(slot, 0) + 1
        self._counted = len(self.blocks)

    def best(self, slots: Iterable[int], most: int) -> Steps[list[int]]:
        """The numbers of the blocks that hold most of some slots, the best first; none that holds none.

        A word weighs the more, the fewer blocks hold it: one that stands on every page tells no page from another.
        """
        self._count()
        many, met = len(self.blocks), self._met
        rarity = {slot: 1.0 + math.log(many / met[slot]) for slot in slots if slot in met}
        wanted, worth = mask_of(rarity), dict[int, float]()
        top: list[tuple[float, int]] = []
        for first in range(0, many, _RATED):
            rated: list[tuple[float, int]] = []
            for number in range(first, min(first + _RATED, many)):
                mask = self.blocks[number].mask & wanted
                if mask:
                    rate = worth.get(mask)
                    if rate is None:
                        rate = worth[mask] = math.fsum(rarity[slot] for slot in slots_of(mask))
                    rated.append((rate, -number))
            top = nlargest(most, top + rated)
            yield
        return [-number for _, number in top]

    def holding(self, slots: Iterable[int], *, across: bool = False) -> Iterator[int]:
        """The numbers of the blocks that hold all of some slots, also with the help of the next one."""
        wanted, behind = mask_of(slots), 0
        for number, block in enumerate(self.blocks):
            if across:
                behind = self.blocks[number + 1].mask if number + 1 < len(self.blocks) else 0
            if not wanted & ~(block.mask | behind):
                yield number

    def windows(self, numbers: Iterable[int]) -> Steps[list[Window]]:
        """The windows in some blocks, and across their borders."""
        out: list[Window] = []
        seen: set[tuple[int, int]] = set()
        for number in numbers:
            row = yield from self._around(number)
            pairs = pairwise(row) if len(row) > 1 else ((row[0], row[0]),)
            for first, second in pairs:
                if (first.text, first.start) not in seen:
                    seen.add((first.text, first.start))
                    out.append(Window(first.text, first.start, second.end, first.found | second.found))
            yield
        return out

    def _around(self, number: int) -> Steps[list[Window]]:
        """The cells of a block, with the last one before and the first one behind it."""
        text = self.blocks[number].text
        row: list[Window] = []
        for at in range(len(self._cut(number)[1])):
            row.append(self._cell(number, at))
            if at % _CELLS == _CELLS - 1:
                yield
        if number and self.blocks[number - 1].text == text:
            row.insert(0, self._cell(number - 1, -1))
        if number + 1 < len(self.blocks) and self.blocks[number + 1].text == text:
            row.append(self._cell(number + 1, 0))
        return row

    def _cut(self, number: int) -> tuple[bytes, list[tuple[int, int]]]:
        """A block in lower case, and where its cells stand in it."""
        held = self._bounds.get(number)
        if held is None:
            block = self.blocks[number]
            raw = bytes(self.raws[block.text][block.start : block.end])
            lowered = low(raw)
            held = self._bounds[number] = (lowered, list(cut(raw, lowered, CELL)))
        return held

    def _cell(self, number: int, at: int) -> Window:
        """A cell of a block, the last one for -1."""
        lowered, cells = self._cut(number)
        at %= len(cells)
        held = self._cells.get((number, at))
        if held is None:
            block, (start, end) = self.blocks[number], cells[at]
            found = self.sought.found(lowered[start:end])
            held = self._cells[number, at] = Window(block.text, block.start + start, block.start + end, found)
        return held

    def forget(self) -> Steps[None]:
        """Let go of what was read, in steps; nothing can be asked afterwards."""
        while self.blocks:
            del self.blocks[-_RATED:]
            yield
        for held in (self._bounds, self._cells):
            while held:
                for _ in range(min(_RATED, len(held))):
                    held.popitem()
                yield

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
        parts = self._parts[text]
        part = max(0, bisect_right(parts, at) - 1)
        begun = parts[part] if parts else 0
        return part * PART + len(text_of(self.raws[text][begun:at]))


def cut(raw: bytes, lowered: bytes, size: int) -> Iterable[tuple[int, int]]:
    """Parts of about a size, each ending before a space, or where there is none for long; no sign is torn."""
    start, end = 0, len(lowered)
    find = lowered.find
    while start < end:
        stop = start + size
        if stop < end:
            space = find(b" ", stop, stop + size)
            stop = space if space >= 0 else min(stop + size, end)
            while stop < end and raw[stop] & 0xC0 == 0x80:
                stop += 1
        else:
            stop = end
        yield start, stop
        start = stop


def even(raw: bytes | bytearray, at: int) -> int:
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
        return math.fsum(map(slots.__getitem__, met)) if met else 0.0

    return worth
