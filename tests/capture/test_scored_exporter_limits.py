"""No span is lost or goes twice, and what waits is bounded in number, size and time, whatever goes wrong."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.trace import set_span_in_context

from spanwise.capture.scored_exporter import ScoredExporter, SpanScores
from spanwise.errors import ModelError
from tests.capture.exporting import PROCESSORS, WAIT_S, App, Kept, added_up, make, until

__all__ = ["make"]


def test_the_deadline(make: Callable[..., App]) -> None:
    """What is not scored in time goes out as it is, and is counted; so does a trace whose root does not end."""
    app = make(deadline_s=0.3, open_s=0.6)
    app.provider._active_span_processor._span_processors = app.provider._active_span_processor._span_processors[:1]
    began = time.monotonic()
    app.run()
    assert app.settled(3)
    assert 0.25 < time.monotonic() - began < 3
    assert not any("spanwise.run.id" in one.attributes for one in app.kept.spans)
    root = app.tracer.start_span("root")
    app.tracer.start_span("child", set_span_in_context(root)).end()
    assert app.settled(4)
    root.end()
    assert app.settled(5)
    stats = app.exporter.stats()
    assert ({"deadline": 2, "open": 1}, 0) == (stats.unscored, stats.held)
    assert {1} == set(app.kept.ids().values())


def test_bounds(make: Callable[..., App]) -> None:
    """Past a bound the trace that waits longest goes out unscored; never more spans wait than may."""
    app = make(max_spans=10)
    roots = [app.tracer.start_span(f"root{number}") for number in range(6)]
    for root in roots:
        for number in range(3):
            app.tracer.start_span(f"{root.name}.{number}", set_span_in_context(root)).end()
            assert 10 >= app.exporter.stats().held
    assert {"bounds": 3} == app.exporter.stats().unscored
    assert ["root0", "root1", "root2"] == sorted({one.name[:5] for one in app.kept.spans})
    for number, root in enumerate(roots):
        root.end()
        app.handle.flush(WAIT_S)
        assert until(lambda name=root.name: name in [one.name for one in app.kept.spans])
        assert number + 10 <= len(app.kept.spans)
    assert app.settled(24)
    assert {1} == set(app.kept.ids().values())
    assert all("spanwise.run.id" in app.kept.named(root.name).attributes for root in roots)


def test_bytes_are_bounded(make: Callable[..., App]) -> None:
    """Long texts count, not only spans."""
    app = make(max_bytes=100_000)
    root = app.tracer.start_span("root")
    for number in range(30):
        app.tracer.start_span(f"s{number}", set_span_in_context(root), attributes={"text": "x" * 20_000}).end()
    assert 5 > app.exporter.stats().held
    root.end()
    assert app.settled(31)


def test_an_exporter_that_hangs(make: Callable[..., App]) -> None:
    """The thread that scores goes on while the inner exporter hangs, and nothing is lost or doubled."""
    app = make()
    app.kept.gate.clear()
    began = time.monotonic()
    for _ in range(20):
        app.run()
    assert until(lambda: len(app.results) == 20)
    assert not app.exporter.force_flush(300)
    assert 3 > time.monotonic() - began
    app.kept.gate.set()
    app.provider.force_flush()
    assert app.settled(60)
    assert app.exporter.force_flush(5000)
    assert ({1}, 60) == (set(app.kept.ids().values()), len(app.kept.spans))


def test_the_thread_cannot_keep_up(make: Callable[..., App]) -> None:
    """Where more is scored than is exported, whoever brings spans has to help: what waits stays bounded."""
    app = make(max_spans=30)
    app.kept.gate.clear()
    threading.Timer(0.5, app.kept.gate.set).start()
    for _ in range(50):
        app.run()
        assert 30 + 3 >= app.exporter.stats().held
    assert app.handle.flush(WAIT_S)
    app.exporter.force_flush(5000)
    assert ({1}, 150) == (set(app.kept.ids().values()), len(app.kept.spans))


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("first", ["exporter", "capture"])
def test_shutdown_hands_everything_out(make: Callable[..., App], processor: object, first: str) -> None:
    """At the end what has ended goes out scored, the rest as it is, and the inner exporter is shut down."""
    app = make(processor, first=first)
    app.run()
    app.tracer.start_span("child", set_span_in_context(app.tracer.start_span("open"))).end()
    app.provider.shutdown()
    assert (4, True) == (len(app.kept.spans), app.kept.ended)
    assert "spanwise.run.id" in app.kept.named("invoke_agent helper").attributes
    app.exporter.shutdown()
    stats = app.exporter.stats()
    # A capture that ends first leaves nothing to wait for.
    assert ({"shutdown": 1} if first == "exporter" or processor is SimpleSpanProcessor else {}, 0) == (
        stats.unscored, stats.held
    )  # fmt: skip


def test_the_deadline_of_a_shutdown(make: Callable[..., App], caplog: pytest.LogCaptureFixture) -> None:
    """A shutdown ends in time where the inner exporter hangs, and says how many spans it did not export."""
    app = make()
    app.run()
    assert app.settled(3)
    app.kept.gate.clear()
    app.tracer.start_span("child", set_span_in_context(app.tracer.start_span("open"))).end()
    began = time.monotonic()
    app.exporter.shutdown(timeout_millis=300)
    assert 2 > time.monotonic() - began
    assert "1 spans could not be exported" in caplog.text
    app.kept.gate.set()
    assert app.settled(4)


def test_force_flush(make: Callable[..., App]) -> None:
    """A flush scores what has ended and exports all that waits; what ends later still goes out with its scores."""
    app = make()
    root = app.tracer.start_span("root", attributes={"gen_ai.operation.name": "invoke_agent"})
    app.tracer.start_span("child", set_span_in_context(root)).end()
    app.run()
    assert app.exporter.force_flush()
    assert 4 == len(app.kept.spans)
    assert {"flush": 1} == app.exporter.stats().unscored
    root.end()
    assert app.settled(5)
    assert "spanwise.run.id" in app.kept.named("root").attributes


def test_uninstrument(make: Callable[..., App]) -> None:
    """When the capture ends, nothing waits for it any more."""
    app = make()
    app.tracer.start_span("child", set_span_in_context(app.tracer.start_span("open"))).end()
    app.handle.uninstrument()
    assert app.settled(1)
    app.run()
    assert 4 == len(app.kept.spans)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork(make: Callable[..., App]) -> None:
    """What waits at a fork is exported by the parent only; the child's own runs leave it with their scores."""
    app = make()
    root = app.tracer.start_span("root")
    app.tracer.start_span("child", set_span_in_context(root)).end()
    if (pid := os.fork()) == 0:
        try:
            app.run()
            done = app.settled(3)
            fine = done and len(app.kept.spans) == 3 and app.exporter.stats().received == 3
            scored = "spanwise.run.id" in app.kept.named("invoke_agent helper").attributes
            os._exit(0 if fine and scored else 1)
        finally:
            os._exit(2)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    root.end()
    assert app.settled(2)


def test_many_threads(make: Callable[..., App]) -> None:
    """Under load from many threads each span goes out once, and every run's root with its scores."""
    app = make(BatchSpanProcessor, deadline_s=60)  # a busy machine may take longer than the usual one

    def work() -> None:
        for _ in range(50):
            app.run("a", "b", "a")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    app.provider.force_flush()
    assert app.settled(1600)
    assert (1600, {1}) == (len(app.kept.spans), set(app.kept.ids().values()))
    roots = [one for one in app.kept.spans if one.parent is None]
    assert (400, 400) == (len(roots), sum("spanwise.score.redundancy" in one.attributes for one in roots))
    assert added_up(app.exporter)


def test_an_exporter_that_nobody_holds() -> None:
    """An exporter that was dropped takes no more results."""
    exporter = ScoredExporter(Kept())
    del exporter
    gc.collect()
    scores = SpanScores(lambda _: True)
    assert scores.flush(1)
    scores.close()


@pytest.mark.parametrize("name", ["deadline_s", "open_s", "max_spans"])
def test_what_is_no_bound(name: str) -> None:
    """A time or a bound that is not positive is refused."""
    with pytest.raises(ModelError, match=name):
        ScoredExporter(Kept(), **{name: 0})


def test_a_span_of_an_unforeseen_kind(make: Callable[..., App], caplog: pytest.LogCaptureFixture) -> None:
    """What cannot wait is exported at once, and that is logged once."""

    class Odd(ReadableSpan):
        @property
        def attributes(self) -> object:
            raise TypeError("odd")

    app = make()
    context = app.tracer.start_span("one").get_span_context()
    assert SpanExportResult.SUCCESS is app.exporter.export([Odd("odd", context), Odd("odd", context)])
    assert (2, 1) == (len(app.kept.spans), len(caplog.records))
    assert added_up(app.exporter)


def test_no_thread_can_be_started(make: Callable[..., App], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the interpreter's end, where no thread can be started, a flush exports what waits by itself."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "spanwise-export":
            raise RuntimeError("can't start new thread at interpreter shutdown")
        start(thread)

    app = make()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        app.tracer.start_span("child", set_span_in_context(app.tracer.start_span("open"))).end()
        assert 1 == app.exporter.stats().held
        assert app.exporter.force_flush()
    assert (1, 0) == (len(app.kept.spans), app.exporter.stats().held)
