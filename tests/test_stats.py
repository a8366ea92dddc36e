"""Arithmetic on lists of numbers."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.stats import mean, pass_hat, percentile, quantile, variance, wilson

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (1 / 3, 2.0), (0.95, 3.85), (1.0, 4.0)]
)
def test_percentiles(share: float, value: float) -> None:
    """Between two values the percentile is interpolated; the order in which they are given does not matter."""
    assert pytest.approx(value) == percentile([3, 1, 4, 2], share) == quantile([1, 2, 3, 4], share)


def test_of_a_single_value() -> None:
    """A single value is its own mean and every percentile."""
    assert [7.0] * 4 == [mean([7.0]), *(percentile([7.0], share) for share in (0.0, 0.5, 1.0))]


def test_fractions_are_summed_exactly() -> None:
    """The mean is the same in every order, and by every version of Python."""
    assert [0.1, 0.5 / 3] == [mean([0.1] * 10), mean([1e16, 0.5, -1e16])]


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


@given(VALUES)
def test_the_variance_of_a_sample(values: list[float]) -> None:
    """The variance is the standard library's, which divides by n - 1; of a single value there is none."""
    found = variance(values)
    assert (found is None) == (len(values) < 2)
    if found is not None:
        assert pytest.approx(statistics.variance(values), rel=1e-6, abs=1e-6) == found


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (3, 3, 0.438503, 1.0),
        (0, 3, 0.0, 0.561497),
        (5, 10, 0.236593, 0.763407),
        (9, 10, 0.595850, 0.982124),
        (90, 100, 0.825634, 0.944771),
    ],
)
def test_wilson_intervals(successes: int, trials: int, low: float, high: float) -> None:
    """The interval is Wilson's: it has a width where all or none succeeded, and ends there."""
    assert (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6)) == wilson(successes, trials)


@given(st.integers(0, 60), st.integers(0, 60))
def test_wilson_intervals_hold_the_share(successes: int, failures: int) -> None:
    """The interval lies in [0, 1] and holds the share that was seen."""
    low, high = wilson(successes, successes + failures)
    share = successes / (successes + failures) if successes + failures else 0.5
    assert 0.0 <= low <= share <= high <= 1.0


@pytest.mark.parametrize("k", [0, -1, 5])
def test_pass_hat_of_too_few_trials(k: int) -> None:
    """Of fewer trials than k, and of no trial, nothing is said."""
    assert None is pass_hat(4, 4, k)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 7))
def test_pass_hat_counts_subsets(trials: int, k: int, successes: int) -> None:
    """It is the share of all choices of k trials in which every trial succeeded."""
    if k > trials or successes > trials:
        return
    seen = [True] * successes + [False] * (trials - successes)
    chosen = [all(one) for one in itertools.combinations(seen, k)]
    assert pytest.approx(sum(chosen) / len(chosen)) == pass_hat(successes, trials, k)
