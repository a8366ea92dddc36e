"""Reading replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.judges import Goal, Question, ReplyError
from spanwise.judges.replies import verdict_of
from spanwise.model.score import Score
from tests.judges.runs import asked_and_answered


@pytest.fixture(scope="module")
def question() -> Question:
    """The question about a small run."""
    questions = Goal().ask(asked_and_answered())
    assert not isinstance(questions, Score)
    return questions[0]


def reply(score: object = 2, reasons: object = "So it is.", quotes: object = ()) -> str:
    """A reply in JSON."""
    return json.dumps({"reasons": reasons, "quotes": quotes, "score": score})


@pytest.mark.parametrize(("score", "number"), [(0, 0), (3, 3), (2.0, 2), (None, None)])
def test_a_verdict_has_a_number_or_none(question: Question, score: object, number: int | None) -> None:
    """A number of the scale is read, also where it is written as 2.0; null means that the judge cannot tell."""
    assert number == verdict_of(reply(score), question).number


def test_a_pure_pair(question: Question) -> None:
    """A judge reads a reply to its question into a score, without anybody being asked."""
    judge = Goal()
    score = judge.read(reply(3, "All of it is there."), question)
    assert (1.0, "scored", "3 of 0-3, pass: All of it is there.") == (score.value, score.status, score.reason)
    abstained = judge.read(reply(None, "The answer is cut."), question)
    assert ("not_measurable", "the judge cannot tell: The answer is cut.") == (abstained.status, abstained.reason)
    failed = judge.read(reply(0, "None of it."), question)
    assert (0.0, ("fail: None of it.",)) == (failed.value, failed.issues)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "[]",
        "{",
        "not JSON",
        '{"score": 3, "reasons": "first the score"}',
        '{"reasons": "no score"}',
        '{"score": 3}',
        reply(4),
        reply(-1),
        reply(2.5),
        reply("2"),
        reply(True),
        reply([3]),
        reply(3, ""),
        reply(3, "  "),
        reply(3, None),
        reply(3, {"a": 1}),
        "[" * 100_000,
        '{"reasons": "' + "x" * 200_000 + '", "score": 1}',
        reply(3) + reply(0),
    ],
    ids=range(21),
)
def test_what_is_no_verdict_is_refused(question: Question, text: str) -> None:
    """A reply of another form, a number off the scale, a score before its reasons, or none: a typed error."""
    with pytest.raises(ReplyError):
        verdict_of(text, question)


def test_made_up_quotes_are_left_out(question: Question) -> None:
    """Only words that stand in the step that is named become evidence."""
    quotes = [
        {"step": 2, "text": "Returns cost 5 dollars."},
        {"step": 1, "text": "Returns cost 5 dollars."},
        {"step": 99, "text": "Returns"},
        {"step": "2", "text": "Returns"},
        {"step": 2, "text": ""},
        {"step": 2},
        "Returns",
        None,
    ]
    verdict = verdict_of(reply(2, quotes=quotes), question)
    assert ["Returns cost 5 dollars."] == [one.quote for one in verdict.evidence]
    assert () == verdict_of(reply(2, quotes={"step": 2}), question).evidence


@given(text=st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_no_reply_breaks_the_reading(text: str) -> None:
    """Whatever a model writes is a verdict or the typed error."""
    questions = Goal().ask(asked_and_answered())
    assert not isinstance(questions, Score)
    try:
        verdict_of(text, questions[0])
    except ReplyError:
        pass
