"""How records stand in a segment of the write-ahead log, and how they are read back whatever happened to it.

    segment   "SPANWAL1", 8 random bytes (the salt), frames
    frame     the salt's first four bytes, kind (1 byte), length (4), checksum of kind, length and body (4), body
    batch     sequence number (8), signal (1), content (1), number of traces (4), their ids (16 each), the payload
    mark      trace id (16), how (1), revision (4), the last sequence number that it covers (8)

The salt begins every checksum, so that no payload, whoever wrote it, can pass for a frame. A frame that is damaged is
passed over to the next one that is sound; where none follows, the tail is torn.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Signal: TypeAlias = Literal["traces", "logs"]
Content: TypeAlias = Literal["protobuf", "json"]
How: TypeAlias = Literal["scored", "handed_off", "given_up", "told", "begun"]
"""What became of a trace: its scores are safe, another service has it, it was refused or came too late, or its scores
are safe but for those that are still waited for, so that it is not done; or no more is known than that it was about to
be scored."""

MAGIC = b"SPANWAL1"
HEAD = len(MAGIC) + 8
_FRAME = struct.Struct("<4sBII")
_BATCH = struct.Struct("<QBBI")
_MARK = struct.Struct("<16sBIQ")
_SIGNALS: tuple[Signal, ...] = ("traces", "logs")
_CONTENTS: tuple[Content, ...] = ("protobuf", "json")
_HOWS: tuple[How, ...] = ("scored", "handed_off", "given_up", "told", "begun")
_BATCH_KIND, _MARK_KIND = 1, 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A request in the log, with the ids of the traces that it holds parts of."""

    seq: int
    signal: Signal
    content: Content
    traces: Sequence[bytes]
    payload: bytes


@dataclass(frozen=True, slots=True)
class Mark:
    """All of a trace up to a sequence number is done, told, or about to be scored."""

    trace: bytes
    how: How
    revision: int
    upto: int

    @property
    def is_scored(self) -> bool:
        """Scores of what it covers are safe, under its revision."""
        return self.how in {"scored", "told"}

    @property
    def may_be_heard(self) -> bool:
        """Somebody may have scores under its revision."""
        return self.is_scored or self.how == "begun"


def new_salt() -> bytes:
    """A salt for a segment."""
    return os.urandom(8)


def framed(entry: Entry | Mark, salt: bytes) -> tuple[bytes, bytes]:
    """A record as a frame of the segment with this salt, in two parts: a payload is not copied."""
    if isinstance(entry, Mark):
        kind, head = _MARK_KIND, _MARK.pack(entry.trace, _HOWS.index(entry.how), entry.revision, entry.upto)
        payload = b""
    else:
        signal, content = _SIGNALS.index(entry.signal), _CONTENTS.index(entry.content)
        kind, payload = _BATCH_KIND, entry.payload
        head = b"".join((_BATCH.pack(entry.seq, signal, content, len(entry.traces)), *entry.traces))
    length = len(head) + len(payload)
    checksum = zlib.crc32(payload, zlib.crc32(head, _begun(salt, kind, length)))
    return _FRAME.pack(salt[:4], kind, length, checksum) + head, payload


def _begun(salt: bytes, kind: int, length: int) -> int:
    """The checksum of what stands before the body."""
    return zlib.crc32(salt + bytes((kind,)) + length.to_bytes(4, "little"))


@dataclass(slots=True)
class Scan:
    """Reads a segment; `damaged` counts what was passed over, `end` is where its last sound frame ends."""

    data: bytes
    damaged: int = 0
    end: int = 0

    @property
    def is_segment(self) -> bool:
        """The bytes begin as a segment does."""
        return len(self.data) >= HEAD and self.data.startswith(MAGIC)

    @property
    def torn(self) -> int:
        """How many bytes stand behind the last sound frame."""
        return len(self.data) - self.end

    def records(self) -> Iterator[Entry | Mark]:
        """Everything in it that is sound."""
        if not self.is_segment:
            return
        salt, at = self.data[len(MAGIC) : HEAD], HEAD
        self.end = HEAD
        while at < len(self.data):
            found = self._at(at, salt)
            if found is None:
                at = self._next(at + 1, salt)
                if at < 0:
                    return
                self.damaged += 1
                continue
            record, at = found
            self.end = at
            if record is None:
                self.damaged += 1
            else:
                yield record

    def _next(self, at: int, salt: bytes) -> int:
        """Where the next sound frame begins; -1 if there is none."""
        while (at := self.data.find(salt[:4], at)) >= 0:
            if self._at(at, salt) is not None:
                return at
            at += 1
        return -1

    def _at(self, at: int, salt: bytes) -> tuple[Entry | Mark | None, int] | None:
        """The record that begins here, and where it ends; None in its place if it says what it cannot say."""
        if at + _FRAME.size > len(self.data):
            return None
        mark, kind, length, checksum = _FRAME.unpack_from(self.data, at)
        start = at + _FRAME.size
        end = start + length
        if mark != salt[:4] or end > len(self.data):
            return None
        body = memoryview(self.data)[start:end]
        if zlib.crc32(body, _begun(salt, kind, length)) != checksum:
            return None
        try:
            return _read(kind, body), end
        except (struct.error, IndexError):
            return None, end


def _read(kind: int, body: memoryview) -> Entry | Mark | None:
    if kind == _MARK_KIND:
        mark: tuple[bytes, int, int, int] = _MARK.unpack(body)
        trace, how, revision, upto = mark
        return Mark(trace, _HOWS[how], revision, upto)
    if kind != _BATCH_KIND:
        return None
    head: tuple[int, int, int, int] = _BATCH.unpack_from(body)
    seq, signal, content, count = head
    ends = _BATCH.size + 16 * count
    if ends > len(body):
        return None
    traces = tuple(bytes(body[at : at + 16]) for at in range(_BATCH.size, ends, 16))
    return Entry(seq, _SIGNALS[signal], _CONTENTS[content], traces, bytes(body[ends:]))
