"""A local OTLP server, HTTP and gRPC: it parses what real exporters send, keeps it, and can misbehave."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

KINDS: Mapping[str, type[Any]] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
_SERVICES = {"traces": "trace.v1.TraceService", "metrics": "metrics.v1.MetricsService", "logs": "logs.v1.LogsService"}


def value_of(value: AnyValue) -> object:
    """An attribute's value in Python."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_of(value.kvlist_value.values)
    return getattr(value, kind) if kind else None


def attributes_of(pairs: Iterator[KeyValue] | Any) -> dict[str, object]:
    """Attributes in Python."""
    return {one.key: value_of(one.value) for one in pairs}


@dataclass(frozen=True)
class Got:
    """A span, a log record or a metric, as it arrived."""

    scope: str
    resource: Mapping[str, object]
    proto: Any

    @property
    def attributes(self) -> dict[str, object]:
        """Its attributes."""
        return attributes_of(self.proto.attributes)

    @property
    def trace_id(self) -> str:
        """As hex text."""
        return self.proto.trace_id.hex()

    @property
    def span_id(self) -> str:
        """As hex text."""
        return self.proto.span_id.hex()


@dataclass
class Received:
    """What arrived, request by request: its kind, its headers (in lower case) and its body."""

    requests: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[Got]:
        """All spans, log records or metrics."""
        outer = {"traces": "resource_spans", "metrics": "resource_metrics", "logs": "resource_logs"}[kind]
        middle = {"traces": "scope_spans", "metrics": "scope_metrics", "logs": "scope_logs"}[kind]
        inner = {"traces": "spans", "metrics": "metrics", "logs": "log_records"}[kind]
        return [
            Got(scoped.scope.name, attributes_of(part.resource.attributes), one)
            for name, _, request in list(self.requests)
            if name == kind
            for part in getattr(request, outer)
            for scoped in getattr(part, middle)
            for one in getattr(scoped, inner)
        ]

    @property
    def spans(self) -> list[Got]:
        """All spans."""
        return self.of("traces")

    @property
    def logs(self) -> list[Got]:
        """All log records."""
        return self.of("logs")

    @property
    def metrics(self) -> list[Got]:
        """All metrics, each export's."""
        return self.of("metrics")

    def wait(self, is_there: Callable[[Received], object], *, timeout_s: float = 10.0) -> bool:
        """Whether something came true within the time."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if is_there(self):
                return True
            time.sleep(0.01)
        return bool(is_there(self))


class OtlpServer:
    """An OTLP/HTTP server on loopback. Any path that ends in /v1/traces, /v1/metrics or /v1/logs is taken.

    `status` is what it answers with; `hold` is how long it waits before it answers.
    """

    def __init__(self) -> None:
        self.received = Received()
        self.status = 200
        self.hold_s = 0.0
        self._stop = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                outer._stop.wait(outer.hold_s)
                kind = self.path.rsplit("/v1/", 1)[-1]
                if outer.status == 200:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    outer.received.requests.append((kind, headers, KINDS[kind].FromString(body)))
                self.send_response(outer.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> OtlpServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class OtlpGrpcServer:
    """An OTLP/gRPC server on loopback."""

    def __init__(self) -> None:
        import grpc

        self.received = Received()
        self._server = grpc.server(ThreadPoolExecutor(2))
        for kind, service in _SERVICES.items():
            request = KINDS[kind]

            def export(message: Any, context: Any, kind: str = kind) -> bytes:
                self.received.requests.append((kind, dict(context.invocation_metadata()), message))
                return b""

            method = grpc.unary_unary_rpc_method_handler(export, request_deserializer=request.FromString)
            name = f"opentelemetry.proto.collector.{service}"
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Export": method}),))
        self.url = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> OtlpGrpcServer:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0).wait(5)
