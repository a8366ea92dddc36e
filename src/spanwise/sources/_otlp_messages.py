"""OTLP's protobuf messages, cut down to what is read of them and laid out so that Python has little left to do.

On the wire these are OTLP's own messages. The difference is in how they are looked at, because a Python object for
each of the twenty messages within a span costs more than all of the decoding:

* An attribute, which OTLP has as a message with a key and a message with a value, stays the bytes that it is on the
  wire.
  The same ones come again and again (names of operations, models and tools, flags, counts), and those are looked up.
* Resource, scope and status stay bytes too: they are the same for thousands of spans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_LAYOUT: Mapping[str, Sequence[tuple[int, str, str]]] = {
    "Values": ((1, "values", "bytes*"),),
    "Value": ((5, "array_value", "Values"), (6, "kvlist_value", "Values")),
    "Event": ((1, "time", "fixed64"), (2, "name", "string"), (3, "attributes", "bytes*")),
    "Link": (
        (1, "trace_id", "bytes"),
        (2, "span_id", "bytes"),
        (3, "trace_state", "string"),
        (4, "attributes", "bytes*"),
    ),
    "Status": ((2, "message", "string"), (3, "code", "int32")),
    "Span": (
        (1, "trace_id", "bytes"),
        (2, "span_id", "bytes"),
        (3, "trace_state", "string"),
        (4, "parent_id", "bytes"),
        (5, "name", "string"),
        (6, "kind", "int32"),
        (7, "start", "fixed64"),
        (8, "end", "fixed64"),
        (9, "attributes", "bytes*"),
        (10, "dropped_attributes", "uint32"),
        (11, "events", "Event*"),
        (12, "dropped_events", "uint32"),
        (13, "links", "Link*"),
        (15, "status", "bytes"),
        (16, "flags", "fixed32"),
    ),
    "LogRecord": (
        (1, "time", "fixed64"),
        (5, "body", "bytes"),
        (6, "attributes", "bytes*"),
        (9, "trace_id", "bytes"),
        (10, "span_id", "bytes"),
        (11, "observed", "fixed64"),
        (12, "event_name", "string"),
    ),
    "Scope": ((1, "name", "string"), (2, "version", "string"), (3, "attributes", "bytes*")),
    "Resource": ((1, "attributes", "bytes*"),),
    # Field 1000 held the scopes when they were called instrumentation libraries.
    "ScopeSpans": ((1, "scope", "bytes"), (2, "items", "Span*"), (3, "schema_url", "string")),
    "ResourceSpans": (
        (1, "resource", "bytes"),
        (2, "scopes", "ScopeSpans*"),
        (3, "schema_url", "string"),
        (1000, "libraries", "ScopeSpans*"),
    ),
    "Traces": ((1, "resources", "ResourceSpans*"),),
    # The same with each span as its bytes.
    "ScopePacked": ((1, "scope", "bytes"), (2, "items", "bytes*"), (3, "schema_url", "bytes")),
    "ResourcePacked": (
        (1, "resource", "bytes"),
        (2, "scopes", "ScopePacked*"),
        (3, "schema_url", "bytes"),
        (1000, "libraries", "ScopePacked*"),
    ),
    "Packed": ((1, "resources", "ResourcePacked*"),),
    "ScopeLogs": ((1, "scope", "bytes"), (2, "items", "LogRecord*")),
    "ResourceLogs": ((1, "resource", "bytes"), (2, "scopes", "ScopeLogs*"), (1000, "libraries", "ScopeLogs*")),
    "Logs": ((1, "resources", "ResourceLogs*"),),
}
_PACKAGE = "spanwise.otlp"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Mapping[str, descriptor_pb2.FieldDescriptorProto.Type.ValueType] = {
    "bytes": _Field.TYPE_BYTES,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
    "int32": _Field.TYPE_INT32,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}


Item = TypeVar("Item")


class Values(Protocol):
    values: Sequence[bytes]


class Value(Protocol):
    array_value: Values
    kvlist_value: Values


class Event(Protocol):
    time: int
    name: str
    attributes: Sequence[bytes]


class Link(Protocol):
    trace_id: bytes
    span_id: bytes
    attributes: Sequence[bytes]


class Status(Protocol):
    message: str
    code: int


class Span(Protocol):
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: int
    start: int
    end: int
    attributes: Sequence[bytes]
    dropped_attributes: int
    events: Sequence[Event]
    dropped_events: int
    links: Sequence[Link]
    status: bytes
    flags: int


class LogRecord(Protocol):
    time: int
    body: bytes
    attributes: Sequence[bytes]
    trace_id: bytes
    span_id: bytes
    observed: int
    event_name: str


class ScopeName(Protocol):
    name: str
    version: str
    attributes: Sequence[bytes]


class Resource(Protocol):
    attributes: Sequence[bytes]


class OfScope(Protocol[Item]):
    scope: bytes
    items: Sequence[Item]


class OfResource(Protocol[Item]):
    resource: bytes
    scopes: Sequence[OfScope[Item]]
    libraries: Sequence[OfScope[Item]]


class Request(Protocol[Item]):
    resources: Sequence[OfResource[Item]]


class PackedScope(OfScope[bytes], Protocol):
    schema_url: bytes


class PackedResource(Protocol):
    resource: bytes
    scopes: Sequence[PackedScope]
    libraries: Sequence[PackedScope]
    schema_url: bytes


class PackedRequest(Protocol):
    resources: Sequence[PackedResource]


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="spanwise/otlp.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _LAYOUT.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            added = message.field.add(name=field, number=number)
            added.label = _Field.LABEL_REPEATED if kind.endswith("*") else _Field.LABEL_OPTIONAL
            kind = kind.removesuffix("*")
            if kind in _SCALARS:
                added.type = _SCALARS[kind]
            else:
                added.type = _Field.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
    return file


# A pool of its own: in the default one, these messages could meet others of the same name.
_pool = descriptor_pool.DescriptorPool()
_pool.AddSerializedFile(_file().SerializeToString())


def _decoder(name: str) -> Callable[[bytes], object]:
    message = message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    return message.FromString


decode_traces = cast("Callable[[bytes], Request[Span]]", _decoder("Traces"))
decode_logs = cast("Callable[[bytes], Request[LogRecord]]", _decoder("Logs"))
decode_packed = cast("Callable[[bytes], PackedRequest]", _decoder("Packed"))
decode_span = cast("Callable[[bytes], Span]", _decoder("Span"))
decode_resource = cast("Callable[[bytes], Resource]", _decoder("Resource"))
decode_scope = cast("Callable[[bytes], ScopeName]", _decoder("Scope"))
decode_status = cast("Callable[[bytes], Status]", _decoder("Status"))
decode_value = cast("Callable[[bytes], Value]", _decoder("Value"))
