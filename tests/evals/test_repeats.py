"""Experiments with repeats: how often cases pass, what that proves, and how scores spread."""

from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReport
from pydantic_evals.reporting.analyses import TableResult
from rich.console import Console

from spanwise import evals
from spanwise.errors import SpecError
from spanwise.evals.repeats import Repeats


@dataclass
class Wanted(Evaluator[object, object, object]):
    """Says what the task gave back, as pydantic-evals' evaluators may: an assertion, a score, a status, an error."""

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, object]:
        said = ctx.output
        if said == "broken":
            raise RuntimeError("broken")
        if said == "unseen":
            return {"quality.status": EvaluationReason("not_measurable", "no spans")}
        return {"right": said} if isinstance(said, bool) else {"quality": said} if isinstance(said, float) else {}


def experiment(*plans: list[object], reports: object = ()) -> EvaluationReport[object, object, object]:
    """A report of cases of which each run gives what its plan says next; an exception is raised."""
    left: dict[str, Iterator[object]] = {str(number): iter(plan) for number, plan in enumerate(plans)}

    async def task(inputs: str) -> object:
        said = next(left[inputs])
        if isinstance(said, Exception):
            raise said
        return said

    cases = [Case(name=f"case {number}", inputs=number) for number in left]
    dataset = Dataset(name="d", cases=cases, evaluators=[Wanted()], report_evaluators=list(reports))
    work = dataset.evaluate(task, name="try", progress=False, repeat=len(plans[0]), max_concurrency=1)
    return asyncio.run(work)


def only(found: Repeats) -> tuple[object, ...]:
    """The counts of the first case."""
    (case, *_) = found.cases
    return (case.runs, case.passed, case.judged, case.unknown, case.flaky)


def test_passes_and_flaky_cases() -> None:
    """A case passes as often as all assertions hold; one that does not always is flaky."""
    found = evals.repeats_of(experiment([True, False, True, True], [True] * 4, [False] * 4))
    assert [(3, 0.75, True), (4, 1.0, False), (0, 0.0, False)] == [
        (case.passed, case.rate, case.flaky) for case in found.cases
    ]
    assert (["case 0"], "try") == ([case.name for case in found.flaky], found.name)
    first = found.cases[0]
    assert [0.75, 0.5, 0.25, 0.0, None] == [first.pass_hat(k) for k in (1, 2, 3, 4, 5)]
    low, high = first.interval or (0, 0)
    assert (0.3006, 0.9544) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_three_of_three_prove_little() -> None:
    """Three passes of three show no more than 44 percent."""
    low, high = evals.repeats_of(experiment([True] * 3)).cases[0].interval or (0, 0)
    assert (0.4385, 1.0) == (pytest.approx(low, abs=1e-4), high)


@pytest.mark.parametrize(
    ("plan", "counts"),
    [
        ([True, RuntimeError("task")], (2, 1, 2, 0, True)),
        ([True, "broken"], (2, 1, 2, 1, True)),
        ([0.9, "unseen"], (2, 1, 2, 1, True)),
        ([0.9, 0.5], (2, 1, 2, 0, True)),
        ([0.8, 0.8], (2, 2, 2, 0, False)),
        (["nothing", "nothing"], (2, 0, 0, 0, False)),
        ([RuntimeError("task"), RuntimeError("task")], (2, 0, 2, 0, False)),
    ],
)
def test_what_is_a_pass(plan: list[object], counts: tuple[object, ...]) -> None:
    """A task that raises, an evaluator that breaks and a score that was not measured are never a pass."""
    assert counts == only(evals.repeats_of(experiment(plan), minimum={"quality": 0.8}))


def test_nothing_to_judge_by() -> None:
    """Scores without least values make no rate; their spread is told all the same."""
    (case,) = evals.repeats_of(experiment([0.2, 0.4, 0.6])).cases
    assert (None, None, None) == (case.rate, case.interval, case.pass_hat(1))
    spread = case.scores["quality"]
    assert (3, pytest.approx(0.4), pytest.approx(0.04), pytest.approx(0.2), 0.2, 0.6) == (
        spread.n, spread.mean, spread.variance, spread.deviation, spread.least, spread.most,
    )  # fmt: skip


def test_without_repeats() -> None:
    """A report without repeats has one run per case, and no variance."""
    found = evals.repeats_of(experiment([0.5]), minimum={"quality": 0.5})
    assert (1, 1, 1, 0, False) == only(found)
    spread = found.cases[0].scores["quality"]
    assert (None, None) == (spread.variance, spread.deviation)


def test_the_tables() -> None:
    """The tables show every case, and a dash where nothing is known."""
    out = io.StringIO()
    report = experiment([True, False, 0.5], ["nothing"] * 3)
    found = evals.print_repeats(report, k=2, console=Console(file=out, width=120, color_system=None))
    lines = [" ".join(line.replace("│", " ").split()) for line in out.getvalue().splitlines()]
    assert "case 0 3 1 0 0.500 0.095 0.905 0.000 yes" in lines
    assert "case 1 3 - 0 - - - - no" in lines
    assert "case 0 quality 1 0.500 - - 0.500 0.500" in lines
    assert ["quality"] == found.scores
    quiet = io.StringIO()
    evals.print_repeats(experiment([True]), console=Console(file=quiet, width=120))
    assert "Spread" not in quiet.getvalue()


def test_as_a_report_evaluator() -> None:
    """In a dataset the same tables are analyses of the report, which its own print shows."""
    report = experiment([0.9, 0.5], reports=[evals.RepeatStatistics(minimum={"quality": 0.8}, k=1)])
    passes, spreads = report.analyses
    assert isinstance(passes, TableResult)
    assert isinstance(spreads, TableResult)
    assert ("Repeats", "pass^1") == (passes.title, passes.columns[-2])
    assert [["case 0", 2, 1, 0, 0.5, 0.094531, 0.905469, 0.5, True]] == passes.rows
    assert [["case 0", "quality", 2, 0.7, 0.08, 0.282843, 0.5, 0.9]] == spreads.rows
    assert "Spread of scores" in report.render(width=150)


def test_in_files() -> None:
    """The report evaluator is named in a dataset's file, with its parameters."""
    text = """
    name: d
    cases: [{name: a, inputs: q}]
    report_evaluators: [{RepeatStatistics: {minimum: {quality: 0.8}, k: 3}}]
    """
    read = Dataset[str, str, dict[str, object]].from_text(text, custom_report_evaluator_types=evals.REPORTS)
    assert [evals.RepeatStatistics(minimum={"quality": 0.8}, k=3)] == read.report_evaluators


@pytest.mark.parametrize("k", [0, -1])
def test_impossible_numbers_of_runs(k: int) -> None:
    """The chance of no run, or of less, is not asked for."""
    with pytest.raises(SpecError, match=f"k: read {k}, expected a number of runs, at least 1"):
        evals.RepeatStatistics(k=k)
    with pytest.raises(SpecError):
        evals.print_repeats(experiment([True]), k=k)


def test_pass_hat_is_unbiased() -> None:
    """Over all outcomes of four tries at a coin, the estimate for two is a quarter on average."""
    every = list(itertools.product([True, False], repeat=4))
    reports = evals.repeats_of(experiment(*[list(one) for one in every]))
    assert 0.25 == pytest.approx(sum(case.pass_hat(2) or 0.0 for case in reports.cases) / len(every))
