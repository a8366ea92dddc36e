"""A result to hand to sinks."""

from __future__ import annotations

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.model.result import RunResult
from spanwise.run import evaluate
from tests.making import agent, run_of, tool


def result() -> RunResult:
    """A run with a repeated call."""
    calls = [tool(10 * at, parent=1, arguments={"q": "a"}, result="r", start=10 * at, end=10 * at + 5) for at in (1, 2)]
    return evaluate(run_of(agent(1), *calls), default_evaluators(), overall=PROFILES["default"].overall)
