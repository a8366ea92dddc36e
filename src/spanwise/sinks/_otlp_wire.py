"""OTLP in protobuf, written field by field: spans and score events, with nothing but Python's own types.

A message is its fields one behind the other, so that pieces that were encoded apart can be joined, and fields can be
appended to a span that somebody else encoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import cast

from spanwise.model.raw import Attributes, Key, PackedSpan, RawEvent, RawLink, RawSpan, Scope, SpanRecord
from spanwise.sinks._otel import EVENT, SCOPE
from spanwise.sinks._score_events import ScoreEvent

REMOTE = 0x300
"""Of a span's flags: whether its parent is remote is known, and it is."""
_DEEP = 64
_INT64 = 1 << 63
_FIXED = {1: 8, 5: 4}
_ATTRIBUTE = 9 << 3 | 2
"""The tag of a span's attributes."""
_SMALL = tuple(bytes((number,)) for number in range(128))
_double = struct.Struct("<d").pack
_fixed64 = struct.Struct("<Q").pack
_fixed32 = struct.Struct("<I").pack
_INT_TAG, _BOOLS = b"\x18", (b"\x10\x00", b"\x10\x01")
_EVENT_NAME = b"\x62" + _SMALL[len(EVENT)] + EVENT.encode()


def varint(number: int) -> bytes:
    """A number that is not negative, as protobuf has lengths."""
    if number < 128:
        return _SMALL[number]
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def varint_at(content: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where it ends.

    Raises:
        IndexError: It does not end.
    """
    value = 0
    for shift in range(0, 70, 7):
        value |= (content[at] & 127) << shift
        at += 1
        if content[at - 1] < 128:
            break
    return value, at


def sized(tag: bytes, content: bytes) -> bytes:
    """A field of text, bytes or a message."""
    return tag + varint(len(content)) + content


def _text(tag: bytes, text: str) -> bytes:
    return sized(tag, text.encode("utf-8", "replace"))


@lru_cache(4096)
def _key(name: str) -> bytes:
    return _text(b"\x0a", name)


def _value(value: object, depth: int = 0) -> bytes:
    """An AnyValue. What is of no type that OTLP has becomes text."""
    if isinstance(value, str):
        return _text(b"\x0a", value)
    if isinstance(value, bool):
        return _BOOLS[value]
    if isinstance(value, int):
        return _INT_TAG + varint(value % (1 << 64)) if -_INT64 <= value < _INT64 else _text(b"\x0a", str(value))
    if isinstance(value, float):
        return b"\x21" + _double(value)
    if value is None:
        return b""
    if isinstance(value, bytes):
        return sized(b"\x3a", value)
    return _held(value, depth + 1)


def _held(value: object, depth: int) -> bytes:
    if depth <= _DEEP and isinstance(value, Mapping):
        return sized(b"\x32", attributes_field(cast("Mapping[object, object]", value), b"\x0a", depth))
    if depth <= _DEEP and isinstance(value, list | tuple | set | frozenset):
        items = cast("Iterable[object]", value)
        return sized(b"\x2a", b"".join([sized(b"\x0a", _value(one, depth)) for one in items]))
    return _text(b"\x0a", str(value))


def attributes_field(attributes: Mapping[str, object] | Mapping[object, object], tag: bytes, depth: int = 0) -> bytes:
    """Attributes as repeated fields of this tag."""
    found: list[bytes] = []
    for name, value in attributes.items():
        key = _key(name if isinstance(name, str) else str(name))
        content = _value(value, depth)
        size = len(content)
        pair = key + b"\x12" + (_SMALL[size] if size < 128 else varint(size)) + content
        size = len(pair)
        found.append(tag + (_SMALL[size] if size < 128 else varint(size)) + pair)
    return b"".join(found)


def id_bytes(key: Key, size: int) -> bytes:
    """An id as OTLP has it.

    Raises:
        ValueError: It cannot be one of OTLP's: of another length, not hexadecimal, or zero.
    """
    if isinstance(key, int):
        found = key.to_bytes(size, "big") if 0 <= key < 1 << 8 * size else b""
    else:
        found = bytes.fromhex(key) if isinstance(key, str) else key
    if len(found) != size or not any(found):
        raise ValueError(f"read {key!r} as an id, expected {size} bytes")
    return found


def log_record(event: ScoreEvent, observed_ns: int) -> bytes:
    """A score event as a field of a ScopeLogs."""
    subject = event.subject
    content = b"".join(
        (
            b"\x09" + _fixed64(event.at_ns) if event.at_ns else b"",
            b"\x10" + _SMALL[event.severity.value],
            sized(b"\x2a", _text(b"\x0a", event.body)),
            attributes_field(event.attributes, b"\x32"),
            b""
            if subject is None
            else b"\x45"
            + _fixed32(subject.trace_flags)
            + b"\x4a\x10"
            + subject.trace_id.to_bytes(16, "big")
            + b"\x52\x08"
            + subject.span_id.to_bytes(8, "big"),
            b"\x59" + _fixed64(observed_ns),
            _EVENT_NAME,
        )
    )
    return sized(b"\x12", content)


_OWN_SCOPE = sized(b"\x0a", _text(b"\x0a", SCOPE))


def resource_of(attributes: Attributes) -> bytes:
    """A resource as the field of a ResourceSpans or ResourceLogs."""
    return sized(b"\x0a", attributes_field(attributes, b"\x0a"))


def logs_request(records: Iterable[tuple[bytes, bytes]]) -> bytes:
    """An ExportLogsServiceRequest of score events, each with the resource that it belongs to."""
    by_resource: dict[bytes, list[bytes]] = {}
    for resource, record in records:
        by_resource.setdefault(resource, []).append(record)
    return b"".join(
        sized(b"\x0a", resource + sized(b"\x12", _OWN_SCOPE + b"".join(found)))
        for resource, found in by_resource.items()
    )


def _event(event: RawEvent) -> bytes:
    time_ns = b"\x09" + _fixed64(event.time_ns) if event.time_ns else b""
    return sized(b"\x5a", time_ns + _text(b"\x12", event.name) + attributes_field(event.attributes, b"\x1a"))


def _link(link: RawLink) -> bytes:
    ids = b"\x0a\x10" + id_bytes(link.trace_id, 16) + b"\x12\x08" + id_bytes(link.span_id, 8)
    return sized(b"\x6a", ids + attributes_field(link.attributes, b"\x22"))


def _status(span: RawSpan) -> bytes:
    if not span.status_code and not span.status_message:
        return b""
    message = _text(b"\x12", span.status_message) if span.status_message else b""
    return sized(b"\x7a", message + (b"\x18" + varint(span.status_code) if span.status_code else b""))


def span_message(span: SpanRecord, extra: Attributes) -> bytes:
    """A Span, with some attributes more. Events that were log records (they have a body) are no events of spans.

    What came as bytes is those bytes; what it had of the attributes that are added is taken out of them.

    Raises:
        ValueError: It has an id that OTLP cannot have.
    """
    if isinstance(span, PackedSpan):
        names = [name.encode() for name in extra]
        content = span.content
        known = {name for name in names if name in content}
        return (_without(content, known) if known else content) + attributes_field(extra, b"\x4a")
    attributes = {**span.attributes, **extra} if extra else span.attributes
    return b"".join(
        (
            b"\x0a\x10" + id_bytes(span.trace_id, 16) + b"\x12\x08" + id_bytes(span.span_id, 8),
            b"\x22\x08" + id_bytes(span.parent_id, 8) if span.parent_id is not None else b"",
            _text(b"\x2a", span.name),
            b"\x30" + varint(span.span_kind) if span.span_kind else b"",
            b"\x39" + _fixed64(span.start_ns),
            b"\x41" + _fixed64(span.end_ns) if span.end_ns else b"",
            attributes_field(attributes, b"\x4a"),
            b"\x50" + varint(span.dropped) if span.dropped else b"",
            *[_event(event) for event in span.events if event.body is None],
            *map(_link, span.links),
            _status(span),
            b"\x85\x01" + _fixed32(REMOTE) if span.parent_remote else b"",
        )
    )


def _without(span: bytes, names: AbstractSet[bytes]) -> bytes:
    """An encoded Span without the attributes of these names."""
    found: list[bytes] = []
    at = kept = 0
    while at < len(span):
        begin = at
        tag, at = varint_at(span, at)
        if tag & 7 == 2:
            size, at = varint_at(span, at)
            content, at = at, at + size
            if tag == _ATTRIBUTE and _name_of(span[content:at]) in names:
                found.append(span[kept:begin])
                kept = at
        else:
            at = varint_at(span, at)[1] if tag & 7 == 0 else at + _FIXED.get(tag & 7, 0)
    return b"".join((*found, span[kept:]))


def _name_of(pair: bytes) -> bytes:
    """What an encoded attribute is called; nothing where its name does not come first."""
    if pair[:1] != b"\x0a":
        return b""
    size, at = varint_at(pair, 1)
    return pair[at : at + size]


class _Scopes:
    """Scopes and resources as they are written, each once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Scope, bytes, bytes]] = {}

    def of(self, span: SpanRecord) -> tuple[bytes, bytes]:
        """The fields around its scopes, and those around its spans."""
        if isinstance(span, PackedSpan) and span.frame.whole:
            return span.frame.resource, span.frame.scope
        scope = span.scope
        found = self._known.get(id(scope))
        if found is None:
            named = _text(b"\x0a", scope.name) + (_text(b"\x12", scope.version) if scope.version else b"")
            found = self._known[id(scope)] = (scope, resource_of(scope.resource), sized(b"\x0a", named))
        return found[1], found[2]


def _request(spans: Sequence[tuple[bytes, bytes, bytes]]) -> bytes:
    grouped: dict[bytes, dict[bytes, list[bytes]]] = {}
    for resource, scope, span in spans:
        grouped.setdefault(resource, {}).setdefault(scope, []).append(span)
    return b"".join(
        sized(b"\x0a", resource + b"".join(sized(b"\x12", scope + b"".join(found)) for scope, found in scopes.items()))
        for resource, scopes in grouped.items()
    )


def span_requests(
    records: Iterable[SpanRecord], extra: Mapping[Key, Attributes], max_bytes: int | None = None
) -> Iterator[tuple[bytes, int]]:
    """Spans as ExportTraceServiceRequests, none of more than so many bytes unless one span has, and how many in each.

    Raises:
        ValueError: A span has an id that OTLP cannot have.
    """
    scopes = _Scopes()
    held: list[tuple[bytes, bytes, bytes]] = []
    size = 0
    for record in records:
        content = sized(b"\x12", span_message(record, extra.get(record.span_id, {})))
        if max_bytes is not None and held and size + len(content) > max_bytes:
            yield _request(held), len(held)
            held, size = [], 0
        held.append((*scopes.of(record), content))
        size += len(content)
    if held:
        yield _request(held), len(held)
