"""Fitting long runs into what a model reads."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.judges import ContextOverflowError, Goal, Panel, ReasoningQuality
from spanwise.judges.chunks import fit, pruned, tokens_of
from spanwise.judges.transcript import transcript_of
from spanwise.model.score import Score
from tests.judges.runs import asked_and_answered, long_run
from tests.judges.standin import MODEL


def steps_of(calls: int, **more: object) -> list:
    """The steps of a long run."""
    return list(transcript_of(long_run(calls, **more)).steps)


@pytest.mark.parametrize(
    ("text", "least"), [("", 1), ("word " * 70, 100), ("\u65e5\u672c\u8a9e", 3), ("\U0001f600" * 10, 10)]
)
def test_tokens_are_estimated_too_high_rather_than_too_low(text: str, least: int) -> None:
    """3.5 letters are a token, and so is each sign beyond ASCII."""
    assert least <= tokens_of(text) <= least + 2


def test_what_fits_is_whole() -> None:
    """Where there is room, nothing is left out."""
    steps = steps_of(5)
    (part,) = fit(steps, room=100_000)
    assert ([step.line for step in steps], 1, 1, False) == (list(part.lines), part.number, part.of, part.pruned)


def test_pruning_keeps_failing_paths() -> None:
    """A failed step, its neighbours, the first and the last stay as they are; the others are told in outline."""
    steps = steps_of(12, failing=(6,))
    failed = next(at for at, step in enumerate(steps) if step.failed)
    whole = [at for at, (step, line) in enumerate(zip(steps, pruned(steps), strict=True)) if line == step.line]
    assert [0, failed - 1, failed, failed + 1, len(steps) - 1] == whole
    (part,) = fit(steps, room=sum(tokens_of(line) + 2 for line in pruned(steps)))
    assert (True, len(steps)) == (part.pruned, len(part.lines))
    assert part.lines[2] == steps[2].outline
    assert '"shortened":true' in part.lines[2]


def test_very_long_texts_lose_their_middle() -> None:
    """In what is kept a text of many thousand characters is cut in its middle, and says so."""
    (line,) = [
        line for line in pruned(steps_of(3, failing=(1,), size=50_000)) if "page 1" in line and "left out" in line
    ]
    assert len(line) < 6_000


def test_parts_overlap() -> None:
    """What is still too long comes in parts that share two steps; together they hold every step."""
    steps = steps_of(40, failing=tuple(range(40)))
    parts = fit(steps, room=1_500, most=20)
    assert len(parts) > 1
    assert [(number + 1, len(parts)) for number in range(len(parts))] == [(part.number, part.of) for part in parts]
    assert all(before.lines[-2:] == after.lines[:2] for before, after in pairwise(parts))
    assert set(pruned(steps)) == {line for part in parts for line in part.lines}
    assert all(sum(tokens_of(line) + 2 for line in part.lines) <= 1_500 for part in parts)


@pytest.mark.parametrize(("room", "most", "says"), [(1_000, 2, "more than 2 parts"), (50, 8, "alone takes about")])
def test_what_does_not_fit_is_an_error(room: int, most: int, says: str) -> None:
    """More parts than are allowed, or a step that fits into none, are a typed error that says what to set."""
    with pytest.raises(ContextOverflowError, match=says):
        fit(steps_of(60, failing=tuple(range(60))), room=room, most=most)


def test_an_overflow_is_an_error_and_never_a_number() -> None:
    """A judge whose models read too little says error, without having asked anybody."""
    panel = Panel(models=(MODEL,), context_tokens=1_200, reply_tokens=50)
    score = Goal(panel=panel)(asked_and_answered(query="why? " * 2_000))
    assert ("error", None) == (score.status, score.value)
    assert score.reason.startswith("ContextOverflowError: the task, the tools and the answer take about")


def test_every_part_has_the_task_and_the_answer() -> None:
    """The parts of a long run are asked about with the task before and the answer behind them."""
    panel = Panel(models=(MODEL,), context_tokens=3_000, reply_tokens=500)
    questions = ReasoningQuality(panel=panel).ask(long_run(20, failing=tuple(range(20))))
    assert not isinstance(questions, Score)
    assert len(questions) > 1
    for question in questions:
        assert all(text in question.material for text in ("Read all pages.", "I read them all.", "of a long run"))
        assert tokens_of(question.instructions) + tokens_of(question.material) <= 3_000 - 500
    assert 1 == len({question.instructions for question in questions})


@given(calls=st.integers(0, 30), room=st.integers(100, 3_000), failing=st.sets(st.integers(0, 29)))
def test_no_step_is_lost(calls: int, room: int, failing: set[int]) -> None:
    """Whatever the room: all steps are there, in their order, or it is an overflow."""
    steps = steps_of(calls, failing=tuple(failing))
    try:
        parts = fit(steps, room=room, most=20)
    except ContextOverflowError:
        return
    for kept in ([step.line for step in steps], pruned(steps)):
        if parts[0].lines[0] == kept[0] and set(kept) == {line for part in parts for line in part.lines}:
            return
    raise AssertionError("some step is lost")
