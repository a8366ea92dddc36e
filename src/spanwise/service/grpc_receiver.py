"""OTLP/gRPC.

Requests are taken as bytes, and as streams of one message: only then can the token be looked at before the message is
read, and a message that never ends be given up. gRPC's own inflation is off, since versions of it exist that inflate
without a limit; its own limit on calls is off, since it refuses without a RetryInfo, and the Collector drops for good
what is refused so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn, Protocol

from spanwise.errors import SinkError, SpecError
from spanwise.service import _status
from spanwise.service.access import Access, check_listening, host_and_port
from spanwise.service.batches import Signal
from spanwise.service.receiving import (
    BrokenError,
    Desk,
    Limits,
    Malformed,
    Offer,
    Place,
    TooLargeError,
    inflated,
    is_slow_to_inflate,
)
from spanwise.service.refusal import Refusal

_SERVICES: Mapping[Signal, str] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}
_DETAILS = "grpc-status-details-bin"
_METADATA_BYTES = 16 * 1024
_DEFAULT_LIMITS = Limits()
_OPEN = Access()


class Context(Protocol):
    """What gRPC gives a handler."""

    async def read(self) -> object: ...
    def invocation_metadata(self) -> Any: ...  # noqa: ANN401 - pairs of text, and text or bytes
    async def abort(self, code: Any, details: str = ..., trailing_metadata: Any = ...) -> NoReturn: ...  # noqa: ANN401


class GrpcReceiver:
    """A server of the two services to which spans and log records are exported.

    Args:
        address: Where to listen, as host:port; port 0 picks a free one.
        offer: Takes each batch, or says when to come again.
        limits: What is taken on.
        access: Who may send.

    Raises:
        SinkError: grpcio is not installed.
        SpecError: The address may not be listened on.
    """

    def __init__(self, address: str, offer: Offer, *, limits: Limits = _DEFAULT_LIMITS, access: Access = _OPEN) -> None:
        check_listening(address, access)
        self._grpc = _library()
        self._address = address
        self._limits = limits
        self._access = access
        self._desk = Desk(offer, limits)
        self._server: Any = None

    @property
    def counts(self) -> Mapping[str, int]:
        """What was refused here, before anything was offered, by reason."""
        return self._desk.counts

    async def start(self) -> str:
        """Listen; the address with the port that it has.

        Raises:
            SpecError: Nothing can listen there.
        """
        grpc = self._grpc
        server = self._server = grpc.aio.server(options=self._options())
        for signal, service in _SERVICES.items():
            method = grpc.stream_unary_rpc_method_handler(partial(self._export, signal))
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
        host, _ = host_and_port(self._address)
        try:
            port: int = self._bind(server)
        except (RuntimeError, OSError) as failure:
            raise SpecError(f"nothing can listen on {self._address!r}: is the port taken?") from failure
        await server.start()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def stop(self, grace_s: float) -> None:
        """Take no more requests, and end those under way after so many seconds."""
        if self._server is not None:
            await self._server.stop(grace_s)

    def _bind(self, server: Any) -> int:  # noqa: ANN401 - grpcio has no types
        tls = self._access.tls
        if tls is None:
            return server.add_insecure_port(self._address)
        tls.check()
        credentials = self._grpc.ssl_server_credentials(((tls.key.read_bytes(), tls.cert.read_bytes()),))
        return server.add_secure_port(self._address, credentials)

    def _options(self) -> list[tuple[str, int]]:
        limits = self._limits
        return [
            ("grpc.max_receive_message_length", limits.inflated_bytes),
            ("grpc.per_message_decompression", 0),
            ("grpc.max_metadata_size", _METADATA_BYTES),
            ("grpc.max_concurrent_streams", limits.requests),
            ("grpc.server_handshake_timeout_ms", int(limits.header_s * 1000)),
            # Two services on one port would each get some of the spans of a trace.
            ("grpc.so_reuseport", 0),
            # A peer that is gone without a word is noticed, and one that asks often whether we are is not cut off.
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
        ]

    async def _export(self, signal: Signal, _: object, context: Context) -> bytes:
        code = self._grpc.StatusCode
        if not self._access.allows(_authorization(context)):
            self._desk.count("token")
            await context.abort(code.UNAUTHENTICATED, "a valid token is needed: authorization: Bearer ...")
        with self._desk.place() as place:
            if place is None:
                return await self._refuse(context, self._desk.busy())
            payload = await self._payload(context, place)
            outcome = await self._desk.take(signal, "protobuf", payload)
        if isinstance(outcome, Refusal):
            return await self._refuse(context, outcome)
        if isinstance(outcome, Malformed):
            await context.abort(code.INVALID_ARGUMENT, outcome.message)
        return _status.answer(outcome.rejected, outcome.why)

    async def _payload(self, context: Context, place: Place) -> bytes:
        code, desk = self._grpc.StatusCode, self._desk
        try:
            message = await asyncio.wait_for(context.read(), self._limits.body_s)
        except TimeoutError:
            desk.count("slow")
            await context.abort(code.DEADLINE_EXCEEDED, f"the message took longer than {self._limits.body_s:g} s")
        if not isinstance(message, bytes):
            desk.count("malformed")
            await context.abort(code.INVALID_ARGUMENT, "the stream ended without a message")
        if not place.hold(len(message)):
            await self._refuse(context, desk.busy())
        try:
            if is_slow_to_inflate(message):
                payload = await asyncio.to_thread(inflated, message, self._limits)
            else:
                payload = inflated(message, self._limits)
        except (TooLargeError, BrokenError) as failure:
            desk.count("too large" if isinstance(failure, TooLargeError) else "malformed")
            await context.abort(code.INVALID_ARGUMENT, str(failure))
        if not place.hold(len(payload)):
            await self._refuse(context, desk.busy())
        return payload

    async def _refuse(self, context: Context, refusal: Refusal) -> NoReturn:
        code = self._grpc.StatusCode.RESOURCE_EXHAUSTED if refusal.overload else self._grpc.StatusCode.UNAVAILABLE
        number = _status.RESOURCE_EXHAUSTED if refusal.overload else _status.UNAVAILABLE
        message = f"not now ({refusal.reason}); come again in {refusal.retry_after_s:g} s"
        details = _status.status(number, message, retry_after_s=refusal.retry_after_s)
        await context.abort(code, message, ((_DETAILS, details),))


def _library() -> Any:  # noqa: ANN401 - grpcio has no types
    try:
        import grpc
        from grpc import aio
    except ModuleNotFoundError as failure:
        raise SinkError("receiving OTLP/gRPC needs the package grpcio: pip install 'spanwise[serve]'") from failure
    assert aio is grpc.aio  # which only the second import makes sure of
    return grpc


def _authorization(context: Context) -> str | bytes | None:
    given = [value for name, value in context.invocation_metadata() or () if name == "authorization"]
    return given[0] if len(given) == 1 else None
