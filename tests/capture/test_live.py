"""A live app: every run is scored once it ends, whatever threads, tasks and processes do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from spanwise.assembly.assembler import LIVE
from spanwise.capture.instrument import instrument
from tests.capture.app import WAIT_S, App, app, make, tools

__all__ = ["app", "make"]


def test_a_run_is_scored_when_it_ends(app: App) -> None:
    """Within a second of its end a run has its scores, without a flush."""
    with app.agent(), app.tool("search"):
        pass
    ended = time.monotonic()
    while not app.results and time.monotonic() - ended < WAIT_S:
        time.sleep(0.005)
    assert 1.0 > time.monotonic() - ended
    (result,) = app.results
    assert (["search"], "overall") == (tools(result), result.scores[-1].name)


def test_interleaved_threads(app: App) -> None:
    """Runs in many threads at once keep their calls apart."""

    def run(number: int) -> None:
        with app.agent(f"agent{number}"):
            for step in range(5):
                with app.tool(f"tool{number}", str(step)):
                    time.sleep(0.001)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted([f"tool{number}"] * 5 for number in range(8)) == sorted(map(tools, app.flushed()))


def test_sub_agents_side_by_side(app: App) -> None:
    """Sub-agents in tasks that run together are part of the one run."""

    async def sub(number: int) -> None:
        with app.agent(f"sub{number}"):
            await asyncio.sleep(0.002)
            with app.tool(f"tool{number}"):
                await asyncio.sleep(0.002)

    async def main() -> None:
        with app.agent("lead"):
            await asyncio.gather(*(sub(number) for number in range(4)))

    asyncio.run(main())
    (result,) = app.flushed()
    assert [f"tool{number}" for number in range(4)] == sorted(tools(result))
    assert {"lead", "sub0", "sub1", "sub2", "sub3"} == {agent.name for agent in result.run.agents}


def test_tools_in_a_thread_pool(app: App) -> None:
    """Tools that run in a pool, with the context handed over, are the run's calls."""
    with app.agent(), ThreadPoolExecutor(4) as pool:
        context = otel_context.get_current()

        def work(number: int) -> None:
            token = otel_context.attach(context)
            try:
                with app.tool(f"tool{number}"):
                    time.sleep(0.001)
            finally:
                otel_context.detach(token)

        list(pool.map(work, range(6)))
    (result,) = app.flushed()
    assert [f"tool{number}" for number in range(6)] == sorted(tools(result))


def test_a_remote_parent(app: App) -> None:
    """A run below a span of another process ends with its local root, and is whole."""
    remote = SpanContext(0xA1, 0xB2, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    token = otel_context.attach(trace.set_span_in_context(NonRecordingSpan(remote)))
    try:
        with app.agent(), app.tool("search"):
            pass
    finally:
        otel_context.detach(token)
    (result,) = app.flushed()
    assert (0xA1, True) == (result.run.trace.key, result.run.completeness.complete)


def test_two_runs_in_one_request(app: App) -> None:
    """Two agent runs below one request span are two results."""
    with app.tracer.start_as_current_span("POST /chat"):
        for name in ("first", "second"):
            with app.agent(name), app.tool(name):
                pass
    assert [["first"], ["second"]] == [tools(result) for result in app.flushed()]


def test_an_abandoned_stream(app: App) -> None:
    """A generator that is closed early ends its spans, and the run is scored."""

    def stream() -> Generator[int, None, None]:
        with app.agent(), app.tool("search"):
            yield 1
            yield 2

    running = stream()
    assert 1 == next(running)
    running.close()
    (result,) = app.flushed()
    assert ["search"] == tools(result)


def test_a_long_call_ends_nothing(make: Callable[..., App]) -> None:
    """While a tool is at work its run stays open, however long the worker waits."""
    app = make(bounds=replace(LIVE, late_ns=0))
    with app.agent():
        with app.tool("slow"):
            time.sleep(1.2)
        assert [] == app.flushed()
    (result,) = app.flushed()
    assert ["slow"] == tools(result)


def test_a_root_that_never_ends(make: Callable[..., App]) -> None:
    """After its greatest age a trace is given up and counted, not scored."""
    app = make(bounds=replace(LIVE, max_age_ns=200_000_000))
    span = app.tracer.start_span("invoke_agent helper", attributes={"gen_ai.operation.name": "invoke_agent"})
    with trace.use_span(span), app.tool("search"):
        pass
    deadline = time.monotonic() + WAIT_S
    app.handle.flush(WAIT_S)
    while not app.handle.stats().refused and time.monotonic() < deadline:
        time.sleep(0.05)
        app.handle.flush(WAIT_S)
    assert ({"unfinished": 1}, []) == (app.handle.stats().refused, app.results)
    span.end()


def test_children_that_end_after_the_root(app: App) -> None:
    """A late child makes one more revision, with the same ids."""
    with app.agent():
        late = app.tracer.start_span(
            "execute_tool late", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "late"}
        )
    assert [[]] == [tools(result) for result in app.flushed()]
    late.end()
    first, second = app.flushed()
    assert (1, 2, ["late"]) == (first.revision, second.revision, tools(second))
    assert [first.id_of(score) for score in first.scores] == [second.id_of(score) for score in second.scores]


def test_unsampled_spans_cost_nothing() -> None:
    """What the sampler drops is not captured."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    with instrument(provider, sinks=[print]) as handle:
        with provider.get_tracer("app").start_as_current_span("root"):
            pass
        assert 0 == handle.stats().captured


def test_a_crash_in_the_agent(app: App) -> None:
    """An exception that ends the run reaches the app, and the run is scored with what it left."""
    with pytest.raises(ValueError, match="no way"), app.agent(), app.tool("search"):
        raise ValueError("no way")
    (result,) = app.flushed()
    assert [("search", "error")] == [(call.name, call.status) for call in result.run.tool_calls]
