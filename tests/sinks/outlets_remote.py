"""Sinks whose results leave the process, each with its real exporter or client and a server on the loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.config import SinkSettings
from spanwise.sinks.prometheus import PrometheusSink
from tests.sinks.outlets import Local, Row

if TYPE_CHECKING:
    from tests.sinks.langfuse_server import LangfuseServer
    from tests.sinks.otlp_server import OtlpServer
    from tests.sinks.recorder import Answer, Request

OF_EVENTS = {
    "id": "spanwise.score.id",
    "run_id": "spanwise.run.id",
    "name": "gen_ai.evaluation.name",
    "value": "gen_ai.evaluation.score.value",
    "unit": "spanwise.score.unit",
    "label": "gen_ai.evaluation.score.label",
    "status": "spanwise.score.status",
    "reason": "gen_ai.evaluation.explanation",
    "evaluator": "spanwise.score.evaluator",
    "version": "gen_ai.evaluation.evaluator.version",
    "revision": "spanwise.score.revision",
}
ABSENT: Mapping[str, object] = {"value": None, "unit": "", "label": "", "reason": ""}


def row_of(trace_id: str, attributes: Mapping[str, object]) -> Row:
    """A score that is told as attributes, by the names of the conventions."""
    found = {name: attributes.get(key, ABSENT.get(name)) for name, key in OF_EVENTS.items()}
    return {"trace_id": trace_id, **found}


@dataclass
class _Otlp(Local):
    server: OtlpServer | None = None

    def start(self) -> OtlpServer:
        """A server for what the app's exporters send."""
        import_module("opentelemetry.exporter.otlp.proto.http")
        from tests.sinks.otlp_server import OtlpServer

        self.server = OtlpServer()
        self.server.__enter__()
        return self.server

    def raw(self) -> str:
        """Every request, as protobuf tells it."""
        self.end()
        return "\n".join(str(request) for _, _, request in self.server.received.requests)

    def end(self) -> None:
        """Have the app's provider export what it holds."""

    def close(self) -> None:
        """Stop the server."""
        if self.server is not None:
            self.server.__exit__()


@dataclass
class OtelEvents(_Otlp):
    """Log events by a real exporter."""

    def open(self, folder: Path) -> object:
        """The sink, on a logger provider of its own."""
        url = f"{self.start().url}/v1/logs"
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

        from spanwise.sinks.otel_events import OtelEventsSink

        del folder
        provider = LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=url)))
        return OtelEventsSink(provider)

    def rows(self) -> Sequence[Row]:
        """The log records."""
        return [row_of(one.trace_id, one.attributes) for one in self.server.received.logs]


@dataclass
class OwnOtlp(_Otlp):
    """Log events by our own delivery."""

    def open(self, folder: Path) -> object:
        """The sink, with an outbox on disk."""
        return SinkSettings(use="otlp", options={"endpoint": self.start().url, "outbox": str(folder / "otlp.db")})

    def rows(self) -> Sequence[Row]:
        """The log records."""
        return [row_of(one.trace_id, one.attributes) for one in self.server.received.logs]


@dataclass
class EvaluationSpan(_Otlp):
    """A span for each score by a real exporter."""

    def open(self, folder: Path) -> object:
        """The sink, on a tracer provider of its own."""
        url = f"{self.start().url}/v1/traces"
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor

        from spanwise.sinks.evaluation_span import EvaluationSpanSink

        del folder
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=url)))
        return EvaluationSpanSink(provider, per="score")

    def rows(self) -> Sequence[Row]:
        """The spans."""
        return [row_of(one.trace_id, one.attributes) for one in self.server.received.spans]


@dataclass
class OtelMetrics(_Otlp):
    """Metrics by a real exporter: they tell no score by itself."""

    end: Callable[[], object] = field(default=lambda: None)

    def open(self, folder: Path) -> object:
        """The sink, on a meter provider of its own."""
        url = f"{self.start().url}/v1/metrics"
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        from spanwise.sinks.otel_metrics import OtelMetricsSink

        del folder
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=url))
        provider = MeterProvider([reader], shutdown_on_exit=False)
        self.end = provider.shutdown
        return OtelMetricsSink(provider)


@dataclass
class Langfuse(Local):
    """Scores in a strict server of Langfuse's."""

    needs: Sequence[str] = ("langfuse", "httpx")

    def open(self, folder: Path) -> object:
        """The sink, with an outbox on disk."""
        from tests.sinks.langfuse_making import sink_to
        from tests.sinks.langfuse_server import LangfuseServer

        self.server: LangfuseServer = LangfuseServer()
        self.server.up()
        return sink_to(self.server, folder / "outbox.db", scores="all")

    def rows(self) -> Sequence[Row]:
        """The scores that the server holds."""
        return [
            {
                "id": score["metadata"]["spanwise.score.id"],
                "trace_id": score["traceId"],
                "run_id": score["metadata"]["spanwise.run.id"],
                "name": score["name"].removesuffix(".status"),
                "value": None if score["dataType"] == "CATEGORICAL" else score["value"],
                **{name: score["metadata"][name] for name in ("unit", "label", "status", "evaluator", "version")},
                "revision": score["metadata"]["spanwise.score.revision"],
            }
            for score in self.server.scores.values()
        ]

    def raw(self) -> str:
        """The scores as they were sent."""
        return json.dumps(list(self.server.scores.values()), ensure_ascii=False)

    def close(self) -> None:
        """Stop the server."""
        self.server.down()


@dataclass
class Prometheus(Local):
    """The text that is scraped: it tells no score by itself."""

    sink: PrometheusSink = field(default_factory=PrometheusSink)

    def open(self, folder: Path) -> object:
        """The sink."""
        del folder
        return self.sink

    def raw(self) -> str:
        """The text."""
        return self.sink.text()


@dataclass
class Phoenix(Local):
    """Annotations that Phoenix's client sends; one of the same identifier replaces the earlier one."""

    needs: Sequence[str] = ("phoenix",)

    def open(self, folder: Path) -> object:
        """The sink, with a client of its own."""
        from phoenix.client import Client

        from spanwise.sinks.phoenix import PhoenixSink
        from tests.sinks.recorder import Recorder

        del folder
        self.server = Recorder().__enter__()
        return PhoenixSink(Client(base_url=self.server.url, api_key="k"))

    def rows(self) -> Sequence[Row]:
        """The annotations."""
        held = {one["identifier"]: one for request in self.server.requests for one in request.body["data"]}
        return [
            {
                "id": one["metadata"]["spanwise.score.id"],
                "run_id": one["metadata"]["spanwise.run.id"],
                "name": one["name"],
                "value": one["result"].get("score"),
                "label": one["result"].get("label", "") if one["metadata"]["spanwise.score.status"] == "scored" else "",
                "reason": one["result"].get("explanation", ""),
                **{
                    name: one["metadata"][f"spanwise.score.{name}"]
                    for name in ("unit", "status", "evaluator", "version", "revision")
                },
            }
            for one in held.values()
        ]

    def raw(self) -> str:
        """The bodies of the requests."""
        return json.dumps([request.body for request in self.server.requests], ensure_ascii=False)

    def close(self) -> None:
        """Stop the server."""
        self.server.__exit__(None, None, None)


@dataclass
class Mlflow(Local):
    """Feedback that MLflow's package sends to a tracking server, which holds it by the ids that it gives."""

    needs: Sequence[str] = ("mlflow",)
    held: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])

    def open(self, folder: Path) -> object:
        """The sink; the environment names the server."""
        from spanwise.sinks.mlflow import MlflowSink
        from tests.sinks.recorder import Recorder

        del folder
        self.server = Recorder(self._answer).__enter__()
        self.before = dict(os.environ)
        os.environ |= {
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
            "MLFLOW_TRACKING_URI": self.server.url,
        }
        return MlflowSink(scores="all")

    def _answer(self, request: Request) -> Answer:
        named = request.path.partition("?")[0].rpartition("/assessments")[2].strip("/")
        if request.method == "DELETE":
            del self.held[named]
            return 200, {}, {}
        given = dict(request.body["assessment"])
        identity = named or f"a-{len(self.server.requests)}"
        held = {**self.held.get(identity, {}), **given, "assessment_id": identity}
        held.setdefault("source", {"source_type": "CODE", "source_id": "x"})
        self.held[identity] = held
        return 200, {"assessment": held}, {}

    def rows(self) -> Sequence[Row]:
        """The assessments that the server holds."""
        return [self._row(one) for one in self.held.values()]

    def _row(self, one: Mapping[str, Any]) -> Row:
        told = {name: one["metadata"].get(f"spanwise.score.{name}", "") for name in ("id", "unit", "label", "status")}
        return {
            **told,
            "trace_id": one["trace_id"].removeprefix("tr-"),
            "name": one["assessment_name"],
            "value": one["feedback"].get("value"),
            "revision": int(one["metadata"]["spanwise.score.revision"]),
        }

    def raw(self) -> str:
        """The bodies of the requests."""
        return json.dumps([request.body for request in self.server.requests], ensure_ascii=False)

    def close(self) -> None:
        """Stop the server, and leave the environment as it was."""
        os.environ.clear()
        os.environ.update(self.before)
        self.server.__exit__(None, None, None)


REMOTE: Mapping[str, Callable[[], Local]] = {
    "otel_events": OtelEvents,
    "otlp": OwnOtlp,
    "otel_metrics": OtelMetrics,
    "evaluation_span": EvaluationSpan,
    "langfuse": Langfuse,
    "mlflow": Mlflow,
    "phoenix": Phoenix,
    "prometheus": Prometheus,
}
"""By the name of the sink in the catalogue."""
