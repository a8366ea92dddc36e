"""Scores sent by OTLP: into the outbox on disk, out of it, and to a server on the loopback."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.dialects import spans_of
from bench.timing import Figure, NotIdenticalError, Plan, interleaved, median_us, say, spent_ns
from bench.workload import Run, Texts
from spanwise.assembly.tree import build_trace
from spanwise.catalog import default_evaluators
from spanwise.evaluators.overall import Overall
from spanwise.model.result import RunResult
from spanwise.run import evaluate
from spanwise.sinks.otlp import OtlpSink, Pace

_RUNS, _SPANS, _ROUNDS = 1_000, 10, 5
_JOINED = 20
_TARGET = 10_000
_SERVER = """
import asyncio, re

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            await reader.readexactly(int(re.search(rb"(?i)content-length: *(\\d+)", head)[1]))
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def measure(plan: Plan) -> None:
    """Add how many scores a second of processor time go through the outbox, with and without their spans."""
    say(f"outbox: the scores of {_RUNS:,} runs of {_SPANS} spans, {_JOINED} runs at once, by OTLP")
    texts = Texts().scaled(0.4)
    spans = [spans_of(Run(_SPANS, seed=at, texts=texts), dialect="genai", number=at) for at in range(1, _RUNS + 1)]
    evaluators, overall = default_evaluators(), Overall()
    traces = [build_trace(found[0].trace_id, found) for found in spans]
    results = [evaluate(run, evaluators, overall=overall) for trace in traces for run in trace.runs]
    scores = sum(len(result.scores) for result in results)
    with _server() as url:
        taken = interleaved(
            {
                "delivered": partial(_spent, results, url),
                "delivered, with the spans": partial(_spent, results, url, spans_to=url),
            },
            rounds=plan.rounds(_ROUNDS),
        )
    for name, found in taken.items():
        first = name == "delivered"
        plan.add(
            Figure(
                area="outbox",
                name=f"OTLP scores kept on disk and {name}",
                value=1e6 / median_us(found, scores),
                unit="scores/s",
                op=">=" if first else None,
                target=_TARGET if first else None,
                note=f"{median_us(found, len(results)) / 1000:.2f} ms of processor time per run",
            )
        )


def _spent(results: Sequence[RunResult], url: str, spans_to: str | None = None) -> int:
    """What it takes to keep all results in an outbox of their own and to deliver them."""
    with tempfile.TemporaryDirectory() as folder:
        sink = OtlpSink(url, spans_to=spans_to, outbox=Path(folder) / "outbox.db", pace=Pace(linger_s=0.2))
        taken = spent_ns(partial(_send, sink, results))
        stats = sink.stats()
        sink.close()
        if (stats.waiting, stats.dropped) != (0, {}) or stats.delivered != stats.taken:
            raise NotIdenticalError(f"not all scores arrived: {stats}")
    return taken


def _send(sink: OtlpSink, results: Sequence[RunResult]) -> None:
    for at in range(0, len(results), _JOINED):
        sink.emit(results[at : at + _JOINED])
    sink.flush(60)


@contextmanager
def _server() -> Generator[str]:
    """A server in a process of its own that takes everything and looks at nothing."""
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()
