"""OTLP/JSON: one document, several of them, or one on each line.

Lines are what the file exporters of the Collector and of the SDKs write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from spanwise.errors import SourceError
from spanwise.sources._json_text import has_lines, lines, skip_mark
from spanwise.sources._open import Input
from spanwise.sources._otlp_typed import DOUBTS, TypedReader
from spanwise.sources._otlp_walk import Walk
from spanwise.sources._source import Intake, Record, Source

# Metrics in snake_case are what the console exporter prints, not OTLP.
_ENVELOPE = re.compile(
    rb'"(?:(?:resource|scope|instrumentationLibrary)(?:Spans|Logs|Metrics)'
    rb'|(?:resource|scope|instrumentation_library)_(?:spans|logs))"\s*:'
)


def sniff(head: bytes, name: str) -> bool:
    """Whether the text is JSON that has one of OTLP's lists near its start."""
    del name
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and _ENVELOPE.search(head) is not None


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans and log events of OTLP/JSON in any of its layouts."""
    skip_mark(data)
    if has_lines(data, intake=intake):
        batches = _lines(data, intake)
    else:
        batches = Walk(data.read_chunk, intake=intake).documents()
    return chain.from_iterable(batches)


def read_document(text: bytes, *, typed: TypedReader, intake: Intake, where: str) -> Iterator[list[Record]]:
    """The records of one OTLP/JSON document, plain or odd.

    Raises:
        SourceError: It is no JSON from some place on, or it is not OTLP.
    """
    try:
        yield typed.document(text)
    except DOUBTS:
        pieces = iter((text,))
        yield from Walk(lambda: next(pieces, b""), intake=intake, where=where).documents()


def _lines(data: Input, intake: Intake) -> Iterator[list[Record]]:
    typed = TypedReader(intake)
    for number, line in lines(data, intake=intake):
        try:
            yield from read_document(line, typed=typed, intake=intake, where=f"line {number}")
        except SourceError as failure:
            intake.refuse_for(failure, place=f"line {number}")


SOURCE = Source(name="otlp_json", title="OTLP JSON", sniff=sniff, read=read)
