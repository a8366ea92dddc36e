"""The processes of the measurement M11: the servers that take spans, and what loads them.

python -m bench.servers KIND        a server: tells its address, then measures between words on standard input
python -m bench.servers load FOLDER  sends the requests in a folder to the addresses that it is told
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from bench.paths import STRUCTURAL

if TYPE_CHECKING:
    import grpc
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

    from spanwise.assembly.assembler import Finished
    from spanwise.delivery import Receipts
    from spanwise.model.ports import AnyEvaluator
    from spanwise.service.batches import Batch
    from spanwise.service.receiving import Offer
    from spanwise.service.refusal import Refusal

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS = 4
_WAITING = 2000
_TICK_S = 0.02


def load(folder: str) -> None:
    """For each address and time that is told, send the requests again and again, with trace ids of their own."""
    bodies = [path.read_bytes() for path in sorted(Path(folder).glob("*.pb"))]
    numbers = itertools.count()
    known: dict[str, list[grpc.Channel]] = {}
    with ThreadPoolExecutor(SENDERS) as pool:
        for line in sys.stdin:
            address, seconds = line.split()
            if address not in known:
                known[address] = [channel(address) for _ in range(SENDERS)]
            until = time.monotonic() + float(seconds)
            for done in [pool.submit(_send, one, bodies, numbers, until) for one in known[address]]:
                done.result()
            print("sent", flush=True)


def channel(address: str) -> grpc.Channel:
    """A connection of its own."""
    import grpc

    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    return grpc.insecure_channel(address, options=options)


def _send(to: grpc.Channel, bodies: list[bytes], numbers: Iterable[int], until: float) -> None:
    import grpc

    export = to.unary_unary(EXPORT)
    for number in numbers:
        if time.monotonic() >= until:
            return
        try:
            export(renamed(bodies[number % len(bodies)], random.getrandbits(48)), timeout=30)
        except grpc.RpcError:
            time.sleep(0.1)  # refused, for the server has enough to do


def renamed(body: bytes, number: int) -> bytes:
    """A request whose trace ids begin with this number of six bytes."""
    # All ids begin with the same bytes, which stand nowhere else behind the tag and the length of one.
    return body.replace(b"\x0a\x10\xab\xc0" + bytes(4), b"\x0a\x10" + number.to_bytes(6, "big"))


class Meter:
    """Counts spans, and the processor time of this process between two words on standard input."""

    def __init__(self) -> None:
        self.spans = 0
        self.late_s = 0.0
        """How late the event loop was at worst."""

    def run(self, address: str, settle: Callable[[], object]) -> None:
        """Tell the address, then measure as often as is asked."""
        print(address, flush=True)
        while sys.stdin.readline():
            settle()
            spans, before, self.late_s = self.spans, time.process_time(), 0.0
            print("measuring", flush=True)
            sys.stdin.readline()
            late_s = self.late_s
            settle()
            found = {"spans": self.spans - spans, "cpu_s": time.process_time() - before, "late_s": late_s}
            print(json.dumps(found), flush=True)

    async def tick(self) -> None:
        """See how late the event loop is."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self.late_s = max(self.late_s, loop.time() - due)


def _naive() -> None:
    import grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

    meter = Meter()

    class Servicer(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: object) -> object:  # noqa: N802
            meter.spans += len(flattened(request))
            return trace_service_pb2.ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(SENDERS), options=[("grpc.max_receive_message_length", 64 << 20)])
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    meter.run(f"127.0.0.1:{port}", lambda: None)
    server.stop(0)


def flattened(request: ExportTraceServiceRequest) -> list[dict[str, object]]:
    """Every span of a request as a dictionary."""
    return [
        {
            "trace_id": span.trace_id.hex(),
            "span_id": span.span_id.hex(),
            "parent_span_id": span.parent_span_id.hex(),
            "name": span.name,
            "kind": span.kind,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "status": span.status.code,
            "message": span.status.message,
            "attributes": _pairs(span.attributes),
            "events": [
                {"name": event.name, "time": event.time_unix_nano, "attributes": _pairs(event.attributes)}
                for event in span.events
            ],
            "resource": resource,
            "scope": of_scope.scope.name,
        }
        for of_resource in request.resource_spans
        for resource in (_pairs(of_resource.resource.attributes),)
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]


def _pairs(pairs: Iterable[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _pairs(value.kvlist_value.values)
    return getattr(value, kind) if kind else None


class Grouping:
    """A minimal engine: an assembler whose traces are let go unread, once there are many."""

    def __init__(self) -> None:
        self.meter = Meter()
        self._forget()

    async def offer(self, batch: Batch) -> None:
        """Take a batch."""
        for record in batch.records:
            self._assembler.add(record, time.monotonic_ns())
        self.meter.spans += len(batch.records)
        if self._assembler.held > 100_000:
            self._forget()

    def _forget(self) -> None:
        from dataclasses import replace

        from spanwise.assembly.assembler import SERVICE, Assembler

        self._assembler = Assembler(replace(SERVICE, max_spans=200_000, max_bytes=512 << 20))


class _Nowhere:
    inline = True

    def emit(self, results: object) -> None:
        pass

    def close(self) -> None:
        pass


def _group() -> None:
    engine = Grouping()
    _listen(engine.meter, engine.offer, lambda: None)


def _engine(evaluators: Mapping[str, AnyEvaluator], *, logged: bool) -> None:
    """The service's engine; its sender waits while much waits, so that it is no further ahead than the naive one's."""
    from dataclasses import replace

    from spanwise.assembly.assembler import SERVICE
    from spanwise.pipeline import Pipeline, Scoring
    from spanwise.service.engine import Engine
    from spanwise.service.server import SWITCH_S
    from spanwise.service.wal import Wal

    meter = Meter()
    settings = replace(SERVICE, grace_ns=0, late_ns=0, max_spans=200_000, max_bytes=512 << 20)
    sys.setswitchinterval(SWITCH_S)

    def make(pause: Callable[[], None], receipts: Callable[[Finished], Receipts]) -> Pipeline:
        sinks = {"none": _Nowhere()}
        return Pipeline(Scoring(evaluators=evaluators), sinks, settings=settings, pause=pause, receipts=receipts)

    with tempfile.TemporaryDirectory() if logged else nullcontext() as folder:
        engine = Engine(make, wal=None if folder is None else Wal(Path(folder)))
        engine.start()

        async def offer(batch: Batch) -> Refusal | None:
            refusal = await engine.offer(batch)
            meter.spans += len(batch.records) if refusal is None else 0
            while engine.queued > _WAITING:  # noqa: ASYNC110 - the thread that scores has no event to wait for
                await asyncio.sleep(0.01)
            return refusal

        def settle() -> None:
            while engine.queued or engine.pipeline.assembler.held:
                time.sleep(0.01)

        _listen(meter, offer, settle)
        engine.drain(10)


def _listen(meter: Meter, offer: Offer, settle: Callable[[], object]) -> None:
    from spanwise.service.grpc_receiver import GrpcReceiver

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    async def start() -> tuple[GrpcReceiver, str]:
        receiver = GrpcReceiver("127.0.0.1:0", offer)
        return receiver, await receiver.start()

    receiver, address = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    asyncio.run_coroutine_threadsafe(meter.tick(), loop)
    meter.run(address, settle)
    asyncio.run_coroutine_threadsafe(receiver.stop(0), loop).result(20)


_PROCESSES: Mapping[str, Callable[..., None]] = {
    "naive": _naive,
    "group": _group,
    "build": lambda: _engine({}, logged=False),
    "score": lambda: _engine(STRUCTURAL, logged=False),
    "served": lambda: _engine(STRUCTURAL, logged=True),
    "load": load,
}

if __name__ == "__main__":
    _PROCESSES[sys.argv[1]](*sys.argv[2:])
