"""Which spans a case of `Dataset.evaluate` is given, in a process without Logfire configured."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import pytest
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from pydantic_evals.evaluators import EvaluatorContext, HasMatchingSpan, MaxToolCalls, ToolCorrectness

import spanwise
from spanwise.evals import capture as module
from spanwise.evals._cases import CaseBounds, CaseCapture
from spanwise.evals.capture import PARTIAL, Capture, bound
from spanwise.model.result import RunResult
from tests.evals.tasks import Agent, Seen


@pytest.fixture
def agent() -> Agent:
    """An agent with a provider of its own."""
    return Agent()


def held() -> CaseCapture:
    """What all captures of this process share."""
    return module._watch.spans


def is_empty() -> bool:
    """Nothing is held of any case."""
    spans = held()
    return not (spans.cases or spans._owners or spans._traces or spans.spans or spans.bytes)


def times(most: int) -> dict[str, object]:
    """How often a task is tried."""
    return {"stop": import_module("tenacity").stop_after_attempt(most)}


def test_each_of_many_cases_gets_its_own_spans_only(agent: Agent) -> None:
    """50 cases, ten at a time, with tools on threads of one pool, called in three ways: none is lost or mixed up."""
    names = [f"case{number}" for number in range(50)]
    with ThreadPoolExecutor(4) as pool:

        async def task(name: str) -> str:
            loop = asyncio.get_running_loop()
            with agent.run(name):
                here = otel.get_current()
                for number in range(3):
                    await loop.run_in_executor(pool, agent.call, f"{name}_otel{number}", here)
                    await asyncio.sleep(0)
                    await loop.run_in_executor(
                        pool, contextvars.copy_context().run, agent.call, f"{name}_python{number}"
                    )
                    await asyncio.to_thread(agent.call, f"{name}_thread{number}")
            return name

        report = agent.evaluate(agent.dataset(names, MaxToolCalls(9)), task, max_concurrency=10)
    expected = {
        name: sorted(f"{name}_{how}{number}" for how in ("otel", "python", "thread") for number in range(3))
        for name in names
    }
    assert expected == {name: sorted(found) for name, found in agent.seen.tools.items()}
    assert [50, True] == [len(report.cases), all(case.assertions["MaxToolCalls"].value for case in report.cases)]
    assert is_empty()


def test_a_synchronous_evaluation(agent: Agent) -> None:
    """`evaluate_sync`, with a synchronous task, which runs on another thread."""

    def task(name: str) -> None:
        with agent.run():
            agent.call(name)

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        agent.dataset(["one", "two"]).evaluate_sync(task, lifecycle=agent.capture, progress=False)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert {"one": ["one"], "two": ["two"]} == agent.seen.tools


def test_a_span_that_has_not_ended_is_taken_as_open(agent: Agent) -> None:
    """A call that outlives its task is a call, the case says what is missing, and its end changes nothing."""
    left: list[trace.Span] = []

    def task(name: str) -> None:
        with agent.run():
            left.append(agent.begin(name))

    report = agent.evaluate(agent.dataset(["slow"], ToolCorrectness(["slow"])), task)
    left[0].end()
    assert [["slow"], "1 span not ended"] == [agent.seen.tools["slow"], report.cases[0].attributes[PARTIAL]]
    assert report.cases[0].assertions["ToolCorrectness"].value
    assert is_empty()


def test_whole_runs_say_nothing_of_completeness(agent: Agent) -> None:
    """The attribute is there for partial runs only."""

    def task(name: str) -> None:
        with agent.run():
            agent.call(name)

    agent.evaluate(agent.dataset(["one"]), task)
    assert {} == agent.seen.attributes["one"]


def test_a_parent_counts_before_the_context(agent: Agent) -> None:
    """A thread that began in the context of one case works for another: its spans are the other's."""
    work: list[tuple[str, otel.Context]] = []
    ready, done = threading.Event(), threading.Event()

    def serve() -> None:
        ready.wait(10)
        for name, context in work:
            agent.begin(name, context).end()
        done.set()

    def task(name: str) -> None:
        with agent.run(name) as span:
            if name == "first":
                threading.Thread(target=contextvars.copy_context().run, args=(serve,)).start()
                return
            work.append(("late", trace.set_span_in_context(span, otel.Context())))
            ready.set()
            assert done.wait(10)

    agent.evaluate(agent.dataset(["first", "second"]), task, max_concurrency=1)
    assert {"first": [], "second": ["late"]} == agent.seen.tools


def test_other_traces_of_a_case(agent: Agent) -> None:
    """What begins a trace of its own in a case, or is below a span of it that was not recorded, is the case's."""

    def task(name: str) -> None:
        with agent.run() as span:
            context = span.get_span_context()
            agent.begin("fresh", otel.Context()).end()
            unseen = SpanContext(context.trace_id, 7, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
            below = trace.set_span_in_context(NonRecordingSpan(unseen), otel.Context())
            pool = threading.Thread(target=agent.begin, args=("called back", below))
            pool.start()
            pool.join()

    agent.evaluate(agent.dataset(["one"]), task)
    assert {"called back", "fresh"} == set(agent.seen.tools["one"])


def test_what_is_nobodys_is_left_out(agent: Agent) -> None:
    """Spans of a thread that knows of no case, and those before and after, are in no case."""
    agent.call("before")

    def task(name: str) -> None:
        with agent.run():
            other = threading.Thread(target=agent.call, args=("elsewhere",))
            other.start()
            other.join()
            agent.call(name)

    agent.evaluate(agent.dataset(["one"]), task)
    agent.call("after")
    assert ({"one": ["one"]}, True) == (agent.seen.tools, is_empty())


def test_sub_agents_are_part_of_the_run(agent: Agent) -> None:
    """Tools of agents inside an agent count, at every depth."""

    def task(name: str) -> None:
        with agent.run("outer"), agent.run("inner"):
            agent.call("one")
            with agent.run("innermost"):
                agent.call("two")

    agent.evaluate(agent.dataset(["case"]), task)
    assert ["one", "two"] == agent.seen.tools["case"]


def test_several_runs_of_a_task_are_taken_together(agent: Agent) -> None:
    """A task that asks two agents, one after the other, did what both did."""

    def task(name: str) -> None:
        for one in ("first", "second"):
            with agent.run(one):
                agent.call(one)

    agent.evaluate(agent.dataset(["case"]), task)
    assert ["first", "second"] == agent.seen.tools["case"]


def test_of_a_task_tried_again_the_last_attempt_counts(agent: Agent) -> None:
    """What earlier attempts did is let go, also where something of theirs still goes on."""
    tried: list[trace.Span] = []

    def task(name: str) -> None:
        with agent.run() as span:
            tried.append(span)
            if len(tried) == 3:
                agent.begin("stale", trace.set_span_in_context(tried[0])).end()
            agent.call(f"try{len(tried)}")
        if len(tried) < 3:
            raise ValueError(name)

    agent.evaluate(agent.dataset(["case"]), task, retry_task=times(3))
    assert (["try3"], True) == (agent.seen.tools["case"], is_empty())


def test_a_last_attempt_without_spans_left_none(agent: Agent) -> None:
    """The spans of an attempt that failed are not taken for those of the one that gave the output."""
    tried: list[str] = []

    def task(name: str) -> None:
        tried.append(name)
        if len(tried) == 1:
            with agent.run():
                agent.call("first")
            raise ValueError(name)

    agent.evaluate(agent.dataset(["case"]), task, retry_task=times(2))
    assert ([], True) == (agent.seen.tools["case"], "No span of this case" in agent.seen.why["case"])


def test_repeats_are_cases_of_their_own(agent: Agent) -> None:
    """With `repeat=` each run of a case has the spans of that run."""
    count = iter(range(1, 4))

    def task(name: str) -> None:
        with agent.run():
            for _ in range(next(count)):
                agent.call(name)

    report = agent.evaluate(agent.dataset(["case"], MaxToolCalls(2)), task, repeat=3, max_concurrency=1)
    assert [True, True, False] == [case.assertions["MaxToolCalls"].value for case in report.cases]


def test_evaluators_spans_are_not_the_tasks(agent: Agent) -> None:
    """What an evaluator runs after the task is in no case."""

    class Asking(Seen):
        def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, bool]:
            with agent.run("judge"):
                agent.call("asked")
            return {}

    def task(name: str) -> None:
        with agent.run():
            agent.call(name)

    agent.evaluate(
        agent.dataset(["one", "two"], Asking(), HasMatchingSpan({"name_contains": "asked"})), task, max_concurrency=1
    )
    assert ({"one": ["one"], "two": ["two"]}, True) == (agent.seen.tools, is_empty())


def test_an_agent_without_instrumentation(agent: Agent) -> None:
    """No span is no tree: a limit on calls does not hold where none could be seen, and the case says what to do."""
    report = agent.evaluate(agent.dataset(["one"], MaxToolCalls(9)), lambda name: name, task_name="silent")
    assert (False, True) == (
        report.cases[0].assertions["MaxToolCalls"].value,
        "instrument the agent" in agent.seen.why["one"],
    )


def test_beside_instrument(agent: Agent) -> None:
    """Runs of cases are scored once, by their evaluators; `instrument` counts them, and scores what else happens."""
    results: list[RunResult] = []

    def task(name: str) -> None:
        with agent.run():
            agent.call(name)

    with spanwise.instrument(agent.provider, sinks=[results.append], on_first="silent") as handle:
        agent.evaluate(agent.dataset(["one", "two"]), task)
        task("outside")
        assert handle.flush(10)
        unscored = handle.stats().unscored
    assert {"one": ["one"], "two": ["two"]} == agent.seen.tools
    assert ([["outside"]], {"scored_in_evaluate": 2}) == (
        [[call.name for call in result.run.tool_calls] for result in results],
        unscored,
    )


def test_hooks_of_ones_own(agent: Agent) -> None:
    """A class that inherits finds the run in `prepare_context`, and may say more of it."""

    class Mine(Capture[Any, Any, Any]):
        async def prepare_context(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorContext[Any, Any, Any]:
            ctx = await super().prepare_context(ctx)
            assert self.run is not None
            ctx.metrics["tools"] = len(self.run.tool_calls)
            return ctx

    def task(name: str) -> None:
        with agent.run():
            agent.call(name)

    report = agent.evaluate(agent.dataset(["one"]), task, lifecycle=lambda case: Mine(case, provider=agent.provider))
    assert 1 == report.cases[0].metrics["tools"]


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        (CaseBounds(case_spans=5), "it left more than 5 spans"),
        (CaseBounds(spans=5), "the cases that run at a time left more than 5 spans"),
        (CaseBounds(bytes=5_000), "the spans of the cases that run at a time took more than 5,000 bytes"),
    ],
    ids=["spans of a case", "spans", "bytes"],
)
def test_bounds(agent: Agent, bounds: CaseBounds, why: str) -> None:
    """A case past a bound is left out as a whole and says why, never scored by a part; the next is captured again."""

    def task(name: str) -> None:
        with agent.run():
            for _ in range(20 if name == "large" else 2):
                agent.call(name)

    before = held().bounds
    bound(bounds)
    try:
        agent.evaluate(agent.dataset(["large", "small"]), task, max_concurrency=1)
    finally:
        bound(before)
    assert ({"large": [], "small": ["small"] * 2}, f"This case is left out: {why}.") == (
        agent.seen.tools,
        agent.seen.why["large"],
    )
    assert is_empty()


def test_a_cancelled_evaluation_is_let_go(agent: Agent) -> None:
    """Whatever ends the evaluation, nothing of its cases is held on to."""

    async def task(name: str) -> None:
        with agent.run():
            agent.call(name)
            await asyncio.sleep(30)

    async def cancelled() -> None:
        evaluation = agent.dataset(["one", "two"]).evaluate(task)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(evaluation, 0.2)

    asyncio.run(cancelled())
    assert is_empty()
