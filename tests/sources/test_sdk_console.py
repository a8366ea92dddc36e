"""What the SDK's console exporter prints is read."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanwise.model.raw import RawSpan
from tests.sources.otlp import Outcome


class Printed(SpanExporter):
    """Keeps what `ReadableSpan.to_json` gives, as the console exporter prints it."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Keep the spans' text."""
        self.texts += [span.to_json() for span in spans]
        return SpanExportResult.SUCCESS


def printed() -> list[str]:
    """A parent and a failing child, as printed."""
    out = Printed()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(out))
    tracer = provider.get_tracer("tests")
    with tracer.start_as_current_span("parent", attributes={"gen_ai.operation.name": "invoke_agent", "n": 3}):
        try:
            with tracer.start_as_current_span("child"):
                raise ValueError("it broke")
        except ValueError:
            pass
    return out.texts


def test_objects_one_behind_the_other() -> None:
    """Spans printed one behind the other keep ids, parents, attributes, status and events."""
    texts = printed()
    outcome = Outcome("\n".join(texts).encode())
    child, parent = outcome.records
    assert isinstance(child, RawSpan)
    assert isinstance(parent, RawSpan)
    assert (["child", "parent"], []) == (outcome.names, outcome.messages)
    assert (child.parent_id, child.trace_id, parent.parent_id) == (parent.span_id, parent.trace_id, None)
    assert (child.status_code, [event.name for event in child.events]) == (2, ["exception"])
    assert dict(parent.attributes) == {"gen_ai.operation.name": "invoke_agent", "n": 3}
    assert parent.start_ns <= child.start_ns <= child.end_ns <= parent.end_ns


def test_one_on_each_line() -> None:
    """Spans printed one on each line read alike, and a broken line costs only itself."""
    lines = [json.dumps(json.loads(text)) for text in printed()]
    outcome = Outcome("\n".join([lines[0], '{"name": ', lines[1]]).encode())
    assert (["child", "parent"], 1) == (outcome.names, len(outcome.messages))
