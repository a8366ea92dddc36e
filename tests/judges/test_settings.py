"""Judges by name: in the settings, on the command line, and what they are given there."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.catalog import EVALUATORS, JUDGES, PROFILES
from spanwise.config import load
from spanwise.errors import SpecError
from spanwise.judges import Example, Goal, Judge, Panel, Rubric, ToolChoice
from spanwise.judges.questions import frame

SETTINGS = """
[evaluators]
goal = true
cost = false
tool_choice = { panel = { models = ["openai:gpt-5"] }, skip = "decided" }
[evaluators.redundancy]
near_duplicates = "count"
[evaluators.polite]
use = "rubric"
criteria = "Is the answer polite?"
scale = "1-5"
threshold = 0.75
levels = { 1 = "rude", 5 = "warm" }
examples = [{ run = "Go away.", reasons = "Rude.", score = 1 }]
after = ["redundancy"]
[judge]
models = ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"]
votes = 2
day_usd = 5
cache = "replies"
[thresholds.redundancy]
alert = 0.99
ok = 0.99
"""


def settings(folder: Path, text: str = SETTINGS) -> Path:
    """A file with these settings."""
    path = folder / "spanwise.toml"
    path.write_text(text)
    return path


def test_judges_run_where_they_are_named(tmp_path: Path) -> None:
    """No profile has a judge; a table or a list that names one has it."""
    for profile in PROFILES.values():
        assert not set(JUDGES) & set(profile.evaluators)
    assert not set(JUDGES) & set(EVALUATORS)
    found = load(settings(tmp_path)).evaluators
    assert {"goal": Goal, "tool_choice": ToolChoice, "polite": Rubric} == {
        name: type(one) for name, one in found.items() if isinstance(one, Judge)
    }


def test_what_judges_share_and_what_they_set_themselves(tmp_path: Path) -> None:
    """The table `judge` is for all that have no panel of their own; its folder is named from that of the file."""
    found = load(settings(tmp_path)).evaluators
    goal, choice, polite = (found[name] for name in ("goal", "tool_choice", "polite"))
    assert isinstance(goal, Judge)
    shared = Panel(
        models=("openai:gpt-5-mini", "anthropic:claude-haiku-4-5"),
        votes=2,
        day_usd=5.0,
        cache=str(tmp_path / "replies"),
    )
    assert (shared, shared) == (goal.panel, polite.panel)
    assert (Panel(models=("openai:gpt-5",)), "decided") == (choice.panel, choice.skip)
    assert 4 == len(shared.named())


def test_checks_are_those_of_the_project(tmp_path: Path) -> None:
    """A judge waits for the checks as they are configured, with the project's thresholds."""
    found = load(settings(tmp_path))
    polite = found.evaluators["polite"]
    assert isinstance(polite, Rubric)
    assert polite.checks["redundancy"] == found.evaluators["redundancy"]
    assert (0.99, 0.99) == polite.thresholds["redundancy"]
    assert not any(isinstance(one, Judge) for one in polite.checks.values())
    assert (Example(run="Go away.", reasons="Rude.", score=1),) == polite.examples
    assert "5: warm" in frame(polite.scope)


def test_one_judge_alone_has_them_too(tmp_path: Path) -> None:
    """Chosen by name, also where the settings do not name it, a judge gets the shared panel and the checks."""
    found = load(settings(tmp_path))
    for name in ("goal", "plan_quality"):
        (judge,) = found.only([name]).evaluators.values()
        assert isinstance(judge, Judge)
        assert ("openai:gpt-5-mini", True) == (judge.panel.models[0], "redundancy" in judge.checks)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[judge]\nmodels = 3", "judge.models: read 3, expected a list of text"),
        ("[judge]\nvotes = 0", "judge: votes is 0"),
        ("[judge]\nodd = 1", "judge.odd: unknown key"),
        ("judge = 3", "judge: read 3, expected a table"),
        ("[evaluators]\nrubric = true", "evaluators.rubric.criteria: missing, expected text"),
        ("[evaluators]\nrubric = { criteria = '' }", "criteria is empty"),
        ("[evaluators]\ngoal = { skip = 'no' }", "evaluators.goal.skip: read 'no', expected 'failed' or 'decided'"),
    ],
)
def test_what_is_no_setting_is_told(tmp_path: Path, text: str, says: str) -> None:
    """A key that is not known, or a value out of range, is told with its place."""
    with pytest.raises(SpecError, match=r"spanwise\.toml") as raised:
        load(settings(tmp_path, text))
    assert says in str(raised.value)
