"""Cases whose task raised: what they did is kept, and shown in the report."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest
from opentelemetry import trace
from pydantic_evals import Case, Dataset
from pydantic_evals.reporting import EvaluationReport

from spanwise.errors import SpecError
from spanwise.evals import failed as module
from spanwise.evals.failed import FailedCases, failed_run
from tests.evals.tasks import Agent


def task_of(agent: Agent, left: list[trace.Span]):
    """A task that calls a tool, leaves one open, and raises unless the case is the good one."""

    def task(name: str) -> str:
        if name == "silent":
            raise ValueError("nothing was done")
        with agent.run():
            agent.call(name)
            if name == "good":
                return name
            left.append(agent.begin("unended"))
            raise ValueError("it broke")

    return task


def reported(agent: Agent, names: tuple[str, ...], *more: FailedCases) -> EvaluationReport:
    """The report on such a task."""
    cases = [Case(name=name, inputs=name, metadata={"expected_tools": [name, "unended"]}) for name in names]
    dataset = Dataset(name="tests", cases=cases, report_evaluators=list(more))
    return agent.evaluate(dataset, task_of(agent, []))


def test_what_was_done_is_kept_with_the_failure() -> None:
    """The tools that were called until the task raised, the open call among them."""
    report = reported(Agent(), ("good", "bad"))
    (failure,) = report.failures
    run = failed_run(failure)
    assert run is not None
    assert (["bad", "unended"], ("1 span not ended",)) == (
        [call.name for call in run.tool_calls],
        run.trace.completeness.reasons,
    )


def test_the_report_shows_their_scores() -> None:
    """A row for each failed case, scored by what the case expects; what is not known is said, and nothing invented."""
    report = reported(Agent(), ("good", "bad", "silent"), FailedCases(["tool_selection", "handoffs", "overall"]))
    (table,) = report.analyses
    assert [] == report.report_evaluator_failures
    assert ["case", "error", "not known", "tool_selection", "overall"] == table.columns
    bad, silent = table.rows
    assert ["bad", "ValueError: it broke", "1 span not ended", 1.0] == bad[:4]
    assert (["silent", "ValueError: nothing was done", None, None], True) == (
        [silent[0], silent[1], *silent[3:]],
        "No span of this case was captured" in str(silent[2]),
    )
    assert "Failed cases" in report.render(width=200, include_input=False)


def test_without_failures_there_is_no_table() -> None:
    """The report is what it was."""
    assert [] == reported(Agent(), ("good",), FailedCases()).analyses


def test_it_is_read_from_files(tmp_path: Path) -> None:
    """YAML holds it as it holds other report evaluators; a name that is none is refused."""
    path = tmp_path / "dataset.yaml"
    path.write_text("name: d\ncases: [{inputs: a}]\nreport_evaluators: [FailedCases: {evaluators: [loops]}]\n")
    dataset = Dataset[str, str, object].from_file(path, custom_report_evaluator_types=[FailedCases])
    assert [FailedCases(["loops"])] == dataset.report_evaluators
    with pytest.raises(SpecError, match="FailedCases: evaluators: read 'speed', expected one of: tool_selection, "):
        FailedCases(["speed"])


def test_they_live_as_long_as_the_report() -> None:
    """Who lets go of a report lets go of the runs of its failed cases, once the threads that made it have ended."""
    gc.collect()
    before = len(module._failures._kept)
    report = reported(Agent(), ("bad", "worse"))
    assert before + 2 == len(module._failures._kept)
    del report
    until = time.monotonic() + 5.0
    while gc.collect() >= 0 and len(module._failures._kept) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert before == len(module._failures._kept)


def test_they_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound the earliest failures keep their message only."""
    monkeypatch.setattr(module, "KEPT_SPANS", 7)
    report = reported(Agent(), ("one", "two", "three"))
    assert 2 == sum(failed_run(failure) is not None for failure in report.failures)
