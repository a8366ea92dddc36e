"""The protocols that evaluators, sinks and sources fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from spanwise.model.raw import LogEvent, SpanRecord
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run

Record: TypeAlias = SpanRecord | LogEvent

Content: TypeAlias = Literal["none", "evidence", "all"]
"""How much is let out of what people, models and tools wrote: nothing, quotes and reasons, or all of it."""
Mask: TypeAlias = Callable[[str], str]
"""A text without its secrets; what is masked already stays as it is."""


@runtime_checkable
class Evaluator(Protocol):
    """A frozen value that is called on a run; its parameters are its fields."""

    def __call__(self, run: Run, /) -> Score | Sequence[Score]: ...


@runtime_checkable
class SteppedEvaluator(Protocol):
    """An evaluator that works in steps, so that a live worker can let the app run between them, or stop it.

    Each None ends a step. Whatever else is yielded is a Score or several, in the order in which they are shown; the end
    of the iterator is the end of the evaluation. One that is stopped is closed where it stands, and gives no score:
    what it needs to tidy up belongs into a `finally`. Of an evaluator that has both steps and a call, the steps count.
    """

    def steps(self, run: Run, /) -> Iterator[Score | Sequence[Score] | None]: ...


def outcome(steps: Iterator[Score | None], /) -> Score:
    """What an evaluator that works in steps says in the end: its one score."""
    return next(score for score in steps if score is not None)


AnyEvaluator: TypeAlias = Evaluator | SteppedEvaluator


class Document(Protocol):
    """How a run is spelt as JSON, with as much content as is asked for, its secrets masked."""

    def __call__(
        self, result: RunResult, /, *, content: Content = ..., mask: Mask | None = ...
    ) -> Mapping[str, object]: ...


class Sink(Protocol):
    """A destination of results.

    It may say more of itself: `emits`, the content that it lets out where the user set nothing (a `Content`; "all"
    where it does not say); `inline = True`, if it never waits and needs no thread of its own; `idle`, while
    it would do nothing with results; `drops`, how many it refused, by reason; `held`, how many it holds in memory only;
    and `flush(timeout_s) -> bool`, which waits until what it was given has arrived.
    """

    def emit(self, results: Sequence[RunResult], /) -> None: ...
    def close(self) -> None: ...
