"""Words as they are looked for in evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding.words import (
    Word,
    forms_of,
    is_unspaced,
    low,
    negations,
    raw_of,
    stem_of,
    text_of,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refund-policy, user_id: 12.5", "refund policy user id 12 5"),
        ("Straße ÉCOLE ﬁnal", "strasse école final"),
        ("北京市 opens", "北京 京市 opens"),
        ("猫", "猫"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    """Whatever is neither letter nor digit divides words; signs without spaces come in pairs."""
    assert expected.split() == [word.text for word in words_of(text)]


def test_words_know_their_places() -> None:
    """Each word says where it stands."""
    assert [Word("one", 0, 3), Word("two", 4, 7)] == words_of("One two")


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("cities", "city"),
        ("city", "cities"),
        ("stopped", "stop"),
        ("stop", "stopping"),
        ("passes", "passing"),
        ("won", "win"),
        ("twelve", "12"),
        ("café", "cafe"),
        ("école", "École"),
        ("making", "make"),
        ("libya", "libyan"),
        ("libyan", "libya"),
    ],
)
def test_forms(word: str, form: str) -> None:
    """A word is found in its inflections, without its accents, and as a number."""
    assert form in forms_of(word)


@pytest.mark.parametrize("word", ["ab", "x2", "the", "北京"])
def test_forms_of_what_is_not_inflected(word: str) -> None:
    """Short words, codes, small words and signs have one form."""
    assert (word,) == forms_of(word)


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("running", "run"),
        ("classes", "class"),
        ("glass", "glass"),
        ("calling", "call"),
        ("houses", "hous"),
        ("sing", "sing"),
    ],
)
def test_stems(word: str, stem: str) -> None:
    """Endings are taken off where enough remains."""
    assert stem == stem_of(word)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("It is not so", [2]),
        ("It isn't", [1]),
        ("She won the cup", []),
        ("not only this", []),
        ("nobody", [0]),
        ("I don", []),
        ("It failed to start", [1]),
        ("It failed", []),
        ("Il museo non è aperto", [2]),
        ("non profit", []),
        ("不支持", [0]),
        ("重量不同", []),
        ("行きません", [3]),
        ("すせん", []),
        ("来ない", [1]),
        ("少ない", []),
        ("来なかった", [1]),
        ("なかなか", []),
        ("않습니다", [0]),
    ],
)
def test_negations(text: str, places: list[int]) -> None:
    """What negates is told from `not only`, and from words that a contraction begins with."""
    assert places == negations(words_of(text))


def test_unspaced() -> None:
    """Scripts without spaces are told from the others."""
    assert (True, False, False) == (is_unspaced("北京"), is_unspaced("école"), is_unspaced("x"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A-b", b"a b"),
        ("it\u2019s", b"it   s"),
        ("a\u00a0b", b"a  b"),
        ("\uff13\uff13\uff13", b"333"),
        ("É", "É".encode()),
        ("\u30d5", "\u30d5".encode()),
    ],
)
def test_lowered(text: str, expected: bytes) -> None:
    """Marks become spaces, one for each byte; wide digits are digits."""
    assert expected == low(raw_of(text))


@given(st.text())
def test_lowering_keeps_places(text: str) -> None:
    """Any text has as many bytes lowered as raw, and comes back whole."""
    raw = raw_of(text)
    assert len(raw) == len(low(raw))
    assert len(text) == len(text_of(raw))
