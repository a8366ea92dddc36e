"""Evaluators and sinks that hang or load slowly, samplers that drop, and exits at bad moments: the app goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from spanwise.capture.instrument import CLOSE_S, instrument
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.capture import misbehaving
from tests.capture.app import WAIT_S, App, app, make, tools

__all__ = ["app", "make"]


def busy(app: App, runs: int) -> float:
    """How long the app takes for some runs, in seconds."""
    begun = time.monotonic()
    for number in range(runs):
        with app.agent(f"agent{number}"), app.tool("search"):
            pass
    return time.monotonic() - begun


def test_a_hang_in_an_evaluator(make: Callable[..., App]) -> None:
    """An evaluator that does not come back stops the scoring and nothing else; what waited is scored when it does."""
    gate, entered = threading.Event(), threading.Event()

    def stuck(run: Run) -> Score:
        entered.set()
        gate.wait(WAIT_S)
        return Score(name="stuck", value=1.0)

    app = make(evaluators=["redundancy", stuck], share=1.0)
    busy(app, 1)
    assert entered.wait(WAIT_S)
    assert 1.0 > busy(app, 50)
    assert not app.handle.flush(0.1)
    assert (102, []) == (app.handle.stats().captured, app.results)
    gate.set()
    assert 51 == len(app.flushed())


def test_a_hang_is_left_behind(make: Callable[..., App]) -> None:
    """To undo the instrumentation while an evaluator hangs takes no longer than was said, and says that it failed."""
    gate, entered = threading.Event(), threading.Event()

    def stuck(run: Run) -> Score:
        entered.set()
        gate.wait(WAIT_S)
        return Score(name="stuck", value=1.0)

    app = make(evaluators=[stuck])
    busy(app, 1)
    assert entered.wait(WAIT_S)
    begun = time.monotonic()
    assert not app.handle.uninstrument(timeout_s=0.2)
    assert 1.0 > time.monotonic() - begun
    gate.set()


def test_a_hang_in_a_process_of_its_own(make: Callable[..., App]) -> None:
    """Isolated, a hang costs its own score: the other scores come at once, and the app is not held up."""
    app = make(evaluators=["redundancy", misbehaving.hangs], isolate="process")
    assert 1.0 > busy(app, 20)
    begun = time.monotonic()
    assert 20 == len([one for one in app.flushed() if any(score.name == "redundancy" for score in one.scores)])
    assert 2.0 > time.monotonic() - begun


def test_a_slow_import_in_a_sink(make: Callable[..., App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that takes a second to load, for a sink, is waited for by the worker alone."""
    (tmp_path / "heavy_sink.py").write_text("import time\ntime.sleep(1)\ndef show(result): pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    def loading(result: RunResult) -> None:
        import heavy_sink

        heavy_sink.show(result)

    app = make()
    app.handle.subscribe(loading)
    busy(app, 1)
    slowest = max(busy(app, 5) for _ in range(50) if not time.sleep(0.01))
    assert 0.5 > slowest
    assert 251 == len(app.flushed())


def test_runs_that_the_sampler_drops() -> None:
    """With `score_unsampled` they are scored, calls and all, and still not exported."""
    exporter, results = InMemorySpanExporter(), list[RunResult]()
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with instrument(provider, sinks=[results.append], score_unsampled=True) as handle:
        tracer = provider.get_tracer("app")
        with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
            fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
            with tracer.start_as_current_span("execute_tool search", attributes=fields):
                pass
        assert handle.flush(WAIT_S)
    assert ([["search"]], ()) == ([tools(result) for result in results], exporter.get_finished_spans())


@pytest.mark.parametrize("scope", ["spanwise.evaluation", "spanwise.judge"])
def test_what_is_ours_is_not_scored(app: App, scope: str) -> None:
    """Spans of our evaluations and of our judges are counted as our own, beside a run that is scored."""
    with app.provider.get_tracer(scope).start_as_current_span("ask", attributes={"gen_ai.operation.name": "chat"}):
        pass
    busy(app, 1)
    assert (1, 1) == (len(app.flushed()), app.handle.stats().own)


SCRIPT = """
import sys, threading, time
from opentelemetry import trace
import spanwise
from spanwise import record

def stuck(run):
    threading.Event().wait()

def show(result):
    print("scored", result.run.query, [(call.name, call.status) for call in result.run.tool_calls], flush=True)
"""


LAST = """
import os, pathlib, time
pathlib.Path(os.environ["AT"]).write_text(str(time.monotonic()))
"""


def ended(script: str, folder: Path) -> tuple[int, str, str, float]:
    """How a program ends that goes on with these lines, what it says, and how long it takes behind the last of them."""
    source = Path(__file__).resolve().parents[2] / "src"
    at = folder / "at"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + textwrap.dedent(script) + LAST],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(source), "AT": str(at)},
        check=False,
    )
    took = time.monotonic() - float(at.read_text()) if at.exists() else 0.0
    return done.returncode, done.stdout, done.stderr, took


def test_an_exit_in_the_middle_of_a_run(tmp_path: Path) -> None:
    """A run that has not ended when the app exits is not scored, the one before it is, and the exit is at once."""
    code, out, err, took = ended(
        """
        spanwise.instrument(sinks=[show])
        with record.run("helper", query="first"):
            pass
        record.run("helper", query="second").start_tool("search", {})
        """,
        tmp_path,
    )
    assert (0, "scored first []\n", "") == (code, out, err)
    assert took < CLOSE_S


def test_an_exit_by_an_exception(tmp_path: Path) -> None:
    """An exception that nobody catches ends the run and the app, and the run is scored with its failed call."""
    code, out, err, _ = ended(
        """
        spanwise.instrument(sinks=[show])
        with record.run("helper", query="first") as run, run.start_tool("search", {}):
            raise LookupError("gone")
        """,
        tmp_path,
    )
    assert (1, "scored first [('search', 'error')]\n") == (code, out)
    assert err.endswith("LookupError: gone\n")


def test_an_exit_while_an_evaluator_hangs(tmp_path: Path) -> None:
    """The exit waits for an evaluator as long as it said that it would, and says what it left."""
    code, out, err, took = ended(
        """
        spanwise.instrument(evaluators=[stuck], sinks=[show])
        with record.run("helper", query="first"):
            pass
        print("done", flush=True)
        """,
        tmp_path,
    )
    assert (0, "done\n") == (code, out)
    assert "not everything was scored within 5 s of the end\n" == err
    assert CLOSE_S <= took < 1.8 * CLOSE_S
