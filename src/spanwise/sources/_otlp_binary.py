"""OTLP in protobuf at full speed.

As in `_otlp_typed`, a message is taken as a whole, or not at all where anything in it is in doubt. The compiled reader
is asked first, and declines what is not perfectly plain; this one takes all that is no doubt.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from google.protobuf.message import DecodeError

from spanwise.model.raw import EMPTY, LogEvent, RawEvent, RawLink, RawSpan, Scope
from spanwise.sources._interned import NAMES
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._otlp_messages import (
    Event,
    Item,
    Link,
    LogRecord,
    Request,
    Span,
    decode_logs,
    decode_resource,
    decode_scope,
    decode_status,
    decode_traces,
    decode_value,
)
from spanwise.sources._source import Intake, Record
from spanwise.sources._wire import Broken, signed, varint

NO_TRACE = bytes(16)
NO_SPAN = bytes(8)
_TRACE_SIZES = {16}
_SPAN_SIZES = {8}
_REMOTE = 0x300
_MOST = 16_384
_MOST_SCOPES = 1024
# Attributes below this size are looked up rather than decoded.
_SHORT = 48
_TEXT, _DOUBLE, _ARRAY, _KVLIST = 0x0A, 0x21, 0x2A, 0x32
_FLOAT = struct.Struct("<xd")


# Attributes that came before, by their bytes. No two spans may share a list, so lists are held as tuples.
_PAIRS: dict[bytes, tuple[str, object]] = {}
_LISTS: dict[bytes, tuple[str, tuple[object, ...]]] = {}


class Odd(Exception):  # noqa: N818 - never seen outside: it sends the message to the slow reader
    """The message needs a decision."""


DOUBTS = (Odd, Broken, DecodeError, ValueError, LookupError, RecursionError)
"""What decoding raises where it cannot be sure."""


def _content(value: bytes) -> bytes:
    length, at = varint(memoryview(value), 1)
    if at + length != len(value):
        raise Odd
    return value[at:]


def _text(value: bytes) -> str:
    return _content(value).decode()


def _bool(value: bytes) -> bool:
    if len(value) != 2:
        raise Odd
    return value[1] != 0


def _int(value: bytes) -> int:
    if len(value) == 2 and value[1] < 0x80:
        return value[1]
    if len(value) == 3 and value[1] >= 0x80 > value[2]:
        return value[1] & 0x7F | value[2] << 7
    number, end = varint(memoryview(value), 1)
    if end != len(value):
        raise Odd
    return signed(number)


def _double(value: bytes) -> float:
    if len(value) != 9:
        raise Odd
    return _FLOAT.unpack(value)[0]


def _array(value: bytes) -> list[object]:
    return [_value(item) for item in decode_value(value).array_value.values[:]]


def _kvlist(value: bytes) -> dict[str, object]:
    return _flat(decode_value(value).kvlist_value.values)


# By the first byte: the number and the wire type of the field that is set.
_READERS: Mapping[int, Callable[[bytes], object]] = {
    _TEXT: _text,
    0x10: _bool,
    0x18: _int,
    _DOUBLE: _double,
    _ARRAY: _array,
    _KVLIST: _kvlist,
    0x3A: _content,
}


def _value(value: bytes) -> object:
    """What an encoded AnyValue holds."""
    return _READERS[value[0]](value) if value else None


def _pair(pair: bytes) -> tuple[str, object]:
    """The name and the value of an encoded attribute whose name is shorter than 128 bytes."""
    size = len(pair)
    end = pair[1] + 2
    if pair[0] != 0x0A or pair[1] > 0x7F:
        raise Odd
    name = _NAMES[pair[2:end]]
    if end == size:
        return name, None
    if pair[end] != 0x12:
        raise Odd
    if pair[end + 1] == size - end - 2 < 0x80:
        value = pair[end + 2 :]
        return name, _READERS[value[0]](value) if value else None
    # Up to 16,383 bytes the length takes two bytes, and so does that of the text within.
    if pair[end + 2] < 0x80 and (pair[end + 1] & 0x7F | pair[end + 2] << 7) == size - end - 3 > 0x7F:
        value = pair[end + 3 :]
        if value[0] == _TEXT and value[2] < 0x80 and (value[1] & 0x7F | value[2] << 7) == size - end - 6 > 0x7F:
            return name, value[3:].decode()
        return name, _value(value)
    length, at = varint(memoryview(pair), end + 1)
    if at + length != size:
        raise Odd
    return name, _value(pair[at:])


def _short_pair(pair: bytes) -> tuple[str, object]:
    """As `_pair`, and remembers what may come again."""
    found = _pair(pair)
    value = found[1]
    if isinstance(value, list):
        if len(_LISTS) >= _MOST:
            _LISTS.clear()
        items = cast("list[object]", value)
        if not any(isinstance(item, list | dict) for item in items):
            _LISTS[pair] = found[0], tuple(items)
    elif not isinstance(value, float | dict):
        if len(_PAIRS) >= _MOST:
            _PAIRS.clear()
        _PAIRS[pair] = found
    return found


class _Names(dict[bytes, str]):
    __slots__ = ()

    def __missing__(self, encoded: bytes) -> str:
        name = NAMES[encoded.decode()]
        if len(self) >= _MOST:
            self.clear()
        self[encoded] = name
        return name


class _Statuses(dict[bytes, tuple[int, str]]):
    __slots__ = ()

    def __missing__(self, encoded: bytes) -> tuple[int, str]:
        status = decode_status(encoded)
        if status.code not in {0, 1, 2}:
            raise Odd
        found = status.code, status.message
        if len(self) >= _MOST:
            self.clear()
        self[encoded] = found
        return found


_NAMES = _Names()
_STATUSES = _Statuses()


def _flat(pairs: Sequence[bytes]) -> dict[str, object]:
    found: dict[str, object] = {}
    known, known_list, names = _PAIRS.get, _LISTS.get, _NAMES
    # A slice is copied in C; iterating would ask for one item at a time.
    for pair in pairs[:]:
        size = len(pair)
        if size < _SHORT:
            if (short := known(pair)) is not None:
                name, value = short
            elif (listed := known_list(pair)) is not None:
                name, value = listed[0], [*listed[1]]
            else:
                name, value = _short_pair(pair)
            found[name] = value
            continue
        end = pair[1] + 2
        # Text of fewer than 126 bytes is taken here, without a call; a value that is not set takes less room than any.
        if (
            size - end - 4 >= 0
            and pair[end + 1] - 2 == pair[end + 3] == size - end - 4 < 0x7E
            and pair[end + 2] == _TEXT
            and pair[end] == 0x12
        ):
            found[names[pair[2:end]]] = pair[end + 4 :].decode()
        else:
            name, value = _pair(pair)
            found[name] = value
    return found


class BinaryReader:
    """Decodes requests; equal resources and scopes become one `Scope`, also across requests."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._scopes: dict[tuple[bytes, bytes], Scope] = {}

    def traces(self, message: bytes) -> list[Record]:
        """The spans of an encoded TracesData or ExportTraceServiceRequest.

        Raises:
            DOUBTS: Something in it is unusual.
        """
        found = None if WIRE is None else WIRE.traces(message, self._scope_of)
        records = self._spans(message) if found is None else cast("list[Record]", found)
        self._intake.keep(len(records))
        return records

    def _spans(self, message: bytes) -> list[Record]:
        records: list[Record] = []
        for spans, scope in self._groups(decode_traces(message)):
            built = [span_of(span, scope) for span in spans]
            _check_ids(built)
            records += built
        return records

    def _scope_of(self, resource: bytes, _schema: bytes, scope: bytes, _scope_schema: bytes) -> Scope:
        return self.scope(resource, scope)

    def logs(self, message: bytes) -> list[Record]:
        """The events in an encoded LogsData or ExportLogsServiceRequest.

        Raises:
            DOUBTS: Something in it is unusual.
        """
        records: list[Record] = []
        unlinked = 0
        for logs, scope in self._groups(decode_logs(message)):
            if not all(log.time or log.observed for log in logs):
                raise Odd  # no log record, perhaps: a span looks like one that is without times and ids
            events = [_log(log, scope) for log in logs if log.trace_id.strip(b"\0") and log.span_id.strip(b"\0")]
            unlinked += len(logs) - len(events)
            records += events
        self._intake.keep(len(records))
        self._intake.ignore_unlinked(unlinked)
        return records

    def _groups(self, request: Request[Item]) -> list[tuple[Sequence[Item], Scope]]:
        return [
            (of_scope.items, self.scope(of_resource.resource, of_scope.scope))
            for of_resource in request.resources
            for of_scope in (*of_resource.scopes, *of_resource.libraries)
        ]

    def scope(self, resource: bytes, scope: bytes) -> Scope:
        """The scope that an encoded resource and an encoded scope describe.

        Raises:
            DOUBTS: Something in them is unusual.
        """
        key = resource, scope
        found = self._scopes.get(key)
        if found is None:
            if len(self._scopes) >= _MOST_SCOPES:
                self._scopes.clear()
            name = decode_scope(scope)
            _flat(name.attributes)  # nobody reads them, but they may go on as they are
            found = self._scopes[key] = Scope(name.name, name.version, _flat(decode_resource(resource).attributes))
        return found


def span_of(span: Span, scope: Scope) -> RawSpan:
    """The record of a decoded span.

    Raises:
        DOUBTS: Something in it is unusual; its ids are not looked at.
    """
    start, kind = span.start, span.kind
    if not start or not 0 <= kind <= 5:
        raise Odd
    code, message = _STATUSES[span.status]
    events, links = span.events, span.links
    return RawSpan(
        span.trace_id,
        span.span_id,
        span.parent_id or None,
        span.name,
        start,
        span.end,
        code,
        message,
        _flat(span.attributes) or EMPTY,
        tuple([_event(event) for event in events]) if events else (),
        scope,
        tuple([_link(link) for link in links]) if links else (),
        kind,
        span.flags & _REMOTE == _REMOTE,
        span.dropped_attributes + span.dropped_events,
    )


def _check_ids(spans: list[RawSpan]) -> None:
    # All ids of a batch at once, in C: of the right lengths, and not zero.
    trace_ids = {span.trace_id for span in spans}
    span_ids = [span.span_id for span in spans]
    span_ids += [span.parent_id for span in spans if span.parent_id is not None]
    sizes = cast("Callable[[object], int]", len)
    if set(map(sizes, trace_ids)) - _TRACE_SIZES or set(map(sizes, span_ids)) - _SPAN_SIZES:
        raise Odd
    if NO_TRACE in trace_ids or NO_SPAN in span_ids:
        raise Odd


def _event(event: Event) -> RawEvent:
    return RawEvent(event.name, event.time, _flat(event.attributes) or EMPTY)


def _link(link: Link) -> RawLink:
    trace_id, span_id = link.trace_id, link.span_id
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == NO_TRACE or span_id == NO_SPAN:
        raise Odd
    return RawLink(trace_id, span_id, _flat(link.attributes) or EMPTY)


def _log(log: LogRecord, scope: Scope) -> LogEvent:
    trace_id, span_id = log.trace_id, log.span_id
    if len(trace_id) != 16 or len(span_id) != 8:
        raise Odd
    attributes = _flat(log.attributes) or EMPTY
    name = log.event_name or attributes.get("event.name", "")
    if not isinstance(name, str):
        raise Odd
    return LogEvent(trace_id, span_id, RawEvent(name, log.time or log.observed, attributes, _value(log.body)), scope)
