"""Reading the recordings, and making single spans, without the sources package: for tests of what lies below it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from spanwise.model.raw import EMPTY, LogEvent, RawEvent, RawLink, RawSpan, Scope

FOLDER = Path(__file__).resolve().parent / "recordings"


def value_of(wire: Mapping[str, object] | None) -> object:
    """The Python value of an OTLP/JSON AnyValue."""
    if not wire:
        return None
    kind, value = next(iter(wire.items()))
    if kind == "arrayValue":
        return [value_of(item) for item in value.get("values", [])]
    if kind == "kvlistValue":
        return fields_of(value.get("values", []))
    return int(value) if kind == "intValue" else value


def fields_of(wire: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """The mapping of a list of OTLP/JSON key-value pairs."""
    return {item["key"]: value_of(item.get("value")) for item in wire}


@cache
def spans(name: str) -> tuple[RawSpan, ...]:
    """The spans of a recording, by start, without its log events."""
    found = []
    for resource, scope, span in _walk(name, "Spans", "spans"):
        found.append(
            RawSpan(
                span["traceId"],
                span["spanId"],
                span.get("parentSpanId") or None,
                span["name"],
                int(span["startTimeUnixNano"]),
                int(span.get("endTimeUnixNano", 0)),
                span.get("status", {}).get("code", 0),
                span.get("status", {}).get("message", ""),
                fields_of(span.get("attributes", [])),
                tuple(
                    RawEvent(event["name"], int(event["timeUnixNano"]), fields_of(event.get("attributes", [])))
                    for event in span.get("events", [])
                ),
                Scope(scope.get("name", ""), scope.get("version", ""), resource),
                tuple(RawLink(link["traceId"], link["spanId"]) for link in span.get("links", [])),
                span.get("kind", 0),
            )
        )
    return tuple(sorted(found, key=lambda span: span.start_ns))


@cache
def logs(name: str) -> tuple[LogEvent, ...]:
    """The log events recorded beside the spans, in their order."""
    return tuple(
        LogEvent(
            record["traceId"],
            record["spanId"],
            RawEvent(
                record.get("eventName", ""),
                int(record.get("timeUnixNano") or record.get("observedTimeUnixNano", 0)),
                fields_of(record.get("attributes", [])),
                value_of(record.get("body")),
            ),
            Scope(scope.get("name", ""), scope.get("version", ""), resource),
        )
        for resource, scope, record in _walk(f"{name}.logs", "Logs", "logRecords")
    )


def with_logs(name: str, *, strip: Iterable[str] = ()) -> tuple[RawSpan, ...]:
    """The spans of a recording with its log events joined; attributes in `strip` are taken off the spans first."""
    events: dict[object, list[RawEvent]] = {}
    for log in logs(name):
        events.setdefault(log.span_id, []).append(log.event)
    taken = frozenset(strip)
    return tuple(
        remade(
            span,
            attributes={key: value for key, value in span.attributes.items() if key not in taken},
            events=(*span.events, *events.get(span.span_id, ())),
        )
        for span in spans(name)
    )


def remade(span: RawSpan, **changes: object) -> RawSpan:
    """A copy of a span with some fields changed."""
    kept = {field: getattr(span, field) for field in span.__struct_fields__}
    return RawSpan(**{**kept, **changes})


def made(
    name: str = "span",
    *,
    scope: str = "",
    attributes: Mapping[str, object] = EMPTY,
    events: Iterable[tuple[str, Mapping[str, object]]] = (),
    status: int = 0,
    message: str = "",
) -> RawSpan:
    """A span made by hand."""
    found = tuple(RawEvent(title, at, fields) for at, (title, fields) in enumerate(events))
    return RawSpan("t" * 32, "s" * 16, None, name, 1, 2, status, message, attributes, found, Scope(scope, "", EMPTY))


def _walk(name: str, kind: str, items: str) -> Iterable[tuple[dict[str, object], dict[str, object], dict[str, object]]]:
    with (FOLDER / f"{name}.json").open(encoding="utf-8") as file:
        wire = json.load(file)
    for group in wire[f"resource{kind}"]:
        resource = fields_of(group.get("resource", {}).get("attributes", []))
        for part in group[f"scope{kind}"]:
            for item in part[items]:
                yield resource, part.get("scope", {}), item
