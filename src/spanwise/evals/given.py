"""Evaluators as users give them, those of pydantic-evals made evaluators of runs; it is loaded for those only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from spanwise.errors import SpecError
from spanwise.evals.foreign import is_foreign
from spanwise.evals.versions import require
from spanwise.model.ports import AnyEvaluator
from spanwise.run import in_snake_case, name_of


class CaseEvaluator(Protocol):
    """An evaluator of pydantic-evals."""

    @property
    def evaluate(self) -> Callable[..., object]:
        """What is called with a context."""
        ...

    def get_default_evaluation_name(self) -> str:
        """What its verdict is called."""
        ...


def named(evaluator: AnyEvaluator | CaseEvaluator) -> str:
    """The name that an evaluator has of itself: of one of pydantic-evals that of its verdict, in snake case."""
    if is_foreign(evaluator) and not isinstance(evaluator, type):
        return in_snake_case(cast("CaseEvaluator", evaluator).get_default_evaluation_name())
    return name_of(evaluator)


def on_runs(evaluators: Mapping[str, AnyEvaluator | CaseEvaluator]) -> Mapping[str, AnyEvaluator]:
    """The evaluators, those of pydantic-evals called on runs, their verdicts named as they are here.

    Raises:
        SpecError: One is a class, or of a version of pydantic-evals that cannot be served.
    """
    given = {name: _unwrapped(one) for name, one in evaluators.items()}
    foreign = {name: one for name, one in given.items() if is_foreign(one)}
    if not foreign:
        return cast("Mapping[str, AnyEvaluator]", evaluators)
    require()
    for name, one in foreign.items():
        if isinstance(one, type):
            raise SpecError(f"evaluator {name!r}: read the class {one.__name__}, expected a value: {one.__name__}(...)")
    from spanwise.evals.live import as_called

    return cast("Mapping[str, AnyEvaluator]", {name: as_called(name, one) for name, one in given.items()})


def _unwrapped(evaluator: object) -> object:
    """The evaluator of pydantic-evals in what `as_evaluator` made of it; anything else as it is."""
    inner: object = getattr(evaluator, "evaluator", None)
    return inner if type(evaluator).__module__ == "spanwise.evals.adapter" and is_foreign(inner) else evaluator
