"""The hard cases of a live app: whatever is interleaved, left early or held up, each run gets its own verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from opentelemetry import trace

import spanwise
from spanwise import record
from spanwise.assembly.assembler import LIVE
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.result import RunResult
from spanwise.pipeline import Pipeline, Scoring
from spanwise.sinks.callback import CallbackSink
from tests.capture.app import WAIT_S, App, app, make, tools
from tests.making import agent, tool

__all__ = ["app", "make"]

S = 1_000_000_000


def redundancy(result: RunResult) -> float | None:
    """The run's verdict on its repeated calls."""
    return next(score.value for score in result.scores if score.name == "redundancy")


def agent_of(result: RunResult) -> str:
    """The name of the run's agent."""
    return str(result.run.agents[0].name)


def test_interleaved_tasks(app: App) -> None:
    """Runs in many tasks of one thread, which take turns at every step, have their own calls and their own verdicts."""

    async def run(number: int) -> None:
        with app.agent(f"agent{number}"):
            for step in range(4):
                await asyncio.sleep(0)
                with app.tool(f"tool{number}", str(step) if number % 2 else "same"):
                    await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(*(run(number) for number in range(20)))

    asyncio.run(main())
    found = {agent_of(result): (tools(result), redundancy(result)) for result in app.flushed()}
    assert {f"agent{n}": ([f"tool{n}"] * 4, 1.0 if n % 2 else 0.25) for n in range(20)} == found


def test_tools_in_threads_of_a_task(app: App) -> None:
    """Blocking tools that a task hands to threads, as frameworks do with plain functions, are the calls of its run."""

    def work(name: str) -> None:
        with app.tool(name):
            time.sleep(0.002)

    async def run(number: int) -> None:
        with app.agent(f"agent{number}"):
            await asyncio.gather(*(asyncio.to_thread(work, f"tool{number}.{step}") for step in range(3)))

    async def main() -> None:
        await asyncio.gather(*(run(number) for number in range(6)))

    asyncio.run(main())
    found = {agent_of(result): sorted(tools(result)) for result in app.flushed()}
    assert {f"agent{n}": [f"tool{n}.{step}" for step in range(3)] for n in range(6)} == found


@pytest.mark.parametrize("how", ["closed", "cancelled", "dropped"])
def test_an_async_stream_left_early(app: App, how: str) -> None:
    """A stream whose reader closes it, is cancelled, or just drops it, is a run with what it did until then."""

    async def stream() -> AsyncGenerator[int, None]:
        with app.agent():
            for number in range(100):
                with app.tool("search", str(number)):
                    await asyncio.sleep(0)
                yield number

    async def read(pieces: AsyncGenerator[int, None]) -> None:
        async for number in pieces:
            if number == 2 and how != "cancelled":
                break
            if number == 2:
                await asyncio.sleep(WAIT_S)
        if how == "closed":
            await pieces.aclose()

    async def main() -> None:
        reading = asyncio.create_task(read(stream()))
        await asyncio.wait([reading], timeout=0.2)
        if reading.cancel():
            await asyncio.wait([reading])

    asyncio.run(main())
    (result,) = app.flushed()
    assert (["search"] * 3, 1.0) == (tools(result), redundancy(result))


def test_an_agents_stream_left_early(require: Callable[[str], str]) -> None:
    """A Pydantic AI agent whose stream is left after the first piece is one run, with its question."""
    require("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    helper = Agent(TestModel(custom_output_text="one two three four five"), name="helper")
    results: list[RunResult] = []

    async def main() -> str:
        async with helper.run_stream("Count.") as streamed:
            async for piece in streamed.stream_text(debounce_by=None):
                return piece
        return ""

    with spanwise.instrument(helper, sinks=[results.append]) as handle:
        assert "one " == asyncio.run(main())
        assert handle.flush(WAIT_S)
    assert [("helper", "Count.")] == [(agent_of(result), result.run.query) for result in results]


def test_runs_of_an_open_websocket() -> None:
    """Each run of a request that stays open for long is scored when it ends, not when the request does."""
    results: list[RunResult] = []
    told: list[list[str]] = []

    async def chat(scope: Any, receive: Any, send: Any) -> None:
        for number in range(2):
            with record.run("helper", query=f"question {number}"):
                pass
            await asyncio.to_thread(handle.flush, WAIT_S)
            told.append([str(result.run.query) for result in results])

    async def nothing(_: object = None) -> dict[str, object]:
        return {}

    with spanwise.instrument(chat, sinks=[results.append]) as handle:
        scope = {"type": "websocket", "headers": [(b"x-session-id", b"s1")]}
        target: Any = handle.target
        asyncio.run(target(scope, nothing, nothing))
    assert [["question 0"], ["question 0", "question 1"]] == told
    assert ["s1", "s1"] == [result.run.who.session_id for result in results]


def test_a_call_of_a_minute(app: App) -> None:
    """A tool that takes 60 s is one call of 60 s, and the run's time has it."""
    begun = time.time_ns() - 61 * S
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    root = app.tracer.start_span("invoke_agent helper", attributes=fields, start_time=begun)
    with trace.use_span(root):
        fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "slow"}
        slow = app.tracer.start_span("execute_tool slow", attributes=fields, start_time=begun)
    slow.end(begun + 60 * S)
    root.end(begun + 61 * S)
    (result,) = app.flushed()
    assert [("slow", 60 * S)] == [(call.name, call.duration_ns) for call in result.run.tool_calls]
    assert 61_000.0 == next(score.value for score in result.scores if score.name == "latency_ms")


def test_a_minute_without_a_span() -> None:
    """While a tool is at work for 60 s nothing is handed out, and then the run is whole, once."""
    results: list[RunResult] = []
    pipeline = Pipeline(
        Scoring(evaluators={"redundancy": Redundancy()}), {"kept": CallbackSink(results.append)}, settings=LIVE
    )
    pipeline.add(tool(2, parent=1, name="first"), 0)
    for half_second in range(120):
        pipeline.work(half_second * S // 2)
    assert [] == results
    pipeline.add(tool(3, parent=1, name="slow"), 60 * S)
    pipeline.add(agent(1), 60 * S)
    for half_second in range(120, 180):
        pipeline.work(half_second * S // 2)
    assert [(["first", "slow"], 1)] == [(sorted(tools(one)), one.revision) for one in results]
