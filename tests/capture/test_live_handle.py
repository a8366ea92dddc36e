"""What the handle tells and undoes, and how a program with us in it ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.trace import Status, StatusCode

from spanwise.capture.instrument import instrument
from spanwise.model.result import RunResult
from tests.capture.app import WAIT_S, App, app, make

__all__ = ["app", "make"]


def test_instrumenting_twice(app: App) -> None:
    """The second call attaches nothing: each run is scored once."""
    again = instrument(app.provider, sinks=[print])
    with app.agent():
        pass
    assert 1 == len(app.flushed())
    assert again.stats() == app.handle.stats()


def test_uninstrument(app: App) -> None:
    """What ended is scored, what comes afterwards is not seen, and a new instrumentation starts anew."""
    with app.agent():
        pass
    assert app.handle.uninstrument()
    assert app.handle.uninstrument()
    with app.agent():
        pass
    assert (1, 1) == (len(app.results), app.handle.stats().captured)
    with instrument(app.provider, sinks=[app.results.append]) as handle:
        with app.agent():
            pass
        assert handle.flush(WAIT_S)
    assert 2 == len(app.results)


def test_last_and_subscribe(app: App) -> None:
    """The last results are kept, and listeners get them until they stop."""
    heard: list[RunResult] = []
    stop = app.handle.subscribe(heard.append)
    for number in range(3):
        with app.agent(f"a{number}"):
            pass
    app.flushed()
    stop()
    with app.agent("a3"):
        pass
    app.flushed()
    assert ["a2", "a3"] == [result.run.agents[0].name for result in app.handle.last(2)]
    assert (3, []) == (len(heard), app.handle.last(0))


def test_results_as_they_come(app: App) -> None:
    """An async loop gets each result."""

    async def main() -> Sequence[str]:
        found: list[str] = []

        async def read() -> None:
            async for result in app.handle.results():
                found.append(result.run.agents[0].name)
                if len(found) == 3:
                    return

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        for number in range(3):
            with app.agent(f"a{number}"):
                await asyncio.sleep(0)
        await asyncio.wait_for(reading, WAIT_S)
        return found

    assert ["a0", "a1", "a2"] == asyncio.run(main())


def test_flush_of_the_provider(app: App) -> None:
    """The SDK's own force_flush waits for the scores."""
    with app.agent():
        pass
    assert app.provider.force_flush(10_000)
    assert 1 == len(app.results)


def test_shutdown_of_the_provider(app: App) -> None:
    """The SDK's own shutdown scores what is finished."""
    with app.agent():
        pass
    app.provider.shutdown()
    assert 1 == len(app.results)


def test_spans_of_our_own(app: App) -> None:
    """What Spanwise emits itself is never scored."""
    with app.provider.get_tracer("spanwise.evaluation").start_as_current_span("evaluate redundancy"):
        pass
    app.flushed()
    assert ([], 1) == (app.results, app.handle.stats().own)


def test_an_error_status_is_read(app: App) -> None:
    """Status and message of the SDK's spans are those of the records."""
    with app.agent(), app.tool("search") as span:
        span.set_status(Status(StatusCode.ERROR, "quota"))
        span.add_event("note", {"a": 1})
    (result,) = app.flushed()
    (call,) = result.run.tool_calls
    assert ("error", "quota") == (call.status, call.error.message if call.error else "")


SCRIPT = """
import os, sys
from opentelemetry.sdk.trace import TracerProvider
from spanwise.capture.instrument import instrument

provider = TracerProvider()

def show(result):
    # At once, past Python's buffer: a fork in the midst of it would have the child write the rest.
    os.write(1, f"{os.getpid() == PARENT} {result.run.agents[0].name}\\n".encode())

handle = instrument(provider, sinks=[show])
tracer = provider.get_tracer("app")
PARENT = os.getpid()

def run(name):
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with tracer.start_as_current_span("invoke_agent", attributes=fields):
        pass
"""


def python(script: str) -> subprocess.CompletedProcess[str]:
    """A program that instruments itself and goes on with these lines."""
    source = Path(__file__).resolve().parents[2] / "src"
    text = SCRIPT + textwrap.dedent(script)
    env = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env=env, check=False
    )


def test_exit_with_runs_pending() -> None:
    """What ended just before the interpreter's exit is scored, and the exit is not held up."""
    done = python("run('last')")
    assert (0, "True last\n", "") == (done.returncode, done.stdout, done.stderr)


def test_exit_without_anything() -> None:
    """A program that leaves no span ends as it would without us."""
    done = python("")
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child() -> None:
    """Parent and child each score their own runs, once; what waited at the fork is the parent's."""
    done = python(
        """
        run('before')
        pid = os.fork()
        if pid == 0:
            run('child')
            handle.flush(10)
            os._exit(0)
        os.waitpid(pid, 0)
        run('after')
        """
    )
    assert 0 == done.returncode, done.stderr
    assert ["False child", "True after", "True before"] == sorted(done.stdout.splitlines())
