"""Spans in memory, and what spanwise reads from them."""

from __future__ import annotations

import json
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanwise.model.trace import Run
from spanwise.offline.reading import Reading


class Recorded:
    """A provider whose spans stay in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def only(self) -> ReadableSpan:
        """The one span there is."""
        (span,) = self.spans
        return span

    def runs(self, folder: Path) -> list[Run]:
        """The runs that spanwise reads from the spans."""
        path = folder / "spans.jsonl"
        path.write_text("".join(span.to_json(indent=None) + "\n" for span in self.spans), encoding="utf-8")
        return [run for one in Reading(paths=[str(path)]).traces_of() for run in one.runs]


def content(span: ReadableSpan, side: str) -> object:
    """The text of the one message on a side of a span."""
    (message,) = json.loads(str((span.attributes or {})[f"gen_ai.{side}.messages"]))
    return message["parts"][0]["content"]
