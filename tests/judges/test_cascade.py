"""Deterministic checks first."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from spanwise.errors import ModelError
from spanwise.judges import Goal, Panel, PlanAdherence, Rubric, ToolChoice
from spanwise.judges.cascade import ruling, unasked
from spanwise.model.score import Score, not_applicable
from spanwise.model.trace import Run
from tests.judges.runs import asked_and_answered, failed_run
from tests.judges.standin import MODEL, Standin


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """A check that says always the same."""

    value: float | None
    name: str = "check"

    def __call__(self, run: Run, /) -> Score:
        """The score."""
        return not_applicable(self.name, "no") if self.value is None else Score(name=self.name, value=self.value)


@pytest.mark.parametrize(
    ("values", "failed", "skipped_if"),
    [
        ([0.1], True, ["failed", "decided"]),
        ([1.0, 0.1], True, ["failed", "decided"]),
        ([1.0], False, ["decided"]),
        ([1.0, None], False, ["decided"]),
        ([0.9], None, []),
        ([1.0, 0.9], None, []),
        ([0.7], None, []),
        ([None], None, []),
        ([], None, []),
    ],
)
def test_rules_decide_what_they_can(values: list[float | None], failed: bool | None, skipped_if: list[str]) -> None:
    """An alert decides; full marks of all that apply decide too; anything between is left to a judge."""
    checks = {f"check_{at}": Says(value=value, name=f"check_{at}") for at, value in enumerate(values)}
    found = ruling(asked_and_answered(), checks)
    assert failed == found.failed
    assert skipped_if == [skip for skip in ("never", "failed", "decided") if unasked(found, skip)]


def test_a_broken_check_decides_nothing() -> None:
    """A check that raises leaves the run to the judge."""

    def broken(run: Run) -> Score:
        raise RuntimeError("it broke")

    assert ruling(asked_and_answered(), {"check": broken}).failed is None


def test_a_decided_run_is_not_asked_about(standin: Standin, panel: Panel) -> None:
    """Where a check is an alert the judge is not asked, has no score of its own, and says why."""
    judge = Goal(panel=panel, after=("check",), checks={"check": Says(value=0.1)})
    score = judge(asked_and_answered())
    assert ("not_applicable", "not asked: check 0.1 is an alert") == (score.status, score.reason)
    assert [] == standin.requests


def test_what_is_open_is_asked(standin: Standin, panel: Panel) -> None:
    """With full marks the judge is asked unless it is set to save that; `never` asks always."""
    good, bad = {"check": Says(value=1.0)}, {"check": Says(value=0.0)}
    run = asked_and_answered()
    assert 1.0 == Goal(panel=panel, after=("check",), checks=good)(run).value
    saving = Goal(panel=panel, after=("check",), checks=good, skip="decided")(run)
    assert ("not_applicable", "not asked: check 1, which leaves nothing open") == (saving.status, saving.reason)
    assert 1.0 == Goal(panel=panel, after=("check",), checks=bad, skip="never")(run).value


def test_the_choice_of_tools_waits_for_tool_selection(standin: Standin, panel: Panel) -> None:
    """By default tool_choice and plan_adherence come after the check that is next to them, the others after none."""
    assert (("tool_selection",), ("tool_sequence",)) == (ToolChoice().after, PlanAdherence().after)
    assert ((), ()) == (Goal().after, Rubric(criteria="Is it so?").after)
    assert 1.0 == ToolChoice(panel=panel)(asked_and_answered()).value


def test_a_check_that_is_not_there_is_an_error() -> None:
    """A name that is no check cannot be waited for."""
    with pytest.raises(ModelError, match="after names 'nope', expected one of tool_selection"):
        Goal(after=("nope",), panel=Panel(models=(MODEL,)))(failed_run())
