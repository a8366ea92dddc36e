"""Spans and log events written as OTLP, in JSON and in protobuf, and read back: for the tests of the sources."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spanwise import sources
from spanwise.errors import SourceError
from spanwise.model.raw import LogEvent, RawEvent, RawLink, RawSpan, Scope
from spanwise.sources import Limits, Tally

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
START = 1_794_982_431_574_655_053
SCOPE = Scope("tests", "1.0", {"service.name": "shop"})


class Named(io.BytesIO):
    """Bytes in memory that have a name, as files do."""

    name = "made"


class Outcome:
    """What reading some bytes gave: records, reported errors, counts, and the error that ended it."""

    def __init__(self, content: bytes, *, limits: Limits | None = None) -> None:
        self.records: list[RawSpan | LogEvent] = []
        self.errors: list[SourceError] = []
        self.tally = Tally()
        self.failure: SourceError | None = None
        reading = sources.read(Named(content), on_error=self.errors.append, tally=self.tally, limits=limits or Limits())
        try:
            self.records.extend(reading)
        except SourceError as failure:
            self.failure = failure

    @property
    def messages(self) -> list[str]:
        """All that was reported, as a user reads it."""
        return [str(error) for error in (*self.errors, *([self.failure] if self.failure else []))]

    @property
    def names(self) -> list[str]:
        """The names of the spans read."""
        return [record.name for record in self.records if isinstance(record, RawSpan)]

    def adds_up(self) -> bool:
        """Whether each record met is accounted for, and each kept one was handed out."""
        tally = self.tally
        return tally.read == tally.kept + tally.refused + sum(tally.ignored.values()) and tally.kept == len(
            self.records
        )


def json_value(value: object) -> dict[str, Any]:
    """The value as OTLP/JSON writes an AnyValue."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {
            "doubleValue": value
            if math.isfinite(value)
            else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
        }
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": json_pairs(value)}}
    assert isinstance(value, Sequence)
    return {"arrayValue": {"values": [json_value(item) for item in value]}}


def json_pairs(attributes: Mapping[str, object]) -> list[dict[str, Any]]:
    """Attributes as OTLP/JSON writes them."""
    return [{"key": key, "value": json_value(value)} for key, value in attributes.items()]


def json_span(span: RawSpan) -> dict[str, Any]:
    """A span as OTLP/JSON writes it, what is empty left out."""
    fields: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "flags": 0x301 if span.parent_remote else 0x101,
        "name": span.name,
        "kind": span.span_kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": json_pairs(span.attributes),
        "droppedAttributesCount": span.dropped,
        "events": [
            {"timeUnixNano": str(event.time_ns), "name": event.name, "attributes": json_pairs(event.attributes)}
            for event in span.events
        ],
        "links": [
            {"traceId": link.trace_id, "spanId": link.span_id, "attributes": json_pairs(link.attributes)}
            for link in span.links
        ],
        "status": {"code": span.status_code, "message": span.status_message},
    }
    return {name: value for name, value in fields.items() if value not in (None, [], 0, {"code": 0, "message": ""})}


def json_log(log: LogEvent) -> dict[str, Any]:
    """A log event as OTLP/JSON writes it."""
    return {
        "timeUnixNano": str(log.event.time_ns),
        "eventName": log.event.name,
        "traceId": log.trace_id,
        "spanId": log.span_id,
        "body": json_value(log.event.body),
        "attributes": json_pairs(log.event.attributes),
    }


def json_scope(scope: Scope) -> dict[str, Any]:
    """A scope as OTLP/JSON writes it."""
    return {"name": scope.name, "version": scope.version}


def json_document(spans: Iterable[RawSpan], *, scope: Scope = SCOPE) -> dict[str, Any]:
    """A request with all spans under one resource and one scope."""
    of_scope = {"scope": json_scope(scope), "spans": [json_span(span) for span in spans]}
    return {"resourceSpans": [{"resource": {"attributes": json_pairs(scope.resource)}, "scopeSpans": [of_scope]}]}


def json_logs(logs: Iterable[LogEvent], *, scope: Scope = SCOPE) -> dict[str, Any]:
    """A request with all log events under one resource and one scope."""
    of_scope = {"scope": json_scope(scope), "logRecords": [json_log(log) for log in logs]}
    return {"resourceLogs": [{"resource": {"attributes": json_pairs(scope.resource)}, "scopeLogs": [of_scope]}]}


def made(name: str = "chat", /, **changes: object) -> RawSpan:
    """A span with something in each field, and the changes asked for."""
    fields: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": SPAN,
        "parent_id": "00f067aa0ba902b7",
        "name": name,
        "start_ns": START,
        "end_ns": START + 1500,
        "status_code": 2,
        "status_message": "it failed",
        "attributes": {
            "text": "München",
            "count": 3,
            "share": 0.5,
            "flag": True,
            "none": None,
            "list": ["a", 1],
            "map": {"k": b"\x00"},
        },
        "events": (RawEvent("exception", START + 5, {"exception.type": "ValueError"}),),
        "scope": SCOPE,
        "links": (RawLink("1" * 32, "2" * 16, {"why": "retry"}),),
        "span_kind": 3,
        "parent_remote": True,
        "dropped": 4,
    }
    return RawSpan(**(fields | changes))


def said(name: str = "gen_ai.choice", /, **changes: object) -> LogEvent:
    """A log event."""
    fields: dict[str, Any] = {"trace_id": TRACE, "span_id": SPAN, "scope": SCOPE}
    return LogEvent(event=RawEvent(name, START, {"n": 1}, {"content": "hi"}), **(fields | changes))


def dump(*documents: object, indent: int | None = None) -> bytes:
    """The documents as JSON, one on each line unless indented."""
    return b"".join(json.dumps(each, indent=indent).encode() + b"\n" for each in documents)


def edited(change: Callable[[dict[str, Any]], object], *, name: str = "odd") -> dict[str, Any]:
    """A document of three spans, the middle one changed by hand."""
    document = json_document([made("before"), made(name), made("after")])
    change(document["resourceSpans"][0]["scopeSpans"][0]["spans"][1])
    return document
