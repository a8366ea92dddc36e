"""Results handed to a function of the app's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spanwise.model.result import RunResult


@dataclass(frozen=True, slots=True)
class CallbackSink:
    """Calls a function with each result, on the thread that scores. What it raises is counted and goes no further."""

    callback: Callable[[RunResult], object]

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Call the function with each run's result."""
        for result in results:
            self.callback(result)

    def close(self) -> None:
        """Nothing is open."""
