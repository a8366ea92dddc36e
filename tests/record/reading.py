"""What Spanwise reads of the spans that a program made: recorded by the real SDK, sent as OTLP, read as a file is."""

from __future__ import annotations

import io
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwise import sources
from spanwise.assembly.tree import build_trace
from spanwise.model.raw import Key, RawSpan
from spanwise.model.trace import Run, Trace

_EXPORTER = InMemorySpanExporter()
_SEEN: list[TracerProvider] = []


class Recorded:
    """The spans that ended since the test began."""

    def __init__(self) -> None:
        given = trace.get_tracer_provider()
        if not isinstance(given, TracerProvider):
            trace.set_tracer_provider(TracerProvider())
            given = trace.get_tracer_provider()  # where another test instrumented, the one that stood in for it
        if given not in _SEEN:
            given.add_span_processor(SimpleSpanProcessor(_EXPORTER))
            _SEEN.append(given)
        self.provider = given
        _EXPORTER.clear()

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """As the SDK gives them."""
        return _EXPORTER.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        """The only one of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    @property
    def trace(self) -> Trace:
        """The only trace."""
        (found,) = traces_of(self.spans)
        return found

    @property
    def run(self) -> Run:
        """The only run of the only trace."""
        (found,) = self.trace.runs
        return found


def traces_of(spans: Sequence[ReadableSpan]) -> list[Trace]:
    """The traces that Spanwise reads from these spans."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    sent = io.BytesIO(encode_spans(spans).SerializeToString())
    sent.name = "sent"
    found: dict[Key, list[RawSpan]] = {}
    for one in sources.read(sent):
        assert isinstance(one, RawSpan)
        found.setdefault(one.trace_id, []).append(one)
    return [build_trace(key, raws) for key, raws in found.items()]
