"""A run in one line."""

from __future__ import annotations

import pytest

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._line import line_of
from tests.making import TRACE, agent, run_of
from tests.sinks.results import result


def test_a_line() -> None:
    """Who, how well, what is worst and why, what is unknown, how long, which trace."""
    line = line_of(result())
    assert line.startswith("helper: overall 0.")
    assert "; worst redundancy 0.50 (1 of 2 tool calls repeat an earlier one." in line
    assert "; not measurable: " in line
    assert line.endswith(f"; 0.00 s; trace {TRACE}")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((), "helper: 0 scores; 0.00 s"),
        (
            (Score(name="overall", status="not_measurable", reason="r"),),
            "helper: overall not_measurable; not measurable: overall",
        ),
        (
            (Score(name="a", value=1.0), Score(name="b", status="error", reason="r")),
            "helper: 2 scores; failed: b; 0.00 s",
        ),
    ],
)
def test_lines_without_much(scores: tuple[Score, ...], expected: str) -> None:
    """A perfect score is not the worst one, and what failed is named."""
    assert line_of(RunResult(run=run_of(agent(1)), scores=scores)).startswith(expected)


def test_a_later_revision() -> None:
    """A run that is given again says so."""
    assert "; revision 2; trace " in line_of(RunResult(run=run_of(agent(1)), scores=(), revision=2))
