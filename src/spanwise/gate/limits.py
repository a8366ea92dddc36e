"""A gate of limits: no score under a number, no label as bad as a given one.

Every run must hold every limit. A score that does not apply to a run cannot break one; a score that could not be
measured, or whose evaluator broke, leaves the gate without an answer, which is neither passed nor failed. Nor is a gate
passed in which nothing was scored at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from spanwise.errors import SpecError
from spanwise.model.result import RunResult
from spanwise.model.score import Score

PASSED, FAILED, UNUSABLE, UNANSWERED = 0, 1, 2, 3
_TOLD = 50
_TOLERANCE = 1e-9
_BAD: Mapping[str, tuple[str, ...]] = {"": (), "alert": ("alert",), "warn": ("alert", "warn")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a gate asks for: least values by score, the mildest label that fails, whether unmeasured scores may pass."""

    under: Mapping[str, float] = field(default_factory=dict[str, float])
    on: Literal["", "alert", "warn"] = ""
    allow_not_measurable: bool = False

    def __bool__(self) -> bool:
        return bool(self.under or self.on)


def parse_limits(texts: Collection[str], *, evaluators: Collection[str]) -> dict[str, float]:
    """Least values from texts of the form NAME=VALUE.

    Raises:
        SpecError: a text has another form, names no score of these evaluators, or a value that no score has.
    """
    found: dict[str, float] = {}
    for text in texts:
        name, separator, number = text.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            separator = ""
        if not separator or not name or found[name] != found[name]:
            raise SpecError(f"read {text!r}, expected NAME=VALUE with a number, such as redundancy=0.9")
        if not 0 <= found[name] <= 1:
            raise SpecError(f"read {text!r}, expected a value from 0 to 1, as scores have")
        # An evaluator's further scores have its name in front: latency gives latency_ms.
        if not any(name == known or name.startswith(f"{known}_") for known in evaluators):
            raise SpecError(f"{name!r} is no score of an evaluator that runs here: {', '.join(evaluators)}")
    return found


@dataclass(slots=True, kw_only=True)
class _Trouble:
    """What one run holds against the gate."""

    failed: list[str] = field(default_factory=list[str])
    unanswered: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's answer: an exit code, sentences for what speaks against passing, and how many more there are."""

    code: int
    failed: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    more: int = 0


class Gate:
    """Counts runs against limits as they come; a run that is given again replaces what was noted of it.

    The words of the first fifty runs that are in the way are kept, of the others only how much there is to say.
    """

    def __init__(self, limits: Limits, *, reasons: bool = True) -> None:
        self._limits = limits
        self._reasons = reasons
        self._scored: set[str] = set()
        self._labelled = False
        self._wrong_unit: dict[str, str] = {}
        self._troubles: dict[str, _Trouble] = {}
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, result: RunResult) -> None:
        """Hold one run against the limits."""
        run = result.run
        where = f"{result.source or 'trace'} {run.trace.trace_id}{' run ' + run.run_id if run.run_id else ''}"
        trouble = _Trouble()
        for score in result.scores:
            if score.name in self._limits.under:
                self._check_value(score, where, trouble)
            if self._limits.on and not score.unit:
                self._check_label(score, where, trouble)
        given = {score.name for score in result.scores}
        trouble.unanswered += [
            f"{where}: {name} is not among the run's scores" for name in self._limits.under if name not in given
        ]
        self._note(f"{run.trace.trace_id}/{run.run_id}", trouble)

    def _note(self, key: str, trouble: _Trouble) -> None:
        self._troubles.pop(key, None)
        self._counts.pop(key, None)
        if not trouble.failed and not trouble.unanswered:
            return
        if len(self._troubles) < _TOLD:
            self._troubles[key] = trouble
        else:
            self._counts[key] = (len(trouble.failed), len(trouble.unanswered))

    def _check_value(self, score: Score, where: str, trouble: _Trouble) -> None:
        least = self._limits.under[score.name]
        if score.value is None:
            trouble.unanswered += self._unanswered(score, where)
        elif score.unit:
            self._wrong_unit[score.name] = score.unit
        else:
            self._scored.add(score.name)
            if score.value < least - _TOLERANCE:
                trouble.failed.append(
                    f"{where}: {score.name} {score.value:.4g} is under {least:g}{self._reason(score)}"
                )

    def _check_label(self, score: Score, where: str, trouble: _Trouble) -> None:
        if score.value is None:
            if score.name not in self._limits.under:
                trouble.unanswered += self._unanswered(score, where)
            return
        self._labelled = True
        if score.label in _BAD[self._limits.on]:
            trouble.failed.append(
                f"{where}: {score.name} {score.value:.4g} is labelled {score.label}{self._reason(score)}"
            )

    def _reason(self, score: Score) -> str:
        """The score's reason; where reasons are left out, only that of a score which could not be measured."""
        wanted = self._reasons or score.status == "not_measurable"
        return f": {score.reason}" if wanted and score.reason else ""

    def _unanswered(self, score: Score, where: str) -> Iterator[str]:
        allowed = self._limits.allow_not_measurable and score.status == "not_measurable"
        if score.status != "not_applicable" and not allowed:
            yield f"{where}: {score.name} is {score.status.replace('_', ' ')}{self._reason(score)}"

    def verdict(self) -> Verdict:
        """The answer after the last run."""
        failed = [text for trouble in self._troubles.values() for text in trouble.failed]
        unanswered = [text for trouble in self._troubles.values() for text in trouble.unanswered]
        more_failed = sum(count for count, _ in self._counts.values())
        more_unanswered = sum(count for _, count in self._counts.values())
        unanswered += [
            f"{name} was scored in no run, and a gate in which nothing was scored does not pass"
            for name in self._limits.under
            if name not in self._scored and name not in self._wrong_unit
        ]
        if self._limits.on and not self._labelled:
            unanswered.append("no run was scored, and a gate in which nothing was scored does not pass")
        code = FAILED if failed or more_failed else PASSED
        if self._wrong_unit:
            code = UNUSABLE
        if unanswered or more_unanswered:
            code = UNANSWERED
        wrong = (
            f"{name} is in {unit}: a least value is for scores from 0 to 1" for name, unit in self._wrong_unit.items()
        )
        return Verdict(
            code=code, failed=tuple(failed), unanswered=(*wrong, *unanswered), more=more_failed + more_unanswered
        )
