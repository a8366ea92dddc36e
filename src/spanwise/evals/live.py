"""Evaluators of pydantic-evals on runs as they end: named as they are given, never asked about their own."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

from pydantic_evals.evaluators import Evaluator

from spanwise.capture._mark import judging
from spanwise.evals._loop import waited
from spanwise.evals.adapter import as_evaluator, scores_of
from spanwise.evals.evaluator import RunEvaluator
from spanwise.model.score import Score
from spanwise.model.trace import Run

Asked: TypeAlias = Evaluator[object, object, object]


@dataclass(frozen=True, slots=True)
class OnRuns:
    """An evaluator of pydantic-evals that is called on runs; runs of its own that it makes are not scored."""

    foreign: ClassVar[bool] = True
    name: str
    evaluator: Asked

    def __call__(self, run: Run, /) -> Sequence[Score]:
        with judging():
            return scores_of(_waiting(self.evaluator), run, self.name)


def _waiting(evaluator: Asked) -> Asked:
    """The evaluator; of an asynchronous one a copy that waits for the verdict, on the loop for all of them."""
    ask = cast("Callable[[object], Coroutine[object, object, object]]", evaluator.evaluate)
    if not inspect.iscoroutinefunction(ask):
        return evaluator
    made = copy.copy(evaluator)

    def evaluate(ctx: object) -> object:
        return waited(ask(ctx))

    vars(made)["evaluate"] = evaluate
    return made


def as_called(name: str, evaluator: object) -> object:
    """An evaluator of runs, called so; one of `spanwise.evals` is its built-in again, and any other what it is."""
    if not isinstance(evaluator, Evaluator):
        return evaluator
    if isinstance(evaluator, RunEvaluator):
        return as_evaluator(evaluator)
    return OnRuns(name, cast("Asked", evaluator))
