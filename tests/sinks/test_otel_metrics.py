"""Metrics of scores, through real exporters."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider, TraceBasedExemplarFilter
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.otel_metrics import OtelMetricsSink
from tests.making import TRACE, agent, run_of, span_id, trace_id
from tests.sinks.otlp_server import OtlpGrpcServer, OtlpServer, Received, attributes_of

import_module("opentelemetry.exporter.otlp.proto.http")

SCORES = (
    Score(name="redundancy", value=0.5, label="alert"),
    Score(name="latency_ms", value=120.0, unit="ms"),
    Score(name="handoffs", status="not_applicable", reason="r"),
    Score(name="grounding", status="not_measurable", reason="r"),
    Score(name="mine", status="error", reason="r"),
    Score(name="overall", value=0.9, label="ok"),
)


def of(name: str = "helper", scores: Sequence[Score] = SCORES, trace: str = TRACE, revision: int = 1) -> RunResult:
    """A result of an agent's run."""
    run = run_of(replaced(agent(1, name=name), trace))
    return RunResult(run=run, scores=tuple(scores), revision=revision)


def replaced(raw: Any, trace: str) -> Any:
    """The same span in another trace."""
    raw.trace_id = trace
    return raw


def points(received: Received, name: str) -> list[tuple[dict[str, object], Any]]:
    """The data points of a metric."""
    found = [one.proto for one in received.metrics if one.proto.name == name]
    return [
        (attributes_of(point.attributes), point)
        for metric in found
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    ]


def counted(received: Received, name: str) -> dict[tuple[object, ...], int]:
    """A counter's values by the values of its attributes, in the order of their names."""
    return {
        tuple(attributes[key] for key in sorted(attributes)): point.as_int
        for attributes, point in points(received, name)
    }


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    """An OTLP server."""
    with OtlpServer() as one:
        yield one


def provider_to(server: OtlpServer) -> MeterProvider:
    """A meter provider that exports to the server when it is shut down."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{server.url}/v1/metrics"), 1e9)
    return MeterProvider([reader], exemplar_filter=TraceBasedExemplarFilter(), shutdown_on_exit=False)


def test_metrics(server: OtlpServer) -> None:
    """Scores are counted by status and label; only scored ones have values, those with a unit apart."""
    provider = provider_to(server)
    sink = OtelMetricsSink(provider)
    sink.emit([of(), of(trace=trace_id(2))])
    sink.close()
    provider.shutdown()
    got = server.received
    assert {"spanwise.evaluation"} == {one.scope for one in got.metrics}
    assert {
        ("helper", "", "grounding", "not_measurable"): 2,
        ("helper", "", "handoffs", "not_applicable"): 2,
        ("helper", "", "latency_ms", "scored"): 2,
        ("helper", "", "mine", "error"): 2,
        ("helper", "alert", "redundancy", "scored"): 2,
        ("helper", "ok", "overall", "scored"): 2,
    } == counted(got, "spanwise.scores")
    assert {("helper", "ok"): 2} == counted(got, "spanwise.runs")
    assert {("helper", "redundancy"): 2} == counted(got, "spanwise.alerts")
    values = {attributes["name"]: (point.count, point.sum) for attributes, point in points(got, "spanwise.score")}
    assert {"redundancy": (2, 1.0), "overall": (2, 1.8)} == values
    ((attributes, point),) = points(got, "spanwise.score.ms")
    assert ("latency_ms", 2, 240.0) == (attributes["name"], point.count, point.sum)
    assert (12, 0) == (sink.recorded, sink.unrecorded)


def test_exemplars_link_to_the_span(server: OtlpServer) -> None:
    """An exemplar names the trace and the span that the score is about."""
    provider = provider_to(server)
    OtelMetricsSink(provider).emit([of()])
    provider.shutdown()
    found = [one for _, point in points(server.received, "spanwise.score") for one in point.exemplars]
    assert {(TRACE, span_id(1))} == {(one.trace_id.hex(), one.span_id.hex()) for one in found}
    assert {0.5, 0.9} == {one.as_double for one in found}


def test_metrics_over_grpc() -> None:
    """The same arrives over gRPC."""
    import_module("grpc")
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    with OtlpGrpcServer() as server:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=server.url, insecure=True), 1e9)
        provider = MeterProvider([reader], shutdown_on_exit=False)
        OtelMetricsSink(provider).emit([of()])
        provider.shutdown()
        assert {("helper", "ok"): 1} == counted(server.received, "spanwise.runs")


def test_only_the_first_revision_counts(server: OtlpServer) -> None:
    """A later revision is not recorded, and a second result of the same revision is no second run."""
    provider = provider_to(server)
    sink = OtelMetricsSink(provider)
    elsewhere = (Score(name="mine", value=1.0, label="ok"),)
    sink.emit([of(), of(revision=2)])
    sink.emit([of(scores=elsewhere)])
    provider.shutdown()
    assert {("helper", "ok"): 1} == counted(server.received, "spanwise.runs")
    assert 7 == sum(counted(server.received, "spanwise.scores").values())


def test_cardinality_is_bounded(server: OtlpServer) -> None:
    """Past their bounds agents, names and labels share the series of `other`."""
    provider = provider_to(server)
    sink = OtelMetricsSink(provider, agents=2, names=3, labels=2)
    for number in range(20):
        scores = [Score(name=f"s{one}", value=1.0, label=f"l{one}", unit=f"ü{one}%") for one in range(20)]
        sink.emit([of(f"agent{number}", scores, trace_id(number + 1))])
    provider.shutdown()
    found = counted(server.received, "spanwise.scores")
    assert {"agent0", "agent1", "other"} == {key[0] for key in found}
    assert {"l0", "l1", "other"} == {key[1] for key in found}
    assert {"s0", "s1", "s2", "other"} == {key[2] for key in found}
    assert 400 == sum(found.values())
    histograms = {one.proto.name for one in server.received.metrics if one.proto.HasField("histogram")}
    assert {*(f"spanwise.score._{one}_" for one in range(8)), "spanwise.score.other"} == histograms


def test_many_runs_are_not_remembered_for_ever(server: OtlpServer) -> None:
    """What was counted is remembered for the last ten thousand runs only."""
    provider = provider_to(server)
    sink = OtelMetricsSink(provider)
    one = of(scores=())
    for number in range(1, 10_050):
        one.run.trace.key = trace_id(number)
        sink.emit([one])
    assert 10_000 == len(sink._seen)
    provider.shutdown()
    assert {("helper", ""): 10_049} == counted(server.received, "spanwise.runs")


def test_without_a_meter_provider(caplog: pytest.LogCaptureFixture) -> None:
    """An app without a meter provider is told once, and the scores are counted."""
    sink = OtelMetricsSink(NoOpMeterProvider())
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        sink.emit([of(), replace(of(), revision=2)])
        sink.emit([of()])
    assert (1, 0, 12) == (len(caplog.records), sink.recorded, sink.unrecorded)
    sink = OtelMetricsSink()
    sink.emit([of()])
    assert 6 == sink.unrecorded
