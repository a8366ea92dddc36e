"""Both receivers on an event loop of their own thread, a collector behind them, and requests to send them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import http.client
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from spanwise.service.access import Access
from spanwise.service.batches import Batch
from spanwise.service.grpc_receiver import GrpcReceiver
from spanwise.service.http_receiver import HttpReceiver
from spanwise.service.receiving import Limits
from spanwise.service.refusal import Refusal

START_NS = 1_760_000_000_000_000_000
PROTOBUF = "application/x-protobuf"


@dataclass
class Collector:
    """Keeps each batch; refuses while it is told to, or holds whoever offers until it is released."""

    batches: list[Batch] = field(default_factory=list)
    refusal: Refusal | None = None
    failure: Exception | None = None
    hold_s: float = 0.0

    async def offer(self, batch: Batch) -> Refusal | None:
        """Keep it, or say why not."""
        if self.hold_s:
            await asyncio.sleep(self.hold_s)
        if self.failure is not None:
            raise self.failure
        if self.refusal is None:
            self.batches.append(batch)
        return self.refusal

    @property
    def records(self) -> list[Any]:
        """All records, unpacked."""
        return [one.unpack() if hasattr(one, "unpack") else one for batch in self.batches for one in batch.records]


@dataclass(frozen=True)
class Shown:
    """A page."""

    status: int
    content_type: str
    body: bytes


@dataclass
class Receivers:
    """The running receivers and their addresses."""

    collector: Collector
    loop: asyncio.AbstractEventLoop
    http_receiver: HttpReceiver
    grpc_receiver: GrpcReceiver
    http: str = ""
    grpc: str = ""

    @property
    def http_port(self) -> int:
        """The port alone."""
        return int(self.http.rpartition(":")[2])

    def tasks(self) -> int:
        """How many tasks are under way on the event loop."""

        async def count() -> int:
            gc.collect()
            return len(asyncio.all_tasks())

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10)

    def connections(self) -> int:
        """How many connections of HTTP are open."""
        return self.http_receiver._server.connections

    def post(
        self, path: str, body: bytes | Iterator[bytes], headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request over HTTP: status, headers in lower case, body."""
        return self.ask("POST", path, body, {"Content-Type": PROTOBUF, **(headers or {})})

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """As `post`, with any method."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=20)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@contextmanager
def running(
    *, limits: Limits | None = None, access: Access | None = None, routes: Mapping[str, Any] | None = None
) -> Iterator[Receivers]:
    """Both receivers, until the end of the block; then nothing of them may be left."""
    collector = Collector()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    chosen, who = limits or Limits(), access or Access()

    async def start() -> Receivers:
        made = Receivers(
            collector,
            loop,
            HttpReceiver("127.0.0.1:0", collector.offer, limits=chosen, access=who, routes=routes or {}),
            GrpcReceiver("127.0.0.1:0", collector.offer, limits=chosen, access=who),
        )
        made.http, made.grpc = await made.http_receiver.start(), await made.grpc_receiver.start()
        return made

    async def stop(made: Receivers) -> None:
        await asyncio.gather(made.http_receiver.stop(1.0), made.grpc_receiver.stop(0.5))

    receivers = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    try:
        yield receivers
    finally:
        asyncio.run_coroutine_threadsafe(stop(receivers), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def resident() -> int:
    """Bytes of memory that this process holds; what was freed goes back to the system first, as far as it can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # the C library has another allocator
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def attribute(key: str, value: str) -> KeyValue:
    """A text attribute."""
    return KeyValue(key=key, value=AnyValue(string_value=value))


def traces_request(
    count: int = 3, *, scope: str = "agent", text: str = "hello", trace: int = 1
) -> ExportTraceServiceRequest:
    """A request of one trace: a root, and its children."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(attribute("service.name", "app"))
    scoped = resource.scope_spans.add()
    scoped.scope.name = scope
    for number in range(1, count + 1):
        span = scoped.spans.add(name=f"step {number}", kind=1)
        span.trace_id, span.span_id = trace.to_bytes(16, "big"), number.to_bytes(8, "big")
        span.parent_span_id = b"" if number == 1 else (1).to_bytes(8, "big")
        span.start_time_unix_nano, span.end_time_unix_nano = START_NS + number, START_NS + 1000 - number
        span.attributes.append(attribute("gen_ai.operation.name", "execute_tool"))
        span.attributes.append(attribute("text", text))
    return request


def logs_request(*, linked: int = 1, unlinked: int = 1) -> ExportLogsServiceRequest:
    """A request of log records, some of which belong to a span."""
    request = ExportLogsServiceRequest()
    scoped = request.resource_logs.add().scope_logs.add()
    scoped.scope.name = "agent"
    for number in range(linked + unlinked):
        record = scoped.log_records.add(time_unix_nano=START_NS)
        if "event_name" in record.DESCRIPTOR.fields_by_name:
            record.event_name = "gen_ai.user.message"
        else:  # protocols before 1.5 put it into an attribute
            record.attributes.append(attribute("event.name", "gen_ai.user.message"))
        record.body.string_value = f"message {number}"
        if number < linked:
            record.trace_id, record.span_id = (1).to_bytes(16, "big"), (1).to_bytes(8, "big")
    return request
