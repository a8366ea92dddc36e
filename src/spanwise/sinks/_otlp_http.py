"""OTLP over HTTP: one request, what its answer means, and a server that is sent to again and again.

By OTLP's specification 429, 502, 503 and 504 are tried again and a 200 may tell of parts that were thrown away. Here
nothing is given up because of what an operator can mend: refused keys and an address where no OTLP is spoken are
tried again now and then. No proxy is used, and no redirection followed.
"""

from __future__ import annotations

import gzip
import http.client
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from spanwise.errors import SinkError
from spanwise.sinks._answer import TEXT, Answer, Verdict, unseen, wait_of
from spanwise.sinks._otlp_wire import logs_request, varint_at

Signal: TypeAlias = Literal["logs", "traces"]
_MOST = 64 * 1024
_IDLE_S = 4.0
_REFUSED = frozenset({400, 409, 410, 411, 414, 422, 431})
_LATER = frozenset({408, 423, 425, 429})
_LENGTH = 4


def url_of(address: str, signal: Signal) -> str:
    """Where a signal is sent: below an address of a server, or to one that names the signal already.

    Raises:
        SinkError: It is no address.
    """
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, None
    if not usable or parts is None or parts.query or parts.fragment or parts.username is not None:
        raise SinkError(f"read {address!r} as an OTLP endpoint, expected a URL such as http://127.0.0.1:4318")
    base = address.rstrip("/")
    return base if base.endswith(f"/v1/{signal}") else f"{base}/v1/{signal}"


def endpoint_of(environ: Mapping[str, str]) -> str:
    """The address for logs that the variables of OpenTelemetry name; empty where none does."""
    for name in ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        if environ.get(name, "").strip():
            return environ[name].strip()
    return ""


def headers_of(environ: Mapping[str, str], signal: Signal) -> dict[str, str]:
    """The headers that the variables of OpenTelemetry give: `name=value` with commas between them, percent-encoded."""
    found: dict[str, str] = {}
    for variable in ("OTEL_EXPORTER_OTLP_HEADERS", f"OTEL_EXPORTER_OTLP_{signal.upper()}_HEADERS"):
        found |= read_headers(environ.get(variable, ""))[0]
    return found


def read_headers(text: str) -> tuple[dict[str, str], bool]:
    """Headers written as `name=value` with commas between them, percent-encoded, and whether all of it was read."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    found = {unquote(name.strip()).lower(): unquote(value.strip()) for name, given, value in pairs if given}
    is_all = "" not in found and len(found) == len(pairs)
    found.pop("", None)
    return found, is_all


def checked_headers(headers: Mapping[str, str], token: str | None) -> dict[str, str]:
    """Headers by their names in lower case, the token among them.

    Raises:
        SinkError: One of them cannot be sent.
    """
    found = {name.lower(): value for name, value in headers.items()}
    if token is not None:
        found["authorization"] = f"Bearer {token.strip()}"
    for name, value in found.items():
        if not name or not (name + value).isascii() or any(ord(one) < 32 for one in name + value) or " " in name:
            raise SinkError(f"the header {name!r} cannot be sent: expected plain ASCII without line breaks")
    return found


def post(
    url: str,
    payload: bytes,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 10.0,
    *,
    ca_file: str | None = None,
) -> Answer:
    """Send one protobuf request to an OTLP server, compressed; it does not raise, the answer says what became of it."""
    line = Line(url, headers or {}, timeout_s=timeout_s, ca_file=ca_file)
    try:
        return line.post(payload)
    finally:
        line.close()


class Line:
    """One address, and a connection that is kept open for a while. For one thread."""

    def __init__(self, url: str, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None = None) -> None:
        self._parts = urlsplit(url)
        self._path = self._parts.path or "/"
        self._timeout_s = timeout_s
        self._ca_file = ca_file
        self._headers = {
            "user-agent": "spanwise",
            **headers,
            "content-type": "application/x-protobuf",
            "content-encoding": "gzip",
        }
        self._connection: http.client.HTTPConnection | None = None
        self._used_at = 0.0

    def post(self, payload: bytes) -> Answer:
        """Send a request. A connection that the server closed while it was idle is opened again once."""
        body = gzip.compress(payload, 1)
        if time.monotonic() - self._used_at > _IDLE_S:
            self.close()
        reused = self._connection is not None
        with unseen():
            try:
                try:
                    return self._exchange(body)
                except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                    self.close()
                    if not reused:
                        raise
                    return self._exchange(body)
            except (http.client.HTTPException, OSError, ValueError) as error:
                self.close()
                return Answer("later", f"{type(error).__name__}: {error}"[:TEXT])

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """Leave the connection to the parent process, in the child after a fork."""
        self._connection = None

    def _exchange(self, body: bytes) -> Answer:
        if self._connection is None:
            self._connection = self._opened()
        connection = self._connection
        until = time.monotonic() + self._timeout_s
        connection.request("POST", self._path, body, self._headers)
        response = connection.getresponse()
        content = _read(response, until)
        self._used_at = time.monotonic()
        if response.will_close or not response.isclosed():
            self.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return _answer_of(response.status, headers, content)

    def _opened(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._ca_file)
            return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout_s)


def _read(response: http.client.HTTPResponse, until: float) -> bytes:
    """The answer's body, so far as it matters and comes in time."""
    found = b""
    while len(found) < _MOST and time.monotonic() < until:
        piece = response.read1(_MOST)
        if not piece:
            response.close()
            break
        found += piece
    return found


def _answer_of(status: int, headers: Mapping[str, str], content: bytes) -> Answer:
    after_s = wait_of(headers)
    if 200 <= status < 300:
        rejected, message = _partial(content) if "json" not in headers.get("content-type", "") else (0, "")
        reason = f"partial success: {message}"[:TEXT] if rejected or message else ""
        return Answer("taken", reason, after_s, status, rejected=rejected)
    return Answer(_verdict(status), f"HTTP {status}: {_words(content)}"[:TEXT], after_s, status)


def _verdict(status: int) -> Verdict:
    if status in (401, 403, 407):
        return "denied"
    if status == 413:
        return "too_large"
    if status >= 500 or status in _LATER:
        return "later"
    return "refused" if status in _REFUSED else "lost"


def _words(content: bytes) -> str:
    """What an error's body says: text, or the message in a google.rpc.Status."""
    text = next((value for number, value in _fields(content) if number == 2 and isinstance(value, bytes)), content)
    return " ".join(
        "".join(one if one.isprintable() else " " for one in text[:1200].decode("utf-8", "replace")).split()
    )


def _partial(content: bytes) -> tuple[int, str]:
    """How many records a response tells as thrown away, and why."""
    count, message = 0, ""
    for number, value in _fields(content):
        if number != 1 or not isinstance(value, bytes):
            continue
        for inner, told in _fields(value):
            if inner == 1 and isinstance(told, int) and told < 1 << 63:
                count = told
            elif inner == 2 and isinstance(told, bytes):
                message = told.decode("utf-8", "replace")
    return count, message


def _fields(content: bytes) -> list[tuple[int, int | bytes]]:
    """The numbers and the bytes of a small message; none where it is no message."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    try:
        while at < len(content):
            tag, at = varint_at(content, at)
            value, at = varint_at(content, at)
            if tag & 7 == 2:
                if at + value > len(content):
                    return []
                found.append((tag >> 3, content[at : at + value]))
                at += value
            elif tag & 7 == 0:
                found.append((tag >> 3, value))
            else:
                return []
    except IndexError:
        return []
    return found


class Server:
    """A `Remote` for one signal at one OTLP server, whose parcels `payload` makes a request of."""

    batch = 1_000
    max_bytes = 4_000_000

    def __init__(self, line: Line, payload: Callable[[Sequence[bytes]], bytes], *, counts_parcels: bool) -> None:
        self.requests = 0
        self.rejected = 0
        """Records that were thrown away, where they are not parcels."""
        self._line = line
        self._payload = payload
        self._counts_parcels = counts_parcels

    def post(self, bodies: Sequence[bytes], /) -> Answer:
        """Send parcels."""
        self.requests += 1
        answer = self._line.post(self._payload(bodies))
        if self._counts_parcels:
            most = min(answer.rejected, len(bodies))
            return answer if most == answer.rejected else Answer("taken", answer.reason, rejected=most)
        self.rejected += answer.rejected
        return Answer("taken", answer.reason, answer.after_s, answer.status) if answer.rejected else answer

    def delete(self, key: str, /) -> Answer:
        """OTLP deletes nothing."""
        return Answer("refused", f"OTLP cannot delete {key}")

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def forget(self) -> None:
        """Leave the connection to the parent process."""
        self._line.forget()


def packed_log(resource: bytes, record: bytes) -> bytes:
    """A score event as a parcel's body: with the resource that it belongs to."""
    return len(resource).to_bytes(_LENGTH, "big") + resource + record


def logs_of(bodies: Sequence[bytes]) -> bytes:
    """The request that parcels of score events make."""
    return logs_request(map(_unpacked, bodies))


def _unpacked(body: bytes) -> tuple[bytes, bytes]:
    end = int.from_bytes(body[:_LENGTH], "big") + _LENGTH
    return body[_LENGTH:end], body[end:]
