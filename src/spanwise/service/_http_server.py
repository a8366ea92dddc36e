"""The HTTP server: uvicorn, with limits on what a connection may do without a request.

uvicorn bounds how long a connection may be idle between requests, but not how long the head of a request may take, so
that one byte a minute would hold a connection for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Generator
from typing import Any

from spanwise.errors import SinkError, SpecError
from spanwise.service.access import Tls, host_and_port
from spanwise.service.receiving import Limits

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError as failure:
    raise SinkError("receiving OTLP/HTTP needs the package uvicorn: pip install 'spanwise[serve]'") from failure

_POLL_S = 0.01
_BACKLOG = 512


class _Protocol(H11Protocol):
    """A connection that is cut when the head of a request takes too long, or its answers are not taken off."""

    limits: Limits
    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._written()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.limits.body_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._written()
        super().resume_writing()

    def _written(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.limits.header_s, self.transport.abort)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class _Server(uvicorn.Server):
    """uvicorn's server without hands on the signals, which belong to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpServer:
    """Runs an ASGI app on an address."""

    def __init__(self, app: Callable[..., Any], address: str, *, limits: Limits, tls: Tls | None) -> None:
        self._app = app
        self._address = address
        self._limits = limits
        self._tls = tls
        self._server: _Server | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._server.server_state.connections) if self._server is not None else 0

    async def start(self) -> str:
        """Listen; the address with the port that it has."""
        host, port = host_and_port(self._address)
        bound = _bound(host, port, self._address)
        if self._tls is not None:
            self._tls.check()
        config = uvicorn.Config(
            self._app,
            http=type("_Limited", (_Protocol,), {"limits": self._limits}),
            ws="none",
            lifespan="off",
            interface="asgi3",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=max(1, round(self._limits.idle_s)),
            ssl_certfile=self._tls.cert if self._tls is not None else None,
            ssl_keyfile=self._tls.key if self._tls is not None else None,
        )
        server = self._server = _Server(config)
        self._running = asyncio.create_task(server.serve(sockets=[bound]))
        while not server.started:
            if self._running.done():
                self._running.result()
                raise SpecError(f"nothing can listen on {self._address!r}")
            await asyncio.sleep(_POLL_S)
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{bound.getsockname()[1]}"

    async def stop(self, grace_s: float) -> None:
        """Take no more requests; what is under way has so many seconds."""
        server, running = self._server, self._running
        if server is None or running is None:
            return
        server.config.timeout_graceful_shutdown = max(1, round(grace_s)) if grace_s > 0 else 0
        server.should_exit = True
        await asyncio.wait([running], timeout=grace_s + 2)
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        if not running.done():
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _bound(host: str, port: int, address: str) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as failure:
        raise SpecError(f"nothing can listen on {address!r}: {failure.strerror or failure}") from failure
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(_BACKLOG)
        bound.settimeout(0)
    except OSError as failure:
        bound.close()
        raise SpecError(f"nothing can listen on {address!r}: {failure.strerror or failure}") from failure
    return bound
