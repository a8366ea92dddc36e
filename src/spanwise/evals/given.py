"""Evaluators as users give them, those of pydantic-evals made evaluators of runs; it is loaded for those only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias, cast

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


Evaluators: TypeAlias = Mapping[str, AnyEvaluator | CaseEvaluator] | Sequence[str | AnyEvaluator | CaseEvaluator]
"""Evaluators by name, or a list of names and evaluators."""


def by_name(
    evaluators: Evaluators, made: Callable[[Collection[str]], Mapping[str, AnyEvaluator]]
) -> Mapping[str, AnyEvaluator | CaseEvaluator]:
    """The evaluators by name, those that a list names as `made` makes them; others have their own names.

    Raises:
        SpecError: A single name is given in the place of a list.
    """
    if isinstance(evaluators, str):
        raise SpecError(f"evaluators: read {evaluators!r}, expected a list of names and evaluators: [{evaluators!r}]")
    if isinstance(evaluators, Mapping):
        return evaluators
    names = [one for one in evaluators if isinstance(one, str)]
    found: dict[str, AnyEvaluator | CaseEvaluator] = dict(made(names)) if names else {}
    for one in evaluators:
        if not isinstance(one, str):
            found[free_name(named(one), found)] = one
    return found


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number behind it where it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


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
