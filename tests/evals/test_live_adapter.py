"""Evaluators of pydantic-evals given to `instrument` and to `score`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from opentelemetry import trace
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, HasMatchingSpan, MaxToolCalls

import spanwise
from spanwise.errors import SpecError
from spanwise.evals import ToolSelection, _loop, as_evaluator
from spanwise.evals._loop import waited
from spanwise.evaluators.loops import Loops
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.offline.reading import Reading
from tests.capture.app import App, make
from tests.capture.processes import python
from tests.recordings_io import FOLDER

__all__ = ["make"]

FILE = str(FOLDER / "langgraph__openinference.json")


@dataclass
class Asking(Evaluator[object, object, object]):
    """Waits, asks an agent of its own, and says several things."""

    seconds: float = 0.0

    async def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, object]:
        await asyncio.sleep(self.seconds)
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "mine"}
        with TRACER[0].start_as_current_span("invoke_agent mine", attributes=fields):
            pass
        return {"holds": True, "half": EvaluationReason(0.5, "half of it"), "where": threading.current_thread().name}


@dataclass
class Contexts(Evaluator[object, object, object]):
    """Keeps the contexts that it is given."""

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> bool:
        GIVEN.append(ctx)
        return True


GIVEN: list[EvaluatorContext[object, object, object]] = []
TRACER: list[trace.Tracer] = []


def scores(result: RunResult) -> dict[str, Score]:
    """The scores by name, without those that are weighed of them."""
    return {score.name: score for score in result.scores if score.name != "overall"}


def test_live(make: Callable[..., App]) -> None:
    """They score runs as they end, beside built-ins, two of a kind under two names, and reach the sinks."""
    app = make(
        evaluators=[
            "redundancy",
            HasMatchingSpan({"name_equals": "execute_tool search"}),
            HasMatchingSpan({"name_equals": "execute_tool none"}),
            MaxToolCalls(1),
            ToolSelection(["search"]),
        ]
    )
    with app.agent(), app.tool("search"):
        pass
    (result,) = app.flushed()
    expected = {
        "redundancy": (1.0, "ok"),
        "has_matching_span": (1.0, "ok"),
        "has_matching_span_2": (0.0, "alert"),
        "max_tool_calls": (1.0, "ok"),
        "tool_selection": (1.0, "ok"),
    }
    assert expected == {name: (score.value, score.label) for name, score in scores(result).items()}


def test_names_are_those_of_the_mapping(make: Callable[..., App]) -> None:
    """What an evaluator does not name itself is called by its key."""
    app = make(evaluators={"found": HasMatchingSpan({"name_contains": "tool"}), "few": MaxToolCalls(0)})
    with app.agent(), app.tool("search"):
        pass
    (result,) = app.flushed()
    assert {"found": 1.0, "few": 0.0} == {name: score.value for name, score in scores(result).items()}


def test_the_context_is_built_once(make: Callable[..., App]) -> None:
    """All evaluators of a run are given the same context."""
    GIVEN.clear()
    app = make(evaluators={"one": Contexts(), "two": Contexts()})
    with app.agent(), app.tool("search"):
        pass
    app.flushed()
    assert (2, True) == (len(GIVEN), GIVEN[0] is GIVEN[1])


def test_an_asynchronous_evaluator_and_its_own_agent(make: Callable[..., App]) -> None:
    """It runs on a loop that is kept, off the app's threads; the run of its own agent is not scored."""
    app = make(evaluators=[Asking()], share=1.0)
    TRACER[:] = [app.tracer]
    for _ in range(2):
        with app.agent(), app.tool("search"):
            pass
        app.flushed()
    time.sleep(0.1)
    assert ([2, {"judge": 2}], [{"spanwise-evaluators"}]) == (
        [len(app.flushed()), app.handle.stats().unscored],
        [{scores(result)["where"].label for result in app.results}],
    )
    assert {"holds", "half", "where"} == set(scores(app.results[0]))


def test_its_own_agent_is_never_scored(make: Callable[..., App]) -> None:
    """Not under the policy that scores everything either: it would be asked about itself for ever."""
    app = make(evaluators=[Asking()], share=1.0, in_evaluate="score")
    TRACER[:] = [app.tracer]
    with app.agent():
        pass
    app.flushed()
    time.sleep(0.1)
    assert (1, {"judge": 1}) == (len(app.flushed()), app.handle.stats().unscored)


def test_one_that_was_made_an_evaluator_of_runs(make: Callable[..., App]) -> None:
    """What `as_evaluator` gives is treated like the evaluator itself."""
    app = make(evaluators={"mine": as_evaluator(Asking())}, share=1.0)
    TRACER[:] = [app.tracer]
    with app.agent():
        pass
    app.flushed()
    time.sleep(0.1)
    assert ([1, {"judge": 1}], "spanwise-evaluators") == (
        [len(app.flushed()), app.handle.stats().unscored],
        scores(app.results[0])["where"].label,
    )


def test_they_keep_to_the_share_of_time(make: Callable[..., App]) -> None:
    """Those that take long are not asked about every run, and it is counted."""
    app = make(evaluators=[Asking(seconds=0.3)], share=0.01)
    TRACER[:] = [app.tracer]
    for _ in range(3):
        with app.agent():
            pass
        app.handle.flush(10)
    assert app.handle.stats().unscored["time_share"] >= 1


def test_one_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after some time, and what it did is cancelled; an error of its own is its own."""
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def late() -> None:
        raise TimeoutError("the model's")

    with pytest.raises(TimeoutError, match=r"no verdict within 0\.05 s"):
        waited(forever(), 0.05)
    assert ended.wait(5)
    with pytest.raises(TimeoutError, match="the model's"):
        waited(late())
    assert 1 == len(_loop._held)


def test_in_a_helper_process(make: Callable[..., App]) -> None:
    """They can be isolated like any other evaluator of others."""
    app = make(evaluators={"few": MaxToolCalls(0)}, isolate="process")
    with app.agent(), app.tool("search"):
        pass
    until = time.monotonic() + 30
    while not any("few" in scores(result) for result in app.results) and time.monotonic() < until:
        app.handle.flush(1)
        time.sleep(0.05)
    assert [0.0] == [scores(result)["few"].value for result in app.results if "few" in scores(result)]


def test_offline() -> None:
    """`spanwise.score` takes them, too, and says what they say of the run."""
    (result,) = spanwise.score(FILE, evaluators={"most": MaxToolCalls(2), "loops": Loops()})
    (run,) = (run for one in Reading(paths=[FILE]).traces_of() for run in one.runs)
    assert ["alert", f"{len(run.work)} tool call(s), budget=2"] == [
        scores(result)["most"].label,
        scores(result)["most"].reason,
    ]


@pytest.mark.parametrize("ask", [lambda one: spanwise.score(FILE, evaluators=one), lambda one: App(evaluators=one)])
def test_a_class_is_refused(ask: Callable[[object], object]) -> None:
    """A value is wanted, and the error says which."""
    with pytest.raises(SpecError, match=r"evaluator 'm': read the class MaxToolCalls, expected a value: MaxToolC"):
        ask({"m": MaxToolCalls})


def test_nothing_is_loaded_without_them(tmp_path: Path) -> None:
    """To instrument, score and import loads neither pydantic-evals nor what is there for its evaluators."""
    code = f"""
import sys
import spanwise
from opentelemetry.sdk.trace import TracerProvider
with spanwise.instrument(TracerProvider(), evaluators=["loops"], sinks=[print]):
    pass
spanwise.score({FILE!r})
print([name for name in sys.modules if name in ("pydantic_evals", "pydantic_ai", "spanwise.evals.live")])
"""
    done = python(code, folder=tmp_path)
    assert ("[]", "") == (done.stdout.splitlines()[-1], done.stderr)
