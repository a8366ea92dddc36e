"""Exporters that write what the OpenTelemetry SDK hands them as OTLP/JSON: hex ids, enum numbers, int64 as strings.

Works with opentelemetry-sdk 1.30 and newer. The logs SDK renamed its types on the way, so log records are read by
attribute, not by type. Everything is kept in memory and written on `force_flush` and `shutdown`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs import export as log_export
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanContext

Json = dict[str, object]

# Bit 8 says that bit 9 is meaningful; bit 9 says that the parent or link is remote (OTLP `Span.flags`).
_HAS_IS_REMOTE = 0x100
_IS_REMOTE = 0x200

_Record = TypeVar("_Record")


def any_value(value: object) -> Json:
    """One OTLP AnyValue; what OTLP has no type for is written as text."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": attributes(cast("Mapping[str, object]", value))}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [any_value(item) for item in cast("Sequence[object]", value)]}}
    return {"stringValue": _plain(value)}


def attributes(mapping: Mapping[str, object] | None) -> list[Json]:
    """A mapping as OTLP key-value pairs, in its own order."""
    return [{"key": _plain(key), "value": any_value(value)} for key, value in (mapping or {}).items()]


def _plain(value: object) -> str:
    """The text that goes over the wire: of a member of a textual enumeration its value, not its name."""
    return str.__str__(value) if isinstance(value, str) else str(value)


def span_json(span: ReadableSpan) -> Json:
    """One OTLP span."""
    context = span.get_span_context()
    assert context is not None
    out: Json = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    if span.parent is not None:
        out["parentSpanId"] = f"{span.parent.span_id:016x}"
    out |= {
        "name": span.name,
        # The API counts kinds from 0 (internal), OTLP from 1, since 0 is "unspecified" there.
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": attributes(span.attributes),
        "events": [_event_json(event) for event in span.events],
        "links": [_link_json(link) for link in span.links],
        "status": _status_json(span),
        "flags": _flags(span.parent, own=context),
        "droppedAttributesCount": span.dropped_attributes,
        "droppedEventsCount": span.dropped_events,
        "droppedLinksCount": span.dropped_links,
    }
    if context.trace_state:
        out["traceState"] = context.trace_state.to_header()
    return _without_defaults(out)


def log_json(data: object) -> Json:
    """One OTLP log record, from the SDK's LogData, ReadableLogRecord or a bare record."""
    record: object = getattr(data, "log_record", data)
    severity: object = getattr(record, "severity_number", None)
    pairs = cast("Mapping[str, object] | None", getattr(record, "attributes", None))
    out: Json = {
        "timeUnixNano": str(getattr(record, "timestamp", None) or 0),
        "observedTimeUnixNano": str(getattr(record, "observed_timestamp", None) or 0),
        "severityNumber": getattr(severity, "value", 0),
        "severityText": getattr(record, "severity_text", None) or "",
        "eventName": getattr(record, "event_name", None) or "",
        "attributes": attributes(pairs),
        "flags": int(getattr(record, "trace_flags", None) or 0),
        "traceId": f"{getattr(record, 'trace_id', None) or 0:032x}",
        "spanId": f"{getattr(record, 'span_id', None) or 0:016x}",
    }
    return {"body": any_value(getattr(record, "body", None)), **_without_defaults(out)}


def traces_json(spans: Iterable[ReadableSpan]) -> Json:
    """An ExportTraceServiceRequest, grouped by resource and scope."""
    ordered = sorted(spans, key=lambda span: span.start_time or 0)
    return {"resourceSpans": _grouped(ordered, one=span_json, groups="scopeSpans", rows="spans")}


def logs_json(records: Iterable[object]) -> Json:
    """An ExportLogsServiceRequest, grouped by resource and scope."""

    def one(record: object) -> Json:
        return log_json(record)

    return {"resourceLogs": _grouped(records, one=one, groups="scopeLogs", rows="logRecords")}


class FileSpanExporter(SpanExporter):
    """Finished spans end up in one OTLP/JSON file.

    A span is read when the file is written, so what an enriching processor adds is seen wherever it stands.
    """

    def __init__(self, path: Path, /) -> None:
        self._path = path
        self._spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._spans.extend(spans)
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        del timeout_millis
        write(self._path, traces_json(self._spans))
        return True

    def shutdown(self) -> None:
        self.force_flush()


class FileLogExporter:
    """Log records end up in one OTLP/JSON file; without any record no file is written."""

    def __init__(self, path: Path, /) -> None:
        self._path = path
        self._records: list[object] = []

    def export(self, batch: Sequence[object]) -> object:
        self._records.extend(batch)
        # The type of the result has two names, depending on the SDK.
        names = ("LogRecordExportResult", "LogExportResult")
        results = next(getattr(log_export, name) for name in names if hasattr(log_export, name))
        return results.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        del timeout_millis
        if self._records:
            write(self._path, logs_json(self._records))
        return True

    def shutdown(self) -> None:
        self.force_flush()


@contextmanager
def recording(path: Path, /, *, service: str) -> Generator[tuple[TracerProvider, FileSpanExporter], None, None]:
    """A tracer and a logger provider, set globally, whose output is on disk when the block ends.

    Spans go to `path`, log events to the same name with `.logs.json`. The exporter is for libraries that insist on a
    tracer provider of their own.
    """
    resource = Resource(
        {"service.name": service, "telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry"}
    )
    spans = TracerProvider(resource=resource)
    exporter = FileSpanExporter(path)
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    logs = LoggerProvider(resource=resource)
    # The exporter's base class has two names, depending on the SDK, so it has none here.
    log_exporter: Any = FileLogExporter(path.with_suffix(".logs.json"))
    logs.add_log_record_processor(SimpleLogRecordProcessor(log_exporter))
    trace.set_tracer_provider(spans)
    _logs.set_logger_provider(logs)
    try:
        yield spans, exporter
    finally:
        spans.shutdown()
        logs.shutdown()


def write(path: Path, document: Json, /) -> None:
    """The document on disk, indented by one so that a change shows as a readable difference."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _grouped(records: Iterable[_Record], *, one: Callable[[_Record], Json], groups: str, rows: str) -> list[Json]:
    resources: dict[str, Json] = {}
    scopes: dict[str, list[Json]] = {}
    for record in records:
        resource = {"attributes": attributes(_resource_attributes(record))}
        scope = _scope_json(getattr(record, "instrumentation_scope", None))
        outer = json.dumps(resource)
        inner = outer + json.dumps(scope)
        if inner not in scopes:
            group = resources.setdefault(outer, {"resource": resource, groups: []})
            scopes[inner] = []
            cast("list[Json]", group[groups]).append({**scope, rows: scopes[inner]})
        scopes[inner].append(one(record))
    return list(resources.values())


def _resource_attributes(record: object) -> Mapping[str, object]:
    # Before the logs SDK wrapped records, the resource hung on the record itself.
    resource: object = getattr(record, "resource", None)
    if resource is None:
        resource = getattr(getattr(record, "log_record", None), "resource", None)
    return cast("Mapping[str, object]", getattr(resource, "attributes", None) or {})


def _scope_json(scope: object) -> Json:
    fields: Json = {"name": getattr(scope, "name", ""), "version": getattr(scope, "version", None) or ""}
    extra = cast("Mapping[str, object] | None", getattr(scope, "attributes", None))
    fields["attributes"] = attributes(extra)
    return _without_defaults({"scope": _without_defaults(fields), "schemaUrl": getattr(scope, "schema_url", "")})


def _event_json(event: Event) -> Json:
    return _without_defaults(
        {
            "timeUnixNano": str(event.timestamp),
            "name": event.name,
            "attributes": attributes(event.attributes),
            "droppedAttributesCount": getattr(event.attributes, "dropped", 0),
        }
    )


def _link_json(link: Link) -> Json:
    return _without_defaults(
        {
            "traceId": f"{link.context.trace_id:032x}",
            "spanId": f"{link.context.span_id:016x}",
            "attributes": attributes(link.attributes),
            "flags": _flags(link.context, own=link.context),
        }
    )


def _status_json(span: ReadableSpan) -> Json:
    return _without_defaults({"message": span.status.description or "", "code": span.status.status_code.value})


def _flags(remote: SpanContext | None, *, own: SpanContext) -> int:
    is_remote = remote is not None and remote.is_remote
    return int(own.trace_flags) | _HAS_IS_REMOTE | (_IS_REMOTE if is_remote else 0)


def _without_defaults(fields: Json) -> Json:
    """Fields that hold their default are left out, as protobuf's JSON form does; a span keeps its empty status."""
    return {key: value for key, value in fields.items() if key == "status" or value not in (0, "", "0", [], None)}
