"""How much is held, and who has to come again for that.

Past the soft mark of a bound a request that opens a trace is refused, and one whose traces are all held is taken, so
that open traces can end. Past the bound everything is refused. Traces that are finished do not count: they give way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spanwise.service.refusal import Refusal

SOFT = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may be held at once: records that wait, and what unfinished traces hold.

    Args:
        queue: Records that wait for the thread that scores.
        traces: Unfinished traces.
        spans: Records of these.
        bytes: About the bytes of these, and of requests that wait.
        retry_after_s: When a sender is to come again.
    """

    queue: int = 50_000
    traces: int = 100_000
    spans: int = 1_000_000
    bytes: int = 1 << 30
    retry_after_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much of something there is, how much there may be, and what a request would add."""

    name: str
    now: int
    most: int
    more: int = 0

    @property
    def is_past(self) -> bool:
        """It does not fit. A request that is larger than the bound is taken alone, or it would never be."""
        return self.now > 0 and self.now + self.more > self.most

    @property
    def is_soft(self) -> bool:
        """There is little room left."""
        return self.now > SOFT * self.most


def refusal_of(loads: Sequence[Load], bounds: Bounds, are_held: Callable[[], bool]) -> Refusal | None:
    """Whether a request has to come again; `are_held` tells whether all its traces are held."""
    for load in loads:
        if load.is_past:
            return Refusal(load.name, bounds.retry_after_s, overload=True)
    for load in loads:
        if load.is_soft:
            return None if are_held() else Refusal(load.name, bounds.retry_after_s, overload=True)
    return None
