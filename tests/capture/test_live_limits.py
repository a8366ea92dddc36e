"""A live app under failures and overload: no trace is torn, every span is accounted for, and the app goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from spanwise.assembly.assembler import LIVE, AssemblySettings
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.capture.app import WAIT_S, App, added_up, app, make, tools

__all__ = ["app", "make"]


class Broken:
    """An evaluator that always fails."""

    def __call__(self, run: Run, /) -> Score:
        raise RuntimeError("mine")


def test_an_exception_in_an_evaluator(make: Callable[..., App]) -> None:
    """It becomes an error score beside the others."""
    app = make(evaluators=["redundancy", Broken()])
    with app.agent(), app.tool("search"):
        pass
    (result,) = app.flushed()
    assert {"redundancy": "scored", "broken": "error"} == {
        score.name: score.status for score in result.scores if score.name != "overall"
    }


def test_a_sink_that_fails_or_hangs(make: Callable[..., App]) -> None:
    """A failure is counted and costs the other sinks nothing; a hang delays neither them nor the app."""
    gate = threading.Event()

    def stuck(result: RunResult) -> None:
        gate.wait(WAIT_S)

    def failing(result: RunResult) -> None:
        raise OSError("gone")

    app = make()
    app.handle.subscribe(failing)
    with app.agent():
        pass
    assert 1 == len(app.flushed())
    assert {"results": 1} == app.handle.stats().sink_failures
    app.handle.subscribe(stuck)
    begun = time.monotonic()
    for _ in range(50):
        with app.agent(), app.tool("search"):
            pass
    assert 1.0 > time.monotonic() - begun
    assert not app.handle.flush(0.2)
    gate.set()
    assert 51 == len(app.flushed())


def test_overload_tears_no_trace(make: Callable[..., App]) -> None:
    """Where the queue is full whole traces are refused, and every span is accounted for."""
    app = make(queue=40)
    gate = threading.Event()
    app.handle.subscribe(lambda result: gate.wait(WAIT_S))
    for _ in range(100):
        with app.agent():
            for step in range(4):
                with app.tool("search", str(step)):
                    pass
    gate.set()
    assert all(4 == len(tools(result)) for result in app.flushed())
    stats = app.handle.stats()
    assert (500, 500) == (stats.captured, added_up(stats))
    assert stats.refused["queue"] > 0
    assert stats.scored == len(app.results) < 100


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        (replace(LIVE, max_trace_spans=3), "spans_per_trace"),
        (replace(LIVE, max_bytes=2000), "bytes"),
    ],
)
def test_a_trace_beyond_the_bounds(make: Callable[..., App], bounds: AssemblySettings, reason: str) -> None:
    """A trace that is too large is refused as a whole, and the next one is scored."""
    app = make(bounds=bounds)
    with app.agent():
        for step in range(9):
            with app.tool("search", str(step)):
                pass
    assert [] == app.flushed()
    with app.agent():
        pass
    assert 1 == len(app.flushed())
    stats = app.handle.stats()
    assert (11, 11, [reason]) == (stats.captured, added_up(stats), list(stats.refused))
