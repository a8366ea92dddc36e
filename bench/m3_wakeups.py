"""M3: how late an app's threads and its event loop wake while runs are scored, in a process of its own.

- A thread sleeps for a millisecond again and again, in turns while nothing happens and while the default suite scores
  as fast as it can what was captured before. Told is the median of the rounds' ratios of their medians, beside how
  many runs a second were scored, for one could be had at the cost of the other.
- An event loop makes the runs itself, more of them than an evaluator of 50 ms of Python can see: at the share of time
  that evaluators of others have by default, and in a helper process. Told is by how much the loop's own sleeps of 2 ms
  are longer, and how busy the evaluator was.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from opentelemetry.sdk.trace import TracerProvider

from bench.timing import Figure, Plan, say
from spanwise.capture.instrument import instrument
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run

ROUNDS = 9
TRACES, SPANS = 200, 20
LOOP_S, WARM_S, STEP_S, BUSY_S = 4.0, 1.5, 0.002, 0.05
_WAKE, _LAG_MS, _HELPER = 1.5, 1.0, 0.9


def busy(run: Run) -> Score:
    """An evaluator of the user's: 50 ms of Python."""
    until = time.perf_counter() + BUSY_S
    while time.perf_counter() < until:
        pass
    return Score(name="busy", value=1.0)


def drive(provider: TracerProvider, traces: int, spans: int = SPANS) -> None:
    """Runs of an agent that calls tools."""
    tracer = provider.get_tracer("bench")
    for trace in range(traces):
        with tracer.start_as_current_span(
            "invoke_agent helper", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
        ):
            for step in range(spans - 1):
                fields = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.id": f"call_{trace}_{step}",
                    "gen_ai.tool.call.arguments": f'{{"query": "question {step}"}}',
                    "gen_ai.tool.call.result": f"{step} " + "word " * 100,
                }
                with tracer.start_as_current_span("execute_tool search", attributes=fields):
                    pass


def wake_ups(until: Callable[[], object]) -> float:
    """By how many nanoseconds a thread that sleeps for a millisecond wakes too late, in the median."""
    stop = threading.Event()
    late: list[int] = []

    def sleeper() -> None:
        while not stop.is_set():
            due = time.perf_counter_ns() + 1_000_000
            time.sleep(0.001)
            late.append(time.perf_counter_ns() - due)

    thread = threading.Thread(target=sleeper)
    thread.start()
    until()
    stop.set()
    thread.join()
    return statistics.median(late)


@dataclass(slots=True, kw_only=True)
class WakeUps:
    """Each round's medians in ns, and runs scored a second."""

    idle: list[float]
    busy: list[float]
    runs_per_s: list[float]


def threads(rounds: int) -> WakeUps:
    """A thread's wake-ups, in turns idle and while runs are scored."""
    found = WakeUps(idle=[], busy=[], runs_per_s=[])
    for number in range(-1, rounds):
        provider = TracerProvider(shutdown_on_exit=False)
        handle = instrument(provider, sinks=[lambda result: None], on_first="silent")
        idle = wake_ups(lambda: time.sleep(0.3))
        drive(provider, TRACES)
        begun, before = time.perf_counter(), handle.stats().scored
        late = wake_ups(lambda to_end=handle: to_end.flush(60.0))
        speed = (handle.stats().scored - before) / (time.perf_counter() - begun)
        handle.uninstrument()
        if number >= 0:
            found.idle.append(idle)
            found.busy.append(late)
            found.runs_per_s.append(speed)
    return found


@dataclass(slots=True, kw_only=True)
class Loop:
    """How late an event loop was in the median, and which part of the time the evaluator was at work."""

    lag_ms: float
    at_work: float


async def _lags(provider: TracerProvider, seen: list[float]) -> Loop:
    late: list[float] = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < WARM_S + LOOP_S:
        if len(late) % 8 == 0:
            drive(provider, 1, 5)
        due = time.perf_counter() + STEP_S
        await asyncio.sleep(STEP_S)
        late.append(time.perf_counter() - due)
    end = time.perf_counter()
    counted = [at for at in seen if end - LOOP_S <= at <= end]
    return Loop(lag_ms=statistics.median(late[len(late) // 4 :]) * 1000, at_work=len(counted) * BUSY_S / LOOP_S)


def loop(isolate: Literal["process"] | None, *, idle: bool = False) -> Loop:
    """An event loop beside the user's evaluator; `idle` is the same without an evaluator of any kind."""
    provider = TracerProvider(shutdown_on_exit=False)
    seen: list[float] = []

    def sink(result: RunResult) -> None:
        if any(score.name == "busy" and score.status == "scored" for score in result.scores):
            seen.append(time.perf_counter())

    if idle:
        return asyncio.run(_lags(provider, seen))
    handle = instrument(provider, evaluators=["latency", busy], sinks=[sink], isolate=isolate, on_first="silent")
    found = asyncio.run(_lags(provider, seen))
    handle.uninstrument()
    return found


def measure(plan: Plan) -> None:
    """Add how late threads and event loops wake."""
    say("M3: wake-ups")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # Not with -m: what is defined in the script that is run cannot be sent to a helper process.
    command = [sys.executable, "-c", "from bench import m3_wakeups as m; m.main()", str(plan.rounds(ROUNDS))]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    told = WakeUps(**found["threads"])
    ratio = statistics.median(late / idle for late, idle in zip(told.busy, told.idle, strict=True))
    idle_us, busy_us = (statistics.median(each) / 1000 for each in (told.idle, told.busy))
    note = f"{busy_us:.0f} us against {idle_us:.0f} us; {statistics.median(told.runs_per_s):.0f} runs scored a second"
    plan.add(_figure("a thread's wake-up while runs are scored / idle", ratio, "x", _WAKE, note))
    nothing = Loop(**found["idle"])
    for name, what in (("share", "at its share of time"), ("process", "in a helper process")):
        one = Loop(**found[name])
        note = f"{nothing.lag_ms:.2f} ms without; the evaluator was at work for {one.at_work:.0%} of the time"
        plan.add(
            _figure(f"an event loop's lag beside 50 ms evaluators {what}, median", one.lag_ms, "ms", _LAG_MS, note)
        )
    plan.add(
        Figure(
            area="M3", name="a helper process is at work", value=Loop(**found["process"]).at_work, unit="of time",
            op=">=", target=_HELPER,
        )
    )  # fmt: skip


def _figure(name: str, value: float, unit: str, target: float, note: str) -> Figure:
    return Figure(area="M3", name=name, value=value, unit=unit, op="<=", target=target, note=note)


def main() -> None:
    """Print the figures as JSON."""
    logging.disable(logging.CRITICAL)
    found = {
        "threads": asdict(threads(int(sys.argv[1]))),
        "idle": asdict(loop(None, idle=True)),
        "share": asdict(loop(None)),
        "process": asdict(loop("process")),
    }
    print(json.dumps(found))
