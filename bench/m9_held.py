"""M9: what spans take while they are held, in a process of its own.

- Bytes above their text, by tracemalloc, once the worker has taken them from the app.
- What they add to a full collection of Python's garbage collector: the processor time of one with 10,000 of them held
  and of one without, in turns; the median of the rounds' differences. Beside it stands how many objects the collector
  looks at for each span, which is the same in every run. Whatever else a process holds is looked at, too, and takes its
  time in both: this is no place for a process that has loaded other tools.
- Bytes that a span of a run takes once the run is scored and its late time over.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import set_span_in_context

from bench.paths import STRUCTURAL
from bench.timing import Figure, Plan, say
from spanwise.assembly.assembler import LIVE
from spanwise.capture.handle import Handle
from spanwise.capture.instrument import instrument
from spanwise.model.result import RunResult

ROUNDS = 9
SPANS = 10_000
TEXT = "word " * 200
_BYTES, _GC_MS, _AFTER = 1.05 * 1024, 1.0, 400
_LATE_NS = 20_000_000


@dataclass(slots=True, kw_only=True)
class Held:
    """What was found for 10,000 spans; `gc_ms` of each round."""

    bytes_per_span: float
    bytes_after: float
    gc_ms: list[float]
    base_ms: float
    objects_per_span: float


def _instrumented() -> tuple[TracerProvider, Handle]:
    provider = TracerProvider(shutdown_on_exit=False)
    bounds = replace(LIVE, late_ns=_LATE_NS)
    handle = instrument(provider, evaluators=STRUCTURAL, sinks=[_nowhere], bounds=bounds, on_first="silent")
    return provider, handle


def _nowhere(result: RunResult) -> None: ...


def _held(provider: TracerProvider, texts: list[str]) -> Callable[[], None]:
    """Make spans of a run that goes on; what is given back ends it."""
    tracer = provider.get_tracer("bench")
    root = tracer.start_span("invoke_agent helper", attributes={"gen_ai.operation.name": "invoke_agent"})
    inside = set_span_in_context(root)
    for number, text in enumerate(texts):
        span = tracer.start_span("execute_tool search", context=inside)
        span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": text})
        span.set_attributes({f"attribute.{at}": number for at in range(8)})
        span.end()
    return root.end


def _collected_ms() -> float:
    taken: list[int] = []
    for _ in range(3):
        begun = time.thread_time_ns()
        gc.collect()
        taken.append(time.thread_time_ns() - begun)
    return min(taken) / 1e6


def _bytes(texts: list[str]) -> tuple[float, float]:
    provider, handle = _instrumented()
    _held(provider, texts[:10])()
    handle.flush(60.0)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    end = _held(provider, texts)
    handle.flush(60.0)
    gc.collect()
    during = tracemalloc.get_traced_memory()[0] - before
    end()
    handle.flush(60.0)
    for _ in range(101):  # the last runs are kept for `handle.last()`, and are no part of this
        _held(provider, texts[:1])()
    time.sleep(_LATE_NS / 1e9 + 0.1)
    handle.flush(60.0)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    handle.uninstrument()
    return during / len(texts), after / len(texts)


def found(rounds: int) -> Held:
    """Measure, in this process."""
    texts = [f"{number} {TEXT}" for number in range(SPANS)]
    during, after = _bytes(texts)
    without: list[float] = []
    added: list[float] = []
    objects = 0.0
    for _ in range(rounds):
        provider, handle = _instrumented()
        gc.collect()
        without.append(_collected_ms())
        before = len(gc.get_objects())
        end = _held(provider, texts)
        handle.flush(60.0)
        gc.collect()
        objects = (len(gc.get_objects()) - before) / SPANS
        added.append(_collected_ms() - without[-1])
        end()
        handle.uninstrument(60.0)
    return Held(
        bytes_per_span=during,
        bytes_after=after,
        gc_ms=added,
        base_ms=statistics.median(without),
        objects_per_span=objects,
    )


def measure(plan: Plan) -> None:
    """Add bytes and the collector's time for spans that are held, and bytes for those that were."""
    say("M9: spans that are held")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "bench.m9_held", str(plan.rounds(ROUNDS))]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    held = Held(**json.loads(done.stdout))
    plan.add(_figure("a span that is held, above its text", held.bytes_per_span, "B", _BYTES))
    note = f"{min(held.gc_ms):.2f} to {max(held.gc_ms):.2f} in {len(held.gc_ms)} rounds, {held.base_ms:.0f} without;"
    note += f" {held.objects_per_span:.3f} objects for each span"
    plan.add(_figure("full collection, for 10,000 spans held", statistics.median(held.gc_ms), "ms", _GC_MS, note))
    plan.add(_figure("a span of a run that was scored and let go", held.bytes_after, "B", _AFTER))


def _figure(name: str, value: float, unit: str, target: float, note: str = "") -> Figure:
    return Figure(area="M9", name=name, value=value, unit=unit, op="<=", target=target, note=note)


def main() -> None:
    """Print the figures as JSON."""
    logging.disable(logging.CRITICAL)
    print(json.dumps(asdict(found(int(sys.argv[1])))))


if __name__ == "__main__":
    main()
