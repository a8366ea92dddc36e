"""Results handed to a function of the app's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spanwise.model.ports import Content
from spanwise.model.result import RunResult


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """Calls a function with each result. What it raises is counted and goes no further.

    In a running app it has a thread of its own, so a slow function delays nobody.
    """

    emits: ClassVar[Content] = "all"
    callback: Callable[[RunResult], object]

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Call the function with each run's result."""
        for result in results:
            self.callback(result)

    def close(self) -> None:
        """Nothing is open."""
