"""What capture costs an app, in ratios to a span processor that does nothing; prints JSON. Runs in `.build/peers`.

An app's thread makes traces of an agent's run: 20 spans of 10 attributes and 1 KB of text each. `thread` is the time of
that thread alone, `process` that of the whole process until everything is done: scored, exported, encoded.
"""

from __future__ import annotations

import os

os.environ |= {"LANGFUSE_TRACING_ENVIRONMENT": "bench", "LOGFIRE_SEND_TO_LOGFIRE": "false"}

import contextlib
import gc
import io
import json
import logging
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from bench.paths import STRUCTURAL
from spanwise.capture.instrument import instrument
from spanwise.model.ports import AnyEvaluator

TRACES, SPANS, TEXT = 50, 20, "word " * 200
Made = tuple[TracerProvider, Callable[[], object], Callable[[], object]]


class _Null(SpanExporter):
    """Exports nowhere."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


class _Encode(SpanExporter):
    """Encodes as OTLP, and sends it nowhere."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


def _with(processor: SpanProcessor) -> Made:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider, partial(provider.force_flush, 60_000), provider.shutdown


def _batch(exporter: SpanExporter) -> Made:
    return _with(BatchSpanProcessor(exporter, max_queue_size=100_000))


def _ours(evaluators: Mapping[str, AnyEvaluator] | None = STRUCTURAL) -> Made:
    provider = TracerProvider(shutdown_on_exit=False)
    handle = instrument(provider, evaluators=evaluators, sinks=[lambda result: None], on_first="silent")
    return provider, partial(handle.flush, 60.0), handle.uninstrument


def _ours_and_batch() -> Made:
    provider, flush, close = _ours()
    batch = BatchSpanProcessor(_Null(), max_queue_size=100_000)
    provider.add_span_processor(batch)

    def both() -> None:
        flush()
        batch.force_flush(60_000)

    def end() -> None:
        close()
        provider.shutdown()

    return provider, both, end


def _evals() -> Made:
    from pydantic_evals.otel._context_in_memory_span_exporter import _ContextInMemorySpanExporter

    return _with(SimpleSpanProcessor(_ContextInMemorySpanExporter()))


def _langfuse() -> Made:
    from langfuse._client.span_processor import LangfuseSpanProcessor

    keys = {"public_key": "pk", "secret_key": "sk", "base_url": "http://127.0.0.1:9"}
    return _with(LangfuseSpanProcessor(**keys, span_exporter=_Null()))


def _logfire() -> Made:
    import logfire

    made = logfire.configure(
        local=True,
        send_to_logfire=False,
        console=False,
        additional_span_processors=[BatchSpanProcessor(_Null(), max_queue_size=100_000)],
    )
    provider = made.config.get_tracer_provider()
    return provider, partial(provider.force_flush, 60_000), provider.shutdown


WAYS: dict[str, Callable[[], Made]] = {
    "no-op": lambda: _with(SpanProcessor()),
    "spanwise": _ours,
    "spanwise, the default suite": partial(_ours, None),
    "Simple + null": lambda: _with(SimpleSpanProcessor(_Null())),
    "Batch + null": lambda: _batch(_Null()),
    "Batch + OTLP encode": lambda: _batch(_Encode()),
    "spanwise beside Batch + null": _ours_and_batch,
    "pydantic-evals capture": _evals,
    "Langfuse": _langfuse,
    "Logfire": _logfire,
}


def drive(provider: TracerProvider, traces: int = TRACES) -> None:
    """One app's thread at work."""
    tracer = provider.get_tracer("bench")
    for trace in range(traces):
        with tracer.start_as_current_span(
            "invoke_agent helper",
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "user.id": f"u{trace}"},
        ):
            for step in range(SPANS - 1):
                with tracer.start_as_current_span("execute_tool search") as span:
                    span.set_attributes(
                        {
                            "gen_ai.operation.name": "execute_tool",
                            "gen_ai.tool.name": "search",
                            "gen_ai.tool.call.id": f"call_{trace}_{step}",
                            "gen_ai.tool.call.arguments": f'{{"query": "question {step}"}}',
                            "gen_ai.tool.call.result": f"{step} {TEXT}",
                            "gen_ai.tool.type": "function",
                            "gen_ai.agent.name": "helper",
                            "a": 1,
                            "b": 2.0,
                            "c": True,
                        }
                    )


def spent(way: Callable[[], Made], *, threads: int = 1) -> tuple[int, int]:
    """Nanoseconds of the app's threads, and of the whole process."""
    provider, flush, close = way()
    drive(provider, 2)
    flush()
    gc.collect()
    taken: list[int] = []

    def app() -> None:
        begun = time.thread_time_ns()
        drive(provider, TRACES // threads)
        taken.append(time.thread_time_ns() - begun)

    begun = time.process_time_ns()
    running = [threading.Thread(target=app) for _ in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    flush()
    whole = time.process_time_ns() - begun
    close()
    return sum(taken), whole


def measure(rounds: int, *, threads: int) -> dict[str, dict[str, list[int]]]:
    """Each way's times in each round, the ways in turn."""
    rng = random.Random(1)
    found: dict[str, dict[str, list[int]]] = {name: {"thread": [], "process": []} for name in WAYS}
    names = list(WAYS)
    for number in range(-1, rounds):
        rng.shuffle(names)
        for name in names:
            thread, process = spent(WAYS[name], threads=threads)
            if number >= 0:
                found[name]["thread"].append(thread)
                found[name]["process"].append(process)
    return found


def main() -> None:
    """Print the figures as JSON."""
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        rounds = int(sys.argv[1])
        found = {
            "one": measure(rounds, threads=1),
            "eight": measure(max(rounds // 3, 3), threads=8),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
