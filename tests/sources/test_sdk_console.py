"""What the SDK's console exporters print is read, whatever else a program printed around it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from spanwise.model.raw import EMPTY, LogEvent, RawEvent, RawSpan, hex_id, hex_trace_id
from tests.sources.otlp import Outcome

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
LOG: dict[str, Any] = {
    "body": {"content": ["hi", 1]},
    "severity_number": 9,
    "severity_text": None,
    "attributes": {"n": 1},
    "dropped_attributes": 0,
    "timestamp": "2026-11-18T06:13:00.100000Z",
    "observed_timestamp": "2026-11-18T06:13:00.200000Z",
    "trace_id": f"0x{TRACE}",
    "span_id": f"0x{SPAN}",
    "trace_flags": 1,
    "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    "event_name": "gen_ai.choice",
}


class Kept(SpanExporter):
    """Keeps the spans that end."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep the spans."""
        self.spans += spans
        return SpanExportResult.SUCCESS


def ended() -> list[ReadableSpan]:
    """A failing child and its parent, with something in each field."""
    kept = Kept()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("tests")
    with tracer.start_as_current_span(
        "parent", kind=SpanKind.CLIENT, attributes={"text": "é", "list": ["a", "b"]}
    ) as parent:
        parent.add_event("seen", {"k": 0.5})
        child = tracer.start_span("child", links=[Link(parent.get_span_context(), {"why": "retry"})])
        child.set_status(Status(StatusCode.ERROR, "it broke"))
        child.end()
    return kept.spans


def as_read(span: ReadableSpan) -> tuple[object, ...]:
    """What the console form keeps of a span: times down to the microsecond, no scope."""

    def micros(nanos: int) -> int:
        return nanos // 1000

    return (
        f"{span.context.trace_id:032x}",
        f"{span.context.span_id:016x}",
        f"{span.parent.span_id:016x}" if span.parent else None,
        span.name,
        span.kind.value + 1,
        (span.status.status_code.value, span.status.description or ""),
        {name: list(value) if isinstance(value, tuple) else value for name, value in span.attributes.items()},
        [(event.name, dict(event.attributes), micros(event.timestamp)) for event in span.events],
        [(f"{link.context.span_id:016x}", dict(link.attributes)) for link in span.links],
        (micros(span.start_time), micros(span.end_time)),
    )


def shown(record: object) -> tuple[object, ...]:
    """A record in the form of `as_read`."""
    assert isinstance(record, RawSpan)
    return (
        hex_trace_id(record.trace_id),
        hex_id(record.span_id),
        record.parent_id,
        record.name,
        record.span_kind,
        (record.status_code, record.status_message),
        record.attributes,
        [(event.name, event.attributes, event.time_ns // 1000) for event in record.events],
        [(link.span_id, link.attributes) for link in record.links],
        (record.start_ns // 1000, record.end_ns // 1000),
    )


@pytest.mark.parametrize(
    "layout",
    [
        lambda spans: "".join(span.to_json() + "\n" for span in spans),
        lambda spans: "".join(span.to_json(indent=None) + "\n" for span in spans),
        lambda spans: f"[{','.join(span.to_json() for span in spans)}]",
        lambda spans: "\r\n".join(span.to_json().replace("\n", "\r\n") for span in spans),
    ],
    ids=["indented", "lines", "list", "carriage returns"],
)
def test_every_layout_gives_the_same(layout: Any) -> None:
    """Spans printed over several lines, on one line each or in a list are read with all that the form keeps."""
    spans = ended()
    outcome = Outcome(layout(spans).encode())
    # Floating-point division, with which the SDK formats times, may be off by one microsecond.
    found, expected = [shown(record) for record in outcome.records], [as_read(span) for span in spans]
    assert [row[:7] + row[8:9] for row in expected] == [row[:7] + row[8:9] for row in found]
    assert all(
        abs(a - b) <= 1
        for row, other in zip(expected, found, strict=True)
        for a, b in zip(row[9], other[9], strict=True)
    )
    assert (["child", "parent"], [], {}, True) == (
        outcome.names,
        outcome.messages,
        outcome.tally.repairs,
        outcome.adds_up(),
    )


def test_a_resource_is_held_once() -> None:
    """Spans of one program share one Scope, which has its resource."""
    one, two = Outcome("".join(span.to_json() for span in ended()).replace("}{", "}\n{").encode()).records
    assert one.scope is two.scope
    assert ("", "", "shop") == (one.scope.name, one.scope.version, one.scope.resource["service.name"])


def test_a_resource_with_half_a_character_is_read() -> None:
    """Text that no file can hold, in a resource as anywhere else, costs no span."""
    (span,) = ended()[1:]
    printed = json.loads(span.to_json())
    printed["resource"] = "\ud800"
    outcome = Outcome(json.dumps(printed).encode())
    assert (["parent"], []) == (outcome.names, outcome.messages)


def test_log_events_are_read() -> None:
    """What the log exporter prints becomes an event of its span, with name, time, attributes and body."""
    (event,) = Outcome(json.dumps(LOG, indent=4).encode()).records
    assert isinstance(event, LogEvent)
    time_ns = 1_794_982_380_100_000_000
    assert (TRACE, SPAN, RawEvent("gen_ai.choice", time_ns, {"n": 1}, {"content": ["hi", 1]})) == (
        event.trace_id,
        event.span_id,
        event.event,
    )


def test_log_records_without_a_span_and_metrics_are_counted() -> None:
    """Log records of no span and printed metrics are passed over and counted."""
    unlinked = {**LOG, "trace_id": "", "span_id": ""}
    zeros = {**LOG, "trace_id": f"0x{'0' * 32}", "span_id": f"0x{'0' * 16}"}
    objects = (LOG, unlinked, zeros, {"resource_metrics": []})
    outcome = Outcome(b"\n".join(json.dumps(each).encode() for each in objects))
    assert (1, {"log record without trace and span id": 2, "metrics": 1}, True) == (
        len(outcome.records),
        outcome.tally.ignored,
        outcome.adds_up(),
    )


def test_other_output_in_between_is_counted() -> None:
    """Lines that a program printed between its spans cost nothing and are counted."""
    one, two = (span.to_json() for span in ended())
    outcome = Outcome(f"starting\n{one}\n> question\n  indented\n{two}\ndone\n".encode())
    assert (["child", "parent"], {"line that is no JSON": 4}, []) == (
        outcome.names,
        outcome.tally.ignored,
        outcome.messages,
    )


def test_broken_objects_cost_only_themselves() -> None:
    """Objects that are cut off, no spans, or without ids are named by their lines; the others are read."""
    one, two = (span.to_json() for span in ended())
    nameless = json.dumps({"context": {"trace_id": "0x1", "span_id": f"0x{SPAN}"}, "name": "x"})
    timeless = json.dumps(json.loads(one) | {"start_time": "noon"})
    text = "\n".join([one, two[: len(two) // 2], two, '{"a": 1}', nameless, '{"broken": ]}', timeless, one[:-20]])
    outcome = Outcome(text.encode())
    first = one.count("\n") + 2
    assert (["child", "parent"], 6, True) == (outcome.names, outcome.tally.refused, outcome.adds_up())
    assert f"made, line {first}: the object is cut off" == outcome.messages[0]
    assert [
        "it is neither a span nor a log record of the console exporters",
        "the id '1' is not 32 hexadecimal digits",
        "it is not valid JSON, or nested too deeply",
        "the time 'noon' is not a number of nanoseconds",
    ] == [message.rpartition("left out: ")[2] for message in outcome.messages[1:5]]


def test_what_json_does_not_have_is_read() -> None:
    """Bare NaN and bytes that are no UTF-8, as programs print them, are read, and the latter counted."""
    text = ended()[0].to_json().encode().replace(b'"attributes": {}', b'"attributes": {"n": NaN, "t": "\xff"}')
    outcome = Outcome(text)
    (span,) = outcome.records
    assert math.isnan(span.attributes["n"])
    assert ("�", {"text that is no Unicode: replaced": 1}) == (span.attributes["t"], outcome.tally.repairs)


def test_a_list_that_is_cut_off_is_one_error() -> None:
    """A list of objects is read as a whole, so a cut makes one error of it."""
    outcome = Outcome(f"[{ended()[0].to_json()},".encode())
    assert ([], "made: this is not valid JSON") == (outcome.records, str(outcome.failure))


def test_a_span_that_has_not_ended() -> None:
    """A span without an end, attributes and status is read as far as it goes."""
    context = {"trace_id": f"0x{TRACE}", "span_id": f"0x{SPAN}", "trace_state": "[]"}
    fields = {"name": "open", "context": context, "start_time": "2026-11-18T06:13:00.100000Z", "end_time": None}
    (span,) = Outcome(json.dumps(fields).encode()).records
    assert ("open", 0, EMPTY, 0, 0) == (span.name, span.end_ns, span.attributes, span.status_code, span.span_kind)
