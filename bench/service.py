"""M11: what receiving, grouping and scoring spans costs a server, against a naive receiver, over real gRPC.

The naive receiver is what one writes first: grpcio's own server with the generated service, which makes a dictionary of
every span and forgets it. Ours receives and groups by trace ("group"), scores too ("score"), and does so in the
service's engine with its write-ahead log ("served"), which has no target. Each server is a process of its own; so is
what loads it, with the same requests for all. Told is processor time of the server's process for each span.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from bench import wire
from bench.dialects import spans_of
from bench.paths import STRUCTURAL
from bench.timing import Figure, Plan, say
from bench.workload import Run, Texts

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

    from spanwise.assembly.assembler import Finished
    from spanwise.delivery import Receipt
    from spanwise.service.batches import Batch
    from spanwise.service.receiving import Offer
    from spanwise.service.refusal import Refusal

_SIZES = ((512, 0.13), (2560, 1.0))
_SPANS, _TRACES, _IN_REQUEST = 50, 40, 500
_SECONDS = 1.5
_SENDERS = 4
_ROUNDS = 3
_KINDS = ("naive", "group", "score", "served")
_TARGETS = {"group": 2.5, "score": 1.2}
_DEAF_S = 60


def measure(plan: Plan) -> None:
    """Add the figures of both sizes of spans."""
    for size, factor in _SIZES:
        label = f"{size / 1024:g} KB of text per span"
        say(f"M11: {label}")
        with tempfile.TemporaryDirectory() as name:
            requests = Path(name) / "requests"
            _write(requests, factor)
            _sized(plan, requests, label)


def _sized(plan: Plan, requests: Path, label: str) -> None:
    rounds = plan.rounds(_ROUNDS)
    taken: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    order = list(_KINDS)
    for number in range(rounds):
        random.Random(number).shuffle(order)
        for kind in order:
            taken[kind].append(_one(kind, requests))
    for kind in _KINDS:
        value = statistics.median(taken[kind])
        note = f"{rounds} rounds, server's processor time: {1e6 / value:,.0f} spans/s a core"
        plan.add(Figure(area="M11", name=f"{kind}, {label}", value=value, unit="us/span", note=note))
    for kind, target in _TARGETS.items():
        value = statistics.median(a / b for a, b in zip(taken["naive"], taken[kind], strict=True))
        plan.add(Figure(area="M11", name=f"naive / {kind}, {label}", value=value, unit="x", op=">=", target=target))


def _write(folder: Path, factor: float) -> None:
    folder.mkdir()
    texts = Texts().scaled(factor)
    spans = [
        span
        for seed in range(1, _TRACES + 1)
        for span in spans_of(
            Run(_SPANS, seed=seed, texts=texts), dialect="genai" if seed % 2 else "openinference", number=seed
        )
    ]
    for number, at in enumerate(range(0, len(spans), _IN_REQUEST)):
        wire.protobuf(folder / f"{number:03}.pb", spans[at : at + _IN_REQUEST])


def _one(kind: str, requests: Path) -> float:
    """Microseconds of a server's processor time for each span that it was sent."""
    command = [sys.executable, "-m", "bench.service", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        load = [sys.executable, "-m", "bench.service", "load", address, str(requests)]
        subprocess.run([*load, "0.5"], check=True, timeout=_DEAF_S, capture_output=True)
        server.stdin.write("begin\n")
        server.stdin.flush()
        server.stdout.readline()
        subprocess.run([*load, str(_SECONDS)], check=True, timeout=_DEAF_S, capture_output=True)
        server.stdin.write("end\n")
        server.stdin.flush()
        found: dict[str, float] = json.loads(server.stdout.readline())
    return found["cpu_s"] / found["spans"] * 1e6


# What follows runs in processes of its own.


def _load(address: str, folder: str, seconds: str) -> None:
    """Send the requests again and again, each time with trace ids of their own."""
    import grpc

    bodies = [path.read_bytes() for path in sorted(Path(folder).glob("*.pb"))]
    until = time.monotonic() + float(seconds)
    numbers = iter(range(1 << 60))
    lock = threading.Lock()

    def send() -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(address, options=options) as channel:
            export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            while time.monotonic() < until:
                with lock:
                    number = next(numbers)
                body = bodies[number % len(bodies)]
                try:
                    export(_renamed(body, number), timeout=30)
                except grpc.RpcError:
                    time.sleep(0.1)  # refused, for the server has enough to do

    with ThreadPoolExecutor(_SENDERS) as pool:
        for done in [pool.submit(send) for _ in range(_SENDERS)]:
            done.result()


def _renamed(body: bytes, number: int) -> bytes:
    # All ids begin with the same bytes, which stand nowhere else behind the tag and the length of one.
    salt = random.Random(time.monotonic_ns() ^ number).getrandbits(48).to_bytes(6, "big")
    return body.replace(b"\x0a\x10\xab\xc0" + bytes(4), b"\x0a\x10" + salt)


class Meter:
    """Counts spans, and the processor time of this process between two words on standard input."""

    def __init__(self) -> None:
        self.spans = 0

    def run(self, address: str, settle: Callable[[], object]) -> None:
        """Tell the address, then measure."""
        print(address, flush=True)
        sys.stdin.readline()
        settle()
        spans, before = self.spans, os.times()
        print("measuring", flush=True)
        sys.stdin.readline()
        settle()
        after = os.times()
        cpu_s = after.user + after.system - before.user - before.system
        print(json.dumps({"spans": self.spans - spans, "cpu_s": cpu_s}), flush=True)


def _naive() -> None:
    import grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

    meter = Meter()

    class Servicer(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: object) -> object:  # noqa: N802
            meter.spans += len(flattened(request))
            return trace_service_pb2.ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(_SENDERS), options=[("grpc.max_receive_message_length", 64 << 20)])
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
    """A minimal engine: an assembler whose traces are let go once they are finished, scored or not."""

    def __init__(self, *, scoring: bool) -> None:
        from dataclasses import replace

        from spanwise.assembly.assembler import SERVICE
        from spanwise.pipeline import Pipeline, Scoring

        settings = replace(SERVICE, grace_ns=0, late_ns=0, max_spans=200_000, max_bytes=512 << 20)
        self.meter = Meter()
        self.pipeline = Pipeline(Scoring(evaluators=STRUCTURAL), {"none": _Nowhere()}, settings=settings)
        self._is_scoring = scoring
        self._lock = threading.Lock()

    async def offer(self, batch: Batch) -> None:
        """Take a batch."""
        with self._lock:
            for record in batch.records:
                self.pipeline.add(record, time.monotonic_ns())
        self.meter.spans += len(batch.records)
        if self._is_scoring:
            await asyncio.to_thread(self.work)
        elif self.pipeline.assembler.held > 100_000:
            self.forget()

    def work(self) -> None:
        """Score what is finished."""
        with self._lock:
            self.pipeline.work(time.monotonic_ns())

    def forget(self) -> None:
        """Begin anew: held spans are let go unread."""
        from spanwise.assembly.assembler import Assembler

        with self._lock:
            self.pipeline.assembler = Assembler(self.pipeline.assembler.settings)


class _Nowhere:
    inline = True

    def emit(self, results: object) -> None:
        pass

    def close(self) -> None:
        pass


def _ours(*, scoring: bool) -> None:
    engine = Grouping(scoring=scoring)
    _listen(engine.meter, engine.offer, engine.work if scoring else lambda: None)


def _served() -> None:
    from dataclasses import replace

    from spanwise.assembly.assembler import SERVICE
    from spanwise.pipeline import Pipeline, Scoring
    from spanwise.service.engine import Engine
    from spanwise.service.wal import Wal

    meter = Meter()
    settings = replace(SERVICE, grace_ns=0, late_ns=0, max_spans=200_000, max_bytes=512 << 20)

    def make(pause: Callable[[], None], receipts: Callable[[Finished], Receipt]) -> Pipeline:
        sinks = {"none": _Nowhere()}
        return Pipeline(Scoring(evaluators=STRUCTURAL), sinks, settings=settings, pause=pause, receipts=receipts)

    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(make, wal=Wal(Path(folder)))
        engine.start()

        async def offer(batch: Batch) -> Refusal | None:
            refusal = await engine.offer(batch)
            meter.spans += len(batch.records) if refusal is None else 0
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
    meter.run(address, settle)
    asyncio.run_coroutine_threadsafe(receiver.stop(0), loop).result(20)


_PROCESSES: Mapping[str, Callable[..., None]] = {
    "naive": _naive,
    "group": lambda: _ours(scoring=False),
    "score": lambda: _ours(scoring=True),
    "served": _served,
    "load": _load,
}

if __name__ == "__main__":
    _PROCESSES[sys.argv[1]](*sys.argv[2:])
