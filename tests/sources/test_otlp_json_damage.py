"""OTLP/JSON: what is broken costs only itself, and memory follows what is in flight."""

from __future__ import annotations

import io
import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import sources
from spanwise.model.raw import EMPTY, RawEvent, RawSpan, Scope
from spanwise.sources import Limits, otlp_json
from tests.sources.otlp import (
    SPAN,
    Outcome,
    dump,
    edited,
    json_document,
    json_span,
    made,
)

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> Outcome:
    """What a document gives whose middle span of three was changed by hand."""
    return Outcome(dump(edited(change)))


def put(**fields: object) -> Change:
    """Change these fields of a span."""
    return lambda span: span.update(fields)


@pytest.mark.parametrize(
    ("fields", "message", "part"),
    [
        ({"traceId": "12"}, "the id '12' is not 32 hexadecimal digits", "traceId"),
        ({"traceId": "g" * 32}, f"the id '{'g' * 32}' is not 32 hexadecimal digits", "traceId"),
        ({"traceId": "0" * 32}, "the id is all zeros", "traceId"),
        ({"spanId": "0" * 16}, "the id is all zeros", "spanId"),
        ({"spanId": SPAN + "00"}, f"the id '{SPAN}00' is not 16 hexadecimal digits", "spanId"),
        ({"spanId": "AAAAAAAAAAA="}, "the id is all zeros", "spanId"),
        ({"spanId": "?AAAAAAAAAA="}, "the id '?AAAAAAAAAA=' is not 16 hexadecimal digits", "spanId"),
        ({"spanId": None}, "the id is missing", "spanId"),
        ({"spanId": 17}, "the id is a number, not text", "spanId"),
        (
            {"startTimeUnixNano": "yesterday"},
            "the time 'yesterday' is not a number of nanoseconds",
            "startTimeUnixNano",
        ),
        ({"startTimeUnixNano": 1.5}, "the time '1.5' is not a number of nanoseconds", "startTimeUnixNano"),
        ({"endTimeUnixNano": True}, "the time 'True' is not a number of nanoseconds", "endTimeUnixNano"),
        ({"attributes": "none"}, "a list is expected here, found text", "attributes"),
        ({"events": {"a": 1}}, "a list is expected here, found an object", "events"),
    ],
    ids=str,
)
def test_an_unusable_span_costs_only_itself(fields: dict[str, Any], message: str, part: str) -> None:
    """A span that cannot be used is named with its place and its reason, and the others are kept."""
    outcome = changed(put(**fields))
    place = f"$.resourceSpans[0].scopeSpans[0].spans[1].{part}"
    assert [f"made, {place}: the span is left out: {message}"] == outcome.messages
    assert (["before", "after"], 1, True) == (outcome.names, outcome.tally.refused, outcome.adds_up())


def test_an_item_that_is_no_object_costs_only_itself() -> None:
    """Numbers and text among the spans are named, and the spans are kept."""
    document = json_document([made("a"), made("b")])
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].insert(1, 17)
    document["resourceSpans"].insert(0, None)
    document["resourceSpans"].append({"scopeSpans": "none"})
    outcome = Outcome(dump(document))
    assert ["a", "b"] == outcome.names
    assert [
        "made, $.resourceSpans[0]: an object is expected here",
        (
            "made, $.resourceSpans[1].scopeSpans[0].spans[1]: the span is left out: "
            "an object is expected here, found a number"
        ),
        "made, $.resourceSpans[2].scopeSpans: a list is expected here",
    ] == outcome.messages


def test_a_span_nested_without_end_costs_only_itself() -> None:
    """Ten thousand levels within one span neither raise nor recurse; the other spans are kept."""
    deep = "[" * 10_000 + "]" * 10_000
    text = dump(edited(put(extra="DEEP"))).replace(b'"DEEP"', deep.encode())
    outcome = Outcome(text)
    assert ["before", "after"] == outcome.names
    assert [
        "made, $.resourceSpans[0].scopeSpans[0].spans[1]: the span is not valid JSON, or nested too deeply"
    ] == outcome.messages


def test_broken_json_within_a_span_costs_only_itself() -> None:
    """A span whose brackets match but which is no JSON is named; the other spans are kept."""
    outcome = Outcome(dump(edited(put(extra="HERE"))).replace(b'"HERE"', b"{nonsense}"))
    assert (["before", "after"], 1) == (outcome.names, len(outcome.errors))


def test_a_broken_line_costs_only_itself() -> None:
    """Lines that are cut off, no JSON, or no OTLP are named by their numbers; the others are kept."""
    good = dump(json_document([made()])).strip()
    outcome = Outcome(b"\n".join([good, good[:-30], b"not json", b'{"a": 1}', b"17", good]) + b"\n")
    assert (2, 4, True) == (len(outcome.records), outcome.tally.refused, outcome.adds_up())
    assert ["line 2", "line 3", "line 4", "line 5"] == [error.place.partition(",")[0] for error in outcome.errors]


def test_the_first_line_may_be_the_broken_one() -> None:
    """Lines are known as lines even where the first is cut off within a value."""
    good = dump(json_document([made()])).strip()
    outcome = Outcome(b"\n".join([good[: good.index(b"chat")], good, good]))
    assert (2, ["line 1"]) == (len(outcome.records), [error.place.partition(",")[0] for error in outcome.errors])


# What ends the reading of a file


@pytest.mark.parametrize("indent", [None, 1], ids=["compact", "indented"])
def test_a_cut_document_gives_what_came_before(indent: int | None) -> None:
    """Of a document that is cut off, the whole spans are given; the error names the byte where it ends."""
    text = dump(json_document([made(f"span {i}") for i in range(500)]), indent=indent)
    outcome = Outcome(text[: len(text) // 2])
    assert (f"made, byte {len(text) // 2}: the JSON ends in the middle", True) == (
        str(outcome.failure),
        outcome.adds_up(),
    )
    assert 200 < len(outcome.records) < 260


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"resourceSpans": [}', "made, byte 19: this is not valid JSON: a value is expected here"),
        (b'{"resourceSpans": [] "x"}', "made, byte 21: this is not valid JSON: a comma or '}' is expected here"),
        (b'{"resourceSpans": [], 7}', "made, byte 22: this is not valid JSON: a key in quotes is expected here"),
        (b'{"resourceSpans": [], "x" 7}', "made, byte 26: this is not valid JSON: a colon is expected here"),
        (b'{"a": {}, "resourceSpansX": []}', "made: the file is of no known format"),
        (b'[{"a": "\\"resourceSpans\\":"}]', "made: the file is of no known format"),
        (b'{"a": {"resourceSpans": []}}', "made: this is not OTLP: it holds neither resourceSpans nor resourceLogs"),
    ],
    ids=str,
)
def test_what_is_no_otlp_is_one_error(text: bytes, message: str) -> None:
    """A file that is broken JSON, or JSON but not OTLP, raises one error that names it."""
    outcome = Outcome(text)
    assert outcome.failure is not None
    assert (str(outcome.failure)[: len(message)], [], []) == (message, outcome.records, outcome.errors)


def test_one_strange_document_among_others_costs_only_itself() -> None:
    """In a list of documents, one that is not OTLP is named by its place."""
    outcome = Outcome(dump([json_document([made()]), {"a": 1}, json_document([made()])]))
    assert (2, ["$[1]"]) == (len(outcome.records), [error.place for error in outcome.errors])


def test_too_long_a_line_costs_only_itself() -> None:
    """A line beyond the limit is refused without being held, and the lines after it are read."""
    good = dump(json_document([made()]))
    long = dump(json_document([made(attributes={"x": "y" * 3_000_000})]))
    outcome = Outcome(good + long + good, limits=Limits(record_bytes=1_500_000))
    assert (2, ["made, line 2: the line is longer than 1,500,000 bytes"]) == (len(outcome.records), outcome.messages)


def test_too_large_a_span_ends_the_reading() -> None:
    """A span beyond the limit, in a document, is an error and not a full memory."""
    text = dump(json_document([made(attributes={"x": "y" * 9_000_000})]))
    outcome = Outcome(text, limits=Limits(record_bytes=1_000_000))
    assert "a value is larger than 1,000,000 bytes, which is the limit" == outcome.failure.message


# Streaming


def many(count: int) -> list[RawSpan]:
    """Spans of different sizes, with what a decoder could trip over in their texts."""
    trap = '"},{"traceId":"x", ]}]} \\" {"traceId": '
    return [made(f"span {i}", attributes={"i": i, "text": trap * (i % 7), "links": [trap]}) for i in range(count)]


@pytest.mark.parametrize("indent", [None, 1], ids=["compact", "indented"])
@pytest.mark.parametrize("piece", [1, 7, 4096, 1 << 20])
def test_pieces_of_any_size_give_the_same(piece: int, indent: int | None) -> None:
    """However a stream is cut into pieces, the document gives the same spans."""
    count = 20 if piece < 100 else 2000

    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(piece, size if size and size > 0 else piece))

    text = dump(json_document(many(count)), indent=indent)
    assert many(count) == list(sources.read(Dripping(text)))


def test_lists_of_spans_may_be_short() -> None:
    """Many small lists give what one long list gives, each span with its own scope."""
    groups = [json_document([span], scope=Scope(f"scope {i}", "", {})) for i, span in enumerate(many(300))]
    document = {"resourceSpans": [resource for group in groups for resource in group["resourceSpans"]]}
    outcome = Outcome(dump(document))
    assert [f"scope {i}" for i in range(300)] == [span.scope.name for span in outcome.records]
    assert ([span.attributes for span in many(300)], {}) == (
        [span.attributes for span in outcome.records],
        outcome.tally.repairs,
    )


class Endless(io.RawIOBase):
    """A stream of bytes that are made while they are read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""
        self.given = 0

    def readable(self) -> bool:
        """It is read only."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        taken, self._rest = self._rest[:size], self._rest[size:]
        self.given += len(taken)
        return taken


@pytest.mark.parametrize("layout", ["lines", "document"])
def test_memory_follows_what_is_in_flight(layout: str) -> None:
    """A hundred megabytes of lines, or of one document, are read in a few megabytes."""
    span = json_span(made(attributes={"text": "x" * 6000}))
    one = json.dumps(span).encode()
    if layout == "lines":
        line = dump(json_document([made(attributes={"text": "x" * 6000})] * 100))
        parts = iter([line] * (100_000_000 // len(line)))
    else:
        body = itertools.chain([one], itertools.repeat(b"," + one, 100_000_000 // len(one)))
        parts = itertools.chain([b'{"resourceSpans":[{"scopeSpans":[{"spans":['], body, [b"]}]}]}"])
    stream = Endless(parts)
    tracemalloc.start()
    try:
        count = sum(1 for _ in sources.read(stream))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stream.given > 99_000_000
    assert count > 14_000
    assert peak < 16_000_000


# Nothing raises, nothing is lost


@given(text=st.binary(max_size=200))
def test_any_bytes_raise_nothing_else(text: bytes) -> None:
    """Whatever stands behind the start of an envelope, the only error is SourceError, and the counts add up."""
    assert Outcome(b'{"resourceSpans":[' + text).adds_up()


@given(data=st.data())
def test_any_damage_raises_nothing_else(data: st.DataObject) -> None:
    """A file damaged anywhere raises nothing but SourceError, gives no span twice, and its counts add up."""
    text = bytearray(
        dump(
            *[json_document([made(f"{i}"), made(f"{i}b", events=())]) for i in range(3)],
            indent=data.draw(st.sampled_from([None, 1])),
        )
    )
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=5))
    outcome = Outcome(bytes(text))
    assert outcome.adds_up()
    assert len(outcome.records) <= 6


values = st.recursive(
    st.none() | st.booleans() | st.text(max_size=8) | st.integers(-5, 5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(field=st.sampled_from([*json_span(made()), "body"]), value=values)
def test_any_value_in_any_field_raises_nothing_else(field: str, value: object) -> None:
    """A field of any type is read, repaired or refused; the other spans are read, and the counts add up."""
    outcome = changed(put(**{field: value}))
    assert outcome.adds_up()
    assert (True, None) == (set(outcome.names) >= {"before", "after"}, outcome.failure)


def test_head_of_other_json_is_not_taken() -> None:
    """OTLP is known by its lists, not by being JSON."""
    texts = [b'{"spans": []}', b'[{"trace_id": "x"}]', b'"resourceSpans":', b"", b'{"text": "\\"resourceSpans\\": []"}']
    assert [False] * 5 == [otlp_json.sniff(text, "x.json") for text in texts]


def test_events_without_a_name_are_kept() -> None:
    """Span events that say little are kept as they are."""
    outcome = changed(put(events=[{}, {"timeUnixNano": "7"}]))
    assert (RawEvent("", 0, EMPTY), RawEvent("", 7, EMPTY)) == outcome.records[1].events
