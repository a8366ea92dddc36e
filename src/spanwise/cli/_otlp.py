"""Finished spans of the OpenTelemetry SDK as OTLP/JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from opentelemetry.sdk.trace import Event, ReadableSpan


def to_otlp(spans: Iterable[ReadableSpan]) -> str:
    """One export request with these spans, all of one provider."""
    scopes: dict[tuple[str, str], list[dict[str, object]]] = {}
    resource: Mapping[str, object] = {}
    for span in spans:
        scope = span.instrumentation_scope
        key = (scope.name, scope.version or "") if scope else ("", "")
        scopes.setdefault(key, []).append(_span(span))
        resource = cast("Mapping[str, object]", span.resource.attributes)
    listed = [
        {"scope": {"name": name, "version": version}, "spans": found} for (name, version), found in scopes.items()
    ]
    group = {"resource": {"attributes": _pairs(resource)}, "scopeSpans": listed}
    return json.dumps({"resourceSpans": [group]}, indent=1, ensure_ascii=False) + "\n"


def _span(span: ReadableSpan) -> dict[str, object]:
    context = span.get_span_context()
    assert context is not None
    parent = {} if span.parent is None else {"parentSpanId": f"{span.parent.span_id:016x}"}
    return {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        **parent,
        "name": span.name,
        "kind": span.kind.value + 1,  # the API counts from 0, OTLP from 1: its 0 says "unspecified"
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _pairs(cast("Mapping[str, object]", span.attributes or {})),
        "events": [_event(event) for event in span.events],
        "status": {"code": span.status.status_code.value, "message": span.status.description or ""},
    }


def _event(event: Event) -> dict[str, object]:
    attributes = dict(cast("Mapping[str, object]", event.attributes or {}))
    attributes.pop("exception.stacktrace", None)  # it names folders of this machine, and the file may be passed on
    return {"name": event.name, "timeUnixNano": str(event.timestamp), "attributes": _pairs(attributes)}


def _pairs(attributes: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _pairs(cast("Mapping[str, object]", value))}}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"arrayValue": {"values": [_value(item) for item in cast("Sequence[object]", value)]}}
    return {} if value is None else {"stringValue": str(value)}
