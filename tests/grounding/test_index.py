"""Evidence cut into blocks and cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding.index import BLOCK, CELL, Index, Sought, cut, even, weight_of
from spanwise.grounding.words import low, raw_of


def indexed(words: str, *texts: str) -> Index:
    """An index of texts, with some words sought."""
    sought = Sought()
    for word in words.split():
        sought.slot(word)
    index = Index(sought)
    for text in texts:
        for _ in index.add(text):
            pass
    return index


def test_slots() -> None:
    """A word has one slot however often it is sought, and its forms stand for it."""
    sought = Sought()
    assert (0, 1, 0) == (sought.slot("city"), sought.slot("the"), sought.slot("city"))
    assert ((0,), (0,), ()) == (sought.of("cities"), sought.of("city"), sought.of("town"))
    assert (2,) == ((sought.slot("北京"),)) == sought.of("北京")


def test_found() -> None:
    """What stands in a part is found; the coarse look leaves small words out."""
    sought = Sought()
    for word in ("city", "the", "北京"):
        sought.slot(word)
    part = low(raw_of("The cities of 北京市"))
    assert ({0, 1, 2}, {0, 2}) == (sought.found(part), sought.telling(part))
    assert frozenset() == Sought().telling(b"the city")
    assert frozenset() == sought.telling(b"plain")


def test_several_slots_share_a_form() -> None:
    """A form may stand for two words at once."""
    sought = Sought()
    one, two = sought.slot("unit"), sought.slot("price")
    for slot in (one, two, two):
        sought.also("unitprice", slot)
    assert {one, two} == sought.found(b"unitprice")


def test_windows_reach_across_borders() -> None:
    """Two neighbouring cells are a window, also where the border of a block lies between them."""
    filler = "xx " * ((BLOCK - 8) // 3)
    index = indexed("alpha omega", f"{filler}alpha omega{' yy' * 2000}")
    worth = weight_of({0: 1.0, 1: 1.0})
    assert len(index.blocks) > 2
    numbers = index.best(worth, 2)
    assert 2.0 == max(worth(window.found) for window in index.windows(numbers))
    assert {0, 1} == index.held() == index.held()


def test_each_text_is_apart() -> None:
    """No window reaches from one text into the next."""
    index = indexed("alpha omega", "alpha", "omega", "nothing")
    numbers = index.best(weight_of({0: 1.0, 1: 1.0}), 9)
    assert [0, 1] == numbers
    assert [{0}, {1}] == [set(window.found) for window in index.windows(numbers)]


def test_places() -> None:
    """Places in bytes are told as places in signs."""
    index = indexed("b", "é b", "a b")
    assert (2, 2) == (index.place(0, 3), index.place(1, 2))
    assert "é b" == index.said(0, 0, 4)
    assert "é b" == index.around(0, 10)


@given(st.text(alphabet="ab é\u2014北 \n", max_size=3000), st.sampled_from([CELL, 50]))
def test_cuts_are_whole(text: str, size: int) -> None:
    """The parts are the text, none tears a sign, none is much longer than asked."""
    raw = raw_of(text)
    parts = list(cut(raw, low(raw), (0, len(raw)), size))
    assert raw == b"".join(raw[start:end] for start, end in parts)
    assert all(end - start <= 2 * size + 4 for start, end in parts)
    assert text == "".join(raw[start:end].decode() for start, end in parts)


@pytest.mark.parametrize(("at", "expected"), [(-5, 0), (1, 0), (2, 2), (99, 3)])
def test_even(at: int, expected: int) -> None:
    """A place within a sign is moved before it, one outside to the end."""
    assert expected == even("éa".encode(), at)
