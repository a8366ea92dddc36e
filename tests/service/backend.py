"""A local OTLP backend: it stores what it gets, and can be down and up again on the same port."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers import free_port
from tests.sinks.otlp_server import KINDS, Received


class Backend:
    """What arrived at an OTLP/HTTP server. Requests are parsed before they are answered: what counts, is stored."""

    def __init__(self) -> None:
        self.received = Received()
        self.port = free_port()
        self._http: _Http | None = None

    @property
    def url(self) -> str:
        """Where it is, up or down."""
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        """Listen, on the same port each time."""
        self._http = _Http(self.port, self)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        """Refuse connections, and end those that are open."""
        http, self._http = self._http, None
        if http is not None:
            http.shutdown()
            http.server_close()
            http.cut()

    def take(self, path: str, body: bytes) -> None:
        """Keep a request."""
        kind = path.rsplit("/v1/", 1)[-1]
        self.received.requests.append((kind, {}, KINDS[kind].FromString(body)))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, backend: Backend) -> None:
        self.backend = backend
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def cut(self) -> None:
        for one in list(self.open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.backend.take(self.path, body)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is printed."""


@contextmanager
def backend() -> Iterator[Backend]:
    """A backend for the length of a block."""
    running = Backend()
    running.up()
    try:
        yield running
    finally:
        running.down()
