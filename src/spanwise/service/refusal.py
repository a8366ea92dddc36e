"""Not now: what a sender is told that has to come again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now: the sender has to come again after so many seconds.

    Args:
        reason: `queue`, `traces`, `spans`, `bytes` (too much is held), `starting`, `draining`, `wal`.
        retry_after_s: When to come again.
        overload: There is too much (RESOURCE_EXHAUSTED, 429), or the service is not there just now (UNAVAILABLE, 503).
    """

    reason: str
    retry_after_s: float
    overload: bool
