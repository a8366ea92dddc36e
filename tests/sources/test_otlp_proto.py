"""OTLP in protobuf: every framing gives the spans that the same request gives as JSON, and damage costs only itself."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.raw import LogEvent, RawSpan, hex_id, hex_trace_id
from tests.sources.otlp import Outcome, json_document, made

RECORDING = Path(__file__).parent.parent / "recordings" / "langgraph__otel-genai.json"


def message(document: dict[str, Any]) -> bytes:
    """The request of a JSON document in protobuf, by the messages of opentelemetry-proto."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    text = json.dumps(_with_base64(document))
    request = ExportLogsServiceRequest() if "resourceLogs" in document else ExportTraceServiceRequest()
    return json_format.Parse(text, request, ignore_unknown_fields=True).SerializeToString()


def _with_base64(value: Any) -> Any:
    """Protobuf's JSON mapping writes ids in base64, OTLP's in hex."""
    if isinstance(value, list):
        return [_with_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = {"traceId", "spanId", "parentSpanId"}
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in ids else _with_base64(item)
        for key, item in value.items()
    }


def shown(outcome: Outcome) -> list[object]:
    """The records, their ids as hex text, attributes in order of their names."""
    out: list[object] = []
    for record in outcome.records:
        ids = (hex_trace_id(record.trace_id), hex_id(record.span_id))
        if isinstance(record, RawSpan):
            events = [(e.name, e.time_ns, sorted(e.attributes.items(), key=str)) for e in record.events]
            links = [(hex_id(link.trace_id), hex_id(link.span_id)) for link in record.links]
            parent = hex_id(record.parent_id)
            status = (record.status_code, record.status_message, record.parent_remote, record.dropped)
            times = (record.name, record.start_ns, record.end_ns, record.scope.name, record.scope.version)
            out.append((ids, parent, times, status, sorted(record.attributes.items(), key=str), events, links))
        else:
            assert isinstance(record, LogEvent)
            out.append((ids, record.event.name, sorted(record.event.attributes.items(), key=str), record.event.body))
    return out


def prefixed(*messages: bytes) -> bytes:
    """Messages as the Collector's file exporter writes them."""
    return b"".join(struct.pack(">I", len(one)) + one for one in messages)


def delimited(*messages: bytes) -> bytes:
    """Messages with their length as a protobuf number before each."""
    out = b""
    for one in messages:
        size = len(one)
        while size > 0x7F:
            out += bytes([size & 0x7F | 0x80])
            size >>= 7
        out += bytes([size]) + one
    return out


@pytest.mark.parametrize("name", ["langgraph__otel-genai.json", "langgraph__otel-genai.logs.json"])
def test_a_request_reads_as_its_json_does(recordings: Path, name: str) -> None:
    """Spans and log events of a recording are the same from protobuf as from JSON."""
    # Older releases of opentelemetry-proto have no field for the name of an event.
    document = json.loads((recordings / name).read_bytes().replace(b'"eventName"', b'"unknownName"'))
    assert shown(Outcome(json.dumps(document).encode())) == shown(Outcome(message(document)))


@pytest.mark.parametrize("frame", [prefixed, delimited])
def test_streams_of_messages(frame: Any) -> None:
    """A stream with lengths gives the records of all its messages, in order."""
    one, two = message(json_document([made("one")])), message(json_document([made("two")]))
    outcome = Outcome(frame(one, two))
    assert (["one", "two"], []) == (outcome.names, outcome.messages)


def test_every_field() -> None:
    """A span with something in each field, and values of every type, is read as it is from JSON."""
    span = made(attributes={"a": [1, "x", {"k": 2.5}], "b": True, "c": -3, "d": "é", "e": b"\x00\xff", "f": {}})
    document = json_document([span])
    assert shown(Outcome(json.dumps(document).encode())) == shown(Outcome(message(document)))


def test_a_cut_stream_gives_what_came_before() -> None:
    """A stream that ends in the middle of a message gives the ones before, and one error with the place."""
    one, two = message(json_document([made("one")])), message(json_document([made("two")]))
    outcome = Outcome(prefixed(one, two)[:-5])
    assert (["one"], 1) == (outcome.names, len(outcome.messages))
    assert "byte" in outcome.messages[0]


def test_a_broken_message_costs_only_itself() -> None:
    """A message of a stream that is no protobuf is one error, the others are read."""
    good = message(json_document([made("one")]))
    broken = good[:40] + b"\xff" * (len(good) - 40)
    outcome = Outcome(prefixed(good, broken, good))
    assert (["one", "one"], 1) == (outcome.names, len(outcome.messages))


@given(st.data())
def test_any_damage_raises_nothing_else(data: st.DataObject) -> None:
    """Whatever bytes are changed or cut, reading ends with records and errors of one sentence each."""
    content = bytearray(prefixed(message(json_document([made("one")])), message(json_document([made("two")]))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    outcome = Outcome(bytes(content[: data.draw(st.integers(1, len(content)))]))
    assert all("\n" not in text for text in outcome.messages)
