"""The compiled reader of nested traces takes what decoding in Python gives, and declines the rest."""

from __future__ import annotations

import json
import pickle
import random
import tracemalloc
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.raw import RawSpan
from spanwise.sources import trail as module
from spanwise.sources._otlp_compiled import WIRE
from tests.sources.exports import TRACE, trail, trail_span
from tests.sources.otlp import Outcome
from tests.sources.twins import damaged

pytestmark = pytest.mark.skipif(WIRE is None, reason="the compiled part was not built here")

# What escapes, ends and blocks of text can do to a reader that looks at many bytes at once.
_PIECES = ("\\", '"', "\n", "\u0001", "é", "😀", "a", " " * 15, "b" * 63, "\\\\" * 7, "{", "]", "/")
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def seen(content: bytes) -> object:
    """All that reading some bytes gives and tells, and whether it may be told again."""
    outcome = Outcome(content)
    spans = [record for record in outcome.records if isinstance(record, RawSpan)]
    told = [(*(getattr(span, name) for name in RawSpan.__struct_fields__ if name != "attributes"),) for span in spans]
    tally = outcome.tally
    return (
        told,
        [dict(span.attributes) for span in spans],
        outcome.messages,
        (tally.kept, tally.refused, tally.ignored, tally.repairs),
    )


def both(content: bytes) -> None:
    """Hold the two readers to the same."""
    compiled = seen(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WIRE", None)
        assert seen(content) == compiled


def taken(content: bytes) -> bool:
    """Whether the compiled reader takes it."""
    assert WIRE is not None
    return WIRE.nested(content, module._value) is not None


@pytest.mark.parametrize("indent", [None, 4])
def test_plain_traces_are_taken(indent: int | None) -> None:
    """A trace as the benchmark writes it is taken, whatever white space is in it, and gives what Python gives."""
    content = json.dumps(trail(), indent=indent).encode()
    assert taken(content)
    both(content)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=6), _TEXTS, st.booleans(), st.sampled_from([None, 1]))
def test_any_text_reads_alike(attributes: dict[str, object], name: str, ascii_only: bool, indent: int | None) -> None:
    """Values and names of any text, with and without escapes, are taken and read alike."""
    inner = {**trail_span("00000000000000c1", name), "span_attributes": attributes, "what": attributes}
    root = {**trail_span("00000000000000a1", "root", inner), "status_message": name}
    content = json.dumps({"trace_id": TRACE, "spans": [root]}, ensure_ascii=ascii_only, indent=indent).encode()
    assert taken(content)
    both(content)


@given(st.integers(0, 2**32))
def test_damage_reads_alike(seed: int) -> None:
    """Whatever is wrong with the bytes, spans, messages and counts are those of the reader in Python."""
    rng = random.Random(seed)
    text = json.dumps(trail(), indent=rng.choice((None, 2)), ensure_ascii=rng.random() < 0.5).encode()
    broken = damaged(rng, text, b'{"span_id": "", "spans": [null, -1.5e+7, "\\ud83d\\ude00\\n"]}')
    both(b'{"spans": [{"child_spans": []}], ' * (rng.random() < 0.1) + broken)


@pytest.mark.parametrize(
    "change",
    [
        (b'"spans"', b'"spans": [], "spans"'),
        (b'"span_id"', b'"span_id": "x", "span_id"'),
        (b"How tall", rb"\ud83d"),
        (b"How tall", rb"\x"),
        (b'"12"', b"012"),
        (b'"12"', b"-"),
        (b'"12"', b"1."),
        (b'"12"', b"[1,]"),
        (b'"12"', b'{"a" 1}'),
        (b'"12"', b"nul"),
        (b'"12"', b"[" * 100 + b"]" * 100),
    ],
)
def test_what_is_in_doubt_is_declined(change: tuple[bytes, bytes]) -> None:
    """Keys that stand twice, what is no JSON and what nests deeply are left to Python."""
    content = json.dumps(trail()).encode()
    assert change[0] in content
    broken = content.replace(*change, 1)
    assert not taken(broken)
    both(broken)


_BEGINNINGS = tuple(text * 40 for text in ("a b\\", 'é " ', "no-space", "You are {", "\U0001f600\n "))
_CONVERSATIONS = st.lists(
    st.tuples(st.sampled_from(_BEGINNINGS), st.lists(st.sampled_from((*_PIECES, "b " * 150)), max_size=4)),
    min_size=1,
    max_size=6,
)


@given(_CONVERSATIONS, st.booleans())
def test_what_repeats_reads_alike(texts: list[tuple[str, list[str]]], ascii_only: bool) -> None:
    """Texts that begin as others do, or are others, are what they were written as, whatever stands where they part."""
    written = ["".join((begins, *rest)) for begins, rest in texts]
    made = [
        trail_span(f"{at:016x}", "model", span_attributes={"one": text, "other": written[at // 2], "short": text[:90]})
        for at, text in enumerate(written, start=1)
        for text in (text, text + "!")
    ]
    for at, span in enumerate(made, start=1):
        span["span_id"] = f"{at:016x}"
    content = json.dumps({"trace_id": TRACE, "spans": made}, ensure_ascii=ascii_only).encode()
    assert taken(content)
    both(content)


def told_again(count: int) -> bytes:
    """A trace in which each model call repeats the conversation so far."""
    said = [f"turn {at}: " + "the same words, said again; " * 40 for at in range(count)]
    made = [
        trail_span(f"{at:016x}", "model", span_attributes={"input.value": json.dumps(said[:at])})
        for at in range(1, count + 1)
    ]
    return json.dumps({"trace_id": TRACE, "spans": made}).encode()


def test_a_long_conversation_reads_alike() -> None:
    """However often a conversation goes on, all of it is read, the last first as well."""
    content = told_again(150)
    both(content)
    last, *_ = reversed(Outcome(content).records)
    assert isinstance(last, RawSpan)
    assert 150 == len(json.loads(str(last.attributes["input.value"])))


def test_what_repeats_is_held_once() -> None:
    """Spans that repeat a conversation hold a fraction of the text that they were read from."""
    content = told_again(60)
    Outcome(content)
    tracemalloc.start()
    try:
        outcome = Outcome(content)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 60 == len(outcome.records)
    assert held < len(content) / 5


def test_bytes_that_are_no_text_are_mended_when_read() -> None:
    """A text that is no UTF-8 costs nothing but its wrong bytes, be it short, long or repeated."""
    document = {"a": "x?" + "y" * 80, "b": "x?" + "y" * 400, "c": "x?" + "y" * 500}
    made = [trail_span(f"{at:016x}", "model", span_attributes=document) for at in (1, 2)]
    content = json.dumps({"trace_id": TRACE, "spans": made}).encode().replace(b"x?", b"x\xff")
    assert taken(content)
    both(content)


_WORDS = ('"error"', '"is_error"')
_PARTS = (
    '"error"',
    '"is_error"',
    '"error',
    'error"',
    "error",
    '\\"error\\"',
    '\\"',
    "\\",
    "\n",
    "é",
    "x" * 300,
    '"e"',
    " ",
)


def model_attributes(attributes: Mapping[str, object]) -> Any:
    """The attributes of a span, as the compiled reader holds them."""
    content = json.dumps({"trace_id": TRACE, "spans": [trail_span("a1", "model", span_attributes=attributes)]})
    (span,) = Outcome(content.encode()).records
    assert isinstance(span, RawSpan)
    return span.attributes


@given(st.lists(st.sampled_from(_PARTS), max_size=8).map("".join))
def test_words_are_told_without_decoding(text: str) -> None:
    """A text of which it is said that it holds none of some words in quotes holds none."""
    found = model_attributes({"long": text + "y" * 300, "short": text})
    for name in ("long", "short"):
        told = found.may_hold(name, _WORDS)
        assert told or not any(word in found[name] for word in _WORDS)
    assert not found.may_hold("nothing", _WORDS)


def test_only_words_in_quotes_are_in_doubt() -> None:
    """Words without their quotes are none; where letters are escapes, or a value is no text, there may be any."""
    filled = "y" * 300
    found = model_attributes(
        {"none": f'error "x" {filled}', "one": f'{filled}"error"', "list": [filled], "read": f'"error" {filled}'}
    )
    assert found["read"]
    assert [False, True, True, True] == [found.may_hold(name, _WORDS) for name in ("none", "one", "list", "read")]
    written = json.dumps(
        {"trace_id": TRACE, "spans": [trail_span("a1", "model", span_attributes={"odd": "eRROR" + filled})]}
    ).replace("R", "\\u0072")
    (span,) = Outcome(written.encode()).records
    assert isinstance(span, RawSpan)
    assert True is cast("Any", span.attributes).may_hold("odd", _WORDS)
    for wrong in ((), ("long",), ("long", ["x"]), ("long", ("é",)), ("long", ("",)), ([], _WORDS)):
        with pytest.raises(TypeError):
            found.may_hold(*wrong)


@given(
    st.from_regex(
        r"(19|20|22)[0-9]{2}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,8})?(Z|\+01:00)?",
        fullmatch=True,
    ),
    st.from_regex(r"-?P(1D)?T([0-9]{1,7}H)?([0-9]{1,7}M)?([0-9]{1,7}(\.[0-9]{0,8})?S)?", fullmatch=True),
)
def test_times_read_alike(time: str, duration: str) -> None:
    """Whatever ISO 8601 allows, and what it does not, gives the same times and the same errors."""
    span = trail_span("00000000000000a1", "model", timestamp=time, duration=duration)
    both(json.dumps({"trace_id": TRACE, "spans": [span]}).encode())


def test_attributes_travel_without_the_whole_text() -> None:
    """What is pickled of a span is what the span says, and not the file."""
    document = {"trace_id": TRACE, "spans": [trail_span("00000000000000a1", "small")], "note": "x" * 100_000}
    (span,) = Outcome(json.dumps(document).encode()).records
    pickled = pickle.dumps(span.attributes) if isinstance(span, RawSpan) else b""
    assert 0 < len(pickled) < 10_000
