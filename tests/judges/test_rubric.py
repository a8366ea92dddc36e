"""Questions of one's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanwise.errors import ModelError
from spanwise.judges import Example, Panel, Question, Rubric
from spanwise.model.score import Score
from tests.judges.runs import asked_and_answered, long_run
from tests.judges.standin import Standin, verdict


def question_of(rubric: Rubric) -> Question:
    """The question about a small run."""
    questions = rubric.ask(asked_and_answered())
    assert not isinstance(questions, Score)
    return questions[0]


def test_criteria_scale_levels_and_examples_are_in_the_frame() -> None:
    """What is judged, what not, what each number means, and examples with reasons before the score."""
    rubric = Rubric(
        criteria="Is the answer polite?",
        leaves=("whether it is right",),
        levels={"1": "rude", "5": "warm"},
        scale="1-5",
        examples=(Example(run="It said: go away.", reasons="That is rude.", score=1),),
    )
    frame = question_of(rubric).instructions
    for words in (
        "What you judge: Is the answer polite?",
        "Do not judge: whether it is right; anything that these criteria do not name.",
        "The scale is 1 to 5, whole numbers; 4 and above pass.\n5: warm\n4\n3\n2\n1: rude",
        'Run: "It said: go away."\nReply: {"reasons":"That is rude.","quotes":[],"score":1}',
    ):
        assert words in frame
    assert (1, 2, 3, 4, 5) == question_of(rubric).scale.numbers


@pytest.mark.parametrize(
    ("score", "value", "label", "word"),
    [(1, 0.0, "alert", "fail"), (3, 0.5, "warn", "borderline"), (4, 0.75, "ok", "pass"), (5, 1.0, "ok", "pass")],
)
def test_one_to_five_has_three_verdicts(
    standin: Standin, panel: Panel, score: int, value: float, label: str, word: str
) -> None:
    """Of 1 to 5, 4 and 5 pass, 3 is borderline, the rest fail; the label lets a gate see it."""
    standin.script(verdict(score))
    found = Rubric(criteria="Is it polite?", scale="1-5", panel=panel)(asked_and_answered())
    assert (value, label) == (found.value, found.label)
    assert f"{score} of 1-5, {word}: " in found.reason


def test_a_threshold_moves_what_passes(standin: Standin, panel: Panel) -> None:
    """With a threshold of 0.5 a 3 of 1 to 5 passes, and 2 is borderline."""
    standin.script(verdict(3), verdict(2))
    rubric = Rubric(criteria="Is it polite?", scale="1-5", threshold=0.5, panel=panel)
    labels = [rubric.hear(asked_and_answered(), fresh=True).label for _ in range(2)]
    assert ["ok", "warn"] == labels
    assert "3 and above pass" in question_of(rubric).instructions


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"criteria": " "}, "criteria is empty"),
        ({"criteria": "a", "levels": {"4": "x"}}, "the level '4', expected a number from 0 to 3"),
        ({"criteria": "a", "examples": (Example(run="r", reasons="s", score=9),)}, "the score 9, expected"),
        ({"criteria": "a", "threshold": 2.0, "scale": "1-5"}, "threshold is 2.0"),
    ],
)
def test_what_is_no_rubric_is_refused(fields: dict[str, object], says: str) -> None:
    """Empty criteria, levels and examples off the scale, and thresholds out of range are refused."""
    with pytest.raises(ModelError, match=says):
        Rubric(**fields).ask(asked_and_answered())


def test_the_worst_part_counts_unless_the_median_is_asked_for(standin: Standin, panel: Panel) -> None:
    """Of a long run's parts the worst counts, or the median; a part that shows nothing is left out."""

    def by_part(body: dict) -> object:
        text = standin_text(body)
        return verdict(None if "part 1 of" in text else 1 if "part 2 of" in text else 3, "part")

    standin.choose(by_part)
    small = replace(panel, context_tokens=3_000, reply_tokens=500)
    run = long_run(40, failing=tuple(range(40)))
    worst = Rubric(criteria="Is it tidy?", panel=small)(run)
    median = Rubric(criteria="Is it tidy?", panel=small, merge="median")(run)
    assert (1 / 3, 1.0) == (worst.value, median.value)
    assert "part 2 of" in worst.reason
    assert "shortened to its failing paths" in worst.reason


def standin_text(body: dict) -> str:
    """What the user's message of a request says."""
    return str(body["messages"][-1]["content"])
