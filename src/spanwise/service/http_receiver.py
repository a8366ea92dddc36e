"""OTLP/HTTP, as an ASGI app and as a server that runs it on uvicorn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from spanwise.service import _status
from spanwise.service.access import Access, check_listening
from spanwise.service.batches import ContentType, Signal
from spanwise.service.receiving import (
    GZIP,
    Body,
    BrokenError,
    Desk,
    Limits,
    Malformed,
    Offer,
    Place,
    Taken,
    TooLargeError,
)
from spanwise.service.refusal import Refusal

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_SIGNALS: Mapping[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_TYPES: Mapping[str, ContentType] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_MEDIA: Mapping[ContentType, bytes] = {"protobuf": b"application/x-protobuf", "json": b"application/json"}
_WITHOUT_TOKEN = frozenset({"/healthz", "/readyz"})
_CODES: Mapping[int, int] = {
    400: _status.INVALID_ARGUMENT,
    401: _status.UNAUTHENTICATED,
    404: _status.NOT_FOUND,
    405: _status.UNIMPLEMENTED,
    408: _status.DEADLINE_EXCEEDED,
    413: _status.OUT_OF_RANGE,
    415: _status.INVALID_ARGUMENT,
    429: _status.RESOURCE_EXHAUSTED,
    503: _status.UNAVAILABLE,
}
_LINGER_S, _LINGER_BYTES = 5.0, 256 << 20
_DEFAULT_LIMITS = Limits()
_OPEN = Access()


class Page(Protocol):
    """What a route shows."""

    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def body(self) -> bytes: ...


Route: TypeAlias = Callable[[], Page]
_NO_ROUTES: Mapping[str, Route] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class _Denied(Exception):  # noqa: N818 - an answer, not a failure
    """The request is answered with this status, and the rest of it not read."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class _Gone(Exception):  # noqa: N818 - as above
    """The sender has hung up."""


class OtlpApp:
    """An ASGI app that takes OTLP requests, and shows the pages of `routes` to whoever asks for them with GET."""

    def __init__(self, desk: Desk, access: Access, routes: Mapping[str, Route]) -> None:
        self._desk = desk
        self._limits = desk.limits
        self._access = access
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            await self._answer(_Request(scope, receive, send))
        except _Gone:
            self._desk.count("hung up")

    async def _answer(self, request: _Request) -> None:
        try:
            if request.path in self._routes:
                await self._show(request)
            else:
                await self._export(request)
        except _Denied as denied:
            self._count(denied)
            await request.deny(denied, linger_bytes=_LINGER_BYTES)

    def _count(self, denied: _Denied) -> None:
        words = {400: "malformed", 401: "token", 408: "slow", 413: "too large", 415: "content type"}
        if denied.status in words:
            self._desk.count(words[denied.status])
        elif denied.status in {404, 405}:
            self._desk.count("no such address")

    async def _show(self, request: _Request) -> None:
        if request.method not in {"GET", "HEAD"}:
            raise _Denied(405, "this address is only for GET", ((b"allow", b"GET, HEAD"),))
        if request.path not in _WITHOUT_TOKEN:
            self._check_token(request)
        page = self._routes[request.path]()
        await request.respond(page.status, page.content_type.encode(), page.body)

    def _check_token(self, request: _Request) -> None:
        if not self._access.allows(request.header(b"authorization")):
            message = "a valid token is needed: Authorization: Bearer ..."
            raise _Denied(401, message, ((b"www-authenticate", b"Bearer"),))

    async def _export(self, request: _Request) -> None:
        signal = _SIGNALS.get(request.path)
        if signal is None:
            raise _Denied(404, f"there is nothing here; OTLP is taken at {' and '.join(_SIGNALS)}")
        if request.method != "POST":
            raise _Denied(405, "this address is only for POST", ((b"allow", b"POST"),))
        self._check_token(request)
        with self._desk.place() as place:
            if place is None:
                raise _later(self._desk.busy())
            body = await self._body(request, place)
            outcome = await self._desk.take(signal, request.content, body)
        if isinstance(outcome, Refusal):
            raise _later(outcome)
        if isinstance(outcome, Malformed):
            await request.deny(_Denied(400, outcome.message))
            return
        await request.accept(signal, outcome)

    async def _body(self, request: _Request, place: Place) -> bytes:
        encoding = (request.header(b"content-encoding") or b"identity").decode("latin-1").strip().lower()
        if request.media not in _TYPES:
            raise _Denied(415, f"the content type must be {' or '.join(_TYPES)}")
        if encoding not in {"identity", "gzip"}:
            raise _Denied(415, "the content encoding must be gzip or identity", ((b"accept-encoding", b"gzip"),))
        is_gzip = encoding == "gzip"
        most = self._limits.sent_bytes if is_gzip else self._limits.inflated_bytes
        length = request.length
        if length > most:
            raise _Denied(413, f"the body is larger than {most:,} bytes")
        if not place.hold(length):
            raise _later(self._desk.busy())
        body = Body(self._limits, compressed=GZIP if is_gzip else None)
        try:
            async with asyncio.timeout(self._limits.body_s):
                async for piece in request.pieces():
                    body.add(piece)
                    if body.size > place.held and not place.hold(body.size):
                        raise _later(self._desk.busy())
            return body.whole()
        except TimeoutError:
            raise _Denied(408, f"the body took longer than {self._limits.body_s:g} s") from None
        except TooLargeError as failure:
            raise _Denied(413, str(failure)) from failure
        except BrokenError as failure:
            raise _Denied(400, str(failure)) from failure


def _later(refusal: Refusal) -> _Denied:
    seconds = max(1, ceil(refusal.retry_after_s))
    message = f"not now ({refusal.reason}); come again in {seconds} s"
    return _Denied(429 if refusal.overload else 503, message, ((b"retry-after", b"%d" % seconds),))


class _Request:
    """A request, and the way back to its sender."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.path: str = scope["path"]
        self.method: str = scope["method"]
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._receive = receive
        self._send = send
        self._is_read = False
        self.media = (self.header(b"content-type") or b"").decode("latin-1").partition(";")[0].strip().lower()
        self.content: ContentType = _TYPES.get(self.media, "protobuf")

    def header(self, name: bytes) -> bytes | None:
        """The value of a header that stands there once."""
        given = [value for key, value in self._headers if key == name]
        return given[0] if len(given) == 1 else None

    @property
    def length(self) -> int:
        """How long the body is said to be; 0 if nothing is said."""
        text = self.header(b"content-length") or b""
        return int(text) if text.isdigit() and len(text) < 20 else 0

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes.

        Raises:
            _Gone: The sender has hung up.
        """
        while not self._is_read:
            message = await self._receive()
            if message["type"] != "http.request":
                raise _Gone
            self._is_read = not message.get("more_body", False)
            yield message.get("body", b"")

    async def accept(self, signal: Signal, taken: Taken) -> None:
        """Say that the request is safe."""
        if self.content == "protobuf":
            body = _status.answer(taken.rejected, taken.why)
        else:
            body = _status.answer_json(signal, taken.rejected, taken.why)
        await self.respond(200, _MEDIA[self.content], body)

    async def deny(self, denied: _Denied, *, linger_bytes: int = 0) -> None:
        """Say why the request is not taken, in its own encoding."""
        code = _CODES[denied.status]
        encode = _status.status if self.content == "protobuf" else _status.status_json
        body = encode(code, denied.message)
        await self.respond(denied.status, _MEDIA[self.content], body, denied.headers, linger_bytes)

    async def respond(
        self,
        status: int,
        media: bytes,
        body: bytes,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        linger_bytes: int = 0,
    ) -> None:
        """Send an answer. What is left of the request is read and thrown away: who still sends, does not listen."""
        is_unread = not self._is_read and self.method not in {"GET", "HEAD"}
        fields = [(b"content-type", media), (b"content-length", b"%d" % len(body)), *headers]
        if is_unread:
            fields.append((b"connection", b"close"))
        await self._send({"type": "http.response.start", "status": status, "headers": fields})
        if is_unread and self.header(b"expect") is None:
            await self._send({"type": "http.response.body", "body": body, "more_body": True})
            await self._throw_away(linger_bytes)
            body = b""
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _throw_away(self, most: int) -> None:
        try:
            async with asyncio.timeout(_LINGER_S):
                async for piece in self.pieces():
                    most -= len(piece)
                    if most < 0:
                        return
        except (TimeoutError, _Gone):
            return


class HttpReceiver:
    """A server that takes OTLP/HTTP, and shows the pages of `routes`.

    Args:
        address: Where to listen, as host:port; port 0 picks a free one.
        offer: Takes each batch, or says when to come again.
        limits: What is taken on.
        access: Who may send. Without the token only /healthz and /readyz are shown.
        routes: Pages by their path.

    Raises:
        SinkError: uvicorn is not installed.
        SpecError: The address may not be listened on.
    """

    def __init__(
        self,
        address: str,
        offer: Offer,
        *,
        limits: Limits = _DEFAULT_LIMITS,
        access: Access = _OPEN,
        routes: Mapping[str, Route] = _NO_ROUTES,
    ) -> None:
        from spanwise.service._http_server import HttpServer

        check_listening(address, access)
        self._desk = Desk(offer, limits)
        self._server = HttpServer(OtlpApp(self._desk, access, routes), address, limits=limits, tls=access.tls)

    @property
    def counts(self) -> Mapping[str, int]:
        """What was refused here, before anything was offered, by reason."""
        return self._desk.counts

    async def start(self) -> str:
        """Listen; the address with the port that it has.

        Raises:
            SpecError: Nothing can listen there.
        """
        return await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Take no more requests, and end those under way after so many seconds."""
        await self._server.stop(grace_s)
