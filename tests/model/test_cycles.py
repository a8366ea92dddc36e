"""Where a sequence goes round in circles."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.cycles import Cycle, cycles_of


def by_looking(values: Sequence[object]) -> set[Cycle]:
    """All cycles, found by trying each period at each place."""
    out: dict[tuple[int, int], Cycle] = {}
    for period in range(1, len(values) // 2 + 1):
        at = period
        while at < len(values):
            end = at
            while end < len(values) and values[end] == values[end - period]:
                end += 1
            if end - at >= period:
                out.setdefault((at - period, end), Cycle(at - period, end, period))
            at = end + 1
    return set(out.values())


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("", []),
        ("a", []),
        ("abc", []),
        ("aba", []),
        ("aa", [Cycle(0, 2, 1)]),
        ("abab", [Cycle(0, 4, 2)]),
        ("xababay", [Cycle(1, 6, 2)]),
        ("aabaab", [Cycle(0, 2, 1), Cycle(3, 5, 1), Cycle(0, 6, 3)]),
        ("aabbaabb", [Cycle(0, 2, 1), Cycle(2, 4, 1), Cycle(4, 6, 1), Cycle(6, 8, 1), Cycle(0, 8, 4)]),
    ],
)
def test_cycles(text: str, cycles: list[Cycle]) -> None:
    """Each cycle is found once, with its shortest period and as far as it goes."""
    assert tuple(cycles) == cycles_of(text)


def test_times_and_repeats() -> None:
    """Whole rounds are counted, and all places behind the first round."""
    (cycle,) = cycles_of("abcabcabcab")
    assert (3, 8) == (cycle.times, cycle.repeats)


def test_every_short_sequence() -> None:
    """For all sequences of up to ten values of two kinds, and up to seven of three, nothing else is found."""
    for kinds, most in (("ab", 10), ("abc", 7)):
        for length in range(most + 1):
            for values in itertools.product(kinds, repeat=length):
                assert by_looking(values) == set(cycles_of(values)), values


PIECES = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=20), st.integers(1, 9)), min_size=1, max_size=3
)


@given(PIECES)
def test_against_looking(pieces: list[tuple[list[int], int]]) -> None:
    """Long sequences of pieces repeated often have just the cycles that are there."""
    values = [value for piece, times in pieces for value in piece * times]
    found = cycles_of(values)
    assert len(found) == len(set(found))
    assert by_looking(values) == set(found)


def test_long_cycles_inside_each_other() -> None:
    """What a long cycle of a short period covers is not found again with each of its multiples."""
    for values in ([1] * 600, [1, 2] * 300, list(range(300)) * 2, [*[0] * 300, 1, *[0] * 299]):
        assert by_looking(values) == set(cycles_of(values))


def test_more_values_than_there_are_signs() -> None:
    """A sequence of too many different values is not searched."""
    assert () == cycles_of([0, 0, *range(sys.maxunicode + 2)])
