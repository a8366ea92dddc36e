"""Results and sinks for the tests of Langfuse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from spanwise.assembly.tree import build_trace
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score
from spanwise.sinks.langfuse import LangfuseSink, Pace
from tests.making import agent, span_id, tool, trace_id
from tests.sinks.langfuse_server import PUBLIC, SECRET, LangfuseServer

FAST = Pace(linger_s=0.02, first_retry_s=0.02, longest_retry_s=0.1, denied_retry_s=0.2, timeout_s=1.0)
START = 1_794_982_380_100_000_000
NAMES = ("overall", "tool_selection", "redundancy", "latency", "grounding")


def a_score(name: str = "overall", value: float | None = 0.9, *, label: str = "ok", **more: Any) -> Score:
    """A score with a reason."""
    return Score(name=name, value=value, label=label if value is not None else "", evaluator=name, **more)


def a_result(
    number: int = 1,
    scores: Sequence[Score] = (a_score(),),
    *,
    revision: int = 1,
    runs: int = 1,
    at: int = 0,
    **attributes: object,
) -> RunResult:
    """The scores of one run of a trace with this number, which may hold several runs."""
    spans = []
    for place in range(runs):
        root = agent(100 * place + 1, **attributes)
        spans += [root, tool(100 * place + 2, parent=100 * place + 1)]
    for one in spans:
        one.trace_id = trace_id(number)
        one.start_ns, one.end_ns = START + one.start_ns, START + one.end_ns
    trace = build_trace(trace_id(number), spans)
    return RunResult(run=trace.runs[at], scores=tuple(scores), revision=revision)


def five(value: float = 0.9, *, label: str = "ok") -> list[Score]:
    """The five scores that are sent by default."""
    return [a_score(name, value, label=label, reason=f"why {name}") for name in NAMES]


def on_span(score: Score, *numbers: int) -> Score:
    """The score with its evidence on spans."""
    return structs.replace(score, evidence=tuple(Evidence(span_id=span_id(number), quote="q") for number in numbers))


def sink_to(server: LangfuseServer, outbox: Path | None, **more: Any) -> LangfuseSink:
    """A sink in a hurry."""
    options = {"public_key": PUBLIC, "secret_key": SECRET, "host": server.host, "pace": FAST, "outbox": outbox}
    return LangfuseSink(**{**options, **more})


def until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait until something is true; False if it never is."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
