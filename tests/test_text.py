"""Excerpts that fit on a line, and the words of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.text import excerpt, words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("two\n  lines\there", "two lines here"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (3, "3"),
        (None, ""),
        ("", ""),
        (object, "<type>"),
        ("x" * 11, "x" * 9 + "…"),
        ("x" * 10, "x" * 10),
        ("a" + " " * 100 + "b", "a…"),
    ],
)
def test_excerpts(value: object, shown: str) -> None:
    """Values stand on one line, JSON compact, and bear a mark where they were cut."""
    assert shown == excerpt(value, limit=max(10, len(shown)) if isinstance(value, str) and len(value) < 20 else 20)


def test_nested_beyond_recursion() -> None:
    """What cannot be written is named."""
    value: object = 1
    for _ in range(50_000):
        value = [value]
    assert "<list>" == excerpt(value)


@given(st.text(), st.integers(1, 50))
def test_never_too_long(text: str, limit: int) -> None:
    """An excerpt is never longer than its limit, never more than a line, and marked exactly where words are missing."""
    shown = excerpt(text, limit=limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    assert shown == " ".join(text.split()) or shown.endswith("…")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! ...", []),
        ("Refund-policy, v2.1", ["refund", "policy", "v2", "1"]),
        ("user_id don't", ["user", "id", "don", "t"]),
        ("Straße ÄRGER Ἀθῆναι", ["strasse", "ärger", "ἀθῆναι"]),
        ("cafe\u0301 ﬁne", ["café", "fine"]),
        ("東京タワー is tall", ["東", "京", "タ", "ワ", "ー", "is", "tall"]),
        ("서울 날씨", ["서울", "날씨"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Words are compared in lower case, composed, divided by all that is no letter or digit; signs stand alone."""
    assert expected == words(text)


@given(st.text())
def test_words_of_any_text(text: str) -> None:
    """Whatever the text, its words hold no space and no stroke, and are found again in themselves."""
    found = words(text)
    assert all(word and not any(sign.isspace() or sign == "_" for sign in word) for word in found)
    assert words(" ".join(found)) == found
