"""The protocols that evaluators, sinks and sources fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from spanwise.model.raw import LogEvent, RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run

Record: TypeAlias = RawSpan | LogEvent


@runtime_checkable
class Evaluator(Protocol):
    """A frozen value that is called on a run; its parameters are its fields."""

    def __call__(self, run: Run, /) -> Score | Sequence[Score]: ...


@runtime_checkable
class SteppedEvaluator(Protocol):
    """An evaluator that reads much text, and yields between steps so that a live worker can let the app run."""

    def steps(self, run: Run, /) -> Iterator[Score | None]: ...


class Sink(Protocol):
    """A destination of results."""

    def emit(self, results: Sequence[RunResult], /) -> None: ...
    def close(self) -> None: ...
