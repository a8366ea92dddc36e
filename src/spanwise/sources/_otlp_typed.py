"""OTLP/JSON at full speed: what follows the specification to the letter is decoded straight into typed structs.

A document, line or run of spans is taken as a whole or not at all: at the first thing that OTLP/JSON does not allow,
or that would need a decision, `Odd` is raised before anything is handed out, and `_otlp_walk` reads the same bytes
again, slowly, span by span, repairing and reporting. So nothing here counts repairs, and nothing here may let a doubt
pass. The compiled reader, which makes spans from the text without anything in between, is asked first.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct

from spanwise.model.raw import EMPTY, LogEvent, RawEvent, RawLink, RawSpan, Scope
from spanwise.sources._interned import NAMES
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._source import Intake, Record

_Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]

NO_TRACE = "0" * 32
NO_SPAN = "0" * 16
_KINDS = frozenset(range(6))
_STATUSES = frozenset(range(3))
_TRACE_SIZES = {32}
_SPAN_SIZES = {16}
_REMOTE = 0x300  # "is remote" is known, and true
_ABSENT = Raw(b"")
_MOST_SCOPES = 1024


class Odd(Exception):  # noqa: N818 - never seen outside: it sends the bytes to the slow reader
    """The bytes are no plain OTLP/JSON."""


DOUBTS = (Odd, msgspec.DecodeError, UnicodeDecodeError, RecursionError, binascii.Error, AttributeError)
"""What decoding raises where it cannot be sure; AttributeError is a null where a value must be."""


class _Array(Struct, gc=False):
    values: list[_Value] = []


class _Pairs(Struct, gc=False):
    values: list[_Pair] = []


class _Value(Struct, gc=False, frozen=True, rename="camel", forbid_unknown_fields=True):
    string_value: str | None = None
    int_value: int | None = None
    double_value: float | None = None
    bool_value: bool | None = None
    array_value: _Array | None = None
    kvlist_value: _Pairs | None = None
    bytes_value: str | None = None


_NOTHING = _Value()


class _Pair(Struct, gc=False):
    key: str
    value: _Value = _NOTHING


def _value(value: _Value) -> object:
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return value.int_value
    if value.double_value is not None:
        return value.double_value
    if value.bool_value is not None:
        return value.bool_value
    if value.array_value is not None:
        return [_value(item) for item in value.array_value.values]
    if value.kvlist_value is not None:
        return _flat(value.kvlist_value.values)
    if value.bytes_value is not None:
        return base64.b64decode(value.bytes_value, validate=True)
    return None


def _flat(pairs: list[_Pair]) -> dict[str, object]:
    # Text and whole numbers, nearly all there is, are taken without a call.
    return {
        NAMES[pair.key]: found
        if (found := (value := pair.value).string_value) is not None
        else found
        if (found := value.int_value) is not None
        else _value(value)
        for pair in pairs
    }


class _Event(Struct, gc=False, rename="camel"):
    time_unix_nano: _Natural = 0
    name: str = ""
    attributes: list[_Pair] | None = None


class _Link(Struct, gc=False, rename="camel"):
    trace_id: str
    span_id: str
    attributes: list[_Pair] | None = None


class _Status(Struct, gc=False):
    code: int = 0
    message: str = ""


_UNSET_STATUS = (0, "")


class _Span(Struct, gc=False, rename="camel"):
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    flags: _Natural = 0
    name: str = ""
    kind: int = 0
    start_time_unix_nano: _Natural = 0
    end_time_unix_nano: _Natural = 0
    attributes: list[_Pair] | None = None
    dropped_attributes_count: _Natural = 0
    events: list[_Event] | None = None
    dropped_events_count: _Natural = 0
    links: list[_Link] | None = None
    status: _Status | None = None
    flat: dict[str, object] | None = None

    def __post_init__(self) -> None:
        # At once, while the pairs are in the processor's cache; their memory then serves the next span's.
        self.flat = _flat(self.attributes) if self.attributes else None
        self.attributes = None


class _LogRecord(Struct, gc=False, rename="camel"):
    time_unix_nano: _Natural = 0
    observed_time_unix_nano: _Natural = 0
    body: _Value = _NOTHING
    attributes: list[_Pair] | None = None
    trace_id: str = ""
    span_id: str = ""
    event_name: str = ""
    # A record without ids is no error, so one whose ids are spelt otherwise must not look like it.
    snake_case: Raw = msgspec.field(name="trace_id", default=_ABSENT)


class _ScopeSpans(Struct, gc=False):
    spans: list[_Span]
    scope: Raw = _ABSENT


class _ScopeLogs(Struct, gc=False, rename="camel"):
    log_records: list[_LogRecord]
    scope: Raw = _ABSENT


class _ResourceSpans(Struct, gc=False, rename="camel"):
    scope_spans: list[_ScopeSpans]
    resource: Raw = _ABSENT
    instrumentation_library_spans: Raw = _ABSENT


class _ResourceLogs(Struct, gc=False, rename="camel"):
    scope_logs: list[_ScopeLogs]
    resource: Raw = _ABSENT
    instrumentation_library_logs: Raw = _ABSENT


class _Document(Struct, gc=False, rename="camel"):
    resource_spans: list[_ResourceSpans] = []
    resource_logs: list[_ResourceLogs] = []
    resource_metrics: Raw = _ABSENT
    resource_profiles: Raw = _ABSENT


class _Resource(Struct, gc=False):
    attributes: list[_Pair] = []


class _ScopeName(Struct, gc=False):
    name: str = ""
    version: str = ""


_decode_document = msgspec.json.Decoder(_Document, strict=False).decode
_decode_resource = msgspec.json.Decoder(_Resource, strict=False).decode
_decode_scope = msgspec.json.Decoder(_ScopeName, strict=False).decode
_decode_spans = msgspec.json.Decoder(list[_Span], strict=False).decode
_decode_logs = msgspec.json.Decoder(list[_LogRecord], strict=False).decode


class TypedReader:
    """Decodes plain OTLP/JSON; equal resources and scopes become one `Scope`, also across lines."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._scopes: dict[tuple[bytes, bytes], Scope] = {}

    def document(self, text: bytes) -> list[Record]:
        """The records of a whole document.

        Raises:
            DOUBTS: It is not plain OTLP/JSON, or holds nothing that is plainly a span or a log record.
        """
        found = None if WIRE is None else WIRE.document(text, self._scope)
        records, ignored = self._document(text) if found is None else (cast("list[Record]", found), 0)
        self._count(records, ignored)
        return records

    def _document(self, text: bytes) -> tuple[list[Record], int]:
        document = _decode_document(text)
        records: list[Record] = []
        ignored = 0
        for of_resource in document.resource_spans:
            if not of_resource.scope_spans or of_resource.instrumentation_library_spans is not _ABSENT:
                raise Odd
            for of_scope in of_resource.scope_spans:
                records += _build_spans(of_scope.spans, self._scope_of(of_resource.resource, of_scope.scope))
        for of_resource in document.resource_logs:
            if not of_resource.scope_logs or of_resource.instrumentation_library_logs is not _ABSENT:
                raise Odd
            for of_scope in of_resource.scope_logs:
                events = _build_events(of_scope.log_records, self._scope_of(of_resource.resource, of_scope.scope))
                ignored += len(of_scope.log_records) - len(events)
                records += events
        if not (records or ignored) or not (document.resource_metrics is document.resource_profiles is _ABSENT):
            raise Odd
        return records, ignored

    def spans(self, run: bytes, scope: Scope) -> list[Record]:
        """The spans of a run of JSON objects with commas between them.

        Raises:
            DOUBTS: They are no JSON or not plain spans.
        """
        found = None if WIRE is None else WIRE.spans(run, scope)
        records = self._spans(run, scope) if found is None else cast("list[Record]", found)
        self._count(records, 0)
        return records

    def _spans(self, run: bytes, scope: Scope) -> list[Record]:
        return [*_build_spans(_decode_spans(b"[%b]" % run), scope)]

    def logs(self, run: bytes, scope: Scope) -> list[Record]:
        """The events among a run of log records, as JSON objects with commas between them.

        Raises:
            DOUBTS: They are no JSON or not plain log records.
        """
        decoded = _decode_logs(b"[%b]" % run)
        records: list[Record] = [*_build_events(decoded, scope)]
        self._count(records, len(decoded) - len(records))
        return records

    def _count(self, records: list[Record], ignored: int) -> None:
        self._intake.keep(len(records))
        self._intake.ignore_unlinked(ignored)

    def _scope_of(self, resource: Raw, scope: Raw) -> Scope:
        return self._scope(bytes(resource), bytes(scope))

    def _scope(self, resource: bytes, scope: bytes) -> Scope:
        key = resource, scope
        found = self._scopes.get(key)
        if found is None:
            if len(self._scopes) >= _MOST_SCOPES:
                self._scopes.clear()
            attributes = _flat(_decode_resource(resource).attributes) if resource else EMPTY
            name = _decode_scope(scope) if scope else _ScopeName()
            found = self._scopes[key] = Scope(name.name, name.version, attributes)
        return found


def _check_ids(trace_ids: list[str], span_ids: list[str], parent_ids: list[str]) -> None:
    # All ids of a batch at once, in C: the right lengths, hexadecimal, lower case, not zero.
    joined = "".join(trace_ids + span_ids + parent_ids)
    try:
        size = len(bytes.fromhex(joined)) * 2
    except ValueError as failure:
        raise Odd from failure
    if (
        size != len(joined)
        or joined.lower() != joined
        or set(map(len, trace_ids)) != _TRACE_SIZES
        or set(map(len, span_ids + parent_ids)) != _SPAN_SIZES
        or (NO_SPAN in joined and (NO_TRACE in trace_ids or NO_SPAN in span_ids or NO_SPAN in parent_ids))
    ):
        raise Odd


def _build_spans(spans: list[_Span], scope: Scope) -> list[RawSpan]:
    if not spans:
        raise Odd
    links = [link for span in spans if span.links for link in span.links]
    _check_ids(
        [span.trace_id for span in spans] + [link.trace_id for link in links],
        [span.span_id for span in spans] + [link.span_id for link in links],
        [span.parent_span_id for span in spans if span.parent_span_id],
    )
    built: list[RawSpan] = []
    for span in spans:
        status = span.status
        code, message = _UNSET_STATUS if status is None else (status.code, status.message)
        start, end, kind = span.start_time_unix_nano, span.end_time_unix_nano, span.kind
        if not start or kind not in _KINDS or code not in _STATUSES:
            raise Odd
        built.append(
            RawSpan(
                span.trace_id,
                span.span_id,
                span.parent_span_id or None,
                span.name,
                start,
                end,
                code,
                message,
                span.flat or EMPTY,
                tuple([_event(event) for event in span.events]) if span.events else (),
                scope,
                tuple([_link(link) for link in span.links]) if span.links else (),
                kind,
                span.flags & _REMOTE == _REMOTE,
                span.dropped_attributes_count + span.dropped_events_count,
            )
        )
    return built


def _event(event: _Event) -> RawEvent:
    return RawEvent(event.name, event.time_unix_nano, _flat(event.attributes) if event.attributes else EMPTY)


def _link(link: _Link) -> RawLink:
    return RawLink(link.trace_id, link.span_id, _flat(link.attributes) if link.attributes else EMPTY)


def _build_events(records: list[_LogRecord], scope: Scope) -> list[LogEvent]:
    if any(record.snake_case is not _ABSENT for record in records):
        raise Odd
    linked = [record for record in records if record.trace_id.strip("0") and record.span_id.strip("0")]
    if not linked:
        return []
    _check_ids([record.trace_id for record in linked], [record.span_id for record in linked], [])
    built: list[LogEvent] = []
    for record in linked:
        time_ns = record.time_unix_nano or record.observed_time_unix_nano
        attributes = _flat(record.attributes) if record.attributes else EMPTY
        name = record.event_name or attributes.get("event.name", "")
        if not isinstance(name, str):
            raise Odd
        built.append(
            LogEvent(record.trace_id, record.span_id, RawEvent(name, time_ns, attributes, _value(record.body)), scope)
        )
    return built
