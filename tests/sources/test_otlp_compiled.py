"""The compiled readers of OTLP: what they take is what the readers in Python give, and they decline the rest."""

from __future__ import annotations

import random
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.raw import EMPTY, RawEvent, RawLink, RawSpan
from spanwise.sources._interned import NAMES
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._otlp_typed import TypedReader
from tests.recordings_io import FOLDER
from tests.sources.otlp import SCOPE, dump, json_span, made
from tests.sources.otlp_messages import field, span_of, traces_of
from tests.sources.twins import (
    agree,
    all_agree,
    compiled_json,
    compiled_packed,
    compiled_protobuf,
    damaged,
    document,
    fuzz,
    silent,
    twins_json,
    twins_packed,
    twins_protobuf,
)

pytestmark = pytest.mark.skipif(WIRE is None, reason="the compiled part was not built here")

NAMES_OF_RECORDINGS = sorted(path.name.removesuffix(".facts.json") for path in FOLDER.glob("*.facts.json"))
TEXTS = st.one_of(
    st.text(max_size=70), st.sampled_from(["", "chat", 'say "no"\n\t\\', "née", "😀 x", "a" * 200, "null"])
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        TEXTS,
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-300, 300),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda held: st.one_of(st.lists(held, max_size=3), st.dictionaries(TEXTS, held, max_size=3)),
    max_leaves=8,
)
FIELDS = st.dictionaries(TEXTS, VALUES, max_size=5)
TIMES = st.integers(1, 2**63)


def ids(digits: int) -> st.SearchStrategy[str]:
    """Ids of so many hexadecimal digits."""
    return st.integers(1, 16**digits - 1).map(lambda number: f"{number:0{digits}x}")


SPANS = st.builds(
    RawSpan,
    ids(32),
    ids(16),
    st.one_of(st.none(), ids(16)),
    TEXTS,
    TIMES,
    st.one_of(st.just(0), TIMES),
    st.integers(0, 2),
    TEXTS,
    FIELDS,
    st.lists(st.builds(RawEvent, TEXTS, st.one_of(st.just(0), TIMES), FIELDS), max_size=2).map(tuple),
    st.just(SCOPE),
    st.lists(st.builds(RawLink, ids(32), ids(16), FIELDS), max_size=2).map(tuple),
    st.integers(0, 5),
    st.booleans(),
    st.integers(0, 2**31),
)


@pytest.mark.parametrize("name", NAMES_OF_RECORDINGS)
def test_recordings(name: str) -> None:
    """Every recording is taken, and gives what it gives in Python."""
    text = (FOLDER / f"{name}.json").read_bytes()
    read = compiled_json(text)
    agree(read, twins_json(text), taken=True)
    assert isinstance(read, list)
    all_agree(read)


@given(st.lists(SPANS, min_size=1, max_size=3))
def test_any_spans_in_protobuf(spans: list[RawSpan]) -> None:
    """Spans of any content give the same by either way; a name of an attribute of 128 bytes or more is declined."""
    message = traces_of(spans).SerializeToString()
    agree(compiled_protobuf(message), twins_protobuf(message))
    agree(compiled_packed(message), twins_packed(message), taken=True)


@given(st.lists(SPANS, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_any_spans_in_json(spans: list[RawSpan], spaced: bool, ascii_only: bool) -> None:
    """Spans of any content give the same by either way, however the text is laid out."""
    text = document(*map(json_span, spans))
    if ascii_only:
        text = dump(msgspec.json.decode(text))
    if spaced:
        text = msgspec.json.format(text)
    agree(compiled_json(text), twins_json(text))


def test_plain_spans_are_taken() -> None:
    """What the exporters write is taken by every one of the compiled readers, and by the whole way to it."""
    attributes = {**made().attributes, "map": {"k": "v", "deep": {"er": [1, [2.5]]}}, 'a "b"': "☃ \x7f \u0000 😀"}
    spans = [made(attributes=attributes), made("b", parent_id=None, events=(), links=(), attributes={})]
    all_agree(spans)
    text = document(*map(json_span, spans))
    agree(compiled_json(text), twins_json(text), taken=True)
    escaped = msgspec.json.encode(json_span(spans[0])).replace("😀".encode(), b"\\uD83d\\ude00")
    run = b"%b ,\n%b" % (escaped, msgspec.json.encode(json_span(spans[1])))
    assert WIRE is not None
    found = WIRE.spans(run, SCOPE)
    agree(found, TypedReader(silent())._spans(run, SCOPE), taken=True)
    assert found is not None
    first, second = found
    assert isinstance(first, RawSpan)
    assert isinstance(second, RawSpan)
    assert [attributes, EMPTY] == [first.attributes, second.attributes]
    assert first.trace_id is second.trace_id
    assert all(name is NAMES[name] for name in first.attributes)


def test_the_last_resource_and_scope_count() -> None:
    """A resource or scope that is described twice is what the last description says, as in all of protobuf."""
    span = field(2, span_of(made()).SerializeToString())
    named = [field(1, field(1, name)) for name in (b"first", b"last")]
    message = field(1, field(2, named[0] + span + named[1]) + field(3, b"https://a") + field(3, b"https://b"))
    agree(compiled_protobuf(message), twins_protobuf(message), taken=True)
    agree(compiled_packed(message), twins_packed(message), taken=True)
    skipped = field(1, field(2, field(1, field(1, b"skipped")) + span + span))
    assert ([], 2) == compiled_packed(skipped) == twins_packed(skipped)


@pytest.mark.parametrize("seed", range(8))
def test_damage(seed: int) -> None:
    """Whatever happens to the bytes, nothing crashes, and what is still taken is what it is in Python."""
    fuzz(random.Random(seed), 150)


def test_nothing_is_kept() -> None:
    """Reading holds on to nothing, whether the input is good or not."""
    rng = random.Random(7)
    message = traces_of([made()]).SerializeToString()
    text = document(json_span(made(attributes={"k": [1, "\\"]})))
    inputs = [message, *(damaged(rng, message, text) for _ in range(60))]
    texts = [text, *(damaged(rng, text, message) for _ in range(60))]
    assert WIRE is not None

    def rounds() -> None:
        for each in inputs:
            compiled_protobuf(each)
            compiled_packed(each)
            WIRE.span(each, SCOPE)
        for each in texts:
            compiled_json(each)
            WIRE.spans(each, SCOPE)

    rounds()
    held = [SCOPE, EMPTY, RawSpan, RawEvent, RawLink, NAMES]
    before = [sys.getrefcount(each) for each in held], sys.getallocatedblocks()
    for _ in range(20):
        rounds()
    counts, blocks = [sys.getrefcount(each) for each in held], sys.getallocatedblocks()
    assert before[0] == counts
    assert blocks - before[1] < 200
