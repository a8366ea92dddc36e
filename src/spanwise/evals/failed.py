"""Cases whose task raised: pydantic-evals asks no evaluator about them, so what they did is kept beside their failure.

Dataset(..., report_evaluators=[spanwise.evals.FailedCases()])        # a table of their scores in the report
spanwise.evals.failed_run(report.failures[0])                         # the run itself
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from pydantic_evals.evaluators import ReportEvaluator, ReportEvaluatorContext
from pydantic_evals.reporting import ReportCaseFailure
from pydantic_evals.reporting.analyses import ReportAnalysis, TableResult

from spanwise.catalog import default_evaluators
from spanwise.errors import SpecError
from spanwise.evals.evaluator import filled
from spanwise.evals.expectations import Expectations, expectations_of
from spanwise.evals.runs import NO_SPANS
from spanwise.evaluators import overall
from spanwise.model.ports import AnyEvaluator
from spanwise.model.ports import Evaluator as RunAsked
from spanwise.model.trace import Run
from spanwise.run import evaluate

InputsT = TypeVar("InputsT")
OutputT = TypeVar("OutputT")
MetadataT = TypeVar("MetadataT")
Cell: TypeAlias = str | int | float | bool | None

KEPT_SPANS = 200_000
"""How many spans are kept of failed cases in all: beyond them those of the earliest are let go."""
OVERALL = "overall"
_FIRST = ("case", "error", "not known")


@dataclass(frozen=True, slots=True)
class _Kept:
    failure: weakref.ref[object]
    run: Run | None
    why: str

    @property
    def spans(self) -> int:
        return 0 if self.run is None else len(self.run.trace.spans)


class _Failures:
    """Runs by their failures, as long as somebody holds these."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._spans = 0
        self._lock = threading.RLock()

    def keep(self, failure: object, run: Run | None, why: str) -> None:
        key = id(failure)
        kept = _Kept(weakref.ref(failure, lambda _: self._drop(key)), run, why)
        with self._lock:
            self._drop(key)
            self._kept[key] = kept
            self._spans += kept.spans
            while self._spans > KEPT_SPANS and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def find(self, failure: object) -> _Kept | None:
        found = self._kept.get(id(failure))
        return found if found is not None and found.failure() is failure else None

    def _drop(self, key: int) -> None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None:
                self._spans -= found.spans


_failures = _Failures()


def keep_failed(failure: object, run: Run | None, why: str) -> None:
    """Keep what a task did that raised, or why that is not known, as long as its failure lives."""
    _failures.keep(failure, run, why)


def failed_run(failure: ReportCaseFailure[InputsT, OutputT, MetadataT], /) -> Run | None:
    """What the task of a failed case did; None where no span of it was captured."""
    found = _failures.find(failure)
    return None if found is None else found.run


@dataclass(repr=False)
class FailedCases(ReportEvaluator[object, object, object]):
    """A table of the cases whose task raised, in the report: the error, and the scores of what was done until then.

    What a case expects (`expected_tools`, ...) counts as it does for cases that end well. An empty cell, or none, says
    that the score does not apply; one that could not be measured says so. Without a failed case there is no table.

    Args:
        evaluators: Which built-ins to ask, by name; all of them, and `overall`, where it is empty.
    """

    evaluators: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        known = (*default_evaluators(), OVERALL)
        strange = [name for name in self.evaluators if name not in known]
        if strange:
            raise SpecError(f"FailedCases: evaluators: read {strange[0]!r}, expected one of: {', '.join(known)}")

    def evaluate(self, ctx: ReportEvaluatorContext[object, object, object]) -> ReportAnalysis | list[ReportAnalysis]:
        """The table; nothing where no case failed."""
        failures = ctx.report.failures
        if not failures:
            return []
        names = self.evaluators or [*default_evaluators(), OVERALL]
        rows = [self._row(failure, names) for failure in failures]
        used = [at for at in range(len(_FIRST) + len(names)) if at < 2 or any(row[at] is not None for row in rows)]
        return TableResult(
            title="Failed cases",
            description="What was done until the task raised.",
            columns=[[*_FIRST, *names][at] for at in used],
            rows=[[row[at] for at in used] for row in rows],
        )

    def _row(self, failure: ReportCaseFailure[object, object, object], names: list[str]) -> list[Cell]:
        row: list[Cell] = [failure.name, failure.error_message]
        kept = _failures.find(failure)
        if kept is None or kept.run is None:
            return [*row, NO_SPANS if kept is None else kept.why, *[None] * len(names)]
        found = self._scored(failure, kept.run, names)
        return [*row, "; ".join(kept.run.trace.completeness.reasons) or None, *map(found.get, names)]

    def _scored(
        self, failure: ReportCaseFailure[object, object, object], run: Run, names: list[str]
    ) -> Mapping[str, Cell]:

        def expected() -> Expectations:
            return expectations_of(failure.metadata, failure.expected_output)

        every = default_evaluators()
        asked: dict[str, AnyEvaluator] = {
            name: filled(one, expected) if isinstance(one, RunAsked) else one
            for name, one in every.items()
            if name in names or OVERALL in names
        }
        weighing = overall.Overall(weights=overall.DEFAULT, without={}, known=tuple(every))
        said = evaluate(run, asked, overall=weighing if OVERALL in names else None)
        told: dict[str, Cell] = {}
        for score in said.scores:
            if score.value is not None:
                told[score.name] = round(score.value, 4)
            elif score.status != "not_applicable":
                told[score.name] = score.status
        return told
