"""Applying evaluators to one run: the one place that turns an exception into an `error` score."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import cast

from spanwise.model.ports import Evaluator
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run

_log = logging.getLogger("spanwise")
_told: set[tuple[str, type[BaseException]]] = set()

THRESHOLDS: Mapping[str, tuple[float, float]] = {
    "tool_selection": (0.90, 0.80),
    "redundancy": (0.95, 0.85),
    "recovery": (0.80, 0.50),
    "latency": (0.90, 0.70),
}
"""For a score without a unit: `ok` at or above the first number, `alert` below the second, `warn` between."""
DEFAULT_THRESHOLD = (0.80, 0.60)


def evaluate(
    run: Run,
    evaluators: Mapping[str, Evaluator],
    *,
    revision: int = 1,
    thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS,
    clock: Callable[[], int] | None = None,
) -> RunResult:
    """The run with the scores of all evaluators, in their order."""
    scores: list[Score] = []
    for name, evaluator in evaluators.items():
        begun = clock() if clock else 0
        scores += [_completed(score, name, evaluator, revision, thresholds) for score in _guarded(name, evaluator, run)]
        if clock:
            _log.debug("%s took %d ns", name, clock() - begun)
    return RunResult(run=run, scores=tuple(scores), revision=revision, source=run.trace.source)


def _guarded(name: str, evaluator: Evaluator, run: Run) -> Sequence[Score]:
    try:
        said: object = evaluator(run)
        listed = (said,) if isinstance(said, Score) else tuple(cast("Sequence[object]", said))
        scores = tuple(score for score in listed if isinstance(score, Score))
        if len(scores) != len(listed):
            raise TypeError(f"an evaluator returns Scores, this one {said!r}")
    except Exception as exc:  # noqa: BLE001  (an evaluator may be anybody's; its failure is a result)
        if (name, type(exc)) not in _told:
            _told.add((name, type(exc)))
            _log.warning("evaluator %r failed; further failures of this kind are not logged", name, exc_info=True)
        return (Score(name=name, status="error", reason=f"{type(exc).__name__}: {exc}"),)
    return scores


def _completed(
    score: Score, name: str, evaluator: Evaluator, revision: int, thresholds: Mapping[str, tuple[float, float]]
) -> Score:
    label = score.label
    if not label and score.value is not None and not score.unit:
        label = label_of(score.name, score.value, thresholds=thresholds)
    return replace(
        score,
        label=label,
        evaluator=score.evaluator or name,
        config_hash=score.config_hash or config_hash(evaluator),
        revision=revision,
    )


def label_of(name: str, value: float, *, thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS) -> str:
    """`ok`, `warn` or `alert` for a value in [0, 1]."""
    good, bad = thresholds.get(name, DEFAULT_THRESHOLD)
    return "ok" if value >= good else "alert" if value < bad else "warn"


def config_hash(evaluator: object) -> str:
    """The same short hash for the same evaluator with the same parameters."""
    shown = [
        _stable(evaluator if hasattr(evaluator, "__qualname__") else type(evaluator))
    ]  # a function is its own kind
    if is_dataclass(evaluator):
        shown += [f"{field.name}={_stable(getattr(evaluator, field.name))}" for field in fields(evaluator)]
    return hashlib.sha256("\n".join(shown).encode()).hexdigest()[:12]


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
