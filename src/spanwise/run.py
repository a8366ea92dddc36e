"""Applying evaluators to one run: the one place that turns an exception into an `error` score."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import cast

from spanwise.errors import ModelError
from spanwise.evaluators.overall import Overall
from spanwise.model.expectation import Rules
from spanwise.model.ports import AnyEvaluator, Evaluator, SteppedEvaluator
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run

_log = logging.getLogger("spanwise")
_told: set[tuple[str, type[BaseException]]] = set()
_hashes: dict[int, tuple[object, str]] = {}
_HASHES = 256
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

THRESHOLDS: Mapping[str, tuple[float, float]] = {
    "tool_selection": (0.90, 0.80),
    "redundancy": (0.95, 0.85),
    "recovery": (0.80, 0.50),
    "latency": (0.90, 0.70),
}
"""For a score without a unit: `ok` at or above the first number, `alert` below the second, `warn` between."""
DEFAULT_THRESHOLD = (0.80, 0.60)


class _OverrunError(Exception):
    """An evaluator was stopped, or took too long and could not be."""


def evaluate(
    run: Run,
    evaluators: Mapping[str, AnyEvaluator],
    *,
    revision: int = 1,
    thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS,
    overall: Overall | None = None,
    rules: Rules | None = None,
    budget_ns: int | None = None,
    clock: Callable[[], int] | None = None,
    pause: Callable[[], None] | None = None,
    took: Callable[[str, int], None] | None = None,
) -> RunResult:
    """The run with the scores of all evaluators, in their order.

    A score named as its evaluator's class is renamed to what the evaluator is called here, so that one evaluator can
    run in two configurations. A second score of a name becomes an error.

    Args:
        run: What is evaluated.
        evaluators: What to ask, by name.
        revision: How often the run was given before, plus one.
        thresholds: When a score without a unit is ok, and when it is an alert, by the score's name.
        overall: How to weigh the scores into one, which comes last.
        rules: The first that matches the query names its type.
        budget_ns: How long an evaluator may take. One that works in steps is stopped after it; of another one the
            overrun is logged once.
        clock: Nanoseconds that only grow; needed for a budget.
        pause: Called before each evaluator, and between the steps of one that works in steps: the place for a worker to
            let others run.
        took: Told how many nanoseconds each evaluator took, by the clock.

    Raises:
        ModelError: A budget without a clock.
    """
    if budget_ns is not None and clock is None:
        raise ModelError(f"A budget of {budget_ns} ns cannot be kept without a clock: give `clock`.")
    finish = _Finish(revision, thresholds)
    if budget_ns is None and took is None:
        clock = None  # nobody asks how long it takes
    for name, evaluator in evaluators.items():
        if pause is not None:
            pause()
        if clock is None:
            finish.take(name, evaluator, _guarded(name, evaluator, run, pause=pause))
            continue
        begun = clock()
        past = None if budget_ns is None else _Budget(budget_ns, begun, clock)
        finish.take(name, evaluator, _guarded(name, evaluator, run, past, pause))
        ns = clock() - begun
        if took is not None:
            took(name, ns)
        if budget_ns is not None and ns > budget_ns and not hasattr(evaluator, "steps"):
            _tell_overrun(name, ns, budget_ns)
    if overall is not None:
        finish.take("overall", overall, (overall(finish.scores),))
    return RunResult(
        run=run,
        scores=tuple(finish.scores),
        revision=revision,
        source=run.trace.source,
        query_type=_type_of(run, rules),
    )


def _type_of(run: Run, rules: Rules | None) -> str:
    query = run.query if rules is not None and rules.rules else None
    return "" if query is None or rules is None else rules.match(query).query_type


@dataclass(frozen=True, slots=True)
class _Budget:
    """How long an evaluator may take, from when, by which clock."""

    ns: int
    begun: int
    clock: Callable[[], int]

    def check(self, steps: int) -> None:
        """Refuse to go on once the time is over."""
        if self.clock() - self.begun > self.ns:
            many = f"{steps} step{'s' if steps > 1 else ''}"
            raise _OverrunError(f"time budget of {self.ns / 1e6:g} ms exceeded after {many}")


def _guarded(
    name: str,
    evaluator: AnyEvaluator,
    run: Run,
    budget: _Budget | None = None,
    pause: Callable[[], None] | None = None,
) -> Sequence[Score]:
    """What an evaluator says, or one `error` score that says what became of it."""
    try:
        # Not isinstance: a look at a protocol takes longer than many an evaluator.
        if hasattr(evaluator, "steps"):
            return _stepped(cast("SteppedEvaluator", evaluator), run, budget, pause)
        said = cast("Evaluator", evaluator)(run)
        return (said,) if isinstance(said, Score) else _listed(said)
    except _OverrunError as overrun:
        return (Score(name=name, status="error", reason=str(overrun)),)
    except Exception as exc:  # noqa: BLE001  (an evaluator may be anybody's; its failure is a result)
        if (name, type(exc)) not in _told:
            _told.add((name, type(exc)))
            _log.warning("evaluator %r failed; further failures of this kind are not logged", name, exc_info=True)
        return (Score(name=name, status="error", reason=f"{type(exc).__name__}: {exc}"),)


def _stepped(
    evaluator: SteppedEvaluator, run: Run, budget: _Budget | None, pause: Callable[[], None] | None
) -> Sequence[Score]:
    """The scores of an evaluator that works in steps, as long as it keeps to its budget."""
    steps: Iterator[object] = evaluator.steps(run)
    scores: list[Score] = []
    done = 0
    try:
        for said in steps:
            if said is not None:
                scores += _listed(said)
                continue
            done += 1
            if budget is not None:
                budget.check(done)
            if pause is not None:
                pause()
    finally:
        close = getattr(steps, "close", None)
        if callable(close):
            close()
    return scores


def _listed(said: object) -> Sequence[Score]:
    if isinstance(said, Score):
        return (said,)
    listed = tuple(cast("Sequence[object]", said))
    scores = [score for score in listed if isinstance(score, Score)]
    if len(scores) != len(listed):
        raise TypeError(f"an evaluator returns Scores, this one {said!r}")
    return scores


def _tell_overrun(name: str, took_ns: int, budget_ns: int) -> None:
    if (name, _OverrunError) not in _told:
        _told.add((name, _OverrunError))
        _log.warning(
            "evaluator %r took %g ms of a budget of %g ms; it has no steps and cannot be stopped; this is logged once",
            name,
            took_ns / 1e6,
            budget_ns / 1e6,
        )


class _Finish:
    """Scores as they are handed on: named, labelled, and each name once."""

    def __init__(self, revision: int, thresholds: Mapping[str, tuple[float, float]]) -> None:
        self.scores: list[Score] = []
        self._givers: dict[str, str] = {}
        self._revision = revision
        self._thresholds = thresholds

    def take(self, name: str, evaluator: object, said: Sequence[Score]) -> None:
        """Take what one evaluator said."""
        hashed = ""
        for score in said:
            called = name if score.name == name else _renamed(score.name, name_of(evaluator), name)
            if called in self._givers:
                score, called = self._twice(called, name)
            self._givers[called] = name
            hashed = score.config_hash or hashed or config_hash(evaluator)
            self.scores.append(self._completed(score, called, name, hashed))

    def _twice(self, called: str, name: str) -> tuple[Score, str]:
        """The error in place of a score whose name is taken, under a name that is not."""
        free = name
        number = 1
        while free in self._givers:
            number += 1
            free = f"{name}_{number}"
        giver = self._givers[called]
        who = "it gave one already" if giver == name else f"evaluator {giver!r} gave one already"
        return Score(name=free, status="error", reason=f"a second score named {called!r}: {who}"), free

    def _completed(self, score: Score, called: str, name: str, hashed: str) -> Score:
        label = score.label
        if not label and score.value is not None and not score.unit:
            known = called if called in self._thresholds else score.name
            label = label_of(known, score.value, thresholds=self._thresholds)
        return Score(  # `dataclasses.replace` takes three times as long
            name=called,
            value=score.value,
            unit=score.unit,
            label=label,
            status=score.status,
            reason=score.reason,
            evidence=score.evidence,
            issues=score.issues,
            recommendations=score.recommendations,
            evaluator=score.evaluator or name,
            version=score.version,
            config_hash=hashed,
            revision=self._revision,
        )


def name_of(evaluator: object) -> str:
    """The name that an evaluator has of itself: its class's, or its own if it is a function, in snake case."""
    kind = evaluator if hasattr(evaluator, "__qualname__") else type(evaluator)
    return in_snake_case(str(getattr(kind, "__name__", "")))


@lru_cache(maxsize=_HASHES)
def in_snake_case(name: str) -> str:
    """The name of a class as scores have it: `max_tool_calls` for `MaxToolCalls`."""
    return _HUMP.sub("_", name).lower()


def _renamed(score: str, own: str, name: str) -> str:
    """The score's name, the evaluator's own name in front of it replaced by what the evaluator is called here."""
    return f"{name}{score[len(own) :]}" if score == own or score.startswith(f"{own}_") else score


def label_of(name: str, value: float, *, thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS) -> str:
    """`ok`, `warn` or `alert` for a value in [0, 1]."""
    good, bad = thresholds.get(name, DEFAULT_THRESHOLD)
    return "ok" if value >= good else "alert" if value < bad else "warn"


def config_hash(evaluator: object) -> str:
    """The same short hash for the same evaluator with the same parameters."""
    held = _hashes.get(id(evaluator))
    if held is not None and held[0] is evaluator:
        return held[1]
    shown = [
        _stable(evaluator if hasattr(evaluator, "__qualname__") else type(evaluator))
    ]  # a function is its own kind
    if is_dataclass(evaluator):
        shown += [f"{field.name}={_stable(getattr(evaluator, field.name))}" for field in fields(evaluator)]
    found = hashlib.sha256("\n".join(shown).encode()).hexdigest()[:12]
    if _is_frozen(evaluator):
        if len(_hashes) >= _HASHES:
            _hashes.clear()
        _hashes[id(evaluator)] = (evaluator, found)
    return found


def _is_frozen(evaluator: object) -> bool:
    """True for a frozen dataclass: what it is called with does not change, so its hash is computed once."""
    return bool(getattr(getattr(evaluator, "__dataclass_params__", None), "frozen", False))


def _stable(value: object) -> str:
    """A parameter as text that is the same in every process: no order of hashing, no address."""
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_stable(item) for item in cast("frozenset[object]", value))) + "}"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return "{" + ", ".join(sorted(f"{_stable(key)}: {_stable(item)}" for key, item in pairs)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_stable(item) for item in cast("Sequence[object]", value)) + "]"
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) else repr(value)
