"""Arithmetic on lists of numbers."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.stats import mean, percentile

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (1 / 3, 2.0), (0.95, 3.85), (1.0, 4.0)]
)
def test_percentiles(share: float, value: float) -> None:
    """Between two values the percentile is interpolated; the order in which they are given does not matter."""
    assert pytest.approx(value) == percentile([3, 1, 4, 2], share)


def test_of_a_single_value() -> None:
    """A single value is its own mean and every percentile."""
    assert [7.0] * 4 == [mean([7.0]), *(percentile([7.0], share) for share in (0.0, 0.5, 1.0))]


@given(VALUES)
def test_against_the_standard_library(values: list[float]) -> None:
    """Mean and median are the standard library's."""
    assert pytest.approx(statistics.fmean(values), abs=1e-6) == mean(values)
    assert pytest.approx(statistics.median(values), abs=1e-6) == percentile(values, 0.5)


@given(VALUES, st.floats(0, 1), st.floats(0, 1))
def test_percentiles_grow(values: list[float], one: float, other: float) -> None:
    """A greater share never has a smaller percentile, and all lie between the extremes."""
    low, high = percentile(values, min(one, other)), percentile(values, max(one, other))
    assert min(values) - 1e-6 <= low <= high + 1e-6 <= max(values) + 2e-6
