"""The compiled readers of OTLP beside those in Python, and input to hold them to the same."""

from __future__ import annotations

import random

import msgspec

from spanwise.model.raw import RawSpan, Scope
from spanwise.sources._otlp_binary import DOUBTS as BINARY_DOUBTS
from spanwise.sources._otlp_binary import BinaryReader
from spanwise.sources._otlp_compiled import WIRE
from spanwise.sources._otlp_packed import Packer
from spanwise.sources._otlp_typed import DOUBTS as JSON_DOUBTS
from spanwise.sources._otlp_typed import TypedReader
from spanwise.sources._source import Intake
from tests.sources.otlp import json_pairs, json_span, made
from tests.sources.otlp_messages import traces_of

SPAN = made(attributes={})


def document(*spans: object) -> bytes:
    """Spans in a document of OTLP/JSON that holds what makes reading hard around them."""
    of_scope = {"scope": {"name": "tests", "version": "1"}, "spans": list(spans), "schemaUrl": "https://é/1"}
    resource = {"attributes": json_pairs({"service.name": "made", 'a}"{': "\\"})}
    return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": [of_scope]}]})


def silent() -> Intake:
    """An intake that nothing is told of."""
    return Intake(source="made", on_error=lambda _: None)


def twins_protobuf(message: bytes) -> object:
    """What the reader in Python gives for a request; None where it is in doubt."""
    try:
        return BinaryReader(silent())._spans(message)
    except BINARY_DOUBTS:
        return None


def compiled_protobuf(message: bytes) -> object:
    """What the compiled reader gives; None where it declines."""
    assert WIRE is not None
    try:
        return WIRE.traces(message, BinaryReader(silent())._scope_of)
    except BINARY_DOUBTS:
        return None


def twins_packed(message: bytes) -> object:
    """What the packer in Python gives, the spans unpacked by the readers in Python."""
    try:
        packed, skipped = Packer()._packed(message, skipped_scope)
    except BINARY_DOUBTS:
        return None
    return [told(one) for one in packed], skipped


def compiled_packed(message: bytes) -> object:
    """What the compiled packer gives."""
    assert WIRE is not None
    packer = Packer()
    try:
        found = WIRE.pack(message, lambda *group: packer._group(skipped_scope, *group))
    except BINARY_DOUBTS:
        return None
    return None if found is None else ([told(one) for one in found[0]], found[1])


def told(packed: object) -> object:
    """A packed span without the function in its frame."""
    frame = packed.frame
    fields = [getattr(packed, name) for name in packed.__struct_fields__ if name != "frame"]
    return fields, frame.resource, frame.scope, frame.whole


def skipped_scope(scope: Scope) -> bool:
    """Whether a packer skips the scope."""
    return scope.name == "skipped"


def twins_json(text: bytes) -> object:
    """What the typed reader in Python gives for a document."""
    try:
        return TypedReader(silent())._document(text)[0]
    except JSON_DOUBTS:
        return None


def compiled_json(text: bytes) -> object:
    """What the compiled reader gives for a document."""
    assert WIRE is not None
    try:
        return WIRE.document(text, TypedReader(silent())._scope)
    except JSON_DOUBTS:
        return None


def agree(compiled: object, twin: object, *, taken: bool = False) -> None:
    """What was taken is what the twin gives, to the type of each number; what must be taken was."""
    assert compiled is not None or not taken
    if compiled is not None:
        assert repr(twin) == repr(compiled)


def all_agree(spans: list[RawSpan]) -> None:
    """Each of the compiled readers takes these spans, and gives what its twin gives."""
    message = traces_of(spans).SerializeToString()
    agree(compiled_protobuf(message), twins_protobuf(message), taken=True)
    agree(compiled_packed(message), twins_packed(message), taken=True)


_PIECES = (b"\x00", b'"', b"\\", b"\\u00e9", b"{", b"]", b",", b"-", b"\xc3", b"9", b"\xff\xff")


def damaged(rng: random.Random, text: bytes, other: bytes) -> bytes:
    """The bytes with something wrong in them: a byte changed, a piece cut out, doubled, or put in from elsewhere."""
    found = bytearray(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(6):
            case 0:
                found[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del found[at : at + rng.choice((1, 2, 9, 40))]
            case 2:
                found[at:at] = found[at : at + rng.choice((1, 3, 30))]
            case 3:
                start = rng.randrange(len(other))
                found[at : at + rng.choice((0, 5))] = other[start : start + rng.choice((1, 4, 60))]
            case 4:
                del found[at:]
            case _:
                found[at : at + 1] = rng.choice(_PIECES)
    return bytes(found)


def fuzz(rng: random.Random, rounds: int) -> None:
    """Damages good input in many ways; the compiled readers must take nothing that their twins give otherwise."""
    attributes = {**made().attributes, "map": {"k": [1, 2.5, {"a": "ü"}]}, "big": -(2**40), 'q"': "\\ \n \U0001f600"}
    spans = [made(attributes=attributes), made("née", parent_id=None, events=(), attributes={"text": "x" * 90})]
    message = traces_of(spans).SerializeToString()
    text = document(*map(json_span, spans))
    for _ in range(rounds):
        broken = damaged(rng, message, text)
        agree(compiled_protobuf(broken), twins_protobuf(broken))
        agree(compiled_packed(broken), twins_packed(broken))
        broken = damaged(rng, text, message)
        agree(compiled_json(broken), twins_json(broken))
