"""The nested JSON of the TRAIL benchmark: a trace with its root spans, each holding its children in `child_spans`.

These files are large for what they tell: the conversation so far stands on every model span, twice. So the attributes
of a span are split by name while the file is decoded, and a value is decoded when it is first read; most never are.
The compiled part, where it was built, holds what repeats only once, and lets go of the rest of the file.
"""

from __future__ import annotations

import re
from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias, cast

import msgspec
from msgspec import Raw

from spanwise.model.raw import EMPTY, RawEvent, RawLink, RawSpan, Scope
from spanwise.native import Extent, Row, Texts, core
from spanwise.sources._json_text import skip_mark
from spanwise.sources._open import Input
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._outline import ITEM, below, outline
from spanwise.sources._records import decode_record, fields_of, text_of
from spanwise.sources._source import Intake, Record, Source
from spanwise.sources._times import MICROSECOND, epoch_ns, time_ns

KINDS: Mapping[str | None, int] = {"Internal": 1, "Server": 2, "Client": 3, "Producer": 4, "Consumer": 5}
STATUSES: Mapping[str | None, int] = {"Ok": 1, "Error": 2}
LOGS = "log record of a TRAIL trace: it repeats what a function was given and gave back"
# An escape: a whole pair of surrogates, half of one (the group), or any other.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
_FIRST_LOOK = 512
_PLAIN_START = re.compile(
    rb'\s*+\{\s*+"trace_id"\s*+:\s*+"[^"\\]*+"\s*+,\s*+"spans"\s*+:\s*+\[\s*+\{'
    rb'(?:\s*+"(?!span_name"|span_attributes"|child_spans")[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+"|null)\s*+,)*+'
    rb'\s*+"(?:span_name|span_attributes|child_spans)"\s*+:'
)
_KEYS = frozenset({"span_name", "span_attributes", "child_spans"})


class _Span(msgspec.Struct, gc=False):
    span_id: str
    timestamp: datetime
    parent_span_id: str | None = None
    span_name: str | None = None
    span_kind: str | None = None
    service_name: str | None = None
    scope_name: str | None = None
    scope_version: str | None = None
    status_code: str | None = None
    status_message: str | None = None
    duration: timedelta | None = None
    resource_attributes: Raw = Raw(b"{}")
    events: list[dict[str, object]] | None = None
    links: list[dict[str, object]] | None = None
    span_attributes: dict[str, Raw] | None = None
    logs: list[Raw] | None = None
    child_spans: list[_Span] | None = None


class _Trace(msgspec.Struct, gc=False):
    trace_id: str
    spans: list[_Span]


_Dicts: TypeAlias = list[dict[str, object]] | None
_Found: TypeAlias = tuple[Texts, int, int, bytes, _Dicts, _Dicts, Mapping[str, object], str | None, int]
"""A span: its texts, start, end, resource, events, links and attributes, the id of the nearest one above it that has an
id, and how many log records it holds."""

_decode_trace = msgspec.json.Decoder(_Trace).decode
_decode_value = msgspec.json.Decoder().decode
_decode_time = msgspec.json.Decoder(datetime).decode
_decode_duration = msgspec.json.Decoder(timedelta | None).decode
_decode_dicts = msgspec.json.Decoder(list[dict[str, object]] | None).decode


def _value(raw: Raw | bytes) -> object:
    try:
        return _decode_value(raw)
    except UnicodeDecodeError:
        return _value(bytes(raw).decode(errors="replace").encode())
    except msgspec.DecodeError:  # a number beyond all floats
        return bytes(raw).decode()


class LazyAttributes(Mapping[str, object]):
    """Attributes of which each value is decoded when it is first read: until then it is Raw."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[str, object]) -> None:
        self._held = cast("dict[str, object]", held)

    def __getitem__(self, name: str) -> object:
        found = self._held[name]
        if type(found) is Raw:
            found = self._held[name] = _value(found)
        return found

    def get(self, name: str, default: object = None, /) -> object:
        """The value of a name, or the default."""
        return self[name] if name in self._held else default

    def is_text(self, name: str) -> bool:
        """Whether a value is text, which is told without decoding it."""
        found = self._held.get(name)
        return bytes(found)[:1] == b'"' if type(found) is Raw else isinstance(found, str)

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[LazyAttributes], tuple[dict[str, object]]]:
        return LazyAttributes, (dict(self),)  # not with the whole text


if core is not None:
    ABCMeta.register(cast("ABCMeta", Mapping), core.Late)


def sniff(head: bytes, name: str) -> bool:
    """Whether the text is an object whose `spans` are written in TRAIL's names."""
    del name
    if b"span_" not in head:
        return False
    # Almost every file tells at its very start; to take apart all that is shown costs more than to read the file.
    plain = _PLAIN_START.match(head, 0, _FIRST_LOOK)
    if plain is not None and b"]" not in head[plain.end() : _FIRST_LOOK]:  # its spans go on: no key comes behind them
        return True
    start = outline(head[:_FIRST_LOOK])
    if any(key.startswith("resource") for key in below(start)):
        return False
    return bool(below(start, "spans", ITEM) & _KEYS or below(outline(head), "spans", ITEM) & _KEYS)


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans of one trace, or of one trace on each line, parents before their children."""
    skip_mark(data)
    content = data.read_all(at_most=intake.limits.record_bytes)
    try:
        found = _quick(content, intake)
        yield from _flat(_decode_trace(content), intake, "") if found is None else found
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _with_care(content, intake)


def _quick(content: bytes, intake: Intake) -> list[Record] | None:
    """The spans of a plain trace by the compiled part; None where it declines."""
    found = None if WIRE is None else WIRE.nested(content, _value)
    if found is None:
        return None
    trace_id, rows = found
    return _built(trace_id, [_placed(row, content) for row in rows], intake)


def _placed(row: Row, content: bytes) -> _Found:
    """A span of which some parts may still stand in the text."""
    texts, (time, duration, resource, events, links), attributes, logs, above = row
    start = time if type(time) is int else epoch_ns(_decode_time(_piece(content, time)))
    if type(duration) is not int:
        duration = _ns(_decode_duration(_piece(content, duration))) if duration else None
    return (
        texts,
        start,
        0 if duration is None else start + duration,
        resource or b"{}",
        _decode_dicts(_piece(content, events)) if events else None,
        _decode_dicts(_piece(content, links)) if links else None,
        attributes or EMPTY,
        above,
        logs or 0,
    )


def _piece(content: bytes, extent: int | Extent) -> bytes:
    start, end = cast("Extent", extent)
    return content[start:end]


def _ns(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // MICROSECOND * 1_000


def _with_care(content: bytes, intake: Intake) -> Iterator[Record]:
    """What no decoder takes at once: lines, bytes that are no UTF-8, and whatever else is wrong, with its place."""
    for number, line in _lines(content):
        where = f"line {number}" if number else ""
        try:
            yield from _flat(_decode_trace(_mended(line, intake)), intake, where)
        except RecursionError:
            intake.refuse("the spans are nested too deeply, more than a few hundred levels", place=where or "$.spans")
        except msgspec.DecodeError as failure:
            message, _, path = str(failure).partition(" - at ")
            place = ", ".join(part for part in (where, path.strip("`")) if part)
            intake.refuse(f"this is no TRAIL trace: {message}", place=place)


def _mended(text: bytes, intake: Intake) -> bytes:
    """The text without what no text may hold."""
    try:
        sound = text.decode()
    except UnicodeDecodeError:
        sound = text.decode(errors="replace")
        intake.repair("text that is no Unicode: replaced")
    whole = _ESCAPE.sub(lambda found: r"\ufffd" if found[1] else found[0], sound)
    if whole != sound:
        intake.repair("text that is no Unicode: replaced")
    return whole.encode()


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that hold text, if the first is an object in itself and not the last; else the whole, as line 0."""
    lines = enumerate(content.split(b"\n"), start=1)
    found = [(number, line) for number, line in lines if line and not line.isspace()]
    first = found[0][1].strip() if found else b""
    if len(found) > 1 and first.startswith(b"{") and first.endswith(b"}"):
        yield from found
    elif found:
        yield 0, content


def _flat(trace: _Trace, intake: Intake, where: str) -> list[Record]:
    """The spans of one trace, taken out of their nesting."""
    found: list[_Found] = []
    waiting: list[tuple[_Span, str | None]] = [(root, None) for root in reversed(trace.spans)]
    while waiting:
        span, above = waiting.pop()
        found.append(_decoded(span, above))
        if span.child_spans:
            waiting += [(child, span.span_id or above) for child in reversed(span.child_spans)]
    return _built(trace.trace_id, found, intake, where)


def _decoded(span: _Span, above: str | None) -> _Found:
    start = epoch_ns(span.timestamp)
    duration = _ns(span.duration)
    return (
        (
            span.span_id,
            span.parent_span_id,
            span.span_name,
            span.span_kind,
            span.service_name,
            span.scope_name,
            span.scope_version,
            span.status_code,
            span.status_message,
        ),
        start,
        0 if duration is None else start + duration,
        bytes(span.resource_attributes),
        span.events,
        span.links,
        LazyAttributes(span.span_attributes) if span.span_attributes else EMPTY,
        above,
        len(span.logs or ()),
    )


def _built(trace_id: str, found: Sequence[_Found], intake: Intake, where: str = "") -> list[Record]:
    """The records of spans, and what is to be told of them."""
    build = _Builder(trace_id, intake).span
    records: list[Record] = [build(one) for one in found if one[0][0]]
    intake.keep(len(records))
    if logs := sum([one[-1] for one in found]):
        intake.ignore(LOGS, count=logs)
    for _ in range(len(found) - len(records)):
        intake.refuse("a span is left out: it has no id", place=where)
    return records


class _Builder:
    """Makes the spans of one trace; equal resources and scopes become one `Scope`."""

    __slots__ = ("_intake", "_scopes", "_trace_id")

    def __init__(self, trace_id: str, intake: Intake) -> None:
        self._trace_id = trace_id
        self._intake = intake
        self._scopes: dict[tuple[str | None, str | None, str | None, bytes], Scope] = {}

    def span(self, found: _Found) -> RawSpan:
        """The span, as a child of the one above it where it names no parent itself."""
        texts, start, end, resource, events, links, attributes, above, _ = found
        span_id, parent, name, kind, service, scope, version, code, message = texts
        return RawSpan(
            self._trace_id,
            span_id,
            parent or above,
            name or "",
            start,
            end,
            STATUSES.get(code, 0),
            message or "",
            attributes,
            tuple([_event(event) for event in events]) if events else (),
            self._scopes.get((scope, version, service, resource)) or self._scope(scope, version, service, resource),
            tuple([_link(link) for link in links]) if links else (),
            KINDS.get(kind, 0),
        )

    def _scope(self, scope: str | None, version: str | None, service: str | None, resource: bytes) -> Scope:
        held = fields_of(decode_record(resource, intake=self._intake)) or {}
        attributes = dict(held)
        if service:
            attributes.setdefault("service.name", service)
        made = Scope(scope or "", version or "", attributes)
        self._scopes[scope, version, service, resource] = made
        return made


def _event(fields: Mapping[str, object]) -> RawEvent:
    get = fields.get
    return RawEvent(text_of(get("Name")), time_ns(get("Timestamp")) or 0, fields_of(get("Attributes")) or EMPTY)


def _link(fields: Mapping[str, object]) -> RawLink:
    get = fields.get
    return RawLink(text_of(get("TraceId")), text_of(get("SpanId")), fields_of(get("Attributes")) or EMPTY)


SOURCE = Source(name="trail", title="TRAIL", sniff=sniff, read=read)
