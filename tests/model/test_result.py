"""A run with its scores."""

from __future__ import annotations

from spanwise.model.result import RunResult
from spanwise.model.score import Score, score_id
from tests.making import TRACE, agent, run_of, span_id


def test_ids_of_scores() -> None:
    """A score's id hangs on trace, run and name alone: neither on its value nor on the revision."""
    run = run_of(agent(1))
    first = RunResult(run=run, scores=())
    again = RunResult(run=run, scores=(), revision=2, source="elsewhere", query_type="news")
    low, high = Score(name="x", value=0.0), Score(name="x", value=1.0, revision=2)
    assert score_id(trace_id=TRACE, run_id=span_id(1), name="x") == first.id_of(low) == again.id_of(high)
