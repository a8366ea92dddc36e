"""M10: a live app that makes far more spans than are scored, in processes of their own.

One app's thread makes traces of an agent's run as fast as it can: spans of 8 attributes and 1 KB of text each. A sink
takes 50 ms, so that traces of 120 spans make more than 10 times too many, of 10 spans more than 100 times. The bounds
are small: 40 MB in all, a fifth of it in the queue. Told are, for each way of being overloaded:

- how many times more was offered than scored;
- runs that were scored without all of their spans, and spans that no counter tells of: both must be 0;
- by how much the process grew over what it was before, at most, in parts of the bound;
- by how many points the app's thread pays more, in parts of what it pays with a processor that does nothing, than it
  pays when all is scored in time. To pay less is no fault: a span that is refused costs less than one that is taken.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import INVALID_SPAN, set_span_in_context

from bench.paths import STRUCTURAL
from bench.timing import Figure, Plan, say
from spanwise.assembly.assembler import LIVE
from spanwise.capture.handle import Handle, Stats
from spanwise.capture.instrument import instrument
from spanwise.model.result import RunResult

BYTES = 32 << 20
BOUNDS = replace(LIVE, max_bytes=BYTES, max_tombstones=1000)
QUEUED = BYTES // 4
STATM = Path("/proc/self/statm")
TEXT = "word " * 200
SECONDS = 4.0
ROUNDS = 15
SPANS = 1000
LARGE = 100_000
_POINTS, _RSS = 2.0, 1.1

Sink = Callable[[RunResult], None]


def slow(result: RunResult) -> None:
    """Takes 50 ms."""
    time.sleep(0.05)


def dead(result: RunResult) -> None:
    """Takes 50 ms to find out that nobody is there."""
    time.sleep(0.05)
    raise OSError("gone")


class Hung:
    """Hangs for a second, then takes 50 ms like a slow one, and so on."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, result: RunResult) -> None:
        self._calls += 1
        time.sleep(1.0 if self._calls % 10 == 1 else 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way of being overloaded."""

    name: str
    sink: Callable[[], Sink]
    spans: int = 10
    endless: int = 0
    """Of so many traces one has a root that never ends; 0 for none."""


WAYS = {
    way.name: way
    for way in (
        Way(name="10x, slow sink", sink=lambda: slow, spans=120),
        Way(name="100x, slow sink", sink=lambda: slow),
        Way(name="10x, dead sink", sink=lambda: dead, spans=120),
        Way(name="100x, dead sink", sink=lambda: dead),
        Way(name="100x, sink that hangs", sink=Hung),
        Way(name="100x, every second root never ends", sink=lambda: slow, endless=2),
        Way(name="no root ever ends", sink=lambda: slow, endless=1),
    )
}


class App:
    """Traces of so many spans from one thread; each root tells how many it has."""

    def __init__(self, provider: TracerProvider, spans: int, endless: int = 0, pause_s: float = 0.0) -> None:
        self._tracer = provider.get_tracer("bench")
        self._spans, self._endless, self._pause_s = spans, endless, pause_s
        self._nowhere = set_span_in_context(INVALID_SPAN)
        self._unended: list[object] = []
        self.traces = self.ended = 0

    def trace(self) -> None:
        """One more trace."""
        self.traces += 1
        fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "bench.spans": self._spans}
        root = self._tracer.start_span("invoke_agent helper", context=self._nowhere, attributes=fields)
        inside = set_span_in_context(root)
        for step in range(self._spans - 1):
            span = self._tracer.start_span("execute_tool search", context=inside)
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.id": f"call_{self.traces}_{step}",
                    "gen_ai.tool.call.arguments": f'{{"query": "question {step}"}}',
                    "gen_ai.tool.call.result": f"{step} {TEXT}",
                    "a": 1,
                    "b": 2.0,
                    "c": True,
                }
            )
            span.end()
            if self._pause_s and step % 50 == 0:
                time.sleep(self._pause_s)
        self.ended += self._spans - 1
        if not self._endless or self.traces % self._endless:
            root.end()
            self.ended += 1

    def spent_ns(self) -> float:
        """What a thousand spans take of this thread, for each of them."""
        begun, ended = time.thread_time_ns(), self.ended
        while self.ended - ended < SPANS:
            self.trace()
        return (time.thread_time_ns() - begun) / (self.ended - ended)


class Scored:
    """A sink that looks whether what is scored is whole."""

    def __init__(self) -> None:
        self.spans = self.torn = 0

    def __call__(self, result: RunResult) -> None:
        root, count = result.run.root_span, len(result.run.spans)
        self.spans += count
        self.torn += root is None or root.raw.attributes.get("bench.spans") != count


def _instrumented(*sinks: Sink) -> tuple[TracerProvider, Handle]:
    provider = TracerProvider(shutdown_on_exit=False)
    handle = instrument(provider, evaluators=STRUCTURAL, sinks=list(sinks), bounds=BOUNDS, on_first="silent")
    return provider, handle


def _resident() -> int:
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _unaccounted(stats: Stats, offered: int) -> int:
    told = stats.queued + stats.own + stats.held + stats.released + stats.doubled + stats.late
    return abs(offered - stats.captured) + abs(stats.captured - told - sum(stats.refused.values()))


@dataclass(slots=True, kw_only=True)
class Found:
    """What one process saw."""

    offered: int
    factor: float
    scored_runs: int
    torn: int
    unaccounted: int
    growth: float
    refused: dict[str, int]


def _overloaded(way: Way) -> Found:
    """In a process of its own: some seconds of overload."""
    seen = Scored()
    sink = way.sink()
    is_warm = False

    def when_warm(result: RunResult) -> None:
        if is_warm:
            sink(result)

    provider, handle = _instrumented(seen, when_warm)
    app = App(provider, way.spans, way.endless)
    for _ in range(20):
        app.trace()
    handle.flush(30.0)
    is_warm = True
    before, before_spans = (app.ended, seen.spans)
    gc.collect()
    idle = most = _resident()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for _ in range(max(200 // way.spans, 1)):
            app.trace()
        most = max(most, _resident())
    time.sleep(0.1)
    offered, taken = app.ended - before, max(seen.spans - before_spans, 1)
    scored = handle.stats().scored
    is_warm = False  # so that the end does not take minutes
    handle.flush(60.0)
    most = max(most, _resident())
    rest = _unaccounted(handle.stats(), app.ended)
    handle.uninstrument(60.0)
    return Found(
        offered=offered,
        factor=offered / taken,
        scored_runs=scored,
        torn=seen.torn,
        unaccounted=rest + _unaccounted(handle.stats(), app.ended),
        growth=(most - idle) / (BYTES + QUEUED),
        refused=handle.stats().refused,
    )


def _large() -> Found:
    """In a process of its own: one trace of 100,000 spans, with the bounds that it has by default."""
    seen = Scored()
    provider = TracerProvider(shutdown_on_exit=False)
    handle = instrument(provider, evaluators=STRUCTURAL, sinks=[seen], on_first="silent")
    small = App(provider, 20)
    for _ in range(20):
        small.trace()
    handle.flush(30.0)
    gc.collect()
    idle = _resident()
    large = App(provider, LARGE, pause_s=0.001)  # an app that did nothing else would leave no time to take them
    large.trace()
    most = _resident()
    small.trace()
    handle.flush(60.0)
    most = max(most, _resident())
    offered = small.ended + large.ended
    rest = _unaccounted(handle.stats(), offered)
    stats = handle.stats()
    handle.uninstrument(60.0)
    return Found(
        offered=offered,
        factor=offered / seen.spans,
        scored_runs=stats.scored,
        torn=seen.torn,
        unaccounted=rest,
        growth=(most - idle) / ((LIVE.max_bytes or 0) * 1.25),
        refused=stats.refused,
    )


def _points(way: Way) -> float:
    """In a process of its own: how much more of its time the app's thread pays when it is overloaded, in points."""
    nothing = TracerProvider(shutdown_on_exit=False)
    nothing.add_span_processor(SpanProcessor())
    in_time, handle = _instrumented(lambda result: None)
    overloaded, stuck = _instrumented(way.sink())
    apps = {"no-op": App(nothing, way.spans), "in time": App(in_time, way.spans)}
    apps["overloaded"] = App(overloaded, way.spans, way.endless)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        apps["overloaded"].trace()
    rng, names, found = random.Random(1), list(apps), list[float]()
    for _ in range(ROUNDS):
        rng.shuffle(names)
        taken: dict[str, float] = {}
        for name in names:
            gc.collect()
            taken[name] = apps[name].spent_ns()
            handle.flush(30.0)
        found.append((taken["overloaded"] - taken["in time"]) / taken["no-op"] * 100)
    del stuck
    return statistics.median(found)


def measure(plan: Plan) -> None:
    """Add what each way of being overloaded does to the runs, to the counters, to memory and to the app."""
    if not STATM.exists():
        say("M10: not measured: how much memory a process has is read on Linux only")
        return
    for name in WAYS:
        say(f"M10: {name}")
        _tell(plan, name, Found(**json.loads(_apart("overload", name))))
        points = float(_apart("points", name))
        plan.add(_figure(f"{name}: the app's thread, against all scored in time", points, "points", _POINTS))
    say("M10: one trace of 100,000 spans")
    _tell(plan, "one trace of 100,000 spans", Found(**json.loads(_apart("large", ""))))


def _tell(plan: Plan, name: str, found: Found) -> None:
    refused = ", ".join(f"{reason} {count}" for reason, count in sorted(found.refused.items())) or "nothing"
    times = f"{found.factor:.0f} times what was scored" if found.factor < found.offered else "none was scored"
    note = f"{found.offered} spans, {times}; refused: {refused}"
    plan.add(_figure(f"{name}: runs scored without all their spans", found.torn, f"of {found.scored_runs}", 0, note))
    plan.add(_figure(f"{name}: spans unaccounted for", found.unaccounted, "", 0))
    plan.add(_figure(f"{name}: growth of the process / bound", found.growth, "x", _RSS))


def _figure(name: str, value: float, unit: str, target: float, note: str = "") -> Figure:
    return Figure(area="M10", name=name, value=value, unit=unit, op="<=", target=target, note=note)


def _apart(what: str, name: str) -> str:
    command = [sys.executable, "-m", "bench.m10_overload", what, name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    """Print what was found, for the process that asked."""
    logging.disable(logging.CRITICAL)
    what, name = sys.argv[1:]
    if what == "points":
        print(_points(WAYS[name]), flush=True)
    else:
        print(json.dumps(asdict(_large() if what == "large" else _overloaded(WAYS[name]))), flush=True)
    os._exit(0)  # what is stuck in a sink need not be waited for


if __name__ == "__main__":
    main()
