"""Spans and log events as OTLP's own protobuf messages, made with the official classes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanwise.model.raw import LogEvent, RawLink, RawSpan, Scope
from spanwise.sources import Limits
from tests.sources.otlp import SCOPE, Outcome, made


def value_of(value: object) -> AnyValue:
    """The value as an AnyValue."""
    made = AnyValue()
    if isinstance(value, bool):
        made.bool_value = value
    elif isinstance(value, str):
        made.string_value = value
    elif isinstance(value, int):
        made.int_value = value
    elif isinstance(value, float):
        made.double_value = value
    elif isinstance(value, bytes):
        made.bytes_value = value
    elif isinstance(value, Mapping):
        made.kvlist_value.SetInParent()
        made.kvlist_value.values.extend(pairs_of(value))
    elif value is not None:
        made.array_value.SetInParent()
        made.array_value.values.extend(value_of(item) for item in value)
    return made


def pairs_of(attributes: Mapping[str, object]) -> list[KeyValue]:
    """Attributes as KeyValues."""
    return [KeyValue(key=key, value=value_of(value)) for key, value in attributes.items()]


def span_of(span: RawSpan) -> Span:
    """A span, its hex ids as bytes."""
    made = Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id or ""),
        flags=0x301 if span.parent_remote else 0x101,
        name=span.name,
        kind=span.span_kind,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=pairs_of(span.attributes),
        dropped_attributes_count=span.dropped,
        events=[
            Span.Event(time_unix_nano=event.time_ns, name=event.name, attributes=pairs_of(event.attributes))
            for event in span.events
        ],
        links=[
            Span.Link(
                trace_id=bytes.fromhex(link.trace_id),
                span_id=bytes.fromhex(link.span_id),
                attributes=pairs_of(link.attributes),
            )
            for link in span.links
        ],
    )
    if span.status_code or span.status_message:
        made.status.code = span.status_code
        made.status.message = span.status_message
    return made


def log_of(log: LogEvent) -> LogRecord:
    """A log record, its hex ids as bytes."""
    made = LogRecord(
        time_unix_nano=log.event.time_ns,
        trace_id=bytes.fromhex(log.trace_id),
        span_id=bytes.fromhex(log.span_id),
        body=value_of(log.event.body),
        attributes=pairs_of(log.event.attributes),
    )
    # As a field: the classes of older versions do not know the event's name.
    made.MergeFromString(field(12, log.event.name.encode()))
    return made


def traces_of(spans: Iterable[RawSpan], *, scope: Scope = SCOPE) -> ExportTraceServiceRequest:
    """A request with all spans under one resource and one scope."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.extend(pairs_of(scope.resource))
    of_scope = resource.scope_spans.add()
    of_scope.scope.name, of_scope.scope.version = scope.name, scope.version
    of_scope.spans.extend(span_of(span) for span in spans)
    return request


def logs_of(logs: Iterable[LogEvent], *, scope: Scope = SCOPE) -> ExportLogsServiceRequest:
    """A request with all log events under one resource and one scope."""
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    resource.resource.attributes.extend(pairs_of(scope.resource))
    of_scope = resource.scope_logs.add()
    of_scope.scope.name, of_scope.scope.version = scope.name, scope.version
    of_scope.log_records.extend(log_of(log) for log in logs)
    return request


def in_hex(record: RawSpan | LogEvent) -> RawSpan | LogEvent:
    """The record as OTLP/JSON would give it: its ids as hex text."""
    if isinstance(record.trace_id, str):
        return record
    record.trace_id, record.span_id = record.trace_id.hex(), record.span_id.hex()
    if isinstance(record, RawSpan):
        record.parent_id = None if record.parent_id is None else record.parent_id.hex()
        record.links = tuple(RawLink(link.trace_id.hex(), link.span_id.hex(), link.attributes) for link in record.links)
    return record


def prefixed(*records: bytes) -> bytes:
    """Records as the Collector writes them, each with four bytes of length before it."""
    return b"".join(struct.pack(">I", len(record)) + record for record in records)


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def delimited(*records: bytes) -> bytes:
    """Records with their lengths as protobuf numbers before them."""
    return b"".join(varint(len(record)) + record for record in records)


def field(number: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def request(*spans: bytes) -> bytes:
    """A request that holds spans as given, encoded by hand."""
    return field(1, field(2, b"".join(field(2, span) for span in spans)))


def read_hex(content: bytes, *, limits: Limits | None = None) -> Outcome:
    """What the bytes give, with ids as JSON has them."""
    outcome = Outcome(content, limits=limits)
    outcome.records = [in_hex(record) for record in outcome.records]
    return outcome


def changed(change: Callable[[Span], object]) -> Outcome:
    """What a request gives whose middle span of three was changed."""
    message = traces_of([made("before"), made("odd"), made("after")])
    change(message.resource_spans[0].scope_spans[0].spans[1])
    return read_hex(message.SerializeToString())
