"""The made-up runs as files: OTLP as JSON, as JSON lines and as protobuf, and TRAIL's nested JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from spanwise.model.raw import RawSpan, Scope

_TRAIL_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_TRAIL_STATUSES = ("Unset", "Ok", "Error")


def _value(value: object) -> dict[str, object]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    raise TypeError(f"no OTLP value for {type(value).__name__}")


def _pairs(fields: Mapping[str, object]) -> list[object]:
    return [{"key": key, "value": _value(value)} for key, value in fields.items()]


def _span(span: RawSpan) -> dict[str, object]:
    wire: dict[str, object] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id or "",
        "flags": 256,
        "name": span.name,
        "kind": span.span_kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _pairs(span.attributes),
        "status": {"code": span.status_code, "message": span.status_message} if span.status_code else {},
    }
    if span.events:
        wire["events"] = [
            {"timeUnixNano": str(event.time_ns), "name": event.name, "attributes": _pairs(event.attributes)}
            for event in span.events
        ]
    return wire


def request(spans: Sequence[RawSpan]) -> dict[str, object]:
    """One OTLP export request: spans grouped by their scope, as an exporter's batch is."""
    by_scope: dict[str, tuple[Scope, list[object]]] = {}
    for span in spans:
        by_scope.setdefault(span.scope.name, (span.scope, []))[1].append(_span(span))
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _pairs(spans[0].scope.resource)},
                "scopeSpans": [
                    {"scope": {"name": scope.name, "version": scope.version}, "spans": listed}
                    for scope, listed in by_scope.values()
                ],
            }
        ]
    }


def otlp_json(path: Path, spans: Sequence[RawSpan]) -> Path:
    """All spans as one OTLP/JSON document."""
    path.write_bytes(msgspec.json.encode(request(spans)))
    return path


def line(spans: Sequence[RawSpan]) -> bytes:
    """One request on a line of its own."""
    return msgspec.json.encode(request(spans)) + b"\n"


def json_lines(path: Path, batches: Sequence[Sequence[RawSpan]]) -> Path:
    """One request per line, as the Collector's file exporter writes them."""
    path.write_bytes(b"".join(line(spans) for spans in batches))
    return path


def protobuf(path: Path, spans: Sequence[RawSpan]) -> Path:
    """All spans as one OTLP export request in protobuf."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    wire = request(spans)
    # protobuf's own JSON has ids in base64, where OTLP's has them in hex: they are set behind its back.
    for of_scope in wire["resourceSpans"][0]["scopeSpans"]:
        for span in of_scope["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    path.write_bytes(ParseDict(wire, ExportTraceServiceRequest()).SerializeToString())
    return path


def trail(folder: Path, traces: Sequence[Sequence[RawSpan]]) -> list[Path]:
    """One file per trace in TRAIL's format."""
    made: list[Path] = []
    for number, spans in enumerate(traces):
        wired = {span.span_id: _trail_span(span) for span in spans}
        roots: list[object] = []
        for span in spans:
            above = wired.get(span.parent_id) if span.parent_id else None
            (above["child_spans"] if above else roots).append(wired[span.span_id])
        path = folder / f"trail-{number}.json"
        path.write_text(json.dumps({"trace_id": spans[0].trace_id, "spans": roots}), encoding="utf-8")
        made.append(path)
    return made


def _trail_span(span: RawSpan) -> dict[str, object]:
    begun = datetime.fromtimestamp(span.start_ns // 1000 / 1e6, tz=UTC)
    return {
        "timestamp": begun.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_span_id": span.parent_id,
        "trace_state": "",
        "span_name": span.name,
        "span_kind": _TRAIL_KINDS[span.span_kind],
        "service_name": span.scope.resource["service.name"],
        "resource_attributes": span.scope.resource,
        "scope_name": span.scope.name,
        "scope_version": span.scope.version,
        "span_attributes": {key: str(value) for key, value in span.attributes.items()},
        "duration": f"PT{(span.end_ns - span.start_ns) / 1e9:.6f}S",
        "status_code": _TRAIL_STATUSES[span.status_code],
        "status_message": span.status_message,
        "events": [],
        "links": [],
        "logs": [],
        "child_spans": [],
    }
