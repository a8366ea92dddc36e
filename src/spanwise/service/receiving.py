"""What both receivers do with a request: limits before it is read, and its way to the engine afterwards."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from spanwise.service.batches import Batch, BatchError, ContentType, Signal, decode
from spanwise.service.refusal import Refusal

Offer: TypeAlias = Callable[[Batch], Awaitable[Refusal | None]]
"""Hands a batch on; None says that it is safe."""

_log = logging.getLogger("spanwise")
_MB = 1 << 20
_STEP = _MB
_INLINE = _MB // 4
_INLINE_LARGE = 2 * _MB
_SAMPLE = 16 * 1024
_LARGE_SPAN = 256
_TRACE_ID = b"\x0a\x10"
_MOST_MEMBERS = 64
_GZIP_MAGIC = b"\x1f\x8b"
GZIP, DEFLATE = 31, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a receiver takes on.

    Args:
        sent_bytes: The largest body of a request as it is sent, if it is compressed.
        inflated_bytes: The largest body that is not, and the largest that a compressed one may become.
        header_s: How long the head of a request may take, from its first byte on.
        body_s: How long its body may take.
        idle_s: How long a connection may be idle.
        requests: How many requests may be under way at once.
        bytes_in_flight: How many bytes the bodies of these may have together.
        connections: How many connections of HTTP may be open at once.
        retry_after_s: When a sender is to come again for which these limits leave no room now.
    """

    sent_bytes: int = 16 * _MB
    inflated_bytes: int = 64 * _MB
    header_s: float = 10.0
    body_s: float = 30.0
    idle_s: float = 75.0
    requests: int = 128
    bytes_in_flight: int = 256 * _MB
    connections: int = 1024
    retry_after_s: float = 1.0


class TooLargeError(Exception):
    """A body is larger than the limits allow."""


class BrokenError(Exception):
    """A body is not compressed as it says."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A batch is safe; so many of its records can never be accepted."""

    rejected: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Malformed:
    """It is of no use to send this again."""

    message: str


Outcome: TypeAlias = Taken | Malformed | Refusal


@dataclass(slots=True)
class Desk:
    """Where the requests of one receiver are under way."""

    offer: Offer
    limits: Limits
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """What the receiver refused by itself, by reason."""
    requests: int = 0
    bytes: int = 0
    _told: set[tuple[str, type[BaseException]]] = field(default_factory=set[tuple[str, type[BaseException]]])

    def count(self, reason: str) -> None:
        """One more request was refused for this reason."""
        self.counts[reason] = self.counts.get(reason, 0) + 1

    @contextmanager
    def place(self) -> Generator[Place | None]:
        """A place for one request; None if all are taken."""
        if self.requests >= self.limits.requests or self.bytes >= self.limits.bytes_in_flight:
            self.count("requests" if self.requests >= self.limits.requests else "bytes in flight")
            yield None
            return
        self.requests += 1
        place = Place(self)
        try:
            yield place
        finally:
            self.requests -= 1
            self.bytes -= place.held

    def busy(self) -> Refusal:
        """What a sender is told for whom there is no place."""
        return Refusal("requests", self.limits.retry_after_s, overload=True)

    async def take(self, signal: Signal, content: ContentType, payload: bytes) -> Outcome:
        """Decode a body and hand it on. Never raises."""
        try:
            if is_quick(signal, content, payload):
                batch = decode(signal, content, payload)
            else:
                batch = await asyncio.to_thread(decode, signal, content, payload)
        except BatchError as failure:
            self.count("malformed")
            return Malformed(str(failure))
        except Exception as error:  # noqa: BLE001 - a request must not cost the others; sent again, it fails again
            self._tell("a request could not be decoded", error)
            self.count("undecodable")
            return Malformed("the request cannot be read")
        try:
            refusal = await self.offer(batch)
        except Exception as error:  # noqa: BLE001 - the sender keeps what we could not
            self._tell("a batch could not be taken", error)
            self.count("failed")
            return Refusal("failed", self.limits.retry_after_s, overload=False)
        return refusal if refusal is not None else Taken(batch.rejected, batch.why)

    def _tell(self, what: str, error: BaseException) -> None:
        if (what, type(error)) not in self._told:
            self._told.add((what, type(error)))
            _log.error("%s; further failures of this kind are counted, not logged", what, exc_info=error)


def is_quick(signal: Signal, content: ContentType, payload: bytes) -> bool:
    """Decoding it takes some milliseconds at most; anything else would keep other requests waiting.

    Spans in protobuf stay packed, so that their number counts and not their bytes; how many there are is told by the
    beginning. On further threads each span costs more, for each of these has memory of its own, which comes and goes.
    """
    if len(payload) <= _INLINE:
        return True
    if len(payload) > _INLINE_LARGE or signal != "traces" or content != "protobuf":
        return False
    return payload.count(_TRACE_ID, 0, _SAMPLE) <= _SAMPLE // _LARGE_SPAN


class Inflater(Protocol):
    """What zlib makes for inflating one member."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class Place:
    """The place of one request: what its body takes counts while it is under way."""

    __slots__ = ("_desk", "held")

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.held = 0

    def hold(self, size: int) -> bool:
        """Whether there is room for a body that has so many bytes by now."""
        desk = self._desk
        if desk.bytes + size - self.held > desk.limits.bytes_in_flight:
            desk.count("bytes in flight")
            return False
        desk.bytes += size - self.held
        self.held = size
        return True


class Body:
    """A body that comes in pieces, inflated piece by piece and never beyond the limits.

    `compressed` is the format that zlib is to expect: GZIP, DEFLATE, or None.
    """

    def __init__(self, limits: Limits, *, compressed: int | None) -> None:
        self._limits = limits
        self._format = compressed
        self._inflater = None if compressed is None else zlib.decompressobj(compressed)
        self._pieces: list[bytes] = []
        self._sent = 0
        self._members = 1
        self.size = 0

    def add(self, piece: bytes) -> None:
        """The next piece, as it was sent.

        Raises:
            TooLargeError: It is too much, as it is or inflated.
            BrokenError: It is not what it is said to be.
        """
        self._sent += len(piece)
        if self._inflater is None:
            self._keep(piece)
            return
        if self._sent > self._limits.sent_bytes:
            raise TooLargeError(f"the compressed body is larger than {self._limits.sent_bytes:,} bytes")
        try:
            self._inflate(piece, self._inflater)
        except zlib.error as failure:
            raise BrokenError(f"the compressed body is broken: {failure}") from failure

    def _inflate(self, data: bytes, inflater: Inflater) -> None:
        while True:
            if inflater.eof:
                data = data.lstrip(b"\0")  # the padding behind the last part
                if not data:
                    return
                inflater = self._another()
            kept = self._keep(inflater.decompress(data, _STEP))
            data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            # As much as was asked for: there may be more, even if all that was sent is read.
            if not data and (inflater.eof or kept < _STEP):
                return

    def _another(self) -> Inflater:
        # Each copies what is left, so that very many would take very long.
        self._members += 1
        if self._members > _MOST_MEMBERS or self._format is None:
            raise BrokenError(f"the compressed body has more than {_MOST_MEMBERS} parts")
        self._inflater = zlib.decompressobj(self._format)
        return self._inflater

    def _keep(self, piece: bytes) -> int:
        self.size += len(piece)
        if self.size > self._limits.inflated_bytes:
            self._pieces.clear()
            raise TooLargeError(f"the body is larger than {self._limits.inflated_bytes:,} bytes")
        self._pieces.append(piece)
        return len(piece)

    def whole(self) -> bytes:
        """All of it.

        Raises:
            BrokenError: It ends in the middle of its compressed data.
        """
        if self._inflater is not None and self._sent and not self._inflater.eof:
            raise BrokenError("the body ends in the middle of its compressed data")
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def inflated(message: bytes, limits: Limits) -> bytes:
    """A message as it was before it was compressed with gzip or deflate; one that was not, as it is.

    Raises:
        TooLargeError: It is too much, as it is or inflated.
        BrokenError: It is not valid gzip or deflate.
    """
    body = Body(limits, compressed=_format_of(message))
    body.add(message)
    return body.whole()


def is_slow_to_inflate(message: bytes) -> bool:
    """Inflating it would keep other requests waiting; what is not compressed only passes through."""
    return len(message) > _INLINE and _format_of(message) is not None


def _format_of(message: bytes) -> int | None:
    # No OTLP request begins with the bytes that mark either: they would be a field that OTLP has not.
    if message.startswith(_GZIP_MAGIC):
        return GZIP
    return DEFLATE if message[:1] == b"\x78" and int.from_bytes(message[:2], "big") % 31 == 0 else None
