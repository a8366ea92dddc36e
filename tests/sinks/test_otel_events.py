"""One log event per score, through real exporters."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from opentelemetry._logs import NoOpLoggerProvider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.otel_events import OtelEventsSink
from tests.making import TRACE, run_of, span, span_id
from tests.sinks.otlp_server import Got, OtlpGrpcServer, OtlpServer
from tests.sinks.results import GIVEN, result

import_module("opentelemetry.exporter.otlp.proto.http")

FIXED = {"gen_ai.evaluation.target": "helper", "spanwise.score.revision": 2, "spanwise.run.id": span_id(1)}


SCRIPT = """
import sys
import logfire
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from spanwise.sinks.evaluation_span import EvaluationSpanSink
from spanwise.sinks.otel_events import OtelEventsSink
from spanwise.sinks.otel_metrics import OtelMetricsSink
from tests.sinks.results import GIVEN

url = sys.argv[1]
sinks = OtelEventsSink(), OtelMetricsSink(), EvaluationSpanSink()
logfire.configure(
    send_to_logfire=False,
    console=False,
    service_name="app",
    metrics=logfire.MetricsOptions([PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=url + "/v1/metrics"))]),
    additional_span_processors=[SimpleSpanProcessor(OTLPSpanExporter(endpoint=url + "/v1/traces"))],
    advanced=logfire.AdvancedOptions(
        log_record_processors=[SimpleLogRecordProcessor(OTLPLogExporter(endpoint=url + "/v1/logs"))]
    ),
)
OtelMetricsSink().emit([type(GIVEN)(run=GIVEN.run, scores=GIVEN.scores)])
for sink in sinks:
    sink.emit([GIVEN])
assert not any(sink.drops for sink in sinks)
"""


def of(name: str, version: str = "1", **more: object) -> dict[str, object]:
    """The attributes that a score's event is expected to have."""
    (score,) = (one for one in GIVEN.scores if one.name == name)
    own = {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.evaluator.version": version,
        "spanwise.score.id": GIVEN.id_of(score),
        "spanwise.score.status": score.status,
        "spanwise.score.evaluator": score.evaluator,
    }
    return {**FIXED, **own, **{key.replace("__", "."): value for key, value in more.items()}}


EXPECTED = [
    of(
        "a", "3", gen_ai__evaluation__score__value=0.5, gen_ai__evaluation__score__label="alert",
        gen_ai__evaluation__explanation="half", spanwise__score__config_hash="c",
    ),
    of(
        "ms", gen_ai__evaluation__score__value=12.0, spanwise__score__unit="ms",
        spanwise__score__evidence=[span_id(1)],
    ),
    of("n", gen_ai__evaluation__explanation="no call"),
    of("m"),
    of("e", gen_ai__evaluation__explanation="ValueError: it broke", error__type="ValueError"),
    of("f", error__type="_OTHER"),
]  # fmt: skip


def named(got: Got) -> str:
    """The event's name, which SDKs before 1.36 send as an attribute."""
    return getattr(got.proto, "event_name", "") or str(got.attributes.get("event.name"))


def without_name(got: Got) -> dict[str, object]:
    """The attributes, without an event's name among them."""
    return {key: value for key, value in got.attributes.items() if key != "event.name"}


def provider_to(exporter: object, *, batch: bool = True) -> LoggerProvider:
    """A logger provider in front of an exporter."""
    provider = LoggerProvider(resource=Resource({"service.name": "app"}), shutdown_on_exit=False)
    provider.add_log_record_processor((BatchLogRecordProcessor if batch else SimpleLogRecordProcessor)(exporter))
    return provider


def check(logs: list[Got]) -> None:
    """The events are those of the given result."""
    assert EXPECTED == [without_name(one) for one in logs]
    assert {(TRACE, span_id(1), 1)} == {(one.trace_id, one.span_id, one.proto.flags) for one in logs}
    assert {("spanwise.evaluation", "app")} == {(one.scope, one.resource["service.name"]) for one in logs}
    assert {"gen_ai.evaluation.result"} == {named(one) for one in logs}
    assert {GIVEN.run.end_ns} == {one.proto.time_unix_nano for one in logs}
    assert [13, 9, 9, 9, 13, 13] == [one.proto.severity_number for one in logs]
    assert ["evaluation: a 0.5", "evaluation: ms 12", "evaluation: n not_applicable"] == [
        one.proto.body.string_value for one in logs[:3]
    ]


def test_events_over_http() -> None:
    """Every score is an event in its span's context, with value, label, status, id and revision."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    with OtlpServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=f"{server.url}/v1/logs"))
        sink = OtelEventsSink(provider)
        sink.emit([GIVEN])
        sink.close()
        provider.shutdown()
        check(server.received.logs)
        assert (6, 0) == (sink.sent, sink.unsent)


def test_events_over_grpc() -> None:
    """The same arrives over gRPC."""
    import_module("grpc")
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

    with OtlpGrpcServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=server.url, insecure=True))
        OtelEventsSink(provider).emit([GIVEN])
        provider.shutdown()
        check(server.received.logs)


def test_ids_of_the_request() -> None:
    """Session and user stand on the events if that is chosen."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    with OtlpServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=f"{server.url}/v1/logs"), batch=False)
        OtelEventsSink(provider, ids=("session", "request")).emit([GIVEN])
        provider.shutdown()
        assert {("s-1", None)} == {
            (one.attributes["session.id"], one.attributes.get("user.id")) for one in server.received.logs
        }


def test_a_whole_trace_as_a_run() -> None:
    """Where the whole trace is the run, its root span is what the events are about."""
    given = RunResult(run=run_of(span(5), span(6, parent=5)), scores=(Score(name="a", value=1.0),))
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    with OtlpServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=f"{server.url}/v1/logs"), batch=False)
        OtelEventsSink(provider).emit([given, replace(given, run=run_of(replaced("not-hex")))])
        provider.shutdown()
        first, second = server.received.logs
        assert (TRACE, span_id(5), "") == (first.trace_id, first.span_id, first.attributes["spanwise.run.id"])
        assert ("", "") == (second.trace_id.strip("0"), second.span_id.strip("0"))


def replaced(trace: str) -> object:
    """A span of a trace whose id is no hex text, as transcripts have them."""
    return span(1, trace=trace)


def test_without_a_logger_provider(caplog: pytest.LogCaptureFixture) -> None:
    """An app without a logger provider is told once, and the events are counted."""
    sink = OtelEventsSink(NoOpLoggerProvider())
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        sink.emit([GIVEN])
        sink.emit([GIVEN])
    assert (1, 0, 12) == (len(caplog.records), sink.sent, sink.unsent)
    sink = OtelEventsSink()
    sink.emit([GIVEN])
    assert (0, 6) == (sink.sent, sink.unsent)


def test_a_processor_that_raises() -> None:
    """What fails for one run is raised after the others went out."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    class Broken:
        @property
        def run(self) -> object:
            raise RuntimeError("broken")

        scores = ()

    with OtlpServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=f"{server.url}/v1/logs"))
        sink = OtelEventsSink(provider)
        with pytest.raises(RuntimeError, match="broken"):
            sink.emit([Broken(), GIVEN])
        provider.shutdown()
        assert 6 == len(server.received.logs)


def test_a_real_result() -> None:
    """The built-in evaluators' scores arrive under their names, with the ids that every sink gives them."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    given = result()
    with OtlpServer() as server:
        provider = provider_to(OTLPLogExporter(endpoint=f"{server.url}/v1/logs"))
        OtelEventsSink(provider).emit([given])
        provider.shutdown()
        told = [
            (
                one.attributes["gen_ai.evaluation.name"],
                one.attributes.get("gen_ai.evaluation.score.value"),
                one.attributes.get("gen_ai.evaluation.score.label", ""),
                one.attributes["spanwise.score.status"],
                one.attributes["spanwise.score.id"],
            )
            for one in server.received.logs
        ]
    assert [(one.name, one.value, one.label, one.status, given.id_of(one)) for one in given.scores] == told


def test_under_logfire(root: Path) -> None:
    """Logfire's providers, which are the global ones once it is configured, take events, metrics and spans."""
    import_module("logfire")
    with OtlpServer() as server:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, server.url],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd=root,
            env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        )
        assert (0, "") == (done.returncode, done.stderr)
        check(server.received.logs)
        assert {"spanwise.evaluation"} == {one.scope for one in (*server.received.spans, *server.received.metrics)}
