"""Recording never gets into the app's way: not without an SDK, not with a broken one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import Span as SDKSpan
from opentelemetry.sdk.trace import SpanProcessor

from spanwise import record
from spanwise.record import spans
from tests.record.reading import Recorded

ALONE = """
import sys, timeit
from spanwise import record

@record.tool
def add(a, b):
    return a + b

class Silent:
    def __str__(self):
        raise RuntimeError

with record.run("a", query=Silent()) as run:
    assert 3 == add(1, 2)
    call = run.start_tool("t", {"x": Silent()})
    call.end(Silent())
    run.start_llm("m", "p").end("x", input_tokens=1)
    run.start_retrieval("q").end([{"id": 1}])
    run.respond("done")
    assert not run.span.is_recording()
heavy = ("opentelemetry.sdk", "spanwise.capture", "spanwise.model.trace")
print([name for name in heavy if name in sys.modules])
"""


def run(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout.strip()


def test_without_an_sdk() -> None:
    """With the API alone everything does nothing, and nothing else is loaded."""
    assert "[]" == run(ALONE)


CONTENT = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from spanwise import record
early = record.run("early")
trace.set_tracer_provider(TracerProvider())
late = record.run("late", query="secret")
print(early.span.is_recording(), late.span.is_recording(), "gen_ai.input.messages" in late.span.attributes)
"""


@pytest.mark.parametrize(("value", "recorded"), [("false", False), ("0", False), ("true", True), ("", True)])
def test_the_switch_in_the_environment(value: str, recorded: bool) -> None:
    """`SPANWISE_RECORD_CONTENT=false` switches content off; a provider that comes later is used from then on."""
    assert f"False True {recorded}" == run(CONTENT, SPANWISE_RECORD_CONTENT=value)


class Broken(SpanProcessor):
    """Raises wherever it is called, while it is on."""

    on = False

    def on_start(self, span: SDKSpan, parent_context: object = None) -> None:
        """Raise."""
        if self.on:
            raise RuntimeError("on_start")

    def on_end(self, span: object) -> None:
        """Raise."""
        if self.on:
            raise RuntimeError("on_end")


BROKEN = Broken()


def test_processors_that_raise(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    """What a processor of the app's raises does not reach the code that records; it is said once."""
    recorded.provider.add_span_processor(BROKEN)
    spans._State.told = False
    handle = record.run("before")
    try:
        BROKEN.on = True
        with caplog.at_level(logging.WARNING, "spanwise"):
            handle.end("a")
            with record.run("a") as run_:
                assert trace.INVALID_SPAN is run_.span
                run_.start_tool("t").end(1)
        assert 1 == sum("spanwise.record failed" in entry.getMessage() for entry in caplog.records)
    finally:
        BROKEN.on = False


def test_values_that_break(recorded: Recorded) -> None:
    """An answer or an error that cannot be printed leaves the rest of the span as it is."""

    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with record.run("a") as run_:
        run_.start_tool("t", {"x": 1}).end(error=OddError())
    (call,) = recorded.run.tool_calls
    assert ("error", {"x": 1}) == (call.status, call.arguments)
    assert "OddError" in (call.error.type if call.error else "")


def test_long_errors_are_cut(recorded: Recorded) -> None:
    """Messages and stacks of errors are bounded too."""
    with record.run("a") as run_:
        run_.start_tool("t").end(error=ValueError("x" * 200_000))
        run_.start_tool("u").end(error="x" * 200_000)
    for span in recorded.spans:
        assert all(len(str(value)) < 70_000 for event in span.events for value in event.attributes.values())
        assert len(span.status.description or "") < 70_000


def test_what_is_not_sampled(recorded: Recorded) -> None:
    """Below a span that is not sampled nothing records, and nothing is encoded."""
    unsampled = trace.NonRecordingSpan(
        trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.DEFAULT))
    )
    with trace.use_span(unsampled):
        handle = record.run("a", query="q")
        assert not handle.span.is_recording()
        handle.start_tool("t").end(1)
        handle.end("x")
    assert () == tuple(recorded.spans)
