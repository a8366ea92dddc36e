"""Capture in processes of their own: what it finds configured there, and what it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from tests.capture.processes import python

import_module("pydantic_evals")

APP = """
import asyncio, json, sys
from concurrent.futures import ThreadPoolExecutor

from opentelemetry import context as otel, trace
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, MaxToolCalls, ToolCorrectness

from spanwise.evals.capture import Capture
from spanwise.evals.runs import run_of

tools = {}


class Seen(Evaluator):
    def evaluate(self, ctx):
        run = run_of(ctx)
        tools[ctx.name] = sorted(call.name for call in run.tool_calls) if run else None
        return {}


def call(name, context):
    token = otel.attach(context)
    fields = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    with trace.get_tracer("app").start_as_current_span("execute_tool " + name, attributes=fields):
        pass
    otel.detach(token)


async def task(name):
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with trace.get_tracer("app").start_as_current_span("invoke_agent " + name, attributes=fields):
        for number in range(2):
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(pool, call, f"{name}{number}", otel.get_current())
    return name


def evaluated(lifecycle=Capture, **options):
    cases = [Case(name=name, inputs=name) for name in "abcdefgh"]
    dataset = Dataset(name="d", cases=cases, evaluators=[Seen(), MaxToolCalls(2)])
    report = asyncio.run(dataset.evaluate(task, lifecycle=lifecycle, progress=False, **options))
    return [tools, [case.assertions["MaxToolCalls"].value for case in report.cases]]


pool = ThreadPoolExecutor(2)
"""
RIGHT = [{name: [f"{name}0", f"{name}1"] for name in "abcdefgh"}, [True] * 8]


def ran(code: str, folder: Path, **more: str) -> object:
    """What an app prints that evaluates."""
    done = python(APP + code, folder=folder, **more)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_process_without_a_provider_gets_one(tmp_path: Path) -> None:
    """Nothing has to be configured: a provider is made, and each case gets its spans."""
    assert RIGHT == ran("print(json.dumps(evaluated(max_concurrency=3)))", tmp_path)


def test_the_apps_provider_is_taken(tmp_path: Path) -> None:
    """The SDK's own provider, set as the global one."""
    code = """
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
trace.set_tracer_provider(provider)
found = evaluated(max_concurrency=3)
assert trace.get_tracer_provider() is provider
print(json.dumps(found))
"""
    assert RIGHT == ran(code, tmp_path)


def test_with_logfire_configured(tmp_path: Path) -> None:
    """All cases are in one trace then: still each gets its own spans, and pydantic-evals' own are none of them."""
    import_module("logfire")
    code = """
import logfire
from spanwise.evals.runs import found_in
names = set()


class Names(Evaluator):
    def evaluate(self, ctx):
        names.update(span.raw.name for span in run_of(ctx).trace.spans)
        names.update(reason for reason in run_of(ctx).trace.completeness.reasons)
        return {}


logfire.configure(send_to_logfire=False, console=False)
found = evaluated(max_concurrency=3)
dataset = Dataset(name="d", cases=[Case(name="z", inputs="z")], evaluators=[Names()])
report = asyncio.run(dataset.evaluate(task, lifecycle=Capture, progress=False))
assert report.trace_id and not report.cases[0].evaluator_failures, report.cases[0].evaluator_failures
assert names == {"invoke_agent z", "execute_tool z0", "execute_tool z1"}, names
logfire.configure(send_to_logfire=False, console=False)
assert found == evaluated(max_concurrency=3)
print(json.dumps(found))
"""
    assert RIGHT == ran(code, tmp_path)


def test_retries_with_logfire_configured(tmp_path: Path) -> None:
    """Attempts are told apart by the spans around them, too."""
    import_module("logfire")
    import_module("tenacity")
    code = """
import logfire
from tenacity import stop_after_attempt

logfire.configure(send_to_logfire=False, console=False)
right, tried = task, []


async def task(name):
    await right(name)
    tried.append(name)
    if tried.count(name) < 2:
        raise ValueError(name)


print(json.dumps(evaluated(max_concurrency=3, retry_task={"stop": stop_after_attempt(2)})))
"""
    assert RIGHT == ran(code, tmp_path)


def test_a_provider_that_takes_no_processors(tmp_path: Path) -> None:
    """It cannot be captured from: the cases say so, and the evaluation goes on."""
    code = """
trace.set_tracer_provider(trace.NoOpTracerProvider())
from spanwise.evals.runs import found_in


class Why(Evaluator):
    def evaluate(self, ctx):
        return {"why": found_in(ctx).why}


dataset = Dataset(name="d", cases=[Case(name="z", inputs="z")], evaluators=[Why()])
report = asyncio.run(dataset.evaluate(task, lifecycle=Capture, progress=False))
print(json.dumps(report.cases[0].labels["why"].value))
"""
    expected = (
        "No span of this case was captured: the app's provider is a NoOpTracerProvider, which takes no span processors."
    )
    assert expected == ran(code, tmp_path)


def test_log_events_are_joined(tmp_path: Path) -> None:
    """What an instrumentation says in log records is part of the case whose span they name."""
    code = """
from opentelemetry._logs import LogRecord, get_logger_provider, set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider

set_logger_provider(LoggerProvider())
events = {}


class Events(Evaluator):
    def evaluate(self, ctx):
        spans = run_of(ctx).trace.spans
        events[ctx.name] = [[e.name, e.attributes["of"]] for span in spans for e in span.raw.events]
        return {}


async def saying(name):
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with trace.get_tracer("app").start_as_current_span("invoke_agent " + name, attributes=fields):
        await asyncio.sleep(0.01)
        logger = get_logger_provider().get_logger("app")
        logger.emit(LogRecord(timestamp=1, context=otel.get_current(), attributes={"of": name}, event_name="said"))


dataset = Dataset(name="d", cases=[Case(name=name, inputs=name) for name in "ab"], evaluators=[Events()])
report = asyncio.run(dataset.evaluate(saying, lifecycle=Capture, progress=False))
print(json.dumps(events))
"""
    found = ran(code, tmp_path)
    assert isinstance(found, Mapping)
    assert {name: [["said", name]] for name in "ab"} == dict(found)
