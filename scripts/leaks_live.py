"""Memory must not grow with the number of traces that a live app makes: make many, and look at 10, 50 and 100 %.

    python scripts/leaks_live.py [--traces 1000000]

Every trace has ids, names, texts and people of its own, so that whatever is remembered by one of them would show. In
turns a trace is whole, fails, gets a span too late, never ends, or grows too large; all is scored by the suite that
reads no text. Prints the memory of the process at each mark; exit 1 when it is at the end more than GROWTH times what
it was at the first mark, or when a span is unaccounted for.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, StatusCode, Tracer, set_span_in_context

from spanwise.assembly.assembler import LIVE
from spanwise.capture.handle import Handle
from spanwise.capture.instrument import instrument

STATM = Path("/proc/self/statm")
GROWTH = 1.03
MARKS = (10, 50, 100)
EVERY = 200
TOOLS = 3
SUITE = ("tool_selection", "redundancy", "loops", "recovery", "latency", "cost", "handoffs")
# Small enough to be reached before the first mark, so that what is held is the same at each.
BOUNDS = replace(
    LIVE, late_ns=50_000_000, max_age_ns=500_000_000, max_traces=2000, max_trace_spans=20, max_tombstones=100
)


def resident_mb() -> float:
    """The memory of this process."""
    gc.collect()
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def make(tracer: Tracer, number: int, late: list[Span]) -> int:
    """One trace; how many spans of it have ended."""
    name = f"agent {number}"
    fields = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "user.id": f"user {number}"}
    root = tracer.start_span(f"invoke_agent {name}", attributes=fields | {"session.id": f"session {number}"})
    inside = set_span_in_context(root)
    ended = 0
    for step in range(25 if number % 500 == 3 else TOOLS):
        fields = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": f"tool {number} {step}",
            "gen_ai.tool.call.id": f"call {number} {step}",
            "gen_ai.tool.call.arguments": f'{{"query": "question {number} {step}"}}',
            "gen_ai.tool.call.result": f"answer {number} {step} " * 20,
        }
        span = tracer.start_span(f"execute_tool {number}", context=inside, attributes=fields)
        if number % 50 == 1:
            span.record_exception(ValueError(f"failure {number}"))
            span.set_status(StatusCode.ERROR, f"failure {number}")
        if number % 50 == 2 and not step:
            late.append(span)
        else:
            span.end()
            ended += 1
    if number % 500 != 4:
        root.end()
        ended += 1
    return ended


def run(traces: int, mark: Callable[[int], None], *, suite: Sequence[str] = SUITE) -> Handle:
    """Make the traces, and call `mark` at each of the marks; the handle with its counts."""
    provider = TracerProvider(shutdown_on_exit=False)
    handle = instrument(provider, evaluators=suite, sinks=[lambda result: None], bounds=BOUNDS, on_first="silent")
    tracer = provider.get_tracer("leaks")
    late: list[Span] = []
    marks = [(traces * percent // 100, percent) for percent in MARKS]
    offered = 0
    for number in range(1, traces + 1):
        offered += make(tracer, number, late)
        if number % EVERY == 0 or number == traces:
            handle.flush(60.0)
            for span in late:  # their runs are scored by now
                span.end()
            offered += len(late)
            late.clear()
        if number == marks[0][0]:
            time.sleep(0.7)  # what is held for a time goes
            handle.flush(60.0)
            mark(marks.pop(0)[1])
            marks.append((-1, 0))
    handle.uninstrument(60.0)
    stats = handle.stats()
    told = stats.queued + stats.own + stats.held + stats.released + stats.doubled + stats.late
    if offered != stats.captured or stats.captured != told + sum(stats.refused.values()):
        sys.exit(f"leaks: {offered} spans were made, and these are the counts: {stats}")
    return handle


def main() -> None:
    """Compare the marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=1_000_000)
    options = parser.parse_args()
    if not STATM.exists():
        sys.exit(f"leaks: how much memory a process has is not told by {platform.system()}")
    found: list[float] = []
    begun = time.monotonic()

    def mark(percent: int) -> None:
        found.append(resident_mb())
        count = options.traces * percent // 100
        print(f"leaks: {count} traces: {found[-1]:.1f} MB after {time.monotonic() - begun:.0f} s", flush=True)

    stats = run(options.traces, mark).stats()
    print(f"leaks: {stats.scored} runs scored, {stats.again} again, {stats.late} spans late, refused {stats.refused}")
    if found[-1] > GROWTH * found[0]:
        sys.exit(f"leaks: memory grows with the number of traces: {found[-1] / found[0]:.2f} times")


if __name__ == "__main__":
    main()
