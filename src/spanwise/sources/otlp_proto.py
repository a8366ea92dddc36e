"""OTLP in protobuf: one request, or a stream of them with the length before each.

Files say neither how they are framed nor whether they hold traces or logs; both are told from the bytes. The
Collector's file exporter writes four bytes of length, big-endian, before each request, and with its compression on
compresses each request by itself, JSON ones too. Others write lengths as protobuf numbers. A file without lengths is
read a few fields at a time, which also reads requests that were put one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Literal, TypeAlias

from spanwise.errors import SourceError
from spanwise.sources import _wire, otlp_json
from spanwise.sources._open import HEAD_BYTES, ZSTD_MAGIC, Input, expand_zstd
from spanwise.sources._otlp_parts import parts_of, take
from spanwise.sources._otlp_slow import SlowReader, signal_of
from spanwise.sources._otlp_typed import TypedReader
from spanwise.sources._source import Intake, Record, Source

_Framing: TypeAlias = Literal["message", "prefixed", "delimited"]
_Frame: TypeAlias = tuple[bytes, str]

_REQUEST_TAG = 0x0A
# The first bytes of the fields of a ResourceSpans or ResourceLogs, and of the fields within these: its resource, its
# scopes, its schema's address (which is text), and what scopes were once called.
_WITHIN: Mapping[int, tuple[int, ...]] = {
    0x0A: (0x0A, 0x10, 0x1A),
    0x12: (0x0A, 0x12, 0x1A),
    0x1A: (),
    0xC2: (0x0A, 0x12),
}


def sniff(head: bytes, name: str) -> bool:
    """Whether the bytes are framed and nested as OTLP requests are."""
    del name
    return _framing(head) is not None


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans and log events of OTLP requests, however they are framed."""
    framing = _framing(data.peek(HEAD_BYTES))
    is_message = framing == "message"
    frames = parts_of(data, intake=intake) if is_message else _records(data, intake, prefixed=framing == "prefixed")
    reader = _Reader(intake, strict=is_message)
    batches = chain.from_iterable(reader.records(content, place) for content, place in frames)
    return chain.from_iterable(batches)


def _framing(head: bytes) -> _Framing | None:
    if _is_request(head, 1 << 62):
        return "message"
    size = int.from_bytes(head[:4], "big")
    if _is_record(head[4:], size):
        return "prefixed"
    try:
        size, at = _wire.varint(memoryview(head), 0)
    except _wire.Broken:
        return None
    return "delimited" if _is_request(head[at:], size) else None


def _is_record(head: bytes, size: int) -> bool:
    if head.startswith(ZSTD_MAGIC):
        return size > len(ZSTD_MAGIC)
    return _is_request(head, size) or (size > 2 and otlp_json.sniff(head[:size], ""))


def _is_request(head: bytes, size: int) -> bool:
    """Whether the first `size` bytes can be a request: fields within fields, of sizes and tags that are possible."""
    outer = _field(head, 0, size)
    inner = _field(head, outer[1], outer[2]) if outer else None
    if outer is None or inner is None or outer[0] != _REQUEST_TAG or inner[0] not in _WITHIN:
        return False
    tag, start, end = inner
    follows = head[end] if end < min(outer[2], len(head)) else _REQUEST_TAG
    holds = head[start] if start < min(end, len(head)) else 0
    return follows in _WITHIN and (not holds or not _WITHIN[tag] or holds in _WITHIN[tag])


def _field(head: bytes, at: int, end: int) -> tuple[int, int, int] | None:
    try:
        _, after_tag = _wire.varint(memoryview(head), at)
        size, start = _wire.varint(memoryview(head), after_tag)
    except _wire.Broken:
        return None
    return (head[at], start, start + size) if start + size <= end else None


def _records(data: Input, intake: Intake, *, prefixed: bool) -> Iterator[_Frame]:
    """The requests of a stream that has the length before each."""
    while head := data.peek(4 if prefixed else 10):
        place = f"byte {data.offset}"
        if prefixed:
            size, at = int.from_bytes(head, "big"), 4
        else:
            try:
                size, at = _wire.varint(memoryview(head), 0)
            except _wire.Broken as failure:
                raise intake.error(f"there is no length before a record: {failure}", place=place) from failure
        data.read(at)
        if size:
            yield take(data, size, place=place, intake=intake), place


class _Reader:
    """Decodes requests, each by the fastest reader that takes it."""

    def __init__(self, intake: Intake, *, strict: bool) -> None:
        try:
            from spanwise.sources._otlp_binary import DOUBTS, BinaryReader
        except ModuleNotFoundError as failure:
            raise intake.error(
                "reading protobuf needs the package opentelemetry-proto: pip install 'spanwise[cli]'"
            ) from failure
        self._intake = intake
        self._strict = strict
        self._doubts = DOUBTS
        self._binary = BinaryReader(intake)
        self._slow = SlowReader(intake)
        self._json = TypedReader(intake)

    def records(self, content: bytes, place: str) -> Iterator[list[Record]]:
        """The records of a request, in batches. In a stream, one that is broken costs only itself."""
        try:
            yield from self._records(content, place)
        except _wire.Broken as failure:
            message = f"the record is not valid protobuf: {failure}"
            if self._strict:
                raise self._intake.error(message, place=place) from failure
            self._intake.refuse(message, place=place)
        except SourceError as failure:
            self._intake.refuse_for(failure, place=place)

    def _records(self, content: bytes, place: str) -> Iterator[list[Record]]:
        if content.startswith(ZSTD_MAGIC):
            content = self._expanded(content, place)
        if content[:1] in (b"{", b"["):
            yield from otlp_json.read_document(content, typed=self._json, intake=self._intake, where=place)
            return
        signal = signal_of(memoryview(content))
        if signal == "metrics":
            self._intake.ignore("metrics")
            return
        try:
            yield self._binary.traces(content) if signal == "traces" else self._binary.logs(content)
        except self._doubts:
            yield from self._slow.records(memoryview(content), place)

    def _expanded(self, content: bytes, place: str) -> bytes:
        try:
            return expand_zstd(content, name=self._intake.source, limits=self._intake.limits)
        except SourceError as failure:
            raise self._intake.error(failure.message, place=place) from failure


SOURCE = Source(name="otlp_proto", title="OTLP protobuf", sniff=sniff, read=read)
