"""Traces out of a Langfuse project, page by page through its public API: `langfuse://?since=7d`.

Servers of today list observations with all their context (`/api/public/v2/observations`), which is enough. Those before
are asked for traces and for observations, both newest first, which are put together as they come: when a trace is
read, its observations, which are younger, were read just before. Either way memory follows what is in flight.
The rows are those of Langfuse's exports, and read as those are.
"""

from __future__ import annotations

import io
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from spanwise.errors import SourceError
from spanwise.sources._langfuse_http import SCHEME, Access, Address, RefusedError, parse
from spanwise.sources._open import open_input
from spanwise.sources._records import Fields, fields_of, id_of, list_of, text_of
from spanwise.sources._source import Intake, Record
from spanwise.sources._times import time_ns
from spanwise.sources.langfuse_export import SOURCE

FIELDS = "core,basic,time,io,metadata,model,usage,prompt,trace_context"
# What other instrumentations sent is in metadata, which is cut unless it is asked for by its keys.
METADATA = "attributes,resourceAttributes,scope,scopeAttributes"
LARGEST, SMALLEST, OLD_PAGE = 500, 10, 100
HELD = 100_000
_SLACK_NS = 60_000_000_000
_AGE = re.compile(r"(\d{1,9}(?:\.\d+)?)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_ABSENT = frozenset({400, 404, 405, 410, 501})
_TOO_LARGE = frozenset({413, 422, 500, 502, 504})


def is_address(path: object) -> bool:
    """The path names a part of a Langfuse project."""
    return isinstance(path, str) and path.startswith(SCHEME)


def since(address: str, age: str) -> str:
    """The address, for traces that are no older than this: 12h, 7d.

    Raises:
        SourceError: It names an age already.
    """
    if parse(address).since:
        raise SourceError(f"the address and --since {age} both name an age", source=address)
    return f"{address}{'&' if '?' in address else '?'}since={quote(age)}"


def host_of(address: str) -> str:
    """The URL of the server that an address is about."""
    return parse(address).host


def read(
    address: str,
    *,
    intake: Intake,
    on_progress: Callable[[int], None] | None = None,
    now_s: float | None = None,
) -> Iterator[Record]:
    """The spans of a project, as of now.

    Args:
        address: Which project, and which part of it.
        intake: Told of rows that are unusable.
        on_progress: Told now and then how many bytes are read.
        now_s: What is now, in seconds since 1970.

    Raises:
        SourceError: The address is none, or the project cannot be read.
    """
    parsed = parse(address)
    window = _Window(parsed, time.time() if now_s is None else now_s)
    with Access(parsed) as access:
        for page in _Pages(access, window).all():
            with open_input(io.BytesIO(page)) as data:
                yield from SOURCE.read(data, intake=intake)
            if on_progress is not None:
                on_progress(access.bytes)


class _Window:
    """Which part of a project is asked for; its end is fixed, so that pages do not shift while they are read."""

    def __init__(self, address: Address, now_s: float) -> None:
        self.address = address
        self.start = _moment(address.since, now_s, "since", address.text) if address.since else ""
        self.end = _moment(address.until or "0s", now_s, "until", address.text)

    def query(self, start: str, end: str, **more: str | int) -> dict[str, str | int | Sequence[str]]:
        """The window in the words of an endpoint."""
        found: dict[str, str | int | Sequence[str]] = {end: self.end, **more}
        if self.start:
            found[start] = self.start
        if self.address.environments:
            found["environment"] = self.address.environments
        if self.address.session:
            found["sessionId"] = self.address.session
        return found


class _Pages:
    """The pages of a window, each as JSON that the source of exports reads."""

    def __init__(self, access: Access, window: _Window) -> None:
        self._access = access
        self._window = window
        self._size = LARGEST

    def all(self) -> Iterator[bytes]:
        """Every page there is."""
        begun = False
        try:
            for page in self._observations():
                begun = True
                yield page
        except RefusedError as refused:
            if begun or refused.status not in _ABSENT:
                raise SourceError(f"Langfuse answered {refused}", source=self._window.address.text) from None
            yield from self._old()

    def _observations(self) -> Iterator[bytes]:
        """The pages of servers of today."""
        query = self._window.query("fromStartTime", "toStartTime", fields=FIELDS, expandMetadata=METADATA)
        while True:
            page = self._page_of(query)
            yield page
            cursor = _meta_of(page).get("cursor")
            if not isinstance(cursor, str) or not cursor:
                return
            query["cursor"] = cursor

    def _page_of(self, query: dict[str, str | int | Sequence[str]]) -> bytes:
        """A page, with fewer rows where the server cannot give so many at once."""
        while True:
            query["limit"] = self._size
            refused = _ABSENT | _TOO_LARGE if self._size > SMALLEST else _ABSENT
            try:
                return self._access.get("/api/public/v2/observations", query, refused=refused)
            except RefusedError as failure:
                if failure.status in _ABSENT:
                    raise
                self._size = max(SMALLEST, self._size // 3)

    def _old(self) -> Iterator[bytes]:
        """The traces of older servers, each with its observations."""
        held: OrderedDict[str, list[Fields]] = OrderedDict()
        rows = self._numbered("/api/public/observations", self._window.query("fromStartTime", "toStartTime"))
        query = self._window.query("fromTimestamp", "toTimestamp", orderBy="timestamp.desc", fields="core,io")
        # Their list of observations knows no sessions, so there it gives those of other ones, too.
        is_all = not self._window.address.session
        count = 0
        row = next(rows, None)
        for trace in self._numbered("/api/public/traces", query):
            trace_id = id_of(trace.get("id"))
            began = (time_ns(trace.get("timestamp")) or 0) - _SLACK_NS
            while row is not None and (time_ns(row.get("startTime")) or 0) >= began:
                held.setdefault(id_of(row.get("traceId")), []).append(row)
                count += 1
                row = next(rows, None)
            own = held.pop(trace_id, [])
            count -= len(own)
            yield msgspec.json.encode({**trace, "observations": own})
            while count > HELD:
                _, oldest = held.popitem(last=False)
                count -= len(oldest)
                if is_all:
                    yield _alone(oldest)
        if is_all:
            for left in held.values():
                yield _alone(left)
            while row is not None:
                yield _alone([row])
                row = next(rows, None)

    def _numbered(self, path: str, query: dict[str, str | int | Sequence[str]]) -> Iterator[Fields]:
        """The rows of pages that are numbered."""
        if path.endswith("/observations"):
            query.pop("sessionId", None)
        number = 1
        while True:
            page = self._access.get(path, {**query, "page": number, "limit": OLD_PAGE})
            found = _object_of(page)
            rows = [fields for one in list_of(found.get("data")) or () if (fields := fields_of(one)) is not None]
            yield from rows
            pages = (fields_of(found.get("meta")) or {}).get("totalPages")
            if not rows or (isinstance(pages, int) and number >= pages):
                return
            number += 1


def _alone(rows: Sequence[Fields]) -> bytes:
    """Observations without their trace."""
    return msgspec.json.encode({"data": rows})


def _object_of(page: bytes) -> Fields:
    try:
        return fields_of(msgspec.json.decode(page)) or {}
    except (msgspec.DecodeError, RecursionError) as error:
        raise SourceError(f"Langfuse answered with what is no JSON: {error}", source=SCHEME) from None


def _meta_of(page: bytes) -> Fields:
    return fields_of(_object_of(page).get("meta")) or {}


def _moment(text: str, now_s: float, name: str, address: str) -> str:
    """A moment as the API takes it, from an age or from ISO 8601."""
    age = _AGE.fullmatch(text_of(text))
    at_ns = time_ns(text) if age is None else round((now_s - float(age[1]) * _SECONDS[age[2]]) * 1e9)
    if at_ns is None or at_ns < 0:
        raise SourceError(f"read {name}={text!r}, expected an age such as 12h or 7d, or a date", source=address)
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
