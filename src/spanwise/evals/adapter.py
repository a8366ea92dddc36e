"""Any evaluator of pydantic-evals as an evaluator of runs: live, from files, in a gate.

What it returns, as scores: a bool is 1 or 0, labelled `ok` or `alert`; a number in [0, 1] is that value; another number
is a value with the unit `number`; text is a label, on a value with the unit `label` that enters no average. Nothing
(`{}`) is not applicable. What it raises is an error. An evaluator that counts tool calls or model requests says nothing
of a run in which none could have been seen: that is not measurable. What it does not name itself is called what the
evaluator is called: `max_tool_calls`, or its key in settings.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import new_class
from typing import cast

from pydantic_evals.evaluators import (
    ArgumentCorrectness,
    EvaluationReason,
    Evaluator,
    EvaluatorContext,
    MaxModelRequests,
    MaxToolCalls,
    ToolCorrectness,
    TrajectoryMatch,
)

from spanwise.evals.contexts import context_of
from spanwise.evals.evaluator import RunEvaluator
from spanwise.model.expectation import unseen
from spanwise.model.ports import Evaluator as RunAsked
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.run import name_of

_CALLS = (ToolCorrectness, TrajectoryMatch, ArgumentCorrectness, MaxToolCalls)
_HELD = "_evals_context"


@dataclass(frozen=True, slots=True)
class Adapted:
    """An evaluator of pydantic-evals that is called on a run; it is named as that evaluator is in reports."""

    evaluator: Evaluator[object, object, object]

    def __call__(self, run: Run, /) -> Sequence[Score]:
        return scores_of(self.evaluator, run, name_of(self))

    def __getattr__(self, name: str) -> str:
        if name in {"__name__", "__qualname__"}:
            return self.evaluator.get_default_evaluation_name()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def as_evaluator(evaluator: Evaluator[object, object, object]) -> RunAsked:
    """An evaluator of pydantic-evals as an evaluator of runs; one of `spanwise.evals` is its built-in again."""
    return evaluator.built_in() if isinstance(evaluator, RunEvaluator) else Adapted(evaluator)


def adapted(found: object) -> object:
    """What was found by a path, an evaluator of pydantic-evals, or a class of them, made one of runs."""
    if isinstance(found, Evaluator):
        return as_evaluator(cast("Evaluator[object, object, object]", found))
    if not isinstance(found, type) or not issubclass(found, Evaluator) or issubclass(found, RunEvaluator):
        return cast("object", found)
    return _callable(cast("type[Evaluator[object, object, object]]", found))


def _callable(kind: type[Evaluator[object, object, object]]) -> type[object]:
    """The class, its values called on runs: with the same parameters, under the same name."""

    def call(self: Evaluator[object, object, object], run: Run, /) -> Sequence[Score]:
        return scores_of(self, run, name_of(self))

    namespace = {"__call__": call, "__module__": kind.__module__, "__doc__": kind.__doc__}
    return new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(namespace))


def scores_of(evaluator: Evaluator[object, object, object], run: Run, name: str) -> Sequence[Score]:
    """What an evaluator of pydantic-evals says of a run, as scores; one that it does not name itself has this name."""
    version = evaluator.get_evaluator_version() or "1"
    blind = _blind(evaluator, run)
    if blind:
        return (not_measurable(name, blind),)
    said = _asked(evaluator, _context(run))
    given = cast("Mapping[object, object]", said) if isinstance(said, Mapping) else {name: said}
    if not given:
        return (not_applicable(name, "The evaluator says nothing of this run."),)
    return [_score(str(key), value, version) for key, value in given.items()]


def _context(run: Run) -> EvaluatorContext[object, object, object]:
    """The context of a run, built once however many evaluators ask for it."""
    held = vars(run)
    if _HELD not in held:
        held[_HELD] = context_of(run)
    return cast("EvaluatorContext[object, object, object]", held[_HELD])


def _blind(evaluator: object, run: Run) -> str:
    """Why a verdict would be about what the spans do not show; empty where it would not."""
    if isinstance(evaluator, _CALLS) and not run.tool_calls:
        why = unseen(run)
        return f"Which tools were called cannot be told: {why}" if why else ""
    if isinstance(evaluator, MaxModelRequests) and not run.llm_calls:
        return (
            f"How often a model was asked cannot be told: {run.lacks('spans', 'llm_calls') or 'no call left a span.'}"
        )
    if isinstance(evaluator, ArgumentCorrectness):
        asked = [call for call in run.work if call.name == evaluator.tool_name]
        if any(call.arguments_state != "present" for call in asked):
            why = run.lacks("arguments") or "the spans do not record it."
            return f"What {evaluator.tool_name} was called with cannot be told: {why}"
    return ""


def _asked(evaluator: Evaluator[object, object, object], ctx: EvaluatorContext[object, object, object]) -> object:
    """What an evaluator returns, be it asynchronous or not, whether or not an event loop runs on this thread."""
    said: object = evaluator.evaluate(ctx)
    if not inspect.iscoroutine(said):
        return said
    waiting = cast("Coroutine[object, object, object]", said)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _waited(waiting)
    with ThreadPoolExecutor(1, thread_name_prefix="spanwise-evaluator") as pool:
        return pool.submit(_waited, waiting).result()


def _waited(waiting: Coroutine[object, object, object]) -> object:
    """What a coroutine gives, on a loop of its own: the one that the thread may have stays what it is."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(waiting)


def _score(name: str, value: object, version: str) -> Score:
    reason = ""
    if isinstance(value, EvaluationReason):
        value, reason = value.value, value.reason or ""
    if isinstance(value, bool):
        words = reason or f"The assertion {'holds' if value else 'does not hold'}."
        return Score(name=name, value=float(value), label="ok" if value else "alert", reason=words, version=version)
    if isinstance(value, str):
        return Score(name=name, value=1.0, unit="label", label=value, reason=reason, version=version)
    if isinstance(value, int | float) and math.isfinite(value):
        unit = "" if 0 <= value <= 1 else "number"
        return Score(name=name, value=float(value), unit=unit, reason=reason, version=version)
    raise TypeError(f"{name}: an evaluator returns a bool, a finite number, text or a mapping of them, not {value!r}")
