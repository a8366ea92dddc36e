"""OTLP in protobuf: every framing is read alike, and as the JSON of the same spans is."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from spanwise.model.raw import EMPTY, LogEvent, RawEvent, RawLink, RawSpan, Scope
from tests.sources.otlp import SCOPE, SPAN, START, TRACE, Outcome, dump, json_document, json_logs, made, said
from tests.sources.otlp_messages import (
    changed,
    delimited,
    field,
    logs_of,
    pairs_of,
    prefixed,
    read_hex,
    request,
    span_of,
    traces_of,
    value_of,
)

TWO = [made("a"), made("b", events=(), links=())]


def keyed(**values: object) -> Callable[[Span], object]:
    """Give a span these attributes and no others."""

    def change(span: Span) -> None:
        del span.attributes[:]
        span.attributes.extend(pairs_of(values))

    return change


# Framings


@pytest.mark.parametrize(
    "frame",
    [
        prefixed,
        delimited,
        lambda traces, logs: traces + logs,
        lambda traces, logs: prefixed(*(zstandard.compress(record) for record in (traces, logs))),
        lambda traces, logs: zstandard.compress(prefixed(traces, logs)),
        lambda traces, logs: gzip.compress(delimited(traces, logs)),
        lambda traces, logs: prefixed(traces, b"", logs),
        lambda traces, logs: prefixed(
            zstandard.compress(dump(json_document(TWO))), zstandard.compress(dump(json_logs([said()])))
        ),
    ],
    ids=["prefixed", "delimited", "one behind the other", "zstd records", "zstd", "gzip", "empty record", "zstd JSON"],
)
def test_every_framing_gives_the_same(frame: Callable[[bytes, bytes], bytes]) -> None:
    """Requests with lengths of either kind, without, and compressed together or each alone give the same records."""
    traces, logs = traces_of(TWO).SerializeToString(), logs_of([said()]).SerializeToString()
    content = frame(traces, logs)
    outcome = read_hex(content)
    assert ([*TWO, said()], [], True) == (outcome.records, outcome.messages, outcome.adds_up())


def test_traces_data_is_a_request() -> None:
    """TracesData, which files hold, is read as a request is."""
    data = TracesData.FromString(traces_of(TWO).SerializeToString())
    assert TWO == read_hex(data.SerializeToString()).records


def test_ids_are_bytes() -> None:
    """Ids stay the bytes that they are, so they cost nothing and compare as they are."""
    (span,) = Outcome(traces_of([made()]).SerializeToString()).records
    assert (bytes.fromhex(TRACE), bytes.fromhex(SPAN)) == (span.trace_id, span.span_id)


def test_a_bare_span_is_read() -> None:
    """A span that says nothing but ids, name and start has the defaults elsewhere."""
    bare = RawSpan(TRACE, SPAN, None, "bare", START, 0, 0, "", EMPTY, (), Scope("", "", {}))
    assert [bare] == read_hex(request(span_of(bare).SerializeToString())).records


def test_instrumentation_libraries_are_scopes() -> None:
    """The field that held the scopes under their old name is read."""
    resource = traces_of(TWO).resource_spans[0]
    scopes = resource.scope_spans[0].SerializeToString()
    content = field(1, field(1, resource.resource.SerializeToString()) + field(1000, scopes))
    assert (TWO, TWO) == (read_hex(content).records, read_hex(prefixed(content)).records)


def test_resources_of_many_requests_are_shared() -> None:
    """Equal resources and scopes are held once."""
    first, second = Outcome(prefixed(*[traces_of([made()]).SerializeToString()] * 2)).records
    assert first.scope is second.scope


def test_metrics_are_counted_and_passed_over() -> None:
    """Metrics between the traces, as the Collector writes them into one file, cost nothing and are counted."""
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="requests", unit="1")
    metric.sum.data_points.add(as_int=3)
    traces = traces_of(TWO).SerializeToString()
    outcome = read_hex(prefixed(traces, metrics.SerializeToString(), traces))
    assert ([*TWO, *TWO], {"metrics": 1}, [], True) == (
        outcome.records,
        outcome.tally.ignored,
        outcome.messages,
        outcome.adds_up(),
    )


def test_log_records_without_a_span_are_counted() -> None:
    """Log records without ids, or with ids of zeros, are counted and passed over."""
    message = logs_of([said(), said(), said()])
    records = message.resource_logs[0].scope_logs[0].log_records
    records[0].span_id = b""
    records[1].trace_id = bytes(16)
    outcome = read_hex(message.SerializeToString())
    assert ([said()], {"log record without trace and span id": 2}, True) == (
        outcome.records,
        outcome.tally.ignored,
        outcome.adds_up(),
    )


@pytest.mark.parametrize(
    "record",
    [
        LogRecord(observed_time_unix_nano=7),
        LogRecord(severity_number=9),
        LogRecord(body=value_of("text")),
        LogRecord(trace_id=bytes(16)),
    ],
    ids=["observed", "severity", "body", "ids"],
)
def test_logs_are_known_by_their_fields(record: LogRecord) -> None:
    """A log record is told from a span by whatever it has."""
    message = logs_of([])
    message.resource_logs[0].scope_logs[0].log_records.append(record)
    outcome = Outcome(message.SerializeToString())
    assert ([], {"log record without trace and span id": 1}) == (outcome.messages, outcome.tally.ignored)


def test_an_event_may_be_named_by_an_attribute() -> None:
    """Without a name of its own, a log event has the one that the attribute `event.name` gives."""
    message = logs_of([said("")])
    message.resource_logs[0].scope_logs[0].log_records[0].attributes.extend(pairs_of({"event.name": "gen_ai.choice"}))
    (event,) = Outcome(message.SerializeToString()).records
    assert ("gen_ai.choice", START) == (event.event.name, event.event.time_ns)


# The same spans in JSON and in protobuf


def as_message(document: dict[str, Any]) -> bytes:
    """The request of a JSON document, made by protobuf's own reader of JSON, which has ids in base64."""

    def mapped(value: Any) -> Any:
        if isinstance(value, list):
            return [mapped(item) for item in value]
        if not isinstance(value, dict):
            return value
        ids = {"traceId", "spanId", "parentSpanId"}
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in ids else mapped(item)
            for key, item in value.items()
        }

    made_of = ExportLogsServiceRequest() if "resourceLogs" in document else ExportTraceServiceRequest()
    return json_format.Parse(json.dumps(mapped(document)), made_of, ignore_unknown_fields=True).SerializeToString()


def test_recordings_are_the_same_in_both(recordings: Path) -> None:
    """Every recording gives the same records from protobuf as from JSON, in the same order, without a repair."""
    for path in sorted(recordings.glob("*.json")):
        text = path.read_bytes()
        document = json.loads(text)
        # The classes of older versions cannot write the names of log events.
        readable = {"resourceSpans"} | (
            {"resourceLogs"} if "event_name" in LogRecord.DESCRIPTOR.fields_by_name else set()
        )
        if document.keys() & readable:
            from_json, from_proto = Outcome(text), read_hex(as_message(document))
            assert (from_json.records, {}, []) == (from_proto.records, from_proto.tally.repairs, from_proto.messages)
            assert 0 < len(from_json.records)


names = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=300)
    | st.binary(max_size=20)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
attributes = st.dictionaries(names.filter(bool), values, max_size=6)
ids = st.binary(min_size=8, max_size=8).filter(any).map(bytes.hex)
trace_ids = st.binary(min_size=16, max_size=16).filter(any).map(bytes.hex)
times = st.integers(1, 2**63)
spans = st.builds(
    RawSpan,
    trace_ids,
    ids,
    st.none() | ids,
    names,
    times,
    times,
    st.integers(0, 2),
    names,
    attributes,
    st.lists(st.builds(RawEvent, names, times, attributes), max_size=2).map(tuple),
    st.just(SCOPE),
    st.lists(st.builds(RawLink, trace_ids, ids, attributes), max_size=2).map(tuple),
    st.integers(0, 5),
    st.booleans(),
    st.integers(0, 9),
)
logs = st.builds(LogEvent, trace_ids, ids, st.builds(RawEvent, names, times, attributes, values), st.just(SCOPE))


@given(given_spans=st.lists(spans, min_size=1, max_size=4), given_logs=st.lists(logs, min_size=1, max_size=3))
def test_json_and_protobuf_give_the_same(given_spans: list[RawSpan], given_logs: list[LogEvent]) -> None:
    """Any spans and log events come back as they were, from JSON as from protobuf, without a repair."""
    from_json = Outcome(dump(json_document(given_spans), json_logs(given_logs)))
    requests = traces_of(given_spans).SerializeToString(), logs_of(given_logs).SerializeToString()
    from_proto = read_hex(prefixed(*requests))
    expected = ([*given_spans, *given_logs], {}, [])
    assert expected == (from_json.records, from_json.tally.repairs, from_json.messages)
    assert expected == (from_proto.records, from_proto.tally.repairs, from_proto.messages)


@given(given_spans=st.lists(spans, min_size=1, max_size=4))
def test_slow_and_fast_readers_agree(given_spans: list[RawSpan]) -> None:
    """Spans beside an odd one, which are read slowly, are read as they are without it."""
    message = traces_of([*given_spans, made(span_kind=0)])
    message.resource_spans[0].scope_spans[0].spans[-1].kind = 99
    outcome = read_hex(message.SerializeToString())
    assert ([*given_spans, made(span_kind=0)], {"span kind unknown: left unspecified": 1}) == (
        outcome.records,
        outcome.tally.repairs,
    )


def test_equal_attributes_share_no_list() -> None:
    """Two spans with the same list in their attributes each have one of their own."""
    one, two = Outcome(
        traces_of([made(attributes={"k": ["stop"]}), made(attributes={"k": ["stop"]})]).SerializeToString()
    ).records
    one.attributes["k"].append("x")
    assert ["stop"] == two.attributes["k"]


@pytest.mark.parametrize("size", [0, 1, 30, 80, 100, 118, 125, 126, 127, 128, 129, 300, 16_370, 16_383, 16_384, 70_000])
@pytest.mark.parametrize("key", ["k", "k" * 40, "k" * 127, "k" * 128, "k" * 300])
def test_texts_and_names_of_any_length(size: int, key: str) -> None:
    """Lengths around those where protobuf needs another byte are read right, for values and for names."""
    text = "x" * size
    outcome = changed(keyed(**{key: text, "other": text.encode(), "list": [text]}))
    assert ({key: text, "other": text.encode(), "list": [text]}, {}) == (
        outcome.records[1].attributes,
        outcome.tally.repairs,
    )


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 2**63 - 1, -1, -(2**63)])
def test_whole_numbers_of_any_size(number: int) -> None:
    """Whole numbers are read right at the sizes where protobuf needs another byte, and below zero."""
    outcome = changed(keyed(k=number, long_enough_a_name_to_be_read_by_itself_and_not_looked_up=number))
    assert [number, number] == list(outcome.records[1].attributes.values())


def test_not_a_number_is_read() -> None:
    """Floats that compare with nothing are read."""
    assert math.isnan(changed(keyed(k=math.nan)).records[1].attributes["k"])


# What is put right, and counted


@pytest.mark.parametrize(
    ("change", "expected", "words"),
    [
        (lambda s: setattr(s.status, "code", 9), {"status_code": 0}, "status code unknown: left unset"),
        (
            lambda s: setattr(s, "start_time_unix_nano", 0),
            {"start_ns": START + 1500},
            "start time missing: the end time taken",
        ),
        (
            lambda s: setattr(s, "parent_span_id", bytes(8)),
            {"parent_id": None},
            "parent id of zeros: taken as none",
        ),
        (
            lambda s: setattr(s, "parent_span_id", b"abc"),
            {"parent_id": b"abc".hex()},
            "parent id unreadable: kept as a parent that is not here",
        ),
        (lambda s: setattr(s.links[0], "span_id", b""), {"links": ()}, "link without usable ids: left out"),
    ],
)
def test_repairs_are_made_and_counted(
    change: Callable[[Span], object], expected: dict[str, object], words: str
) -> None:
    """What must be guessed is put right, counted by what was done, and changes nothing else."""
    outcome = changed(change)
    odd = outcome.records[1]
    assert expected == {name: getattr(odd, name) for name in expected}
    assert {words: 1} == outcome.tally.repairs
    assert ([made("before"), made("after")], []) == ([outcome.records[0], outcome.records[2]], outcome.messages)


def test_text_that_is_no_unicode_is_replaced() -> None:
    """Bytes that are no UTF-8, in a name, a key or a value, are replaced and counted; the span stays."""
    message = traces_of([made("before"), made("NAME", attributes={"KEYS": "TEXT"}), made("after")])
    content = message.SerializeToString()
    for mark in (b"NAME", b"KEYS", b"TEXT"):
        content = content.replace(mark, b"a\xff\xfeb")
    outcome = read_hex(content)
    assert (["before", "a��b", "after"], {"a��b": "a��b"}) == (outcome.names, outcome.records[1].attributes)
    assert {"text that is no Unicode: replaced": 3} == outcome.tally.repairs


def test_values_nested_without_end_are_left_out() -> None:
    """Of a value nested beyond what anyone reads, the depth is left out, and the spans stay."""
    value = value_of(1).SerializeToString()
    for _ in range(2000):
        value = field(5, field(1, value))
    span = span_of(made("deep", attributes={})).SerializeToString() + field(9, field(1, b"k") + field(2, value))
    outcome = read_hex(request(span, span_of(made("after")).SerializeToString()))
    depth, held = 0, outcome.records[0].attributes["k"]
    while isinstance(held, list):
        depth, held = depth + 1, held[0]
    assert (100, None, ["deep", "after"]) == (depth, held, outcome.names)
    assert {"value nested more than 100 levels deep: left out": 1} == outcome.tally.repairs


def test_a_value_of_a_type_to_come_is_left_empty() -> None:
    """An AnyValue that holds a field which is not known yet is empty, and counted."""
    span = span_of(made(attributes={})).SerializeToString() + field(9, field(1, b"k") + field(2, field(15, b"new")))
    outcome = read_hex(request(span))
    assert {"k": None} == outcome.records[0].attributes


def test_a_value_given_twice_is_read_with_care() -> None:
    """A value that is followed by another in the same place is not read as one long text."""
    twice = field(1, b"first") + field(1, b"x" * 60)
    span = span_of(made(attributes={})).SerializeToString() + field(9, field(1, b"k") + field(2, twice))
    assert {"k": "x" * 60} == read_hex(request(span)).records[0].attributes
