"""A result to hand to sinks."""

from __future__ import annotations

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.run import evaluate
from tests.making import agent, run_of, span_id, tool

GIVEN = RunResult(
    run=run_of(agent(1, **{"session.id": "s-1", "user.id": "ann"})),
    scores=(
        Score(name="a", value=0.5, label="alert", reason="half", evaluator="A", version="3", config_hash="c"),
        Score(name="ms", value=12.0, unit="ms", evaluator="B", evidence=(Evidence(span_id=span_id(1), quote="q"),)),
        Score(name="n", status="not_applicable", reason="no call", evaluator="N"),
        Score(name="m", status="not_measurable", evaluator="M"),
        Score(name="e", status="error", reason="ValueError: it broke", evaluator="E"),
        Score(name="f", status="error", evaluator="F"),
    ),
    revision=2,
)
"""A score of each status."""


def result() -> RunResult:
    """A run with a repeated call."""
    calls = [tool(10 * at, parent=1, arguments={"q": "a"}, result="r", start=10 * at, end=10 * at + 5) for at in (1, 2)]
    return evaluate(run_of(agent(1), *calls), default_evaluators(), overall=PROFILES["default"].overall)
