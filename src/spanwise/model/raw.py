"""What a source or a processor hands over: spans and log events as they were recorded.

One `RawSpan` exists per span, so these are msgspec Structs that the garbage collector does not track, built
positionally. Ids are opaque keys: OTLP/JSON gives hex text, protobuf gives bytes, the SDK gives ints. Within one
trace all ids come through one door, so they compare equal as they are; `hex_id` turns one into text where a person or
a contract reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

Key: TypeAlias = str | bytes | int
Attributes: TypeAlias = Mapping[str, object]

EMPTY: Mapping[str, object] = {}

STATUS_UNSET = 0
STATUS_OK = 1
STATUS_ERROR = 2


class RawEvent(msgspec.Struct, gc=False):
    """An event on a span, or a log event joined to it."""

    name: str
    time_ns: int
    attributes: Attributes
    body: object = None


class RawLink(msgspec.Struct, gc=False):
    """A link from one span to another."""

    trace_id: Key
    span_id: Key
    attributes: Attributes = EMPTY


class Scope(msgspec.Struct, gc=False):
    """The instrumentation scope and the resource, shared by all spans of one batch."""

    name: str
    version: str
    resource: Attributes


class RawSpan(msgspec.Struct, gc=False):
    """A span as recorded. `end_ns` is 0 while it has not ended; `parent_id` is None for a root."""

    trace_id: Key
    span_id: Key
    parent_id: Key | None
    name: str
    start_ns: int
    end_ns: int
    status_code: int
    status_message: str
    attributes: Attributes
    events: tuple[RawEvent, ...]
    scope: Scope
    links: tuple[RawLink, ...] = ()
    span_kind: int = 0
    parent_remote: bool = False
    dropped: int = 0


class Frame(msgspec.Struct, gc=False):
    """What is the same for all packed spans of a scope: how they are read, and what they stood in on the wire."""

    read: Callable[[PackedSpan], RawSpan]
    resource: bytes = b""
    """The fields around its scopes: the resource, and the address of its schema."""
    scope: bytes = b""
    """The fields around its spans: the scope, and the address of its schema."""
    whole: bool = False
    """What came can go out again as it is."""


class PackedSpan(msgspec.Struct, gc=False):
    """A span as the bytes that it came in, with what its assembly asks of it; the rest is read when it is needed."""

    trace_id: Key
    span_id: Key
    parent_id: Key | None
    start_ns: int
    end_ns: int
    parent_remote: bool
    scope: Scope
    content: bytes
    frame: Frame

    def unpack(self) -> RawSpan:
        """The span with all that it holds."""
        return self.frame.read(self)


SpanRecord: TypeAlias = RawSpan | PackedSpan


class LogEvent(msgspec.Struct, gc=False):
    """A log record that carries trace and span ids."""

    trace_id: Key
    span_id: Key
    event: RawEvent
    scope: Scope


def hex_id(key: Key | None) -> str:
    """The id as lower-case hex text; the empty string for None."""
    if isinstance(key, int):  # of spans of the SDK, which are most of those that are scored in a hurry
        return f"{key:032x}" if key >> 64 else f"{key:016x}"
    if key is None:
        return ""
    return key.lower() if isinstance(key, str) else key.hex()


def hex_trace_id(key: Key) -> str:
    """The trace id as 32 hex digits."""
    return f"{key:032x}" if isinstance(key, int) else hex_id(key)
