"""Arithmetic on lists of numbers, and on counts of trials.

Fractions are summed by `math.fsum`, here and wherever a score depends on it: what `sum` makes of them depends on their
order, and since Python 3.12 on the version.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Z_95 = 1.959963984540054
"""How many standard deviations hold 95 % of a normal distribution."""


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share in [0, 1] of at least one value lies, interpolated between neighbours."""
    return quantile(sorted(values), share)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The same of values that go from least to most."""
    last = len(ordered) - 1
    at = share * last
    low = int(at)
    high = low + 1 if low < last else last
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def variance(values: Sequence[float]) -> float | None:
    """The sample variance, which divides by n - 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def wilson(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Between which shares the true one lies, by Wilson's score interval; (0, 1) without a trial.

    It holds for few trials and for shares of 0 and 1, where the usual interval has no width: 3 of 3 show 44 % or more.
    """
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    scale = 1.0 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1.0 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == trials else min(centre + half, 1.0)
    return low, high


def pass_hat(successes: int, trials: int, k: int) -> float | None:
    """The chance that k further trials all succeed, without bias: C(c, k) / C(n, k); None for fewer than k trials.

    The share of successes to the power of k, which is often given instead, is too high or too low on average.
    """
    if k < 1 or trials < k:
        return None
    return math.comb(successes, k) / math.comb(trials, k)
