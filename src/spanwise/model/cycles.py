"""Where a sequence goes round in circles.

A cycle of period p that is gone through at least twice makes p places in a row equal to the place p before. Among p
places in a row one is a multiple of p, so for each p only the multiples of p are compared, and what is equal there is
followed to both sides: n/1 + n/2 + n/3 + ... comparisons, n log n in all. No period can be longer than the longest
stretch of places whose value occurred before, which is nought where nothing repeats.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import eq
from typing import NamedTuple

_LONG = 256


class Cycle(NamedTuple):
    """The places from `start` to before `end` repeat with a period, at least twice; it goes no further either way."""

    start: int
    end: int
    period: int

    @property
    def times(self) -> int:
        """How often the whole cycle was gone through."""
        return (self.end - self.start) // self.period

    @property
    def repeats(self) -> int:
        """How many places repeat the one a period before, a begun last round among them."""
        return self.end - self.start - self.period


def cycles_of(values: Sequence[Hashable]) -> tuple[Cycle, ...]:
    """All the cycles in a sequence, each with its shortest period, by period and place.

    A sequence of more than a million different values is not searched.

    >>> cycles_of("xabababy")
    (Cycle(start=1, end=7, period=2),)
    """
    codes: dict[Hashable, int] = {}
    coded: list[int] = []
    stretch = longest = 0
    for value in values:
        known = len(codes)
        code = codes.setdefault(value, known)
        coded.append(code)
        if code == known:
            stretch = 0
        else:
            stretch += 1
            longest = max(longest, stretch)
    if not longest or len(codes) > sys.maxunicode:
        return ()
    return _found("".join(map(chr, coded)), min(longest, len(coded) // 2))


def _found(text: str, longest: int) -> tuple[Cycle, ...]:
    """The cycles in a text with periods up to the longest."""
    out: list[Cycle] = []
    seen: set[tuple[int, int]] = set()
    covering: list[Cycle] = []
    for period in range(1, longest + 1):
        done = 0
        same = map(eq, text[period::period], text[::period])
        for place in compress(range(period, len(text), period), same):
            if place < done:
                continue
            # Inside a long cycle of a shorter period that fits into this one there is nothing new.
            if covering and (end := _covered(covering, place, period)):
                done = end
                continue
            if not _near(text, place, period):
                continue
            begin = place - _equal_before(text, place, place - period, period)
            done = place + _equal_from(text, place, place - period)
            start = begin - period
            if done - begin >= period and (start, done) not in seen:
                seen.add((start, done))
                cycle = Cycle(start, done, period)
                out.append(cycle)
                if done - start >= _LONG and cycle.times >= 4:
                    covering.append(cycle)
    return tuple(out)


def _covered(covering: Sequence[Cycle], place: int, period: int) -> int:
    """The end of a cycle around a place and the one a period before, if its period fits into this one; else 0."""
    for cycle in covering:
        if cycle.start <= place - period and place < cycle.end and not period % cycle.period:
            return cycle.end
    return 0


def _near(text: str, place: int, period: int) -> bool:
    """Whether half a period from here, or up to here, is equal too: else no whole period in a row can be."""
    before, half = place - period, period // 2
    for size in (min(half, 8), half):
        after = text[place : place + size] == text[before : before + size]
        if not after and text[max(place - size, period) : place] != text[max(before - size, 0) : before]:
            return False
    return True


def _equal_from(text: str, one: int, other: int) -> int:
    """How many places from `one` on equal those from `other` on, which comes before it."""
    step, begin = 1, one
    while text[one : one + step] == text[other : other + step]:
        one, other, step = one + step, other + step, step * 2
    while step > 1:
        step //= 2
        if text[one : one + step] == text[other : other + step]:
            one, other = one + step, other + step
    return one - begin


def _equal_before(text: str, one: int, other: int, most: int) -> int:
    """How many places right before `one`, at most so many, equal those right before `other`."""
    step, begin, end = 1, one, one - min(most, other)
    while one - step >= end and text[one - step : one] == text[other - step : other]:
        one, other, step = one - step, other - step, step * 2
    while step > 1:
        step //= 2
        if one - step >= end and text[one - step : one] == text[other - step : other]:
            one, other = one - step, other - step
    return begin - one
