"""Real requests, damaged at random, against both receivers: what they answer, and what it leaves behind."""

from __future__ import annotations

import gc
import gzip
import http.client
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import grpc

from spanwise.service.receiving import Limits
from spanwise.service.refusal import Refusal
from tests.service.encoding import otlp_json, recorded_names, recorded_request
from tests.service.receivers import PROTOBUF, Receivers, logs_request, resident, running, traces_request

_MB = 1 << 20
_GROWTH = 96 * _MB
_WARM = 300
_LIMITS = Limits(header_s=1.0, body_s=1.0, inflated_bytes=2 * _MB, sent_bytes=_MB)
_REFUSED = (429, 503)
_BAD_CODES = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
Damage = Callable[[random.Random, bytes], bytes]


@dataclass
class Tally:
    """What a fuzz run saw: answers by protocol and status, and what must not be."""

    answers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    requests: int = 0
    growth: int = 0


def _flip(rng: random.Random, body: bytes) -> bytes:
    damaged = bytearray(body)
    for _ in range(rng.randint(1, 8)):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _cut(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def _repeat(rng: random.Random, body: bytes) -> bytes:
    at, end = sorted((rng.randrange(len(body)), rng.randrange(len(body))))
    return body[:end] + body[at:end] * rng.randint(1, 20) + body[end:]


def _insert(rng: random.Random, body: bytes) -> bytes:
    at = rng.randrange(len(body))
    return body[:at] + rng.randbytes(rng.randint(1, 200)) + body[at:]


def _remove(rng: random.Random, body: bytes) -> bytes:
    at = rng.randrange(len(body))
    return body[:at] + body[at + rng.randint(1, 50) :]


def _noise(rng: random.Random, body: bytes) -> bytes:
    return rng.randbytes(min(len(body), 2000))


def _intact(rng: random.Random, body: bytes) -> bytes:
    del rng
    return body


DAMAGES: Sequence[Damage] = (_flip, _flip, _cut, _repeat, _insert, _remove, _noise, _intact)


def _bodies() -> list[tuple[str, str, bytes]]:
    """Address, content type and body of sound requests."""
    found = [("traces", PROTOBUF, recorded_request(name)) for name in recorded_names()[:8]]
    for signal, request in (("traces", traces_request(5)), ("logs", logs_request(linked=3))):
        found.append((signal, PROTOBUF, request.SerializeToString()))
        found.append((signal, "application/json", otlp_json(request)))
    return found


def fuzz(seconds: float, *, seed: int = 1) -> Tally:
    """Send damaged requests for so long."""
    tally, rng, bodies = Tally(), random.Random(seed), _bodies()
    with running(limits=_LIMITS) as receivers, grpc.insecure_channel(receivers.grpc) as channel:
        until = time.monotonic() + seconds
        before = tasks = 0
        while time.monotonic() < until or tally.requests <= _WARM:
            if tally.requests == _WARM:
                before, tasks = _memory(), receivers.tasks()
            signal, media, body = rng.choice(bodies)
            damaged = rng.choice(DAMAGES)(rng, body)
            receivers.collector.refusal = Refusal("queue", 0.1, rng.random() < 0.5) if rng.random() < 0.1 else None
            receivers.collector.batches.clear()
            if rng.random() < 0.5:
                _over_http(receivers, rng, signal, media, damaged, tally)
            else:
                _over_grpc(channel, rng, signal, damaged, tally)
            _unpack(receivers, tally)
            tally.requests += 1
        receivers.collector.refusal = None
        if receivers.post("/v1/traces", traces_request().SerializeToString())[0] != 200:
            tally.failures.append("a sound request is not served after the run")
        tally.growth = _memory() - before
        if tally.growth > _GROWTH:
            tally.failures.append(f"memory grew by {tally.growth / _MB:.0f} MB")
        time.sleep(1.2)
        if receivers.tasks() > tasks + 2:
            tally.failures.append(f"{receivers.tasks()} tasks are under way, {tasks} before")
    return tally


def _memory() -> int:
    gc.collect()
    return resident()


def _unpack(receivers: Receivers, tally: Tally) -> None:
    """What was taken must be readable, too."""
    try:
        _ = receivers.collector.records
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        tally.failures.append(f"a span that was taken cannot be unpacked: {error!r}")


def _over_http(receivers: Receivers, rng: random.Random, signal: str, media: str, body: bytes, tally: Tally) -> None:
    headers = {"Content-Type": rng.choice((media, media, media, "application/json", PROTOBUF, "text/plain", "\u00e9"))}
    if rng.random() < 0.3:
        body = gzip.compress(body, 1)
        body = rng.choice(DAMAGES)(rng, body) if rng.random() < 0.5 else body
        headers["Content-Encoding"] = "gzip"
    path = rng.choice((f"/v1/{signal}",) * 8 + ("/v1/metrics", "/", "/v1/traces?x=%ff"))
    try:
        status, _, _ = receivers.ask(rng.choice(("POST",) * 9 + ("PUT",)), path, body, headers)
    except (OSError, http.client.HTTPException) as error:
        tally.answers[f"http {type(error).__name__}"] += 1
        tally.failures.append(f"no answer over HTTP: {error!r}")
        return
    tally.answers[f"http {status}"] += 1
    if status >= 500 and status not in _REFUSED:
        tally.failures.append(f"status {status} for {body[:60]!r}")


def _over_grpc(channel: grpc.Channel, rng: random.Random, signal: str, body: bytes, tally: Tally) -> None:
    service = {"traces": "trace.v1.TraceService", "logs": "logs.v1.LogsService"}[signal]
    compression = rng.choice((None, grpc.Compression.Gzip, grpc.Compression.Deflate))
    try:
        channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")(
            body, timeout=10, compression=compression
        )
        code = grpc.StatusCode.OK
    except grpc.RpcError as error:
        code = error.code()
        if code in _BAD_CODES:
            tally.failures.append(f"{code.name} for {body[:60]!r}: {error.details()}")
    tally.answers[f"grpc {code.name}"] += 1
