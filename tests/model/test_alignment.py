"""Values compared leaf by leaf, and the best assignment."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.alignment import assign, equal_leaf, equal_leaves, leaves

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, {}),
        ([], {"": b"[]"}),
        ("text ", {"": "text"}),
        (None, {"": b"null"}),
        ({"a": 1, "b": 2.5}, {"a": 1, "b": 2.5}),
        ({"a": True, "b": None}, {"a": b"true", "b": b"null"}),
        ({"a": {"b": {"c": "x"}}, "d": 1}, {"a.b.c": "x", "d": 1}),
        ({"a": {}, "b": []}, {"a": b"{}", "b": b"[]"}),
        (["x", ["y", "z"]], {"0": "x", "1.0": "y", "1.1": "z"}),
        ({"a.b": 1, 3: 2}, {"a\\.b": 1, "3": 2}),
        ({"n": math.inf}, {"n": b"null"}),
    ],
)
def test_leaves(value: object, found: dict[str, object]) -> None:
    """Each leaf has its dotted key path; an empty container below the top is one, true is not 1."""
    assert found == leaves(value)


def test_nested_beyond_recursion() -> None:
    """Depth is no matter."""
    value: object = "x"
    for _ in range(5000):
        value = {"a": value}
    assert ["x"] == list(leaves(value).values())


def test_equal_leaves() -> None:
    """Leaves are equal if path and value are; numbers with a tolerance if they are near."""
    one, other = {"a": 100, "b": "x", "c": 1}, {"a": 99.5, "b": "x", "d": 1}
    assert 1 == equal_leaves(one, other)
    assert 2 == equal_leaves(one, other, tolerance=0.01)


def test_equal_leaf() -> None:
    """A tolerance is for numbers only."""
    assert equal_leaf(1, 1.0)
    assert not equal_leaf(100, 101)
    assert equal_leaf(100, 101, tolerance=0.01)
    assert not equal_leaf(100, 102, tolerance=0.01)
    assert not equal_leaf("100", 100, tolerance=0.5)
    assert not equal_leaf(100, b"true", tolerance=0.5)


@pytest.mark.parametrize(
    ("gains", "columns"),
    [
        ([], []),
        ([[], []], [-1, -1]),
        ([[0.0]], [0]),
        ([[0.9, 0.8], [0.8, 0.1]], [1, 0]),
        ([[0.1, 0.9, 0.5]], [1]),
        ([[0.1], [0.9], [0.5]], [-1, 0, -1]),
    ],
)
def test_assign(gains: list[list[float]], columns: list[int]) -> None:
    """The sum is what counts; what is left over has no column."""
    assert columns == assign(gains)


GAINS = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0, 0.25, 1 / 3, 0.5, 2 / 3, 1]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


@given(GAINS)
def test_no_better_assignment(gains: list[list[float]]) -> None:
    """No other way to pair rows and columns has a larger sum."""
    found = assign(gains)
    rows, columns = len(gains), len(gains[0])
    taken = [column for column in found if column >= 0]
    assert len(taken) == len(set(taken)) == min(rows, columns)
    if rows > columns:
        tried = itertools.permutations(range(rows), columns)
        best = max(sum(gains[row][column] for column, row in enumerate(one)) for one in tried)
    else:
        tried = itertools.permutations(range(columns), rows)
        best = max(sum(gains[row][column] for row, column in enumerate(one)) for one in tried)
    assert math.isclose(best, sum(gains[row][column] for row, column in enumerate(found) if column >= 0), abs_tol=1e-9)


@given(JSON)
def test_a_value_and_itself(value: object) -> None:
    """All leaves of a value are equal to themselves, with and without tolerance."""
    found = leaves(value)
    assert len(found) == equal_leaves(found, leaves(value)) == equal_leaves(found, found, tolerance=0.1)
