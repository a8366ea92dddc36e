"""Reading Langfuse's public API: within its rate limit, patient with what fails for a while."""

from __future__ import annotations

import email.utils
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qs, urlsplit

from spanwise.errors import SourceError

if TYPE_CHECKING:
    import httpx

Query: TypeAlias = Mapping[str, str | int | Sequence[str]]
SCHEME = "langfuse://"
CLOUD = "https://cloud.langfuse.com"
CLOUD_PER_MINUTE = 25
TRIES = 8
_KEYS = ("since", "until", "environment", "session", "per_minute")
_FIRST_S, _LONGEST_S, _LONGEST_ASKED_S = 1.0, 60.0, 3_600.0
_MINUTE_S = 60.0
_LOCAL = ("localhost", "127.", "[::1]")


class RefusedError(Exception):
    """The server answered, and will answer the same again: this request is not for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A part of a project: `langfuse://[HOST][?since=7d&until=1d&environment=prod&session=ID&per_minute=25]`."""

    text: str
    host: str
    since: str = ""
    until: str = ""
    environments: tuple[str, ...] = ()
    session: str = ""
    per_minute: int | None = None


def parse(text: str, environ: Mapping[str, str] | None = None) -> Address:
    """The address; without a host that of LANGFUSE_BASE_URL, else LANGFUSE_HOST, else Langfuse's cloud.

    Raises:
        SourceError: It is none.
    """
    variables = os.environ if environ is None else environ
    try:
        parts = urlsplit(text)
        fields = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        if parts.username or parts.password:
            raise SourceError("keys belong into LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", source=SCHEME)
    except ValueError as error:
        raise SourceError(f"this is no address: {error}", source=text) from None
    unknown = sorted(set(fields) - set(_KEYS))
    if unknown:
        raise SourceError(f"read {unknown[0]!r}, expected one of {', '.join(_KEYS)}", source=text)
    named = parts.netloc + parts.path.rstrip("/")
    scheme = "http" if named.startswith(_LOCAL) else "https"
    host = variables.get("LANGFUSE_BASE_URL") or variables.get("LANGFUSE_HOST") or CLOUD
    per_minute = fields.get("per_minute", [""])[-1]
    if per_minute and not (per_minute.isdecimal() and int(per_minute)):
        raise SourceError(f"read per_minute={per_minute!r}, expected a number of requests above 0", source=text)
    return Address(
        text=text,
        host=(f"{scheme}://{named}" if named else host).rstrip("/"),
        since=fields.get("since", [""])[-1],
        until=fields.get("until", [""])[-1],
        environments=tuple(fields.get("environment", ())),
        session=fields.get("session", [""])[-1],
        per_minute=int(per_minute) if per_minute else None,
    )


class Access:
    """The API of one project. What fails for a while is asked again; what is asked too often waits."""

    def __init__(self, address: Address, environ: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environ is None else environ
        names = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
        missing = [name for name in names if not variables.get(name)]
        if missing:
            raise SourceError(f"reading from Langfuse needs {' and '.join(missing)}", source=address.text)
        if find_spec("httpx") is None:
            raise SourceError(
                "reading from Langfuse needs httpx; install it with: pip install 'spanwise[langfuse]'",
                source=address.text,
            )
        self.bytes = 0
        self.requests = 0
        self._address = address
        self._keys = (variables[names[0]], variables[names[1]])
        self._client: httpx.Client | None = None
        self._times: deque[float] = deque()
        is_cloud = (urlsplit(address.host).hostname or "").endswith("cloud.langfuse.com")
        self._per_minute = address.per_minute or (CLOUD_PER_MINUTE if is_cloud else 0)

    def __enter__(self) -> Access:
        import httpx

        self._client = httpx.Client(auth=self._keys, timeout=60.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    def get(self, path: str, query: Query, *, refused: frozenset[int] = frozenset()) -> bytes:
        """What a path gives.

        Raises:
            RefusedError: The status is one of `refused`, at once; of those of 500 and above, not before another try.
            SourceError: It cannot be read, at last.
        """
        import httpx

        assert self._client is not None
        told = ""
        for number in range(TRIES):
            self._wait_turn()
            self.requests += 1
            try:
                response = self._client.get(f"{self._address.host}{path}", params=dict(query))
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                told = f"{type(error).__name__}: {error}"
                time.sleep(_pause(number))
                continue
            if response.status_code < 300:
                self._slow_down(response)
                self.bytes += len(response.content)
                return response.content
            told = self._failed(response, refused, number)
            time.sleep(_asked(response) or _pause(number))
        raise SourceError(f"Langfuse cannot be read after {TRIES} tries: {told}", source=self._address.text)

    def _failed(self, response: httpx.Response, refused: frozenset[int], number: int) -> str:
        """What to tell of a failure that may pass; raises for any other."""
        status = response.status_code
        text = " ".join(response.text[:800].split())[:200]
        if status in refused and (status < 500 or number):
            raise RefusedError(status, text)
        if status in (401, 403):
            raise SourceError(
                f"Langfuse refused the keys (HTTP {status}); check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY,"
                " and that the host is that of their region",
                source=self._address.text,
            )
        if status < 500 and status not in (408, 425, 429):
            raise SourceError(f"Langfuse answered HTTP {status}: {text}", source=self._address.text)
        return f"HTTP {status}: {text}"

    def _wait_turn(self) -> None:
        """Wait until another request is within the limit per minute."""
        if not self._per_minute:
            return
        now = time.monotonic()
        while self._times and self._times[0] <= now - _MINUTE_S:
            self._times.popleft()
        if len(self._times) >= self._per_minute:
            time.sleep(self._times[0] + _MINUTE_S - now)
            self._times.popleft()
        self._times.append(time.monotonic())

    def _slow_down(self, response: httpx.Response) -> None:
        """Wait for the server's next minute, where it says that this one is used up."""
        if response.headers.get("x-ratelimit-remaining") == "0":
            time.sleep(_asked(response) or 0.0)


def _pause(number: int) -> float:
    return min(_FIRST_S * 2**number, _LONGEST_S)


def _asked(response: httpx.Response) -> float | None:
    """How long the server asks to be left alone."""
    asked = response.headers.get("retry-after")
    try:
        if asked is None:
            wait_s = float(response.headers.get("x-ratelimit-reset", "")) - time.time()
        elif asked.replace(".", "", 1).isdecimal():
            wait_s = float(asked)
        else:
            wait_s = email.utils.parsedate_to_datetime(asked).timestamp() - time.time()
    except ValueError:
        return None
    return min(wait_s, _LONGEST_ASKED_S) if wait_s > 0 else None
