"""Where each question arises, and what it needs."""

from __future__ import annotations

import pytest

from spanwise.judges import Goal, PlanAdherence, PlanQuality, ReasoningQuality, Rubric, ToolChoice
from spanwise.judges.judge import Judge
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.judges.runs import asked_and_answered
from tests.making import agent, asks, chat, run_of, says, span, tool, user

SILENT = run_of(
    agent(1),
    chat(2, parent=1, sent=[user("Do it.")], got=[asks(("c1", "search", {}))]),
    tool(20, parent=1, arguments={}, result="done", call_id="c1"),
    chat(40, parent=1, sent=[user("Do it.")], got=[asks()]),
)
TALKING = run_of(agent(1), chat(2, parent=1, sent=[user("Hello?")], got=[says("Hello.")]))
BARE = run_of(agent(1), chat(2, parent=1), tool(20, parent=1))
CRASHED = run_of(
    span(1, name="invoke_agent a", status=2, message="it broke", attributes={"gen_ai.operation.name": "invoke_agent"}),
    chat(2, parent=1, sent=[user("Do it.")], got=[asks(("c1", "search", {}))]),
)
UNKNOWN = run_of(span(1, name="GET /"))


def status(judge: Judge, run: Run) -> str:
    """Whether there is something to ask."""
    found = judge.ask(run)
    return found.status if isinstance(found, Score) else "asked"


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        (Goal(), "asked not_measurable asked not_measurable not_applicable not_measurable"),
        (ReasoningQuality(), "asked not_applicable asked not_measurable not_applicable not_measurable"),
        (PlanQuality(), "asked not_applicable asked not_measurable not_applicable not_measurable"),
        (PlanAdherence(), "asked not_applicable not_applicable not_measurable not_applicable not_measurable"),
        (ToolChoice(), "asked asked not_applicable not_measurable asked not_measurable"),
        (Rubric(criteria="Is it polite?"), "asked asked asked asked asked not_measurable"),
    ],
    ids=lambda value: value.name if isinstance(value, Judge) else "",
)
def test_a_question_arises_or_not(judge: Judge, expected: str) -> None:
    """What lacks in a trace is not measurable, what does not arise not applicable, and the rest is asked."""
    runs = (asked_and_answered(), SILENT, TALKING, BARE, CRASHED, UNKNOWN)
    assert expected.split() == [status(judge, run) for run in runs]


def test_a_crash_needs_no_judge() -> None:
    """A run that ended in an error without an answer is not asked about, and says so."""
    score = Goal().ask(CRASHED)
    assert isinstance(score, Score)
    assert "not asked: the run ended in it broke, without an answer" == score.reason


def test_content_that_is_off_names_its_switch() -> None:
    """Where content is not recorded the reason names what would record it."""
    score = Goal()(BARE)
    assert ("not_measurable", True) == (score.status, "No span records what the user asked." in score.reason)
