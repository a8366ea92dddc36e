"""Judges on threads of their own."""

from __future__ import annotations

import threading
import time

import pytest

from spanwise.capture.settings import Elsewhere, kept_apart
from spanwise.evaluators.loops import Loops
from spanwise.judges import Beside, Goal
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.pipeline import Scoring
from tests.judges.runs import asked_and_answered


class Slow:
    """An evaluator that waits until it may answer."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.seen = 0

    def __call__(self, run: Run, /) -> Score:
        """The score, when it is time."""
        self.seen += 1
        assert self.may.wait(10)
        return Score(name="slow", value=1.0)


def test_what_is_submitted_comes_back() -> None:
    """Each run comes back with its scores and its revision, and nobody waited."""
    slow = Slow()
    beside = Beside({"slow": slow}, threads=2)
    begun = time.monotonic()
    for revision in (1, 2, 3):
        beside.submit(asked_and_answered(), revision)
    assert (time.monotonic() - begun < 1.0, []) == (True, list(beside.results()))
    slow.may.set()
    assert beside.close(10.0)
    assert [1, 2, 3] == sorted(result.revision for result in beside.results())
    assert ({}, 0) == (beside.counts, beside.pending)


def test_too_many_are_counted() -> None:
    """What finds no room is dropped and counted; there is room again when results are taken."""
    slow = Slow()
    beside = Beside({"slow": slow}, max_runs=2)
    for _ in range(5):
        beside.submit(asked_and_answered())
    assert {"judges_dropped": 3} == beside.counts
    slow.may.set()
    end = time.monotonic() + 10
    while beside.pending and time.monotonic() < end:
        time.sleep(0.01)
    beside.submit(asked_and_answered())
    assert {"judges_dropped": 4} == beside.counts
    assert 2 == len(beside.results())
    beside.submit(asked_and_answered())
    assert beside.close(10.0)
    assert {"judges_dropped": 4} == beside.counts


def test_the_end_is_not_waited_for_long() -> None:
    """At the end what does not come in time is counted as unfinished."""
    slow = Slow()
    beside = Beside({"slow": slow})
    beside.submit(asked_and_answered())
    assert not beside.close(0.1)
    assert {"judges_unfinished": 1} == beside.counts
    beside.submit(asked_and_answered())
    assert {"judges_unfinished": 1, "judges_dropped": 1} == beside.counts
    slow.may.set()


def test_a_judge_that_breaks_costs_its_score() -> None:
    """An exception is an error score; a run for no judge of these names is not taken."""

    def broken(run: Run) -> Score:
        raise RuntimeError("it broke")

    beside = Beside({"broken": broken})
    beside.submit(asked_and_answered(), 1, ["other"])
    assert 0 == beside.pending
    beside.submit(asked_and_answered(), 1, ["broken"])
    assert beside.close(10.0)
    (result,) = beside.results()
    assert ["error"] == [score.status for score in result.scores]


class Counting:
    """A receipt that counts."""

    def __init__(self) -> None:
        self.dones = 0

    def done(self) -> None:
        """Once more."""
        self.dones += 1


def test_receipts_come_back_with_answers() -> None:
    """A run that is answered brings its receipt back, untouched; of one that will not be answered it is done."""
    slow, receipt = Slow(), Counting()
    beside = Beside({"slow": slow}, max_runs=1)
    beside.ask(asked_and_answered(), 3, ["slow"], receipt)
    for names in (["slow"], ["other"]):
        dropped = Counting()
        beside.ask(asked_and_answered(), 1, names, dropped)
        assert 1 == dropped.dones
    slow.may.set()
    assert beside.close(10.0)
    ((result, came),) = beside.answers()
    assert (3, True, 0) == (result.revision, came is receipt, receipt.dones)
    closed = Counting()
    beside.ask(asked_and_answered(), 1, ["slow"], closed)
    assert ({"judges_dropped": 2}, 1) == (beside.counts, closed.dones)


def test_a_run_that_cannot_be_judged_is_done() -> None:
    """Where no result can be made, the receipt is done when answers are taken."""
    beside, receipt = Beside({"slow": Slow()}), Counting()
    beside._judges = {}  # what breaks more than a judge
    beside.ask(asked_and_answered(), 1, ["slow"], receipt)
    assert beside.close(10.0)
    assert ([], 1, {"judges_broken": 1}) == (list(beside.answers()), receipt.dones, beside.counts)


@pytest.mark.parametrize("isolate", [None, "process"])
def test_a_live_app_keeps_judges_beside_the_worker(isolate: str | None) -> None:
    """Built-in evaluators stay with the worker, judges get threads, others their share of time or a process."""
    foreign = {"mine": min}
    scoring, others = kept_apart(Scoring(evaluators={"loops": Loops(), "goal": Goal()}), isolate=isolate, share=0.2)
    assert (["loops"], ("goal",)) == (list(scoring.evaluators), others.isolated.evaluators)
    scoring, others = kept_apart(
        Scoring(evaluators={"loops": Loops(), "goal": Goal(), **foreign}), isolate=isolate, share=0.2
    )
    assert "goal" not in scoring.evaluators
    assert "goal" in others.isolated.evaluators
    if isolate is None:
        assert ({"mine"}, True) == (set(others.names), "mine" in scoring.evaluators)
    else:
        assert isinstance(others.isolated, Elsewhere)
        assert ({"mine", "goal"}, {}) == (set(others.isolated.evaluators), others.isolated.counts)
        assert others.isolated.close(5.0)
