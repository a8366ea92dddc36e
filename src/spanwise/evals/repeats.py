"""Experiments with repeats: what `repeat=N` of `Dataset.evaluate` shows beside its means.

A run of a case passes if all its assertions hold and each score that has a least value reaches it. A task that raises
does not pass. A run whose verdict nobody knows (an evaluator broke, or a score with a least value could not be
measured) is no pass either, and is counted apart. A run with nothing to be judged by has no verdict, and no rate is
made up for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from pydantic_evals.evaluators import ReportEvaluator, ReportEvaluatorContext
from pydantic_evals.reporting import EvaluationReport, ReportCase, ReportCaseFailure
from pydantic_evals.reporting.analyses import ReportAnalysis, TableResult
from rich.console import Console
from rich.table import Table

from spanwise.errors import SpecError
from spanwise.evals.evaluator import STATUS
from spanwise.evals.failed import FailedCases
from spanwise.stats import mean, pass_hat, variance, wilson

InputsT = TypeVar("InputsT")
OutputT = TypeVar("OutputT")
MetadataT = TypeVar("MetadataT")
Verdict: TypeAlias = Literal["passed", "failed", "unknown", "none"]
Cell: TypeAlias = str | int | float | bool | None
_NONE = "-"
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The values of one score over the runs of a case; without a variance where there is one value only."""

    n: int
    mean: float
    variance: float | None
    least: float
    most: float

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation."""
        return None if self.variance is None else math.sqrt(self.variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedCase:
    """The runs of one case: how many passed, and how the scores spread.

    `judged` runs have something to be judged by; `unknown` of them have no known verdict and count as not passed.
    """

    name: str
    runs: int
    passed: int
    judged: int
    unknown: int
    scores: Mapping[str, Spread]

    @property
    def rate(self) -> float | None:
        """The share of runs that passed; None where none can be judged."""
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between which shares the true one lies, with 95 % confidence; None where no run can be judged."""
        return wilson(self.passed, self.judged) if self.judged else None

    @property
    def flaky(self) -> bool:
        """Some runs passed, and some did not."""
        return 0 < self.passed < self.judged

    def pass_hat(self, k: int) -> float | None:
        """The chance that k runs all pass, without bias; None for fewer than k runs."""
        return pass_hat(self.passed, self.judged, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """The cases of an experiment, in its order."""

    name: str
    cases: Sequence[RepeatedCase]

    @property
    def flaky(self) -> Sequence[RepeatedCase]:
        """The cases of which some runs passed and some did not."""
        return [case for case in self.cases if case.flaky]

    @property
    def scores(self) -> Sequence[str]:
        """The names of all scores, by first appearance."""
        return list(dict.fromkeys(name for case in self.cases for name in case.scores))


def repeats_of(
    report: EvaluationReport[InputsT, OutputT, MetadataT], *, minimum: Mapping[str, float] | None = None
) -> Repeats:
    """The statistics of an experiment, case by case.

    Args:
        report: Of `Dataset.evaluate`, with `repeat=N` or without.
        minimum: Least values of scores for a run to pass, by name; assertions count in any case.
    """
    least = dict(minimum or {})
    runs: dict[str, list[ReportCase[InputsT, OutputT, MetadataT]]] = {}
    raised: dict[str, list[ReportCaseFailure[InputsT, OutputT, MetadataT]]] = {}
    for case in report.cases:
        runs.setdefault(case.source_case_name or case.name, []).append(case)
    for failure in report.failures:
        raised.setdefault(failure.source_case_name or failure.name, []).append(failure)
    names = dict.fromkeys((*runs, *raised))
    return Repeats(
        name=report.name, cases=[_case(name, runs.get(name, ()), len(raised.get(name, ())), least) for name in names]
    )


def _case(
    name: str, runs: Sequence[ReportCase[InputsT, OutputT, MetadataT]], raised: int, least: Mapping[str, float]
) -> RepeatedCase:
    verdicts = [verdict_of(run, least) for run in runs]
    judged = [verdict for verdict in verdicts if verdict != "none"]
    values: dict[str, list[float]] = {}
    for run in runs:
        for score, result in run.scores.items():
            values.setdefault(score, []).append(float(result.value))
    return RepeatedCase(
        name=name,
        runs=len(runs) + raised,
        passed=judged.count("passed"),
        judged=len(judged) + raised,
        unknown=judged.count("unknown"),
        scores={score: _spread(held) for score, held in values.items()},
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(n=len(values), mean=mean(values), variance=variance(values), least=min(values), most=max(values))


def verdict_of(run: ReportCase[InputsT, OutputT, MetadataT], least: Mapping[str, float]) -> Verdict:
    """Whether a run of a case passed. What failed outweighs what is not known."""
    reached = [run.scores[name].value >= value - _TOLERANCE for name, value in least.items() if name in run.scores]
    if not all(reached) or not all(result.value for result in run.assertions.values()):
        return "failed"
    unmeasured = any(f"{name}.{STATUS}" in run.labels for name in least)
    if run.evaluator_failures or unmeasured:
        return "unknown"
    return "passed" if run.assertions or reached else "none"


@dataclass(repr=False)
class RepeatStatistics(ReportEvaluator[object, object, object]):
    """Two tables behind the report: how often each case passed, and how its scores spread.

    Args:
        minimum: Least values of scores for a run to pass, by name.
        k: For how many runs in a row the chance of passing is told (pass^k).
    """

    minimum: dict[str, float] = field(default_factory=dict[str, float])
    k: int = 2

    def __post_init__(self) -> None:
        _check(self.k)

    def evaluate(self, ctx: ReportEvaluatorContext[object, object, object]) -> list[ReportAnalysis]:
        """The tables of an experiment."""
        found = repeats_of(ctx.report, minimum=self.minimum)
        passes = TableResult(title="Repeats", columns=pass_columns(self.k), rows=pass_rows(found, self.k))
        spreads = TableResult(title="Spread of scores", columns=list(SPREAD_COLUMNS), rows=spread_rows(found))
        return [passes, spreads]


REPORTS: Sequence[type[ReportEvaluator[object, object, object]]] = (RepeatStatistics, FailedCases)
"""For `custom_report_evaluator_types=` of `Dataset.from_file` and `to_file`."""

SPREAD_COLUMNS = ("case", "score", "n", "mean", "variance", "std", "least", "most")


def pass_columns(k: int) -> list[str]:
    """The columns of the table of passes."""
    return ["case", "runs", "passed", "unknown", "rate", "95 % low", "95 % high", f"pass^{k}", "flaky"]


def pass_rows(found: Repeats, k: int) -> list[list[Cell]]:
    """A row for each case: how often it passed, and what that says."""
    rows: list[list[Cell]] = []
    for case in found.cases:
        low, high = case.interval or (None, None)
        told: list[Cell] = [case.name, case.runs, case.passed if case.judged else None, case.unknown]
        numbers = (case.rate, low, high, case.pass_hat(k))
        rows.append([*told, *(_rounded(number) for number in numbers), case.flaky])
    return rows


def spread_rows(found: Repeats) -> list[list[Cell]]:
    """A row for each score of each case: mean, variance and extremes."""
    return [
        [case.name, name, one.n, *map(_rounded, (one.mean, one.variance, one.deviation, one.least, one.most))]
        for case in found.cases
        for name, one in case.scores.items()
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def print_repeats(
    report: EvaluationReport[InputsT, OutputT, MetadataT],
    *,
    minimum: Mapping[str, float] | None = None,
    k: int = 2,
    console: Console | None = None,
) -> Repeats:
    """Print how often each case passed and how its scores spread, and give the statistics back.

    Args:
        report: Of `Dataset.evaluate(..., repeat=N)`; its own `print` shows the rest.
        minimum: Least values of scores for a run to pass, by name.
        k: For how many runs in a row the chance of passing is told (pass^k).
        console: Where to print; the terminal where not given.
    """
    _check(k)
    found = repeats_of(report, minimum=minimum)
    out = console or Console()
    out.print(_table(f"Repeats: {found.name}", pass_columns(k), pass_rows(found, k)))
    if found.scores:
        out.print(_table("Spread of scores", SPREAD_COLUMNS, spread_rows(found)))
    return found


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    table = Table(title=title)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right")
    for row in rows:
        table.add_row(*(_shown(cell) for cell in row))
    return table


def _shown(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return _NONE if cell is None else str(cell)


def _check(k: int) -> None:
    if k < 1:
        raise SpecError(f"k: read {k!r}, expected a number of runs, at least 1")
