"""Files that no source reads are called by their name, with the way to something that is read."""

from __future__ import annotations

import bz2
import json
import lzma

import pytest

from tests.sources.formats import written
from tests.sources.otlp import Outcome, dump, json_document, made

OTLP = dump(json_document([made()]))
JAEGER = {
    "data": [
        {
            "traceID": "a" * 32,
            "spans": [{"traceID": "a" * 32, "spanID": "b" * 16, "operationName": "chat", "tags": [], "startTime": 1}],
            "processes": {},
        }
    ]
}
ZIPKIN = [{"traceId": "a" * 32, "id": "b" * 16, "name": "chat", "timestamp": 1, "duration": 2, "tags": {}}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (OTLP.decode().encode("utf-16"), "the file is UTF-16 text; save it as UTF-8"),
        (OTLP.decode().encode("utf-16-be"), "the file is UTF-16 text; save it as UTF-8"),
        (OTLP.decode().encode("utf-32"), "the file is UTF-32 text; save it as UTF-8"),
        (b"PAR1\x15\x04", "the file is a Parquet table; save it as JSON, with one record for each span"),
        (b"PK\x03\x04\x14", "the file is a zip archive; unpack it first"),
        (bz2.compress(OTLP), "the file is compressed with bzip2; unpack it first"),
        (lzma.compress(OTLP), "the file is compressed with xz; unpack it first"),
        (b"id,traceId,type,name\n1,2,SPAN,chat\n", "the file is a table in CSV, which is not read; export it as JSON"),
        (
            b'"context.span_id";"name";"attributes.input.value"\r\n',
            "the file is a table in CSV, which is not read; export it as JSON",
        ),
        (
            json.dumps(JAEGER).encode(),
            "the file is Jaeger's own JSON, which is not read; save what /api/v3/traces/{id} gives, which is OTLP",
        ),
        (
            json.dumps(ZIPKIN).encode(),
            "the file is Zipkin's JSON, which is not read; have a Collector receive it and write OTLP to a file",
        ),
    ],
    ids="UTF-16 UTF-16-BE UTF-32 Parquet zip bzip2 xz CSV semicolons Jaeger Zipkin".split(),
)
def test_what_is_not_read_is_named(content: bytes, message: str) -> None:
    """The one error says what the file is and what to do."""
    assert [f"made: {message}"] == Outcome(content).messages


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"id": "1", "run_type": "chain", "dotted_order": "2", "inputs": {}}, "LangSmith's JSON of runs"),
        ([{"id": "1", "run_type": "chain", "inputs": {}}], "LangSmith's JSON of runs"),
        ({"id": "1", "op_name": "weave:///a/b/op/x", "started_at": "2026-01-01"}, "Weave's JSON of calls"),
        (
            {"data": [{"object": "trace.span", "span_data": {"type": "agent"}, "started_at": "2026-01-01"}]},
            "what the OpenAI Agents SDK exports itself",
        ),
        ({"object": "trace", "workflow_name": "w", "group_id": None}, "what the OpenAI Agents SDK exports itself"),
        ({"rows": [{"span_name": "agent run", "start_timestamp": "2026-01-01"}]}, "a list of Logfire's rows"),
        ({"info": {"request_id": "tr-1", "request_metadata": {}}, "data": {"spans": []}}, "MLflow's own JSON"),
        ({"info": {"trace_id": "tr-1", "trace_location": {}}, "data": {"spans": []}}, "MLflow's own JSON"),
    ],
)
def test_what_platforms_write_themselves(content: object, what: str) -> None:
    """The error names the platform, and that the same spans can be had as OTLP."""
    way_out = "which is not read; have it send OTLP to a Collector that writes a file"
    assert [f"made: the file is {what}, {way_out}"] == Outcome(json.dumps(content).encode()).messages


@pytest.mark.parametrize("content", [b"hello, world\nand more", b"[1, 2]", b'{"id": 1}', b"<html>"])
def test_what_is_not_known_is_not_guessed(content: bytes) -> None:
    """Of other files the error says which formats there are."""
    (message,) = Outcome(content).messages
    assert message.startswith("made: the file is of no known format")


def test_no_format_of_the_table_is_taken_for_a_foreign_one() -> None:
    """Whatever a source reads is read, however like a table or an archive it begins."""
    assert [] == [
        layout for layouts in written().values() for layout, content in layouts.items() if Outcome(content).messages
    ]
