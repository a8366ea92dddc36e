"""Deterministic checks first: a judge sees only the runs that rules leave undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.model.ports import AnyEvaluator
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS, evaluate

Skip: TypeAlias = Literal["failed", "decided", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the checks make of a run: failed (True), passed plainly (False), or neither; and the words for it."""

    failed: bool | None
    text: str = ""


def ruling(
    run: Run,
    checks: Mapping[str, AnyEvaluator],
    *,
    thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS,
) -> Ruling:
    """What deterministic checks make of a run.

    One alert is enough to fail. A run passes plainly if every check that applies scores 1, and at least one does. A
    check that cannot be measured, or broke, leaves the run undecided unless another one fails.
    """
    scores = [
        score
        for score in evaluate(run, checks, thresholds=thresholds).scores
        if score.name in checks and not score.unit
    ]
    for score in scores:
        if score.label == "alert":
            return Ruling(failed=True, text=f"{_told(score)} is an alert")
    applying = [score for score in scores if score.status != "not_applicable"]
    if applying and all(score.value == 1.0 for score in applying):
        return Ruling(failed=False, text=f"{', '.join(map(_told, applying))}, which leaves nothing open")
    return Ruling(failed=None)


def unasked(found: Ruling, skip: Skip) -> str:
    """Why the judge is not asked; empty where it is."""
    if skip == "never" or found.failed is None or (skip == "failed" and not found.failed):
        return ""
    return f"not asked: {found.text}"


def _told(score: Score) -> str:
    return f"{score.name} {score.value:g}"
