"""Which report a number of runs gets."""

from __future__ import annotations

import io

from spanwise.assembly.tree import build_trace
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.report.scores import ScoreReport
from spanwise.report.table import FEW
from spanwise.report.terminal import console
from tests.making import agent, trace_id


def shown(*numbers: int) -> str:
    """What is printed for runs of these traces."""
    report = ScoreReport()
    for number in numbers:
        trace = build_trace(trace_id(number), [agent(1)])
        report.add(RunResult(run=trace.runs[0], scores=(Score(name="x", value=0.5, reason="why"),)))
    file = io.StringIO()
    report.show(console(file))
    return file.getvalue()


def test_a_few_runs_have_a_table_each() -> None:
    """Up to five runs are shown one by one."""
    text = shown(*range(FEW))
    assert (FEW, False) == (text.count("reason"), "distribution" in text)


def test_more_runs_have_a_summary() -> None:
    """From six on a summary counts them all."""
    text = shown(*range(FEW + 1))
    assert ("6 runs", True) == (text.splitlines()[0], "distribution" in text)


def test_a_run_given_again_counts_once() -> None:
    """The same run a second time is no further run."""
    assert 1 == shown(1, 1).count("reason")
