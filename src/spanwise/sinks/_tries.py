"""Trying again what a server could not do now, a few times, on the thread of a sink."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PAUSES_S = (0.5, 1.5, 4.0)
LONGEST_S = 20.0
_T = TypeVar("_T")


def tried(
    call: Callable[[], _T],
    again: Callable[[Exception], float | None],
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> _T:
    """What the call gives, at the latest the fourth time.

    `again` says of a failure how long the server wants to be left alone, 0 if it does not say, None for what stays as
    it is; then, and after the last time, the failure is raised.
    """
    for pause in PAUSES_S:
        try:
            return call()
        except Exception as error:
            wanted = again(error)
            if wanted is None:
                raise
            sleep(min(max(pause, wanted), LONGEST_S))
    return call()
