"""What the compiled readers of OTLP decline: whatever is in doubt is left to the readers in Python."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from spanwise.model.raw import Scope
from spanwise.sources._otlp_compiled import WIRE
from tests.sources.otlp import SCOPE, json_span, made
from tests.sources.otlp_messages import field, request, span_of, varint
from tests.sources.twins import SPAN, agree, compiled_json, compiled_packed, compiled_protobuf, document, twins_packed

pytestmark = pytest.mark.skipif(WIRE is None, reason="the compiled part was not built here")


@pytest.mark.parametrize(
    "change",
    [
        lambda span: span.pop("traceId"),
        lambda span: span.update(traceId="0" * 32),
        lambda span: span.update(traceId="A" * 32),
        lambda span: span.update(traceId="a" * 31),
        lambda span: span.update(spanId=7),
        lambda span: span.update(parentSpanId="0" * 16),
        lambda span: span.update(parentSpanId=None),
        lambda span: span.update(name=None),
        lambda span: span.update(kind="SPAN_KIND_CLIENT"),
        lambda span: span.update(kind=6),
        lambda span: span.update(kind=-1),
        lambda span: span.update(kind=1.5),
        lambda span: span.update(flags=-1),
        lambda span: span.update(startTimeUnixNano=0),
        lambda span: span.update(startTimeUnixNano="007"),
        lambda span: span.update(startTimeUnixNano="9" * 20),
        lambda span: span.update(startTimeUnixNano=""),
        lambda span: span.update(startTimeUnixNano=[]),
        lambda span: span.update(attributes=None),
        lambda span: span.update(attributes={}),
        lambda span: span.update(attributes=[7]),
        lambda span: span.update(attributes=[{"value": {}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": None}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"stringValue": 7}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"stringValue": "a", "intValue": 1}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"other": "a"}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"intValue": "-0"}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"intValue": "1x"}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"intValue": 1.5}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"doubleValue": "NaN"}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"doubleValue": 10**40}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"boolValue": "true"}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"arrayValue": []}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"arrayValue": {"values": {}}}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"arrayValue": {"values": [], "more": 1}}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"kvlistValue": {"values": [1]}}}]),
        lambda span: span.update(attributes=[{"key": "k", "value": {"bytesValue": "AA=="}}]),
        lambda span: span.update(events={}),
        lambda span: span.update(events=[{"name": 1}]),
        lambda span: span.update(events=[{"timeUnixNano": "-1"}]),
        lambda span: span.update(links=[{"traceId": "1" * 32}]),
        lambda span: span.update(links=[{"traceId": "1" * 32, "spanId": "0" * 16}]),
        lambda span: span.update(status={"code": 3}),
        lambda span: span.update(status={"message": 3}),
        lambda span: span.update(status=None),
        lambda span: span.update(unheard="of"),
        lambda span: span.update(droppedEventsCount=2**32),
    ],
)
def test_what_is_odd_in_json_is_declined(change: Callable[[dict[str, object]], object]) -> None:
    """What is not written as the specification has it is left to the reader in Python, the whole document with it."""
    span = json_span(SPAN)
    change(span)
    assert compiled_json(document(json_span(SPAN), span)) is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"resourceSpans":[]}',
        b'{"resourceSpans":[{"scopeSpans":[]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{}]}]}',
        b'{"resourceSpans":[{"resource":7,"scopeSpans":[{"spans":[SPAN]}]}]}',
        b'{"resourceSpans":[{"resource":{"attributes":7},"scopeSpans":[{"spans":[SPAN]}]}]}',
        b'{"resourceSpans":[{"resource":{"a":"\\',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN],"scope":{}}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN]}],"resource":{}}]}',
        b'{"resourceSpans":[{"schemaUrl":1,"scopeSpans":[{"spans":[SPAN]}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN],"schemaUrl":1}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN,]}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN SPAN]}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN]}]}]} {}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN]}]}]}\0',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN]}]}],"resourceLogs":[]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN]}]}],"resourceSpans":[]}',
        b'{"resourceSpans" [{"scopeSpans":[{"spans":[SPAN]}]}]}',
    ],
)
def test_what_is_odd_around_spans_in_json_is_declined(text: bytes) -> None:
    """So is what is not laid out as exporters do."""
    assert compiled_json(text.replace(b"SPAN", msgspec.json.encode(json_span(SPAN)))) is None


@pytest.mark.parametrize(
    "held",
    [
        rb"\ud83d",
        rb"\ud83d\n",
        rb"\ud83d\u0041",
        rb"\ude00",
        rb"\u12",
        rb"\u12g4",
        rb"\x41",
        b"\n",
        b"\xff",
        b"\xed\xa0\x80",
        b"\0",
    ],
)
def test_text_that_is_none_is_declined(held: bytes) -> None:
    """Halves of pairs, broken escapes, control characters and bytes that are no UTF-8 are left to the slow reader."""
    text = document(json_span(made("NAME", attributes={})))
    for part in (b"NAME", b"made", b"https"):
        assert compiled_json(text.replace(part, b"some text before it " + held)) is None


ODD_IN_PROTOBUF = [
    field(1, bytes(16)),
    field(1, b"short"),
    field(2, b"12345678"),  # a second one
    field(3, b"\xff"),
    field(4, bytes(8)),
    field(5, b"again"),
    b"\x30\x09",
    b"\x30" + b"\xff" * 10,
    b"\x30" + b"\x81" * 9 + b"\x02",
    b"\x33",
    b"\x00\x00",
    b"\xc0\xff\x7f",
    varint(17 << 3) + b"\x00",
    b"\x50" + varint(2**32),
    b"\x4a\x05",
    field(11, b"\x0d\0\0\0\0"),
    field(11, field(2, b"\xff")),
    field(11, field(2, b"a") + field(2, b"b")),
    field(13, field(3, b"\xff")),
    field(13, field(1, b"a" * 16) * 2),
    field(13, field(9, b"")),
]
ODD_IN_ATTRIBUTES = [
    field(9, b""),
    field(9, field(2, field(1, b"no name"))),
    field(9, field(1, b"n" * 128)),
    field(9, field(1, b"\xff") + field(2, b"")),
    field(9, field(1, b"k") + field(2, b"") + b"\x00"),
    field(9, field(1, b"k") + field(3, b"")),
    field(9, field(1, b"k") + field(2, field(1, b"\xff"))),
    field(9, field(1, b"k") + field(2, field(1, b"a") * 2)),
    field(9, field(1, b"k") + field(2, b"\x10\x80\x01")),
    field(9, field(1, b"k") + field(2, b"\x18")),
    field(9, field(1, b"k") + field(2, b"\x21\0")),
    field(9, field(1, b"k") + field(2, b"\x48\0")),
    field(9, field(1, b"k") + field(2, field(5, field(2, b"")))),
    field(9, field(1, b"k") + field(2, field(6, field(1, b"")))),
    field(13, field(1, b"a" * 16) + field(2, bytes(8))),
    field(11, field(3, b"")),
    field(15, field(2, b"\xff")),
    field(15, b"\x18\x03"),
    field(15, b"\x18\x01\x18\x01"),
    field(15, b"\x08\x01"),
    field(15, b"\x80"),
]


@pytest.mark.parametrize("tail", ODD_IN_PROTOBUF + ODD_IN_ATTRIBUTES)
def test_what_is_odd_in_protobuf_is_declined(tail: bytes) -> None:
    """What is not written as the specification has it, or comes twice, is left to the reader in Python."""
    plain = span_of(made(attributes={}, status_code=0, status_message="")).SerializeToString()
    message = request(plain, plain + tail)
    assert compiled_protobuf(message) is None
    if tail in ODD_IN_PROTOBUF:
        assert compiled_packed(message) is None
    else:  # attributes and status stay bytes, and are looked at when the span is read
        agree(compiled_packed(message), twins_packed(message), taken=True)
    assert WIRE is not None
    assert WIRE.span(plain + tail, SCOPE) is None


@pytest.mark.parametrize(
    "around",
    [
        lambda span: b"\x80",
        lambda span: b"\x08\x01",
        lambda span: field(1, field(1000, field(2, span))),
        lambda span: field(1, field(3, b"\xff")),
        lambda span: field(1, field(2, field(3, b"\xff"))),
        lambda span: field(1, field(2, field(4, b""))),
        lambda span: field(1, field(2, field(2, span) + b"\x12")),
        lambda span: field(1, b"\x12\x05"),
    ],
)
def test_what_is_odd_around_spans_in_protobuf_is_declined(around: Callable[[bytes], bytes]) -> None:
    """So is what is in doubt in a request, a resource or a scope."""
    message = around(span_of(SPAN).SerializeToString())
    assert compiled_protobuf(message) is compiled_packed(message) is None


def test_what_is_nested_deeply_is_declined() -> None:
    """A value that is nested deeper than sixty levels is left to the reader in Python."""
    for depth, taken in ((60, True), (70, False), (20_000, False)):
        value = field(1, b"x")
        for _ in range(depth):
            value = field(5, field(1, value))
        span = span_of(SPAN).SerializeToString() + field(9, field(1, b"k") + field(2, value))
        assert taken == (compiled_protobuf(request(span)) is not None)
        text = b'{"arrayValue":{"values":[' * depth + b"{}" + b"]}}" * depth
        span_text = msgspec.json.encode(json_span(made(attributes={"k": None}))).replace(
            b'"value":{}', b'"value":' + text
        )
        assert taken == (compiled_json(document(msgspec.Raw(span_text))) is not None)


def test_what_is_no_bytes_is_an_error() -> None:
    """What is given wrong things raises, and what a callable raises comes out."""
    assert WIRE is not None
    for read in (WIRE.traces, WIRE.pack, WIRE.document, WIRE.spans, WIRE.span):
        with pytest.raises(TypeError):
            read("text", SCOPE)
    message = request(span_of(made()).SerializeToString())

    def broken(*_: bytes) -> Scope:
        raise LookupError("broken")

    for read, content in ((WIRE.traces, message), (WIRE.pack, message), (WIRE.document, document(1))):
        with pytest.raises(LookupError, match="broken"):
            read(content, broken)
    with pytest.raises(TypeError, match="a scope and a frame"):
        WIRE.pack(message, lambda *_: SCOPE)
