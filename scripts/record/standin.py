"""A local stand-in for a model provider's HTTP API, playing one scripted scenario.

It speaks OpenAI chat completions (`/v1/chat/completions`) and the Responses API (`/v1/responses`), both with streaming,
and Gemini's `/v1beta/models/NAME:generateContent` and `:streamGenerateContent`. It binds to 127.0.0.1 only.

    python standin.py [--port 0] [--variant standard] [--latency-ms 40] [--lifetime-s 600]

The first line on standard output is the base URL, such as `http://127.0.0.1:41943`. In a program:

    with standin.serve(variant="parallel") as url: ...
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import playbook
import scenario
import wire_chat
import wire_gemini
import wire_responses
from wire import Json

DEFAULT_VARIANT = os.environ.get("STANDIN_VARIANT", "standard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back on the wire: one JSON object, or server-sent events."""

    body: Json | None = None
    events: Iterable[str] = ()


def answer(path: str, body: Json, /, *, variant: str) -> Reply | None:
    """The reply to one POST, or None when the path is none of the APIs spoken here."""
    route = path.partition("?")[0].rstrip("/")
    if route.endswith("/chat/completions"):
        turn = playbook.next_turn(wire_chat.conversation(body, default=variant))
        if body.get("stream"):
            return Reply(events=[*map(_data, wire_chat.chunks(body, turn)), "data: [DONE]\n\n"])
        return Reply(body=wire_chat.response(body, turn))
    if route.endswith("/responses"):
        turn = playbook.next_turn(wire_responses.conversation(body, default=variant))
        if body.get("stream"):
            events = wire_responses.events(body, turn)
            return Reply(events=[f"event: {event['type']}\n{_data(event)}" for event in events])
        return Reply(body=wire_responses.response(body, turn))
    if route.endswith(("generateContent", "streamGenerateContent")):
        return _gemini(route, body, variant=variant)
    return None


def _gemini(route: str, body: Json, *, variant: str) -> Reply:
    model, _, method = route.rpartition("/")[2].partition(":")
    turn = playbook.next_turn(wire_gemini.conversation(body, model=model, default=variant))
    response = wire_gemini.response(body, turn, model=model)
    if method.startswith("stream"):
        return Reply(events=[_data(response)])
    return Reply(body=response)


def _data(event: object) -> str:
    return f"data: {json.dumps(event)}\n\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    variant = DEFAULT_VARIANT
    latency_s = 0.04

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that drop a kept-alive connection are no news; anything else is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]  # the stub wants a socket


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes; with Nagle's algorithm the second would wait for a delayed acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send_json(200, {"object": "list", "data": [{"id": scenario.MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server = self.server
        assert isinstance(server, _Server)
        try:
            reply = answer(self.path, json.loads(raw or b"{}"), variant=server.variant)
        except ValueError as error:
            self._send_json(400, {"error": {"message": f"bad request: {error}", "type": "invalid_request_error"}})
            return
        if reply is None:
            self._send_json(404, {"error": {"message": f"no such path: {self.path!r}", "type": "not_found"}})
            return
        time.sleep(server.latency_s)
        if reply.body is not None:
            self._send_json(200, reply.body)
        else:
            self._send_events(reply.events)

    def _send_json(self, status: int, body: Json) -> None:
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _send_events(self, events: Iterable[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            payload = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
            self.wfile.flush()
            time.sleep(0.001)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the base class's
        """Requests are not logged: standard output carries the base URL only."""


@contextmanager
def serve(*, variant: str = DEFAULT_VARIANT, port: int = 0, latency_s: float = 0.04) -> Generator[str, None, None]:
    """A running stand-in's base URL; the server stops when the block ends."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.variant = variant
    server.latency_s = latency_s
    thread = threading.Thread(target=server.serve_forever, name="standin", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    """Serve until the lifetime is over or the process is interrupted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--variant", choices=playbook.VARIANTS, default=DEFAULT_VARIANT)
    parser.add_argument("--latency-ms", type=float, default=40.0)
    parser.add_argument("--lifetime-s", type=float, default=600.0)
    options = parser.parse_args()
    with serve(variant=options.variant, port=options.port, latency_s=options.latency_ms / 1e3) as url:
        print(url, flush=True)
        try:
            time.sleep(options.lifetime_s)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
