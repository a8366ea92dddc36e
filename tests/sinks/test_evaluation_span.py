"""Scores as a child span, through real exporters, and never scored themselves."""

from __future__ import annotations

import json
import logging
from importlib import import_module

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import NoOpTracerProvider

from spanwise.capture.instrument import instrument
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.evaluation_span import EvaluationSpanSink
from tests.making import TRACE, agent, run_of, span, span_id
from tests.sinks.otlp_server import OtlpServer, attributes_of

import_module("opentelemetry.exporter.otlp.proto.http")

GIVEN = RunResult(
    run=run_of(agent(1)),
    scores=(
        Score(name="redundancy", value=0.5, label="alert", reason="half", evaluator="R"),
        Score(name="latency_ms", value=12.0, unit="ms", evaluator="L"),
        Score(name="mine", status="error", reason="ValueError: no", evaluator="M"),
        Score(name="overall", value=0.75, label="warn", evaluator="O"),
    ),
    revision=3,
)


def provider_to(server: OtlpServer) -> TracerProvider:
    """A tracer provider in front of a real exporter."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{server.url}/v1/traces")))
    return provider


def test_one_span_for_a_run() -> None:
    """A run's scores are one span below its own, with the overall score in front and an event for each."""
    with OtlpServer() as server:
        sink = EvaluationSpanSink(provider_to(server))
        sink.emit([GIVEN])
        sink.close()
        (got,) = server.received.spans
    ends = GIVEN.run.end_ns
    assert ("spanwise.evaluation", TRACE, span_id(1)) == (got.scope, got.trace_id, got.proto.parent_span_id.hex())
    assert ("evaluate helper", ends, ends) == (
        got.proto.name, got.proto.start_time_unix_nano, got.proto.end_time_unix_nano
    )  # fmt: skip
    (link,) = got.proto.links
    assert (TRACE, span_id(1)) == (link.trace_id.hex(), link.span_id.hex())
    told = got.attributes
    expected = {
        "langfuse.observation.type": "evaluator",
        "openinference.span.kind": "EVALUATOR",
        "gen_ai.evaluation.name": "overall",
        "gen_ai.evaluation.score.value": 0.75,
        "gen_ai.evaluation.score.label": "warn",
        "gen_ai.evaluation.target": "helper",
        "spanwise.score.redundancy": 0.5,
        "spanwise.score.redundancy.label": "alert",
        "spanwise.score.latency_ms": 12.0,
        "spanwise.score.latency_ms.unit": "ms",
        "spanwise.score.mine.status": "error",
        "spanwise.score.revision": 3,
        "spanwise.run.id": span_id(1),
    }
    assert expected == {key: told[key] for key in expected}
    assert {"redundancy": 0.5, "latency_ms": 12.0, "mine": "error", "overall": 0.75} == json.loads(
        str(told["output.value"])
    )
    events = [attributes_of(one.attributes) for one in got.proto.events]
    assert [GIVEN.id_of(one) for one in GIVEN.scores] == [one["spanwise.score.id"] for one in events]
    assert ["scored", "scored", "error", "scored"] == [one["spanwise.score.status"] for one in events]
    assert 1 == sink.sent


def test_one_span_for_each_score() -> None:
    """If it is chosen, each score is a span of its own."""
    with OtlpServer() as server:
        EvaluationSpanSink(provider_to(server), per="score").emit([GIVEN])
        spans = server.received.spans
    assert ["redundancy", "latency_ms", "mine", "overall"] == [
        one.attributes["gen_ai.evaluation.name"] for one in spans
    ]
    assert [GIVEN.id_of(one) for one in GIVEN.scores] == [one.attributes["spanwise.score.id"] for one in spans]
    assert [0, 0, 2, 0] == [one.proto.status.code for one in spans]
    assert {span_id(1)} == {one.proto.parent_span_id.hex() for one in spans}
    assert "ValueError" == spans[2].attributes["error.type"]


def test_many_scores() -> None:
    """Where a span may hold fewer attributes than there are, what names the evaluation stays."""
    many = RunResult(run=GIVEN.run, scores=tuple(Score(name=f"s{one}", value=1.0, label="ok") for one in range(80)))
    with OtlpServer() as server:
        EvaluationSpanSink(provider_to(server)).emit([many])
        (got,) = server.received.spans
    assert ("s0", "evaluator") == (
        got.attributes["gen_ai.evaluation.name"], got.attributes["langfuse.observation.type"]
    )  # fmt: skip
    assert 80 == len(got.proto.events)


def test_langfuse_lets_it_through() -> None:
    """Langfuse's own filter exports the span."""
    filters = import_module("langfuse._client.span_filter")
    kept: list[bool] = []

    class Filter(SpanProcessor):
        def on_end(self, span: object) -> None:
            kept.append(filters.is_default_export_span(span))

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Filter())
    EvaluationSpanSink(provider).emit([GIVEN])
    EvaluationSpanSink(provider, per="score").emit([GIVEN])
    assert [True] * 5 == kept


def test_it_is_never_scored() -> None:
    """The spans that the sink emits into an instrumented app are its own there: no run, and no new revision."""
    provider = TracerProvider(shutdown_on_exit=False)
    results: list[RunResult] = []
    with instrument(provider, sinks=[EvaluationSpanSink(provider), results.append], on_first="silent") as handle:
        tracer = provider.get_tracer("app")
        for _ in range(3):
            with tracer.start_as_current_span("invoke_agent x", attributes={"gen_ai.operation.name": "invoke_agent"}):
                pass
        for _ in range(3):
            assert handle.flush(10)
        stats = handle.stats()
    assert (3, 3, 3, 0) == (len(results), stats.scored, stats.own, stats.again)
    assert {} == stats.sink_failures


def test_what_cannot_be_a_span(caplog: pytest.LogCaptureFixture) -> None:
    """Without a provider the app is told once; what has no ids of OpenTelemetry's is counted."""
    sink = EvaluationSpanSink(NoOpTracerProvider())
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        sink.emit([GIVEN, GIVEN])
        sink.emit([GIVEN])
    assert (1, 0, 3) == (len(caplog.records), sink.sent, sink.unsent)
    sink = EvaluationSpanSink(TracerProvider(shutdown_on_exit=False))
    sink.emit([RunResult(run=run_of(span(1, trace="not hex")), scores=GIVEN.scores)])
    sink.emit([RunResult(run=GIVEN.run, scores=())])
    assert (0, 2) == (sink.sent, sink.unsent)


def test_a_processor_that_raises() -> None:
    """What an app's processor raises comes after the other runs' spans."""
    seen: list[str] = []

    class Broken(SpanProcessor):
        def on_end(self, span: object) -> None:
            seen.append("ended")
            if len(seen) == 1:
                raise RuntimeError("broken")

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken())
    sink = EvaluationSpanSink(provider)
    with pytest.raises(RuntimeError, match="broken"):
        sink.emit([GIVEN, GIVEN])
    assert (2, 1) == (len(seen), sink.sent)
