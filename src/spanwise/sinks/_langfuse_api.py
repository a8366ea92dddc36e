"""Langfuse's score API over HTTP, in the three forms that its servers have taken.

    list        servers from 4.59 on: `POST /api/public/scores` with up to 15 scores
    single      servers before: the same path, one score
    ingestion   servers before 4: `POST /api/public/ingestion`, scores as events

The server's version chooses; where it is not known, or a proxy tells another one, the answer to the wrong form does.
Nothing here raises: an answer says what is to become of the scores.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from urllib.parse import quote

import msgspec

from spanwise.errors import SinkError
from spanwise.sinks._answer import TEXT, Answer, Verdict, unseen, wait_of

if TYPE_CHECKING:
    import httpx

Form: TypeAlias = Literal["list", "single", "ingestion"]
BATCH: Mapping[Form, int] = {"list": 15, "single": 1, "ingestion": 50}
MAX_BYTES = 900_000
_LIST_FROM: tuple[int, int] = (4, 59)
_SINGLE_FROM: tuple[int, int] = (4, 0)
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})")
_RETRIED = frozenset({408, 409, 423, 425, 429})


class Api:
    """One project on one server. For one thread."""

    def __init__(self, host: str, public_key: str, secret_key: str, *, timeout_s: float) -> None:
        self.form: Form | None = None
        self.version = ""
        self.requests = 0
        self._host = host.rstrip("/")
        self._keys = (public_key, secret_key)
        self._timeout_s = timeout_s
        self._client: httpx.Client | None = None

    max_bytes = MAX_BYTES

    @property
    def batch(self) -> int:
        """How many scores one request may hold."""
        return BATCH[self.form or "list"]

    def post(self, bodies: Sequence[bytes]) -> Answer:
        """Send scores, no more than `batch`."""
        if self.form is None:
            failed = self._find_form()
            if failed is not None:
                return failed
        if len(bodies) > self.batch:
            return Answer("other_form")
        form = self.form
        if form == "ingestion":
            return self._ingest(bodies)
        content = bodies[0] if form == "single" else b"[" + b",".join(bodies) + b"]"
        answer, payload = self._request("POST", "/api/public/scores", content)
        if answer.status == 207:
            return _counted(answer, payload, len(bodies))
        return self._in_this_form(answer)

    def delete(self, score_id: str) -> Answer:
        """Delete a score; one that is not there counts as deleted."""
        answer, _ = self._request("DELETE", f"/api/public/scores/{quote(score_id, safe='')}", None)
        gone = answer.status in (404, 410)
        return Answer("taken", after_s=answer.after_s, status=answer.status) if gone else answer

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def forget(self) -> None:
        """Leave connections to the parent process, in the child after a fork."""
        self._client = None

    def _find_form(self) -> Answer | None:
        """Choose the form by the server's version; an answer where the server cannot be asked now."""
        answer, payload = self._request("GET", "/api/public/health", None)
        if answer.verdict == "later" and not answer.status:
            return answer
        self.version = str(payload.get("version", ""))
        found = _VERSION.match(self.version)
        version = (int(found[1]), int(found[2])) if found else _LIST_FROM
        self.form = "list" if version >= _LIST_FROM else "single" if version >= _SINGLE_FROM else "ingestion"
        return None

    def _in_this_form(self, answer: Answer) -> Answer:
        """The answer, unless it means that the server takes another form."""
        text = answer.reason.lower()
        other: Form | None = None
        if answer.status == 400 and self.form == "list" and "expected object, received array" in text:
            other = "single"
        elif answer.status == 400 and self.form == "single" and "expected array, received object" in text:
            other = "list"
        elif answer.status in (404, 405):
            other = "ingestion"
        if other is None:
            return answer
        self.form = other
        return Answer("other_form", answer.reason, status=answer.status)

    def _ingest(self, bodies: Sequence[bytes]) -> Answer:
        content = b'{"batch":[' + b",".join(map(_event, bodies)) + b"]}"
        answer, payload = self._request("POST", "/api/public/ingestion", content)
        if answer.verdict != "taken":
            return answer if answer.status not in (404, 405) else self._homeless(answer)
        places = {hashlib.sha256(body).hexdigest()[:32]: at for at, body in enumerate(bodies)}
        parts: dict[int, str] = {}
        for error in _objects(payload.get("errors")):
            at = places.get(str(error.get("id", "")))
            status = error.get("status")
            if isinstance(status, int) and (status >= 500 or status in _RETRIED):
                return Answer("later", str(error.get("message", ""))[:TEXT], status=status)
            if at is not None:
                parts[at] = f"HTTP {status}: {error.get('message') or error.get('error') or ''}"[:TEXT]
        return Answer("refused", status=207, parts=parts) if parts else answer

    def _homeless(self, answer: Answer) -> Answer:
        """No form of the API is there: this is no Langfuse, or its path is another one."""
        self.form = None
        return Answer("lost", answer.reason, status=answer.status)

    def _request(self, method: str, path: str, content: bytes | None) -> tuple[Answer, Mapping[str, object]]:
        import httpx

        self.requests += 1
        try:
            client = self._opened()
            with unseen():
                response = client.request(method, f"{self._host}{path}", content=content)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return Answer("later", f"{type(error).__name__}: {error}"[:TEXT]), {}
        return _answer_of(response), _object_of(response.content)

    def _opened(self) -> httpx.Client:
        if self._client is None:
            import httpx

            self._client = httpx.Client(
                auth=self._keys,
                timeout=self._timeout_s,
                headers={"content-type": "application/json", "x-langfuse-public-key": self._keys[0]},
            )
        return self._client


def need_httpx() -> None:
    """Say how to install the HTTP client, if it is missing.

    Raises:
        SinkError: It is.
    """
    from importlib.util import find_spec

    if find_spec("httpx") is None:
        raise SinkError("scores for Langfuse need httpx; install it with: pip install 'spanwise[langfuse]'")


def _event(body: bytes) -> bytes:
    """A score as an event of the ingestion API; sent twice it has the same id, and counts once."""
    timestamp = _object_of(body).get("timestamp") or "1970-01-01T00:00:00.000Z"
    event = {
        "id": hashlib.sha256(body).hexdigest()[:32],
        "type": "score-create",
        "timestamp": timestamp,
        "body": msgspec.Raw(body),
    }
    return msgspec.json.encode(event)


def _answer_of(response: httpx.Response) -> Answer:
    status = response.status_code
    after_s = wait_of(response.headers)
    if status < 300:
        return Answer("taken", after_s=after_s, status=status)
    reason = f"HTTP {status}: {' '.join(response.text[: 4 * TEXT].split())}"[:TEXT]
    verdict: Verdict = "refused"
    if status in (401, 403):
        verdict = "denied"
    elif status == 413:
        verdict = "too_large"
    elif status >= 500 or status in _RETRIED:
        verdict = "later"
    elif status < 400:
        verdict = "lost"
    return Answer(verdict, reason, after_s, status)


def _counted(answer: Answer, payload: Mapping[str, object], sent: int) -> Answer:
    """What a 207 to a list says: how many were refused and why, but not which."""
    rejected = payload.get("rejected")
    if rejected == 0:
        return answer
    messages = [str(error.get("message", "")) for error in _objects(payload.get("errors"))]
    reason = f"HTTP 207: {'; '.join(dict.fromkeys(messages))}"[:TEXT]
    everything = dict.fromkeys(range(sent), reason) if rejected == sent else None
    return Answer("refused", reason, answer.after_s, 207, everything)


def _object_of(content: bytes) -> Mapping[str, object]:
    try:
        value: object = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    held = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, object]", one) for one in held if isinstance(one, dict)]
