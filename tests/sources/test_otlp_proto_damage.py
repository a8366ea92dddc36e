"""OTLP in protobuf: what is broken costs only itself, and memory follows what is in flight."""

from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanwise import sources
from spanwise.model.raw import RawSpan
from spanwise.sources import Limits, otlp_proto
from tests.sources.otlp import Outcome, made
from tests.sources.otlp_messages import (
    changed,
    delimited,
    field,
    prefixed,
    read_hex,
    request,
    span_of,
    traces_of,
    varint,
)

TWO = [made("a"), made("b", events=(), links=())]


# What is refused, each alone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: setattr(s, "trace_id", b"short"),
            ".traceId: the span is left out: the id '73686f7274' is not 32 hexadecimal digits",
        ),
        (lambda s: setattr(s, "trace_id", bytes(16)), ".traceId: the span is left out: the id is all zeros"),
        (lambda s: setattr(s, "span_id", bytes(8)), ".spanId: the span is left out: the id is all zeros"),
        (lambda s: setattr(s, "span_id", b""), ".spanId: the span is left out: the id is missing"),
    ],
)
def test_an_unusable_span_costs_only_itself(change: Callable[[Span], object], message: str) -> None:
    """A span that cannot be used is named with its place and its reason, and the others are kept."""
    outcome = changed(change)
    assert [f"made, byte 0, resource_spans[0].scope_spans[0].spans[1]{message}"] == outcome.messages
    assert (["before", "after"], 1, True) == (outcome.names, outcome.tally.refused, outcome.adds_up())


def test_a_broken_span_costs_only_itself() -> None:
    """A span that is no message is named; the others are kept."""
    good = span_of(made("good")).SerializeToString()
    outcome = read_hex(request(good, good[:-3], good))
    assert (["good", "good"], ["byte 0, resource_spans[0].scope_spans[0].spans[1]"]) == (
        outcome.names,
        [error.place for error in outcome.errors],
    )


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        (field(1, field(2, b"\xff\xff")), "resource_spans[1].scope_spans[0]"),
        (field(1, field(1, b"\x0a\x7f") + field(2, field(2, b""))), "resource_spans[1]"),
        (field(1, field(2, field(1, b"\xff"))), "resource_spans[1].scope_spans[0]"),
    ],
    ids=["scope", "resource", "scope's name"],
)
def test_a_broken_scope_or_resource_costs_only_itself(broken: bytes, place: str) -> None:
    """A resource or scope that is no message is named with all that it held; the others are kept."""
    good = traces_of(TWO).SerializeToString()
    outcome = read_hex(good + broken + good)
    assert ([*TWO, *TWO], [f"byte 0, {place}"], True) == (
        outcome.records,
        [error.place for error in outcome.errors],
        outcome.adds_up(),
    )


def test_a_broken_record_of_a_stream_costs_only_itself() -> None:
    """Records that are no messages, or broken zstd or JSON, are named by their bytes; the others are kept."""
    good = traces_of(TWO).SerializeToString()
    bad = [b"\xff" * 40, zstandard.compress(good)[:-4], b'{"resourceSpans": [', b'{"a": 1}']
    outcome = read_hex(prefixed(good, *bad, good))
    assert ([*TWO, *TWO], 4, True) == (outcome.records, outcome.tally.refused, outcome.adds_up())
    starts = [4 + len(good)]
    for record in bad[:-1]:
        starts.append(starts[-1] + 4 + len(record))
    assert [f"byte {start}" for start in starts] == [error.place.partition(",")[0] for error in outcome.errors]


def test_a_compressed_record_may_not_expand_without_end() -> None:
    """A record that expands beyond the limit is refused by itself."""
    good = zstandard.compress(traces_of(TWO).SerializeToString())
    bomb = zstandard.compress(b"\x0a" * 50_000_000)
    outcome = read_hex(prefixed(good, bomb, good), limits=Limits(record_bytes=1_000_000))
    assert ([*TWO, *TWO], 1) == (outcome.records, outcome.tally.refused)
    assert "a compressed record expands to more than 1,000,000 bytes" == outcome.errors[0].message


# What ends the reading of a file


@pytest.mark.parametrize("frame", [prefixed, delimited, lambda *records: b"".join(records)])
def test_a_cut_file_gives_what_came_before(frame: Callable[..., bytes]) -> None:
    """Of a file that is cut off within a record, the whole records are given; the error names the cut one."""
    records = [traces_of([made(f"span {i}")]).SerializeToString() for i in range(5)]
    whole = len(frame(*records[:4]))
    outcome = read_hex(frame(*records)[:-10])
    assert ([f"span {i}" for i in range(4)], f"made, byte {whole}: the file ends in the middle of a record") == (
        outcome.names,
        str(outcome.failure),
    )


def test_a_length_that_cannot_be_is_an_error() -> None:
    """A length beyond the limit ends the reading instead of filling the memory."""
    content = prefixed(traces_of(TWO).SerializeToString()) + b"\xff\xff\xff\xff" + bytes(100)
    outcome = read_hex(content)
    assert TWO == outcome.records
    assert "a record is said to have 4,294,967,295 bytes, more than the limit" == outcome.failure.message


def test_a_message_that_goes_wrong_is_an_error() -> None:
    """A file without lengths that stops making sense raises one error that names the place."""
    good = traces_of(TWO).SerializeToString()
    outcome = read_hex(good + b"\xff" * 20)
    assert TWO == outcome.records
    assert f"byte {len(good)}" == outcome.failure.place


def test_length_without_end_is_an_error() -> None:
    """A length that is no number ends the reading of a delimited stream."""
    good = traces_of(TWO).SerializeToString()
    outcome = read_hex(delimited(good) + b"\xff" * 20)
    assert (TWO, f"byte {len(delimited(good))}") == (outcome.records, outcome.failure.place)


def test_other_bytes_are_not_taken() -> None:
    """OTLP is known by fields within fields; text, images and empty files are not taken for it."""
    heads = [
        b"",
        b"\n",
        b"\n\n\n\n\n\nsome text",
        b"\nx\n  more text\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"PK\x03\x04\x14\x00\x00\x00\x08\x00",
        b"PAR1\x15\x04\x15\x10",
        b"SQLite format 3\x00",
        b'{"a": 1}',
        bytes(64),
        b"\x0a\x05hello",
        b"\x08\x01\x12\x03abc",
    ]
    assert [] == [head for head in heads if otlp_proto.sniff(head, "x.bin")]


def test_protobuf_is_not_needed_until_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without protobuf installed, the error says what to install."""
    monkeypatch.setitem(sys.modules, "spanwise.sources._otlp_binary", None)
    outcome = Outcome(traces_of(TWO).SerializeToString())
    assert (
        "reading protobuf needs the package opentelemetry-proto: pip install 'spanwise[cli]'" == outcome.failure.message
    )


# Streaming, and nothing raises


class Parts:
    """A stream that is made while it is read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts

    def read(self, size: int) -> bytes:
        """The next part, whatever its size."""
        return next(self._parts, b"")


@pytest.mark.parametrize("framing", ["records", "one scope", "many resources"])
def test_memory_follows_what_is_in_flight(framing: str) -> None:
    """Fifty megabytes of records with lengths, or of one message, are read in a few megabytes."""
    span = field(2, span_of(made(attributes={"text": "x" * 6000})).SerializeToString()) * 20
    count = 50_000_000 // len(span)
    if framing == "one scope":
        scope = b"\x12" + varint(len(span) * count)
        opening = b"\x0a" + varint(len(scope) + len(span) * count) + scope
        content = itertools.chain([opening], itertools.repeat(span, count))
    else:
        frame = prefixed if framing == "records" else bytes
        content = itertools.repeat(frame(field(1, field(2, span))), count)
    tracemalloc.start()
    try:
        read = sum(1 for _ in sources.read(Parts(content)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (count * 20, True) == (read, count > 300)
    assert peak < 12_000_000


def large(*, late: bool = False) -> tuple[bytes, list[RawSpan]]:
    """A request that must be taken apart down to its spans, with a resource and a scope before them, or behind."""
    spans = [made(f"{i}", attributes={"text": "x" * (i % 500) * 10}) for i in range(1500)]
    resource = traces_of(spans).resource_spans[0]
    described = field(1, resource.resource.SerializeToString())
    named = field(1, resource.scope_spans[0].scope.SerializeToString())
    items = b"".join(field(2, span.SerializeToString()) for span in resource.scope_spans[0].spans)
    scope = field(2, items + named if late else named + items)
    return field(1, scope + described if late else described + scope), spans


def test_a_large_message_is_taken_apart() -> None:
    """A message that is too large to be decoded at once gives the same spans, with their resource and scope."""
    content, spans = large()
    outcome = read_hex(content + traces_of([made("small")]).SerializeToString())
    assert len(content) > 3_000_000
    assert ([*spans, made("small")], [], {}, True) == (
        outcome.records,
        outcome.messages,
        outcome.tally.repairs,
        outcome.adds_up(),
    )
    assert outcome.records[0].scope is outcome.records[1499].scope


def test_what_describes_a_large_message_must_stand_before_it() -> None:
    """Where a resource or scope stands behind spans that are handed out already, this is counted."""
    content, spans = large(late=True)
    outcome = read_hex(content)
    assert [span.name for span in spans] == outcome.names
    assert {"resource or scope that stands behind its spans: not applied to them": 2} == outcome.tally.repairs


def test_a_large_message_that_is_cut_gives_what_came_before() -> None:
    """Of a large message that is cut off, the spans before the cut are given."""
    content, spans = large()
    outcome = read_hex(content[:3_000_000])
    assert outcome.failure.message in {"the file ends in the middle of a record"}
    assert 1000 < len(outcome.records) < 1500
    assert spans[: len(outcome.records)] == outcome.records


def test_a_span_beyond_the_limit_ends_the_reading() -> None:
    """A single span that is larger than allowed is an error, not a full memory."""
    content = traces_of([made(attributes={"x": "y" * 3_000_000})]).SerializeToString()
    outcome = read_hex(content, limits=Limits(record_bytes=1_000_000))
    assert "more than the limit" in outcome.failure.message


def test_fields_that_outgrow_their_message_are_an_error() -> None:
    """A span that claims to go on beyond its scope ends the reading with one error."""
    content, spans = large()
    span = span_of(spans[1400]).SerializeToString()
    outcome = read_hex(content.replace(varint(len(span)) + span, varint(900_000) + span))
    assert "a field goes on beyond the message that holds it" == outcome.failure.message
    assert spans[: len(outcome.records)] == outcome.records


@given(data=st.data())
def test_any_damage_raises_nothing_else(data: st.DataObject) -> None:
    """A file damaged anywhere raises nothing but SourceError, gives no span twice, and its counts add up."""
    records = [traces_of([made(f"{i}"), made(f"{i}b", events=())]).SerializeToString() for i in range(3)]
    frame = data.draw(st.sampled_from([prefixed, delimited, lambda *parts: b"".join(parts)]))
    content = bytearray(frame(*records))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=5))
    outcome = Outcome(bytes(content))
    assert outcome.adds_up()
    assert len(outcome.records) <= 6


@given(value=st.binary(max_size=60))
def test_any_value_is_read_as_the_official_classes_do(value: bytes) -> None:
    """Any bytes in the place of a value are read as protobuf reads them, or cost at most their own span."""
    span = span_of(made("odd", attributes={})).SerializeToString() + field(9, field(1, b"k") + field(2, value))
    outcome = read_hex(request(span, span_of(made("after")).SerializeToString()))
    assert outcome.adds_up()
    try:
        expected = AnyValue.FromString(value)
    except Exception:  # noqa: BLE001 - whatever protobuf raises, it does not read this
        return
    if expected.WhichOneof("value") in {"string_value", "bool_value", "int_value"}:
        assert getattr(expected, expected.WhichOneof("value")) == outcome.records[0].attributes["k"]
