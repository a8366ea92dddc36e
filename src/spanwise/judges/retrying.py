"""How long to wait before a request is sent again."""

from __future__ import annotations

_FIRST_S, _LONGEST_S = 0.5, 30.0


def pause_s(attempt: int, *, after_s: float | None, chance: float) -> float:
    """Seconds before the next attempt.

    What the provider asked for is kept, and a little more, so that not all come back at once. Without such a wish the
    pause doubles from attempt to attempt up to 30 seconds, and is somewhere between half and all of that.

    Args:
        attempt: How many attempts failed before this one, from 0.
        after_s: What the provider asked for.
        chance: A random number in [0, 1).
    """
    if after_s is not None:
        return max(after_s, 0.0) + min(max(after_s, _FIRST_S) * 0.1, 1.0) * chance
    longest = min(_FIRST_S * 2.0 ** min(attempt, 30), _LONGEST_S)
    return longest * (0.5 + 0.5 * chance)
