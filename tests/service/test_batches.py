"""Requests as batches: what is taken, left out, rejected and refused, and that packed spans are the spans they were."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from spanwise.assembly.assembler import SERVICE, Assembler
from spanwise.assembly.links import fullness
from spanwise.catalog import EVALUATORS
from spanwise.model.raw import LogEvent, PackedSpan, RawSpan
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from spanwise.service.batches import Batch, BatchError, decode
from spanwise.sources._otlp_binary import BinaryReader
from spanwise.sources._source import Intake
from tests.service.encoding import otlp_json, recorded_names, recorded_request
from tests.service.receivers import START_NS, logs_request, traces_request

TRACE, FIRST, SECOND = (1).to_bytes(16, "big"), (1).to_bytes(8, "big"), (2).to_bytes(8, "big")


def _unpacked(batch: Batch) -> list[RawSpan | LogEvent]:
    return [one.unpack() if isinstance(one, PackedSpan) else one for one in batch.records]


def test_spans_in_protobuf_stay_packed() -> None:
    """A sound request in protobuf gives packed spans, which know ids, times and scope, and unpack to all the rest."""
    batch = decode("traces", "protobuf", traces_request(2).SerializeToString())
    first, second = batch.records
    assert isinstance(first, PackedSpan)
    assert isinstance(second, PackedSpan)
    assert (TRACE, FIRST, None) == (first.trace_id, first.span_id, first.parent_id)
    assert (SECOND, FIRST) == (second.span_id, second.parent_id)
    assert (START_NS + 2, START_NS + 998) == (second.start_ns, second.end_ns)
    assert second.unpack().attributes == {"gen_ai.operation.name": "execute_tool", "text": "hello"}
    assert (0, 0, "") == (batch.own, batch.rejected, batch.why)


def test_what_packed_spans_stood_in_is_kept_once() -> None:
    """Spans of equal scopes share what they stood in, also across requests; other schemas are other scopes."""
    request = traces_request(2)
    first, second = decode("traces", "protobuf", request.SerializeToString()).records
    (again, _) = decode("traces", "protobuf", request.SerializeToString()).records
    request.resource_spans[0].schema_url = "https://schemas/1"
    (other, _) = decode("traces", "protobuf", request.SerializeToString()).records
    assert isinstance(first, PackedSpan)
    assert isinstance(second, PackedSpan)
    assert isinstance(again, PackedSpan)
    assert isinstance(other, PackedSpan)
    assert first.frame is second.frame is again.frame
    assert first.frame.resource + b"\x1a\x11https://schemas/1" == other.frame.resource
    assert (first.scope, first.frame.scope) == (other.scope, other.frame.scope)


@pytest.mark.parametrize("where", ["trace_state", "link", "scope", "schema_url"])
def test_what_nobody_reads_is_sound_too(where: str) -> None:
    """Text that is none, where only others would stumble over it, is not kept to be sent on to them."""
    request = traces_request(1)
    scoped = request.resource_spans[0].scope_spans[0]
    mark = "not-text"
    if where == "trace_state":
        scoped.spans[0].trace_state = mark
    elif where == "link":
        scoped.spans[0].links.add(trace_id=TRACE, span_id=FIRST, trace_state=mark)
    elif where == "scope":
        scoped.scope.attributes.add(key="a").value.string_value = mark
    else:
        scoped.schema_url = mark
    sound = request.SerializeToString()
    (record,) = decode("traces", "protobuf", sound).records
    assert isinstance(record, PackedSpan)
    (record,) = decode("traces", "protobuf", sound.replace(mark.encode(), b"\xff\xfe-text!")).records
    assert isinstance(record, RawSpan)


def test_a_span_that_had_to_be_mended_is_known() -> None:
    """What cannot be sent on as it came says so once it was unpacked, and unpacks to the same again."""
    request = traces_request(1)
    request.resource_spans[0].scope_spans[0].spans[0].kind = 77
    (record,) = decode("traces", "protobuf", request.SerializeToString()).records
    assert isinstance(record, PackedSpan)
    assert record.frame.whole
    first = record.unpack()
    assert (False, first) == (record.frame.whole, record.unpack())


def test_both_encodings_give_the_same_records() -> None:
    """Whether a request comes in protobuf or in JSON, its records are the same, with ids as bytes."""
    request = traces_request(3)
    link = request.resource_spans[0].scope_spans[0].spans[1].links.add()
    link.trace_id, link.span_id = bytes(range(1, 17)), bytes(range(1, 9))
    batch = decode("traces", "json", otlp_json(request))
    assert _unpacked(decode("traces", "protobuf", request.SerializeToString())) == _unpacked(batch)
    logs = logs_request(linked=2)
    assert (
        decode("logs", "protobuf", logs.SerializeToString()).records == decode("logs", "json", otlp_json(logs)).records
    )


def test_a_parent_that_is_no_id_stays_a_parent() -> None:
    """A parent's id in JSON that is no hexadecimal makes no root of the span."""
    body = json.loads(otlp_json(traces_request(2)))
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["parentSpanId"] = "not hex!"
    batch = decode("traces", "json", json.dumps(body).encode())
    assert b"not hex!" == batch.records[1].parent_id


@pytest.mark.parametrize("content", ["protobuf", "json"])
@pytest.mark.parametrize("scope", ["spanwise.evaluation", "spanwise.judge"])
def test_our_own_spans_are_left_out(content: str, scope: str) -> None:
    """What Spanwise itself emitted is left out and counted: otherwise scores would be scored."""
    request = traces_request(3)
    request.MergeFrom(traces_request(2, scope=scope))
    body = request.SerializeToString() if content == "protobuf" else otlp_json(request)
    batch = decode("traces", content, body)
    assert (3, 2, 0) == (len(batch.records), batch.own, batch.rejected)


def test_our_own_events_are_left_out() -> None:
    """Score events that a Collector sends back to us are left out and counted."""
    request = logs_request(linked=2, unlinked=0)
    request.resource_logs[0].scope_logs[0].scope.name = "spanwise.evaluation"
    batch = decode("logs", "protobuf", request.SerializeToString())
    assert ([], 2) == (list(batch.records), batch.own)


@pytest.mark.parametrize("content", ["protobuf", "json"])
def test_log_records_without_ids_are_ignored(content: str) -> None:
    """A log record that belongs to no span is no GenAI event: it is neither kept nor rejected."""
    request = logs_request(linked=1, unlinked=3)
    batch = decode("logs", content, request.SerializeToString() if content == "protobuf" else otlp_json(request))
    assert (1, 0, 0) == (len(batch.records), batch.own, batch.rejected)


@pytest.mark.parametrize("content", ["protobuf", "json"])
@pytest.mark.parametrize("damage", ["trace_id", "span_id"])
def test_a_span_without_ids_is_rejected(content: str, damage: str) -> None:
    """Of a span without an id nobody can say to which trace it belongs: it is rejected with a word, the others stay."""
    request = traces_request(3)
    request.resource_spans[0].scope_spans[0].spans[1].ClearField(damage)
    batch = decode("traces", content, request.SerializeToString() if content == "protobuf" else otlp_json(request))
    assert (2, 1) == (len(batch.records), batch.rejected)
    assert "the id is missing" in batch.why


def test_all_spans_without_ids_are_rejected_not_malformed() -> None:
    """A sound request of which nothing is usable is no malformed one."""
    request = traces_request(2)
    for span in request.resource_spans[0].scope_spans[0].spans:
        span.trace_id = bytes(16)
    batch = decode("traces", "protobuf", request.SerializeToString())
    assert ([], 2) == (list(batch.records), batch.rejected)


@pytest.mark.parametrize("content", ["protobuf", "json"])
def test_an_empty_request_is_taken(content: str) -> None:
    """A request that holds nothing is sound."""
    assert not decode("traces", content, b"" if content == "protobuf" else b"{}").records


@pytest.mark.parametrize(
    ("content", "payload"),
    [
        ("protobuf", b"\x0a\xff\xff\xff\xff\x0f"),
        ("protobuf", b"hello, this is no protobuf"),
        ("protobuf", b"\x08\x01"),
        ("protobuf", b"\x0a\x03abc"),
        ("protobuf", b'{"resourceSpans": []}'),
        ("json", b""),
        ("json", b"{"),
        ("json", b"[1, 2]"),
        ("json", b'{"a": 1}'),
        ("json", b'{"resourceMetrics": [{}]}'),
        ("json", b"\x0a\x00"),
        ("json", b"[" * 100_000),
    ],
)
def test_what_is_not_otlp_is_refused(content: str, payload: bytes) -> None:
    """What is no request of this signal and encoding raises an error of one sentence."""
    with pytest.raises(BatchError) as caught:
        decode("traces", content, payload)
    assert str(caught.value)


def test_a_request_of_another_signal_is_told() -> None:
    """Log records at the address of spans are rejected, spans at the address of log records too."""
    batch = decode("traces", "json", otlp_json(logs_request(linked=2, unlinked=0)))
    assert ([], 2) == (list(batch.records), batch.rejected)
    assert "other records than spans" in batch.why
    assert 2 == decode("logs", "json", otlp_json(traces_request(2))).rejected


def test_invalid_utf8_in_an_attribute_costs_no_span() -> None:
    """Text that is no UTF-8, which other languages' SDKs let through, is mended when the span is unpacked."""
    payload = traces_request(2, text="ABCDEF").SerializeToString().replace(b"ABCDEF", b"AB\xff\xfeEF", 1)
    batch = decode("traces", "protobuf", payload)
    first, second = _unpacked(batch)
    assert ["AB\ufffd\ufffdEF", "ABCDEF"] == [first.attributes["text"], second.attributes["text"]]


def test_a_broken_attribute_marks_its_span() -> None:
    """An attribute whose bytes are broken is found when the span is unpacked: the span stays, and says it lost some."""
    request = traces_request(1, text="ABCDEF").SerializeToString()
    at = request.index(b"ABCDEF")
    payload = request[: at - 1] + b"\x7f" + request[at:]
    (record,) = decode("traces", "protobuf", payload).records
    assert isinstance(record, PackedSpan)
    span = record.unpack()
    assert (TRACE, FIRST, START_NS + 1, 1) == (span.trace_id, span.span_id, span.start_ns, span.dropped)


def test_an_odd_span_is_mended_when_it_is_unpacked() -> None:
    """A span kind or status that OTLP does not know costs nothing but itself."""
    request = traces_request(1)
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.kind, span.start_time_unix_nano = 17, 0
    span.status.CopyFrom(Status(code=9))
    (record,) = decode("traces", "protobuf", request.SerializeToString()).records
    assert START_NS + 999 == record.start_ns
    assert (START_NS + 999, 0, 0) == (record.unpack().start_ns, record.unpack().span_kind, record.unpack().status_code)


def test_the_fuller_of_two_packed_spans_stays() -> None:
    """Of two packed spans with one id the fuller stays, as of any other two."""
    small = decode("traces", "protobuf", traces_request(1).SerializeToString()).records[0]
    request = traces_request(1)
    request.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="more").value.int_value = 1
    large = decode("traces", "protobuf", request.SerializeToString()).records[0]
    assert fullness(large) > fullness(small)
    for pair in ((small, large), (large, small)):
        assembler = Assembler(SERVICE)
        for record in pair:
            assembler.add(record, 0)
        (finished,) = assembler.drain(0)
        assert "more" in finished.trace.spans[0].raw.attributes


def _documents(records: Sequence[RawSpan | PackedSpan]) -> list[object]:
    assembler = Assembler(SERVICE)
    for record in records:
        assembler.add(record, 0)
    evaluators = {name: make() for name, make in EVALUATORS.items() if name in {"redundancy", "latency", "loops"}}
    runs = [run for finished in assembler.drain(0) for run in finished.trace.runs]
    return [to_contract(evaluate(run, evaluators)) for run in runs]


@pytest.mark.parametrize("name", recorded_names())
def test_packed_spans_are_the_spans_they_were(name: str) -> None:
    """For every recording, packed spans unpack to what decoding at once gives, and make the same traces and JSON."""
    payload = recorded_request(name)
    at_once = BinaryReader(Intake(source=name, on_error=_fail)).traces(payload)
    packed = decode("traces", "protobuf", payload).records
    assert all(isinstance(one, PackedSpan) for one in packed)
    assert at_once == [one.unpack() for one in packed]
    assert _documents(at_once) == _documents(packed)


def _fail(error: Exception) -> None:
    raise error


@given(cut=st.integers(0, 600), flips=st.lists(st.tuples(st.integers(0, 599), st.integers(0, 255)), max_size=6))
def test_damage_never_raises_anything_else(cut: int, flips: list[tuple[int, int]]) -> None:
    """Whatever happens to the bytes of a request, it is a batch or a BatchError, and what it gave can be unpacked."""
    for content, body in (("protobuf", traces_request(3).SerializeToString()), ("json", otlp_json(traces_request(2)))):
        damaged = bytearray(body[: len(body) - cut % len(body)])
        for at, value in flips:
            if at < len(damaged):
                damaged[at] = value
        for signal in ("traces", "logs"):
            _survives(lambda s=signal, c=content, d=bytes(damaged): decode(s, c, d))


def _survives(make: Callable[[], Batch]) -> None:
    try:
        batch = make()
    except BatchError:
        return
    assembler = Assembler(SERVICE)
    for record in batch.records:
        assembler.add(record, 0)
    assembler.drain(0)
