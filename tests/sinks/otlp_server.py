"""A local OTLP server, HTTP and gRPC: it parses what real exporters send, keeps it, and can misbehave."""

from __future__ import annotations

import gzip
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
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


@dataclass(frozen=True)
class Fault:
    """How a request fails: a status; or `hang`, `drop` (the connection), `drop_after` (when it was kept)."""

    kind: int | str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


def problem_of(kind: str, request: Any) -> str:
    """What a strict server finds wrong with a request: ids of other lengths, spans without names or times."""
    received = Received([(kind, {}, request)])
    for one in received.of(kind) if kind != "metrics" else ():
        record = one.proto
        sizes = len(record.trace_id), len(record.span_id)
        if sizes != (16, 8) and (kind == "traces" or sizes != (0, 0)):
            return f"ids of {sizes} bytes"
        if kind == "traces" and not (record.name and record.start_time_unix_nano):
            return "a span without a name or a time"
        if kind == "logs" and not (record.time_unix_nano or record.observed_time_unix_nano):
            return "a log record without a time"
    return ""


def partial(kind: str, rejected: int, message: str) -> bytes:
    """The body of an answer that tells of records that were thrown away."""
    if kind == "logs":
        part = ExportLogsPartialSuccess(rejected_log_records=rejected, error_message=message)
        return ExportLogsServiceResponse(partial_success=part).SerializeToString()
    spans = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return ExportTraceServiceResponse(partial_success=spans).SerializeToString()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        owner: OtlpServer = self.server.owner  # type: ignore[attr-defined]  # set where the server is made
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if owner.stopped:
            self.close_connection = True
            return
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        owner.wait(owner.hold_s)
        kind = self.path.rsplit("/v1/", 1)[-1]
        if kind not in KINDS or self.headers.get("Content-Type") != "application/x-protobuf":
            self._answer(404 if kind not in KINDS else 415)
            return
        try:
            request = KINDS[kind].FromString(body)
        except DecodeError:
            self._answer(400, body=b"no protobuf")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        wrong = problem_of(kind, request)
        fault = Fault(400, body=wrong.encode()) if wrong else owner.fault_of(kind, request)
        owner.asked.append((kind, fault.kind if fault else 200))
        keeps = fault is None or fault.kind in {200, "drop_after"}
        if keeps:
            owner.received.requests.append((kind, headers, request))
        if fault is None:
            self._answer(200)
        elif isinstance(fault.kind, int):
            self._answer(fault.kind, fault.headers, fault.body)
        else:
            owner.wait(owner.hang_s if fault.kind == "hang" else 0)
            self.close_connection = True

    def _answer(self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away in the middle of things: that is what the tests are about."""


class OtlpServer:
    """An OTLP/HTTP server on loopback. Any path that ends in /v1/traces, /v1/metrics or /v1/logs is taken.

    `status` is what it answers with; `hold_s` is how long it waits before it answers; `fail` says of a request how it
    fails, if it does. What cannot be OTLP is answered with 400. `down` and `up` take it away and back, at the same
    port; `asked` is each request's kind and what was done to it.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.received = Received()
        self.asked: list[tuple[str, int | str]] = []
        self.status = 200
        self.hold_s = 0.0
        self.hang_s = 5.0
        self.fail: Callable[[str, Any], Fault | None] = lambda kind, request: None
        self._stop = threading.Event()
        self._tls = tls
        self._server: _Http | None = None
        self._port = 0
        self._bind()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}"

    @property
    def stopped(self) -> bool:
        """It is down: connections that are still open are of no use."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than it is up."""
        self._stop.wait(seconds)

    def fault_of(self, kind: str, request: Any) -> Fault | None:
        """How a request fails, if it does."""
        return Fault(self.status) if self.status != 200 else self.fail(kind, request)

    def up(self) -> None:
        """Serve."""
        if self._server is None:
            self._bind()
        assert self._server is not None
        self._stop.clear()
        run = self._server.serve_forever
        self._thread = threading.Thread(target=run, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def down(self) -> None:
        """Go away."""
        self._stop.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(5)
            self._server = None

    def _bind(self) -> None:
        self._server = _Http(("127.0.0.1", self._port), _Handler)
        self._server.owner = self  # type: ignore[attr-defined]  # read by the handler
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._port = self._server.server_port

    def __enter__(self) -> OtlpServer:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()


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
