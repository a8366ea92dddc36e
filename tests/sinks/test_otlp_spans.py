"""Spans written as OTLP hold all that was recorded, and are forwarded with their scores, each once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise.assembly.tree import build_trace
from spanwise.errors import SinkError
from spanwise.model.raw import LogEvent, RawEvent, RawSpan, Scope
from spanwise.model.result import RunResult
from spanwise.sinks._otlp_spans import Forwarding
from spanwise.sinks.otlp import encode_spans
from spanwise.sources._otlp_packed import Packer
from tests.making import agent, span, span_id, tool, trace_id
from tests.sinks.langfuse_making import START, a_result, a_score, until
from tests.sinks.otlp_making import sink_to
from tests.sinks.otlp_server import Fault, OtlpServer, partial
from tests.sources.otlp import Outcome
from tests.sources.otlp_messages import read_hex
from tests.sources.test_otlp_proto import spans as any_spans


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    """A strict server."""
    with OtlpServer() as running:
        yield running


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """Where a sink's outbox can be."""
    return tmp_path / "out.db"


def by_id(records: Any) -> list[RawSpan]:
    """The spans in an order that does not depend on how they are grouped."""
    return sorted(records, key=lambda one: (one.trace_id, one.span_id))


def test_recordings_come_back_as_they_were(recordings: Path) -> None:
    """Every span of every recording is read from what was written as it was read first, without a repair."""
    seen = 0
    for path in sorted(recordings.glob("*.json")):
        if "resourceSpans" not in json.loads(path.read_bytes()):
            continue
        first = [one for one in Outcome(path.read_bytes()).records if isinstance(one, RawSpan)]
        again = read_hex(encode_spans(first))
        assert (by_id(first), {}, []) == (by_id(again.records), again.tally.repairs, again.messages), path.name
        seen += len(first)
    assert seen > 500


@given(found=st.lists(any_spans, min_size=1, max_size=4), names=st.lists(st.text(max_size=3), min_size=4, max_size=4))
def test_any_spans_come_back_as_they_were(found: list[RawSpan], names: list[str]) -> None:
    """Ids, times, status, kind, nested attributes, events, links, remote parents and counts of drops are all kept."""
    for one, name in zip(found, names, strict=False):
        one.scope = Scope(name.encode("utf-8", "replace").decode(), "", {"service.name": "x"})
    again = read_hex(encode_spans(found))
    assert sorted(map(repr, found)) == sorted(map(repr, again.records))
    assert ({}, []) == (again.tally.repairs, again.messages)


def test_ids_of_every_type() -> None:
    """Ids as hex text, bytes and whole numbers are the same on the wire; equal resources and scopes stand once."""
    text = span(7, parent=3, trace=trace_id(9), attributes={"n": 2**70, "s": "a\ud800b", "o": {"k": (1, None)}})
    as_bytes, as_int = span(7, parent=3), span(7, parent=3)
    as_bytes.trace_id, as_bytes.span_id, as_bytes.parent_id = (
        bytes(15) + b"\x09",
        bytes(7) + b"\x07",
        bytes(7) + b"\x03",
    )
    as_int.trace_id, as_int.span_id, as_int.parent_id = 9, 7, 3
    request = ExportTraceServiceRequest.FromString(encode_spans([text, as_bytes, as_int]))
    (found,) = (scope.spans for part in request.resource_spans for scope in part.scope_spans)
    assert {(text.trace_id, span_id(7), span_id(3))} == {
        (one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()) for one in found
    }
    assert [str(2**70), "a?b"] == [pair.value.string_value for pair in found[0].attributes[:2]]


@pytest.mark.parametrize("wrong", ["xyz", "", "0" * 16, b"123", 0, 1 << 64, -1])
def test_ids_that_otlp_cannot_have(wrong: Any) -> None:
    """A span with another id is refused, by name."""
    one = span(1)
    one.span_id = wrong
    with pytest.raises(SinkError, match="cannot be written as OTLP"):
        encode_spans([one])


def test_bytes_are_kept(recordings: Path) -> None:
    """A span that is still the bytes it came in leaves as those bytes, with what is added behind them."""
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    theirs = Span(
        trace_id=b"t" * 16, span_id=b"s" * 8, name="n", start_time_unix_nano=START, trace_state="a=b", flags=0x101
    )
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.append(theirs)
    packed, _ = Packer().pack(request.SerializeToString(), lambda scope: False)
    sent = ExportTraceServiceRequest.FromString(encode_spans(packed, {b"s" * 8: {"spanwise.score.overall": 0.5}}))
    (found,) = sent.resource_spans[0].scope_spans[0].spans
    assert {"spanwise.score.overall": 0.5} == {pair.key: pair.value.double_value for pair in found.attributes}
    del found.attributes[:]
    assert theirs == found


def test_spans_are_forwarded_with_their_scores(server: OtlpServer, outbox: Path) -> None:
    """All spans of a trace go to the other address, once; the scores of each run stand on its root."""
    sink = sink_to(server, outbox, spans_to=f"{server.url}/second")
    first = a_result(1, [a_score(value=0.25, reason="because")], runs=2, at=0)
    second = RunResult(run=first.run.trace.runs[1], scores=(a_score("latency", 0.5),))
    sink.emit([first, second])
    assert sink.flush(10)
    assert 2 == len(server.received.logs)
    spans = {one.span_id: one for one in server.received.spans}
    assert len(spans) == 4 == len(server.received.spans)
    roots = [spans[result.run.run_id].attributes for result in (first, second)]
    assert [(0.25, first.run.run_id, 1), (0.5, second.run.run_id, 1)] == [
        (root.get(f"spanwise.score.{name}"), root["spanwise.run.id"], root["spanwise.score.revision"])
        for root, name in zip(roots, ("overall", "latency"), strict=True)
    ]
    scored = [one for one in spans.values() if any(name.startswith("spanwise.") for name in one.attributes)]
    assert 2 == len(scored)
    sink.close()


def test_late_spans(server: OtlpServer, outbox: Path) -> None:
    """A later revision forwards the spans that came meanwhile, and none twice; its scores are told, not sent again."""
    sink = sink_to(server, outbox, spans_to=server.url)
    spans = [agent(1), tool(2, parent=1), tool(3, parent=1)]
    for one in spans:
        one.start_ns, one.end_ns = START + one.start_ns, START + one.end_ns
    for revision, count in ((1, 2), (2, 3), (3, 3)):
        run = build_trace(spans[0].trace_id, spans[:count]).runs[0]
        sink.emit([RunResult(run=run, scores=(a_score(),), revision=revision)])
        assert sink.flush(10)
    sink.emit([a_result(9, revision=2)])
    assert sink.flush(10)
    sink.close()
    assert [span_id(1), span_id(2), span_id(3)] == [one.span_id for one in server.received.spans]
    assert [1, 2, 3, 2] == [one.attributes["spanwise.score.revision"] for one in server.received.logs]
    stats = sink.stats().spans
    assert stats is not None
    counts = stats.counts
    assert (1, 3, 1, 3, 1) == (
        counts.traces,
        counts.spans,
        counts.late_spans,
        counts.late_scores,
        counts.forgotten,
    )


def test_what_another_process_forwarded(server: OtlpServer, outbox: Path) -> None:
    """Of a trace that was handed out before, only what came since is forwarded, though this sink never saw it."""
    spans = [agent(1), tool(2, parent=1), tool(3, parent=1)]
    for one in spans:
        one.start_ns, one.end_ns = START + one.start_ns, START + one.end_ns
    sink = sink_to(server, outbox, spans_to=server.url)
    for revision, count, late in ((1, 2, ()), (2, 3, (span_id(3),)), (3, 3, (span_id(3),))):
        run = build_trace(spans[0].trace_id, spans[:count]).runs[0]
        run.trace.late = frozenset(late)
        sink.emit([RunResult(run=run, scores=(a_score(),), revision=revision)])
    first = build_trace("7" * 32, spans[:1]).runs[0]
    first.trace.late = frozenset({span_id(1)})
    sink.emit([RunResult(run=first, scores=(a_score(value=0.5),), revision=2)])
    assert sink.flush(10)
    sink.close()
    assert [span_id(3), span_id(1)] == [one.span_id for one in server.received.spans]
    assert 0.5 == server.received.spans[1].attributes["spanwise.score.overall"]


def test_traces_of_long_ago_are_not_forwarded_twice() -> None:
    """Scores that come much later, as those of judges do, send no span again."""
    forwarding = Forwarding(most=2)
    results = [a_result(number) for number in range(1, 6)]
    for result in results:
        assert forwarding.parcels_of([result])
    assert [[]] * 5 == [forwarding.parcels_of([result]) for result in results]
    assert (5, 5) == (forwarding.counts.traces, forwarding.counts.late_scores)


def test_joined_log_records_are_no_events(server: OtlpServer, outbox: Path) -> None:
    """A log record that the trace was scored with is not forwarded as an event of a span."""
    root = agent(1)
    own = RawEvent("own", START, {})
    root.events, root.start_ns = (own,), START
    log = LogEvent(root.trace_id, root.span_id, RawEvent("gen_ai.choice", START, {}, {"content": "hi"}), root.scope)
    run = build_trace(root.trace_id, [root], events=[log]).runs[0]
    assert 2 == len(run.trace.spans[0].events)
    sink = sink_to(server, outbox, spans_to=server.url)
    sink.emit([RunResult(run=run, scores=(a_score(),))])
    assert sink.flush(10)
    sink.close()
    assert ["own"] == [event.name for one in server.received.spans for event in one.proto.events]


def test_large_traces_travel_in_parts(server: OtlpServer, outbox: Path) -> None:
    """A trace of some megabytes is sent in parcels, so that a server that takes less at once gets all of it."""
    server.fail = lambda kind, request: Fault(413) if request.ByteSize() > 600_000 else None
    spans = [agent(1), *(tool(number, parent=1, result="x" * 20_000) for number in range(2, 102))]
    for one in spans:
        one.start_ns, one.end_ns = START + one.start_ns, START + one.end_ns
    sink = sink_to(server, outbox, spans_to=server.url)
    sink.emit([RunResult(run=build_trace(spans[0].trace_id, spans).runs[0], scores=(a_score(),))])
    assert sink.flush(20)
    sink.close()
    assert {span_id(number) for number in range(1, 102)} == {one.span_id for one in server.received.spans}
    assert 101 == len(server.received.spans)


def test_what_the_other_server_does_not_take(server: OtlpServer, outbox: Path) -> None:
    """Rejected spans are counted as spans; traces with ids that OTLP cannot have are left out; scores go on."""
    server.fail = lambda kind, request: Fault(200, body=partial(kind, 1, "no")) if kind == "traces" else None
    strange = agent(1)
    strange.trace_id = "not-hex"
    run = build_trace("not-hex", [strange]).runs[0]
    sink = sink_to(server, outbox, spans_to=server.url)
    sink.emit([a_result(1), RunResult(run=run, scores=(a_score(),))])
    assert sink.flush(10)
    sink.close()
    stats = sink.stats()
    assert stats.spans is not None
    assert (2, 2, {}) == (len(server.received.logs), stats.delivered, stats.dropped)
    assert (1, 1, 1, {}) == (
        stats.spans.rejected,
        stats.spans.delivered,
        stats.spans.counts.unusable,
        stats.spans.dropped,
    )


def test_one_server_does_not_wait_for_the_other(server: OtlpServer, outbox: Path) -> None:
    """While the server for spans is away, scores arrive; the spans follow when it is back."""
    with OtlpServer() as other:
        other.down()
        sink = sink_to(server, outbox, spans_to=other.url)
        sink.emit([a_result(1)])
        assert until(lambda: len(server.received.logs) == 1)
        assert until(lambda: sink.stats().waiting == 0)
        stats = sink.stats().spans
        assert stats is not None
        assert 1 == stats.waiting
        other.up()
        assert sink.flush(10)
        sink.close()
        assert 2 == len(other.received.spans)
