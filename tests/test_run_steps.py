"""Evaluators that work in steps, and their budget of time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from spanwise import run as run_module
from spanwise.errors import ModelError
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.run import evaluate
from tests.making import agent, run_of


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was logged in another test was not logged here."""
    monkeypatch.setattr(run_module, "_told", set())


def quick(run: Run, /) -> Score:
    """An evaluator without steps."""
    return Score(name="x", value=1.0)


class Ticking:
    """A clock that goes on by one millisecond each time it is read."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        self.ns += 1_000_000
        return self.ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepping:
    """An evaluator that takes some steps before it gives its scores."""

    number: int = 3
    said: object = Score(name="stepping", value=1.0)
    closed: list[str] = field(default_factory=list)

    def __call__(self, run: Run, /) -> Score:
        raise AssertionError("the steps count")

    def steps(self, run: Run, /) -> Iterator[object]:
        """Nothing, several times, and then what is to be said."""
        try:
            for _ in range(self.number):
                yield None
            yield self.said
        finally:
            self.closed.append("closed")


class Bare:
    """An iterator that cannot be closed."""

    def steps(self, run: Run, /) -> Iterator[None]:
        """Nothing, for ever."""
        return iter(lambda: None, 1)


def stepped(evaluator: object, *, budget_ms: float | None = None) -> Sequence[Score]:
    """The scores of an evaluator under a budget, on a clock that ticks once each time it is read."""
    budget = None if budget_ms is None else round(budget_ms * 1e6)
    return evaluate(run_of(agent(1)), {"slow": evaluator}, budget_ns=budget, clock=Ticking()).scores


def test_steps_are_taken_to_the_end() -> None:
    """What is yielded between the steps is left out; one Score or several are taken, with or without a clock."""
    pair = [Score(name="a", value=1.0), Score(name="b", value=0.0)]
    assert ["stepping"] == [score.name for score in evaluate(run_of(agent(1)), {"stepping": Stepping()}).scores]
    assert ["a", "b"] == [score.name for score in stepped(Stepping(said=pair))]
    assert ["slow"] == [score.name for score in stepped(Stepping(), budget_ms=100)]


def test_others_may_run_between_steps() -> None:
    """The pause is called before each evaluator, and after each step of one that works in steps."""
    pauses: list[None] = []
    evaluators = {"stepping": Stepping(), "x": quick}
    evaluate(run_of(agent(1)), evaluators, pause=lambda: pauses.append(None))
    assert 1 + 3 + 1 == len(pauses)


def test_an_evaluator_is_stopped_between_steps() -> None:
    """Past its budget an evaluator is closed and gives an error that says after how many steps; others go on."""
    slow = Stepping(number=1000)
    result = evaluate(run_of(agent(1)), {"slow": slow, "x": quick}, budget_ns=4_500_000, clock=Ticking())
    assert [
        ("slow", "error", "time budget of 4.5 ms exceeded after 5 steps"),
        ("x", "scored", ""),
    ] == [(score.name, score.status, score.reason) for score in result.scores]
    assert ["closed"] == slow.closed
    assert ["time budget of 0.5 ms exceeded after 1 step"] == [s.reason for s in stepped(Bare(), budget_ms=0.5)]


def test_steps_that_cannot_be_closed() -> None:
    """Any iterator will do for steps, and needs not be one that can be closed."""
    evaluator = Bare()
    evaluator.steps = lambda run: iter([None, Score(name="x", value=1.0)])
    assert ["x"] == [score.name for score in stepped(evaluator)]


def test_steps_that_break() -> None:
    """An exception in a step, or something that is no Score, is an error like any other."""

    def broken(run: Run, /) -> Iterator[None]:
        yield None
        raise KeyError("x")

    evaluator = Bare()
    evaluator.steps = broken
    assert ["KeyError: 'x'"] == [score.reason for score in stepped(evaluator)]
    (score,) = stepped(Stepping(said=0.5))
    assert "TypeError: 'float' object is not iterable" == score.reason


def test_an_evaluator_without_steps_runs_on(caplog: pytest.LogCaptureFixture) -> None:
    """One that cannot be stopped gives its score; that it took too long is logged once."""
    for _ in range(2):
        assert ["x"] == [score.name for score in stepped(quick, budget_ms=0.5)]
    stepped(quick, budget_ms=100)
    assert [
        "evaluator 'slow' took 1 ms of a budget of 0.5 ms; it has no steps and cannot be stopped; this is logged once"
    ] == [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_budget_needs_a_clock() -> None:
    """A budget that nothing measures is refused."""
    with pytest.raises(ModelError, match="cannot be kept without a clock"):
        evaluate(run_of(agent(1)), {}, budget_ns=1)
