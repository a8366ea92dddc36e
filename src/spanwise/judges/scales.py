"""Scales of whole numbers, and what a number on one means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.errors import ModelError

Word: TypeAlias = Literal["pass", "borderline", "fail"]
_LABELS = {"pass": "ok", "borderline": "warn", "fail": "alert"}
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Whole numbers from `low` to `high`, of which the highest is best.

    Args:
        low: The worst.
        high: The best.
        threshold: The least value in [0, 1] that passes; the number just below it is borderline, the rest fail. Where
            not given, 3 of 0-3 pass and 2 is borderline; 4 and 5 of 1-5 pass and 3 is borderline.

    Raises:
        ModelError: The numbers make no scale.
    """

    low: int = 0
    high: int = 3
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 10:
            raise ModelError(
                f"Scale: read {self.low} to {self.high}, expected two numbers from 0 to 10, low before high."
            )
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise ModelError(f"Scale: threshold is {self.threshold!r}, expected a number from 0 to 1.")

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number on it."""
        return tuple(range(self.low, self.high + 1))

    @property
    def pass_at(self) -> int:
        """The least number that passes."""
        if self.threshold is None:
            return self.high - (self.high - self.low) // 4
        return math.ceil(self.low + self.threshold * (self.high - self.low) - _TOLERANCE)

    def value(self, number: int) -> float:
        """The number's place between worst (0) and best (1)."""
        return (number - self.low) / (self.high - self.low)

    def nearest(self, value: float) -> int:
        """The number whose value is nearest; of two the lower."""
        return min(self.numbers, key=lambda number: (abs(self.value(number) - value), number))

    def word(self, number: int) -> Word:
        """Whether the number passes."""
        if number >= self.pass_at:
            return "pass"
        return "borderline" if number == self.pass_at - 1 else "fail"

    def label(self, number: int) -> str:
        """The label of a score; empty where the thresholds of all scores say the same, and may be set by the user."""
        return "" if self == Scale() else _LABELS[self.word(number)]


ZERO_TO_THREE = Scale()
ONE_TO_FIVE = Scale(low=1, high=5)
