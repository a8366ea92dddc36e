"""A strict stand-in for Langfuse's public API on the loopback: what its servers accept is accepted, all else is not.

Each score is checked against the types that the official SDK ships and against the rules that the real server keeps.
Rows are kept as the real one keeps them: told apart by id, name and day, so that a double shows as a second row.

    python tests/sinks/langfuse_server.py          # serves until interrupted, and says where
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers import free_port

PUBLIC, SECRET = "pk-lf-test", "sk-lf-test"
AUTHORIZATION = "Basic " + base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
LIST_FROM, SINGLE_FROM = (4, 59), (4, 0)
ENVIRONMENT = re.compile(r"(?!langfuse)[a-z0-9_-]{1,40}")
TARGETS = ("traceId", "sessionId", "datasetRunId")
AT_ONCE = 15
ACCEPTED = {"message": "Accepted"}
Answer = tuple[int, object, dict[str, str]]


def problem_of(body: Any) -> str:
    """Why a score is not acceptable; empty if it is."""
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.scores.types.create_score_request import CreateScoreRequest
    from langfuse.api.scores.types.create_scores_request import CreateScoresRequest

    if not isinstance(body, dict):
        return "Invalid input: expected object"
    try:
        parse_obj_as(CreateScoresRequest, [body])
    except ValueError as error:
        return f"Invalid input: {error}"
    known = {_camel(name) for name in CreateScoreRequest.model_fields}
    if unknown := set(body) - known:
        return f"Unrecognized keys: {sorted(unknown)}"
    if not body.get("id") or not body.get("name"):
        return "Too small: expected a non-empty id and name"
    if sum(target in body for target in TARGETS) != 1 or ("observationId" in body and "traceId" not in body):
        return "Provide exactly one of the following: traceId, sessionId, datasetRunId"
    return _problem_of_value(body) or _problem_of_context(body)


def _problem_of_value(body: dict[str, Any]) -> str:
    value, kind = body["value"], body.get("dataType")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "NUMERIC": number,
        "BOOLEAN": number and value in (0, 1),
        "CATEGORICAL": isinstance(value, str) and bool(value),
        "TEXT": isinstance(value, str) and 1 <= len(value) <= 500,
    }
    return "" if fits.get(kind, False) else f"The value {value!r} does not fit the dataType {kind!r}"


def _problem_of_context(body: dict[str, Any]) -> str:
    environment = body.get("environment")
    if environment is not None and not ENVIRONMENT.fullmatch(environment):
        return f"Invalid environment {environment!r}"
    try:
        at = datetime.fromisoformat(body.get("timestamp", "2026-01-01T00:00:00Z"))
    except ValueError:
        return "Invalid ISO datetime"
    return "" if at.tzinfo is not None else "Invalid ISO datetime: no offset"


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


@dataclass
class Fault:
    """How the server fails at one request: by a status, or by `hang`, `drop` or `drop_after` (stored, not answered)."""

    kind: int | str
    headers: dict[str, str] = field(default_factory=dict)


class LangfuseServer:
    """What the server is like, what it was asked, and what it holds."""

    def __init__(self, version: str = "4.60.1") -> None:
        self.version = version
        self.told_version: str | None = version
        self.faults: deque[Fault] = deque()
        self.fail: Callable[[list[dict[str, Any]]], Fault | None] = lambda bodies: None
        """Decides by what is sent whether the request fails."""
        self.hang_s = 1.0
        self.max_bytes = 1_000_000
        self.per_minute = 0
        self.seconds_per_minute = 60.0
        """Shorter in tests, so that waiting is quick."""
        self.rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.accepted = 0
        self.asked: list[tuple[str, str, int, int]] = []
        """Method, path, status and how many scores, of every request."""
        self.otlp: list[bytes] = []
        self.reads: Callable[[str, dict[str, list[str]]], Answer | None] = lambda path, query: None
        self._times: deque[float] = deque()
        self._lock = threading.Lock()
        self._http: _Http | None = None
        self.port = free_port()
        problem_of({})  # imports the SDK, which takes its time

    @property
    def host(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """The rows by id; two rows of one id are a defect."""
        found = {row["id"]: row for row in self.rows.values()}
        assert len(found) == len(self.rows), "one id has several rows"
        return found

    def up(self) -> None:
        """Listen, on the same port each time."""
        self._http = _Http(self.port, self)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def down(self) -> None:
        """Refuse connections, and end those that are open."""
        http, self._http = self._http, None
        if http is not None:
            http.shutdown()
            http.server_close()
            http.cut()

    def fault(self, bodies: list[dict[str, Any]]) -> Fault | None:
        """How this request fails, if it does."""
        limited = self._limited()
        if limited is not None:
            return limited
        return self.faults.popleft() if self.faults else self.fail(bodies)

    def _limited(self) -> Fault | None:
        """The answer to one request too many in a minute."""
        if not self.per_minute:
            return None
        with self._lock:
            now = time.monotonic()
            while self._times and self._times[0] <= now - self.seconds_per_minute:
                self._times.popleft()
            if len(self._times) >= self.per_minute:
                wait = self._times[0] + self.seconds_per_minute - now
                return Fault(429, {"Retry-After": f"{wait:.3f}"})
            self._times.append(now)
        return None

    def answer(self, method: str, path: str, body: bytes, query: dict[str, list[str]]) -> Answer:
        """What the API says."""
        if path == "/api/public/scores" and method == "POST":
            return self._scores(strictly(body))
        if path == "/api/public/ingestion" and method == "POST":
            return self._ingest(strictly(body)["batch"])
        if path.startswith("/api/public/scores/") and method == "DELETE":
            return self._delete(unquote(path.rpartition("/")[2]))
        return self.reads(path, query) or (404, {"message": "Not Found"}, {})

    def release(self) -> tuple[int, int]:
        """The version as numbers."""
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)

    def _scores(self, body: Any) -> Answer:
        if self.release() < SINGLE_FROM:
            return 404, {"message": "Not Found"}, {}
        if self.release() < LIST_FROM:
            if isinstance(body, list):
                return 400, {"message": "Invalid request data", "error": "expected object, received array"}, {}
            problem = problem_of(body)
            return (400, {"message": problem}, {}) if problem else self._stored([body], 200, {"id": body["id"]})
        if not isinstance(body, list):
            return 400, {"message": "Invalid request data", "error": "expected array, received object"}, {}
        if not 1 <= len(body) <= AT_ONCE:
            return 400, {"message": f"Too big: expected array to have <= {AT_ONCE} items"}, {}
        problems = [problem_of(one) for one in body]
        good = [one for one, problem in zip(body, problems, strict=True) if not problem]
        told = [{"message": problem} for problem in problems if problem]
        if not told:
            return self._stored(good, 202, ACCEPTED)
        return self._stored(good, 207, {"accepted": len(good), "rejected": len(told), "errors": told})

    def _ingest(self, batch: list[dict[str, Any]]) -> Answer:
        done, errors = [], []
        for event in batch:
            problem = "" if event["type"] == "score-create" and event["timestamp"] else "Invalid event"
            problem = problem or problem_of(event["body"])
            if problem:
                errors.append({"id": event["id"], "status": 400, "message": "Invalid request data", "error": problem})
            else:
                self._stored([event["body"]], 207, None)
                done.append({"id": event["id"], "status": 201})
        return 207, {"successes": done, "errors": errors}, {}

    def _stored(self, bodies: list[dict[str, Any]], status: int, told: object) -> Answer:
        with self._lock:
            for body in bodies:
                self.accepted += 1
                key = (body["id"], body["name"], body.get("timestamp", "")[:10])
                held = self.rows.get(key, {})
                row = {**held, **body, "metadata": {**held.get("metadata", {}), **body.get("metadata", {})}}
                if held:
                    row["traceId"] = held.get("traceId")
                self.rows[key] = row
        return status, told, {}

    def _delete(self, score_id: str) -> Answer:
        with self._lock:
            keys = [key for key in self.rows if key[0] == score_id]
            for key in keys:
                del self.rows[key]
        return (202, {"message": "Score deletion request received"}, {}) if keys else (404, {"message": "none"}, {})


def strictly(body: bytes) -> Any:
    """JSON without NaN."""

    def refuse(name: str) -> None:
        raise ValueError(f"Unexpected token {name}")

    return json.loads(body, parse_constant=refuse)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, langfuse: LangfuseServer) -> None:
        self.langfuse = langfuse
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def cut(self) -> None:
        """Close the connections that are still open."""
        for one in list(self.open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        status, told, headers = self._answer(parts.path, body, parse_qs(parts.query))
        self.server.langfuse.asked.append((self.command, parts.path, status, len(_bodies(body))))
        if not status:
            self.close_connection = True
            return
        content = json.dumps(told).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is printed."""

    def _answer(self, path: str, body: bytes, query: dict[str, list[str]]) -> Answer:
        langfuse = self.server.langfuse
        if path == "/api/public/health":
            told = langfuse.told_version
            return (200, {"version": told, "status": "OK"}, {}) if told else (404, {"message": "none"}, {})
        if self.headers.get("authorization") != AUTHORIZATION:
            return 401, {"message": "Invalid credentials"}, {}
        if path == "/api/public/otel/v1/traces":
            langfuse.otlp.append(body)
            return 200, {}, {}
        fault = langfuse.fault(_bodies(body))
        if fault is not None and isinstance(fault.kind, int):
            return fault.kind, {"message": f"as ordered: {fault.kind}"}, fault.headers
        if fault is not None and fault.kind == "hang":
            time.sleep(langfuse.hang_s)
        if fault is not None and fault.kind in ("hang", "drop"):
            return 0, None, {}
        answer = self._of_api(path, body, query)
        return (0, None, {}) if fault is not None else answer

    def _of_api(self, path: str, body: bytes, query: dict[str, list[str]]) -> Answer:
        if len(body) > self.server.langfuse.max_bytes:
            return 413, {"message": "Body exceeded 1mb limit"}, {}
        try:
            return self.server.langfuse.answer(self.command, path, body, query)
        except (ValueError, KeyError, TypeError) as error:
            return 400, {"message": f"Invalid JSON: {error}"}, {}


def _bodies(body: bytes) -> list[dict[str, Any]]:
    try:
        held = json.loads(body) if body else []
    except ValueError:
        return []
    if isinstance(held, dict):
        held = [event["body"] for event in held["batch"]] if "batch" in held else [held]
    return held if isinstance(held, list) else []


@contextmanager
def serving(version: str = "4.60.1") -> Iterator[LangfuseServer]:
    """A server for the length of a block."""
    server = LangfuseServer(version)
    server.up()
    try:
        yield server
    finally:
        server.down()


if __name__ == "__main__":
    with serving() as running:
        variables = {"BASE_URL": running.host, "PUBLIC_KEY": PUBLIC, "SECRET_KEY": SECRET}
        sys.stdout.write(" ".join(f"LANGFUSE_{name}={value}" for name, value in variables.items()) + "\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
