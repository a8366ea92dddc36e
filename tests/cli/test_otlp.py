"""Spans of the SDK as OTLP/JSON."""

from __future__ import annotations

from pathlib import Path

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from spanwise.cli._otlp import to_otlp
from spanwise.model.raw import RawSpan
from spanwise.sources import read

FIELDS = {"text": "a", "number": 3, "share": 0.5, "yes": True, "list": ("a", "b"), "numbers": (1, 2)}


def finished() -> tuple[ReadableSpan, ...]:
    """A span and one below it that failed."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "tests"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("tests", "1")
    with tracer.start_as_current_span("outer", attributes=FIELDS), tracer.start_as_current_span("inner") as inner:
        inner.add_event("exception", {"exception.type": "ValueError", "exception.stacktrace": "/here/x.py"})
        inner.set_status(Status(StatusCode.ERROR, "it broke"))
    provider.shutdown()
    return memory.get_finished_spans()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Ids, times, attributes, events (without stack traces), status, scope and resource come back from a file."""
    path = tmp_path / "spans.json"
    written = finished()
    path.write_text(to_otlp(written), encoding="utf-8")
    found = {record.name: record for record in read(str(path)) if isinstance(record, RawSpan)}
    outer, inner = found["outer"], found["inner"]
    assert [(span.name, span.start_time, span.end_time) for span in written] == [
        (span.name, span.start_ns, span.end_ns) for span in (inner, outer)
    ]
    assert {**FIELDS, "list": ["a", "b"], "numbers": [1, 2]} == {
        key: list(value) if isinstance(value, tuple) else value for key, value in outer.attributes.items()
    }
    assert (outer.span_id, None, 2, "it broke") == (
        inner.parent_id,
        outer.parent_id,
        inner.status_code,
        inner.status_message,
    )
    assert [("exception", {"exception.type": "ValueError"})] == [
        (one.name, dict(one.attributes)) for one in inner.events
    ]
    assert ("tests", "1", "tests") == (inner.scope.name, inner.scope.version, inner.scope.resource["service.name"])


def test_structured_attributes_are_kept(tmp_path: Path) -> None:
    """Nested values, which newer SDKs allow, are written as OTLP spells them."""
    (inner, _) = finished()
    nested = ReadableSpan(
        name="n", context=inner.get_span_context(), resource=inner.resource, instrumentation_scope=None
    )
    nested._attributes = {"map": {"a": [1, None]}, "odd": b"x"}  # what newer SDKs let through the public way
    path = tmp_path / "spans.json"
    path.write_text(to_otlp([nested]), encoding="utf-8")
    (found,) = read(str(path))
    assert isinstance(found, RawSpan)
    assert ({"a": [1, None]}, "b'x'") == (found.attributes["map"], found.attributes["odd"])
