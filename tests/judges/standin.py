"""A local stand-in for a provider that speaks OpenAI's chat completions, and misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "openai-chat:gpt-4o-mini"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back: a status, headers, and a body, after a delay."""

    status: int = 200
    body: object = None
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def completion(
    *,
    text: str | None = None,
    arguments: str | None = None,
    refusal: str | None = None,
    finish: str = "stop",
    tokens: tuple[int, int] = (1000, 100),
) -> Answer:
    """One chat.completion, in words or as the call of the tool."""
    message: dict[str, object] = {"role": "assistant", "content": text, "refusal": refusal}
    if arguments is not None:
        call = {"id": "call_1", "type": "function", "function": {"name": "verdict", "arguments": arguments}}
        message["tool_calls"] = [call]
    return Answer(
        body={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
        }
    )


def verdict(score: int | None, reasons: str = "It is so.", quotes: object = (), **more: object) -> Answer:
    """A good reply."""
    arguments = json.dumps({"reasons": reasons, "quotes": list(quotes), "score": score})
    return completion(arguments=arguments, **more)


def failure(status: int, *, code: str = "", message: str = "it is so", **headers: str) -> Answer:
    """An HTTP error as OpenAI writes it; `retry_after` becomes a header of that name."""
    body = {"error": {"message": message, "type": code or "error", "code": code or None, "param": None}}
    return Answer(status=status, body=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


class Standin:
    """What was asked, and what is answered: the scripted answers in their order, the last one again and again."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict] = []
        self.at: list[float] = []
        self.busy = self.most = 0
        self._script: list[Answer] = [verdict(3)]
        self._choose: Callable[[dict], Answer] | None = None
        self._lock = threading.Lock()

    def script(self, *answers: Answer) -> None:
        """Answer so from now on, whoever asks."""
        self._script, self._choose = list(answers), None

    def choose(self, by: Callable[[dict], Answer]) -> None:
        """Answer each request by what it says."""
        self._choose = by

    def answer(self, body: dict) -> Answer:
        """The answer to a request, which is kept."""
        with self._lock:
            self.requests.append(body)
            self.at.append(time.monotonic())
            if self._choose is not None:
                return self._choose(body)
            return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def enter(self) -> None:
        """One more request is being answered."""
        with self._lock:
            self.busy += 1
            self.most = max(self.most, self.busy)

    def leave(self) -> None:
        """One request less."""
        with self._lock:
            self.busy -= 1

    def said(self, number: int = -1, *, role: str = "user") -> str:
        """What a request said in one role."""
        found = [message["content"] for message in self.requests[number]["messages"] if message["role"] == role]
        parts = [
            part["text"] if isinstance(part, dict) else part
            for text in found
            for part in (text if isinstance(text, list) else [text])
        ]
        return "\n".join(parts)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    standin: Standin

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        standin = self.server.standin
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        answer = standin.answer(body)
        standin.enter()
        try:
            time.sleep(answer.delay_s)
        finally:
            standin.leave()
        payload = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the base class's
        """Requests are kept, not logged."""


@contextmanager
def serve() -> Generator[Standin, None, None]:
    """A running stand-in; it stops when the block ends."""
    standin = Standin()
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.standin = standin
        standin.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, name="standin", daemon=True)
        thread.start()
        try:
            yield standin
        finally:
            server.shutdown()
            thread.join()
