"""Evidence cut into blocks and cells."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding.index import BLOCK, CELL, PART, Index, Sought, cut, even, mask_of, slots_of, weight_of
from spanwise.grounding.steps import finish
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
    assert ({0, 1, 2}, mask_of({0, 2})) == (sought.found(part), sought.telling(part))
    assert 0 == Sought().telling(b"the city") == sought.telling(b"plain")
    assert {0, 70} == slots_of(mask_of({70, 0}))


def test_several_slots_share_a_form() -> None:
    """A form may stand for two words at once."""
    sought = Sought()
    one, two = sought.slot("unit"), sought.slot("price")
    for slot in (one, two, two):
        sought.also("unitprice", slot)
    assert {one, two} == sought.found(b"unitprice")
    assert (one, two) == sought.of("unitprice")


def test_windows_reach_across_borders() -> None:
    """Two neighbouring cells are a window, also where the border of a block lies between them."""
    filler = "xx " * ((BLOCK - 8) // 3)
    index = indexed("alpha omega", f"{filler}alpha omega{' yy' * 2000}")
    worth = weight_of({0: 1.0, 1: 1.0})
    assert len(index.blocks) > 2
    numbers = finish(index.best({0, 1}, 2))
    assert 2.0 == max(worth(window.found) for window in finish(index.windows(numbers)))
    assert {0, 1} == index.held() == index.held()


def test_equal_shares_weigh_the_same() -> None:
    """What words weigh together does not hang on their order, nor on the version of Python: a tie stays one."""
    weights = dict.fromkeys(range(10), 0.1) | {10: 1.0}
    worth = weight_of(weights)
    assert worth(frozenset(range(10))) == worth(frozenset({10})) == 1.0


def test_each_text_is_apart() -> None:
    """No window reaches from one text into the next."""
    index = indexed("alpha omega", "alpha", "omega", "nothing")
    numbers = finish(index.best({0, 1}, 9))
    assert [0, 1] == numbers
    assert [{0}, {1}] == [set(window.found) for window in finish(index.windows(numbers))]


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
    parts = list(cut(raw, low(raw), size))
    assert raw == b"".join(raw[start:end] for start, end in parts)
    assert all(end - start <= 2 * size + 4 for start, end in parts)
    assert text == "".join(raw[start:end].decode() for start, end in parts)


@pytest.mark.parametrize(("at", "expected"), [(-5, 0), (1, 0), (2, 2), (99, 3)])
def test_even(at: int, expected: int) -> None:
    """A place within a sign is moved before it, one outside to the end."""
    assert expected == even("éa".encode(), at)


@pytest.mark.parametrize("filler", ["xx ", "x\u2014y ", "\u5317\u4eac ", "\uff21 ", "x"])
def test_long_texts_are_made_ready_in_parts(filler: str) -> None:
    """A text of any length is cut as if it were read at once, no step takes more than a part, and places are right."""
    text = f"{filler * (3 * PART // len(filler))}alpha{filler * 9}"
    sought = Sought()
    sought.slot("alpha")
    index = Index(sought)
    sizes = [0, *(index.size for _ in index.add(text)), index.size]
    raw = raw_of(text)
    assert raw == index.raws[0]
    assert list(cut(raw, low(raw), BLOCK)) == [(block.start, block.end) for block in index.blocks]
    assert max(after - before for before, after in pairwise(sizes)) <= 3 * PART
    for block in index.blocks:
        assert len(raw[: block.start].decode()) == index.place(0, block.start)
    assert [number for number, block in enumerate(index.blocks) if block.mask] == list(index.holding({0}))


def test_what_holds_with_the_next() -> None:
    """Words that stand on both sides of a border are held by the block before it, with the help of the next."""
    filler = "xx " * (BLOCK // 3)
    index = indexed("alpha omega", f"alpha {filler}omega")
    assert ([], [0]) == (list(index.holding({0, 1})), list(index.holding({0, 1}, across=True)))


def test_rare_words_tell_more() -> None:
    """A word that stands on every page tells no page from another; one that few hold does."""
    plain = "shoes and hats are kept apart in rooms of their own and so are coats " * 10
    page = f"bag {plain} warranty {plain} label {plain} "
    index = indexed("falcon warranty label bag", page * 9 + plain * 16 + "falcon warranty " + plain * 16 + page * 9)
    found = finish(index.best([0, 1, 2, 3], 1))
    assert 0 in slots_of(index.blocks[found[0]].mask)
    assert max(block.mask.bit_count() for block in index.blocks if not block.mask & 1) == 3
