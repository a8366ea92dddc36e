"""Reading one value out of a mapping whose values may have any type."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions._values import first_int, first_number, first_text, int_of, mapping_of, number_of, text_of

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.integers(), max_size=2)
)


@pytest.mark.parametrize(("value", "text"), [("a", "a"), ("", None), (3, None), (None, None), (b"a", None)])
def test_text(value: object, text: str | None) -> None:
    """Only text that says something is text."""
    assert text == text_of(value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (2.5, 2.5),
        ("2.5", 2.5),
        (" 7 ", 7),
        ("1e3", 1000),
        (-1, -1),
        (True, None),
        (None, None),
        ("many", None),
        ("nan", None),
        (math.inf, None),
        ("inf", None),
        ([1], None),
        (10**400, None),
    ],
)
def test_numbers(value: object, number: float | None) -> None:
    """Finite numbers, also as text; neither booleans nor what is no number."""
    assert number == number_of(value)


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3), (3.0, 3), ("3", 3), ("3.0", 3), (2.5, None), (-1, None), (False, None), (None, None)]
)
def test_whole_numbers(value: object, number: int | None) -> None:
    """Counts are whole and not negative, whatever they are written as."""
    assert number == int_of(value)
    assert number is None or type(int_of(value)) is int


def test_the_first_that_holds() -> None:
    """Of several keys the first counts that holds what is asked for."""
    fields = {"a": None, "b": "", "c": True, "d": -1, "e": 5, "f": "text", "g": 7.5, "h": [1]}
    assert ["5", "text", None, None] == [
        first_text(fields, *keys) for keys in (("a", "b", "c", "h", "e"), ("b", "f"), ("c", "g"), ("x",))
    ]
    assert [5, None, None] == [first_int(fields, *keys) for keys in (("a", "d", "g", "e"), ("f",), ("x",))]
    assert [-1, 7.5, None] == [first_number(fields, *keys) for keys in (("a", "c", "d"), ("f", "g"), ("x", "h"))]


def test_mappings() -> None:
    """A mapping is one, nothing else is."""
    assert [{}, None, None] == [mapping_of(value) for value in ({}, [], "{}")]


@given(ANYTHING)
def test_any_value(value: object) -> None:
    """Whatever a value is, reading it raises nothing and finds a number that is finite, or none."""
    number = number_of(value)
    assert number is None or math.isfinite(number)
    assert int_of(value) in {None, number}
    assert (first_number({"k": value}, "k"), first_int({"k": value}, "k")) == (number, int_of(value))
    assert first_text({"k": value}, "k") in {None, text_of(value), str(value)}
