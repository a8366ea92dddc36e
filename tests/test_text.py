"""Excerpts that fit on a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.text import excerpt


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
