"""A live app that makes more spans than are scored: no trace is torn, and every span is accounted for."""

from __future__ import annotations

import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import INVALID_SPAN, Span, set_span_in_context

from spanwise.assembly.assembler import LIVE
from spanwise.capture import intake as intake_module
from spanwise.capture.intake import Intake
from spanwise.capture.processor import LogCapture, SpanCapture
from spanwise.model.result import RunResult
from tests.capture.app import WAIT_S, App, added_up, make, tools

pytestmark = pytest.mark.once

__all__ = ["make"]

QUEUE = 200
THREADS = 4


class Offered:
    """What the threads of an app make: traces of 1 to 12 spans each, each root telling how many, several at a time."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.spans = self.traces = 0
        self._lock = threading.Lock()

    def make(self, spans: int) -> None:
        """Offer so many spans from several threads, or a few more."""
        threads = [threading.Thread(target=self._thread, args=(spans // THREADS, seed)) for seed in range(THREADS)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def _thread(self, least: int, seed: int) -> None:
        rng = random.Random(seed)
        made = 0
        traces: list[tuple[Span, int, int]] = []
        while made < least or traces:
            if made < least and len(traces) < 4:
                # Now and then one that runs for long beside the others.
                count = rng.randrange(12) if rng.random() < 0.9 else 40
                fields = {"gen_ai.operation.name": "invoke_agent", "app.spans": count + 1}
                root = self.app.tracer.start_span("invoke_agent", context=set_span_in_context(INVALID_SPAN))
                root.set_attributes(fields)
                traces.append((root, count, 0))
            at = rng.randrange(len(traces))
            root, count, done = traces[at]
            made += 1
            if done == count:
                root.end()
                del traces[at]
                with self._lock:
                    self.traces += 1
                    self.spans += count + 1
            else:
                fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"t{done}"}
                self.app.tracer.start_span("tool", context=set_span_in_context(root), attributes=fields).end()
                traces[at] = (root, count, done + 1)


def whole(result: RunResult) -> bool:
    """Whether a run has all the spans that its root tells of."""
    root = result.run.root_span
    return root is not None and root.raw.attributes["app.spans"] == len(result.run.spans)


class Slow:
    """A sink that takes 50 ms each time."""

    def __call__(self, result: RunResult) -> None:
        time.sleep(0.05)


class Dead:
    """A sink that always fails."""

    def __call__(self, result: RunResult) -> None:
        raise OSError("gone")


class Hung:
    """A sink that hangs the first time, for long."""

    def __init__(self) -> None:
        self.first = True

    def __call__(self, result: RunResult) -> None:
        if self.first:
            self.first = False
            time.sleep(1.0)


class Gated:
    """Keeps the thread that scores waiting until a gate is opened."""

    inline = True

    def __init__(self, gate: threading.Event) -> None:
        self.gate = gate

    def emit(self, results: Sequence[RunResult], /) -> None:
        self.gate.wait(WAIT_S)

    def close(self) -> None: ...


@contextmanager
def in_small_pieces() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("sink", [Slow, Dead, Hung])
@pytest.mark.parametrize("factor", [10, 100])
def test_no_trace_is_torn(
    make: Callable[..., App], factor: int, sink: type[Slow | Dead | Hung], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 10 and 100 times what fits, with any sink: what is scored is whole, and the counters add up to the span."""
    monkeypatch.setattr(intake_module, "_MOST_TORN", 50)
    bounds = replace(LIVE, max_spans=400, max_traces=60, max_tombstones=50)
    app = make(queue=QUEUE, bounds=bounds)
    app.handle.subscribe(sink())
    offered = Offered(app)
    with in_small_pieces():
        for _ in range(4):
            offered.make(factor * QUEUE // 4)
    assert app.handle.flush(30.0)
    time.sleep(0.01)
    offered.make(50)
    assert app.handle.flush(30.0)
    stats = app.handle.stats()
    assert all(whole(result) for result in app.results)
    assert (offered.spans, offered.spans) == (stats.captured, added_up(stats))
    assert stats.refused["queue"] > 0.5 * factor * QUEUE if sink is not Dead else stats.sink_failures["results"] > 0
    assert stats.scored == len(app.results) == len({result.run.trace.key for result in app.results})
    assert stats.scored > 5
    app.handle.uninstrument()
    stats = app.handle.stats()
    assert (0, 0, offered.spans) == (stats.queued, stats.held, added_up(stats))


def test_the_queue_recovers(make: Callable[..., App]) -> None:
    """Traces that begin when the queue has been emptied are scored, though others began before by the thousand."""
    gate = threading.Event()
    app = make(queue=QUEUE, also=[Gated(gate)])
    offered = Offered(app)
    offered.make(100 * QUEUE)
    gate.set()
    assert app.handle.flush(WAIT_S)
    before = len(app.results)
    time.sleep(0.01)
    for _ in range(10):
        offered.make(QUEUE // 10)
        assert app.handle.flush(WAIT_S)
    assert before + sum(1 for result in app.results[before:] if whole(result)) == len(app.results)
    assert len(app.results) - before > 10
    assert offered.spans == added_up(app.handle.stats())


def test_roots_that_never_end(make: Callable[..., App]) -> None:
    """They take their place up to the bound, never more; what does not fit is refused, and all is counted."""
    app = make(bounds=replace(LIVE, max_traces=40))
    roots = [app.tracer.start_span("invoke_agent") for _ in range(60)]
    for root in roots:
        for _ in range(3):
            app.tracer.start_span("tool", context=set_span_in_context(root)).end()
    with app.agent():
        pass
    assert [] == app.flushed()
    stats = app.handle.stats()
    assert (181, 181, 120, {"traces": 61}) == (stats.captured, added_up(stats), stats.held, stats.refused)
    app.handle.uninstrument()
    assert {"traces": 61, "unfinished": 120} == app.handle.stats().refused
    for root in roots:
        root.end()


def test_no_root_for_long(make: Callable[..., App]) -> None:
    """Spans are taken though no run ends: the queue does not fill with the first run, nor stay full for ever."""
    app = make(queue=100)
    with app.agent():
        for step in range(1000):
            with app.tool("search", str(step)):
                pass
            until = time.monotonic() + WAIT_S
            while step % 20 == 0 and app.handle.stats().queued > 70 and time.monotonic() < until:
                time.sleep(0.002)
    assert [1000] == [len(tools(result)) for result in app.flushed()]
    for _ in range(2):
        with app.agent():
            for step in range(1000):
                with app.tool("search", str(step)):
                    pass
        time.sleep(0.1)
    with app.agent():
        pass
    assert app.flushed()[-1].run.tool_calls == ()
    stats = app.handle.stats()
    assert stats.captured == added_up(stats) == 3004


def test_one_trace_of_many_spans(make: Callable[..., App]) -> None:
    """One trace of 20,000 spans is scored whole where the bounds allow it, else refused whole; others do not care."""
    for most in (20_001, 20_000):
        app = make(bounds=replace(LIVE, max_trace_spans=most), queue=50_000, evaluators=["latency"])
        with app.agent():
            for _ in range(20_000):
                app.tracer.start_span("tool").end()
        with app.agent():
            pass
        assert [20_001, 1][20_001 - most :] == [len(result.run.spans) for result in app.flushed()]
        stats = app.handle.stats()
        assert stats.captured == added_up(stats) == 20_002
        assert stats.refused == ({} if most == 20_001 else {"spans_per_trace": 20_001})


def test_waiting_spans_are_bounded_by_their_bytes(make: Callable[..., App]) -> None:
    """Spans of 100 KB shut the queue at a quarter of the bound on bytes, long before it holds as many as it may."""
    gate = threading.Event()
    app = make(queue=50_000, bounds=replace(LIVE, max_bytes=40_000_000), also=[Gated(gate)])
    with app.agent():
        pass
    time.sleep(0.1)
    tracemalloc.start()
    for step in range(300):
        with app.agent(), app.tool("search") as span:
            span.set_attribute("gen_ai.tool.call.result", f"{step}" * 50_000)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    stats = app.handle.stats()
    gate.set()
    assert used < 11_000_000
    assert 60 < stats.queued < 140
    assert all(1 == len(tools(result)) for result in app.flushed()[1:])
    assert 601 == app.handle.stats().captured == added_up(app.handle.stats())


def test_an_evaluator_that_asks_python_to_end(make: Callable[..., App]) -> None:
    """The thread that scores lives on."""

    def leaving(result: RunResult) -> None:
        sys.exit(3)

    app = make()
    stop = app.handle.subscribe(leaving)
    with app.agent():
        pass
    assert 1 == len(app.flushed())
    stop()
    with app.agent():
        pass
    assert 2 == len(app.flushed())


class Unreadable:
    """A span of somebody's, whose parts cannot all be read."""

    context = SimpleNamespace(trace_id=7, span_id=8)
    parent = None

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


def capture_of(intake: Intake, stamp: Callable[..., None] = lambda span, context: None) -> SpanCapture:
    """The hooks before a queue that nobody empties."""
    return SpanCapture(intake, stamp=stamp, notify=lambda: None, flush=lambda s: True, close=lambda: None)


def test_a_hook_that_fails() -> None:
    """A span or a log event that cannot be read is counted, and its trace is torn; what is no span is not counted."""
    intake = Intake(10)

    def failing(span: object, context: object) -> None:
        raise RuntimeError("stamp")

    capture = capture_of(intake, failing)
    capture.on_start(Unreadable())
    assert (0, (set(), -1)) == (intake.failures, intake.taken())
    capture.on_end(Unreadable())
    LogCapture(intake).on_emit(SimpleNamespace(log_record=SimpleNamespace(trace_id=9, span_id=1, attributes=3)))
    assert (2, ({7, 9}, -1)) == (intake.failures, intake.taken())


def test_a_span_that_the_worker_cannot_read(make: Callable[..., App]) -> None:
    """It is counted and takes its trace with it; the spans behind it are scored."""
    app = make()
    with app.agent() as root:
        broken = ReadableSpan("broken", context=root.get_span_context(), parent=root.get_span_context(), kind=None)
        app.provider._active_span_processor.on_end(broken)
    with app.agent():
        pass
    assert 1 == len(app.flushed())
    stats = app.handle.stats()
    assert (3, 3, {"failures": 1, "queue": 1}) == (stats.captured, added_up(stats), stats.refused)


def test_the_end_of_the_intake(make: Callable[..., App]) -> None:
    """What ends after the end is refused, and does not wait for ever."""
    app = make()
    with app.agent():
        pass
    app.provider.shutdown()
    with app.agent():
        pass
    stats = app.handle.stats()
    assert (2, 2, 0, {"queue": 1}) == (stats.captured, added_up(stats), stats.queued, stats.refused)


def test_torn_traces_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound only the time of the last loss is kept, and told when the queue is empty."""
    monkeypatch.setattr(intake_module, "_MOST_TORN", 2)
    intake = Intake(1)
    begun = time.time_ns()
    assert intake.admits(1)
    intake.items.append(())
    assert not any(intake.admits(trace_id) for trace_id in (2, 3, 4, 3))
    assert ({2, 3}, -1) == intake.taken()
    intake.items.clear()
    named, until_ns = intake.taken()
    assert (set(), True, 4) == (named, begun <= until_ns <= time.time_ns(), intake.lost)
    assert intake.admits(5)
    assert (set(), -1) == intake.taken()
    intake.end()
    assert (False, (set(), -1), 5) == (intake.admits(6), intake.taken(), intake.lost)
