"""The bytes of a file or of standard input, as they were before compression.

An input is read once, front to back, so standard input and pipes work like files. Compression is told by the first
bytes, never by the name: logs are often renamed and rotated. What a small file may expand to is bounded, twice: by a
total, and by a ratio to what was read, because a decompression bomb shows by its ratio long before its size hurts.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from spanwise.errors import SourceError

STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to tell its format."""

_MB = 1 << 20
_CHUNK = _MB
# Four bytes of zstd can stand for 128 KB, so one such piece expands to 64 MB at the very most.
_ZSTD_PIECE = 2048
_ZSTD_WINDOW = 128 * _MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a file a reader takes on before it gives up.

    Args:
        expanded_bytes: What one compressed file may expand to.
        ratio: How many times its size a compressed file may expand to; agent traces stay below 100.
        ratio_free_bytes: What any compressed file may expand to before its ratio is looked at.
        first_line_bytes: How far a line's end is looked for, to tell JSON lines from a document.
        record_bytes: The largest line, message or span.
    """

    expanded_bytes: int = 64 * 1024 * _MB
    ratio: int = 250
    ratio_free_bytes: int = 128 * _MB
    first_line_bytes: int = 4 * _MB
    record_bytes: int = 256 * _MB


DEFAULT_LIMITS = Limits()


class Input:
    """One input's bytes, in order; `name` is what messages call it."""

    __slots__ = ("_at", "_before", "_chunks", "_failure", "_plain", "_ready", "name")

    def __init__(self, chunks: Iterator[bytes], *, name: str, plain: _Raw | None = None) -> None:
        self.name = name
        self._plain = plain
        self._chunks = chunks
        self._ready = b""
        self._at = 0
        self._before = 0
        self._failure: SourceError | None = None

    @property
    def offset(self) -> int:
        """How many bytes are read."""
        return self._before + self._at

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or all there are; they stay unread."""
        if len(self._ready) - self._at < size:
            self._fetch(size)
        return self._ready[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        taken = self.peek(size)
        if len(taken) < size and self._failure is not None:
            raise self._failure
        self._at += len(taken)
        return taken

    def read_chunk(self) -> bytes:
        """Some bytes, as they come; none at the end."""
        if self._at == len(self._ready):
            self._fetch(1)
            if self._failure is not None and not self._ready:
                raise self._failure
        taken = self._ready[self._at :] if self._at else self._ready
        self._before += len(self._ready)
        self._ready, self._at = b"", 0
        return taken

    def read_all(self, *, at_most: int) -> bytes:
        """Everything that is left.

        Raises:
            SourceError: It is more than `at_most` bytes.
        """
        content = self._again(at_most) or self.read(at_most + 1)
        if len(content) > at_most:
            raise SourceError(
                f"the file is larger than {at_most:,} bytes, which is the limit for its format", source=self.name
            )
        return content

    def _again(self, at_most: int) -> bytes:
        """What is left, read in one piece where it can be: putting pieces together takes longer."""
        content = b"" if self._plain is None else self._plain.whole(self.offset, at_most)
        if content:
            self._before, self._ready, self._at = self.offset + len(content), b"", 0
        return content

    def _fetch(self, size: int) -> None:
        left = self._ready[self._at :]
        parts, held = [left] if left else [], len(left)
        self._before += self._at
        try:
            while held < size and self._failure is None and (chunk := next(self._chunks, b"")):
                parts.append(chunk)
                held += len(chunk)
        except SourceError as failure:
            # What came before the failure is good; whoever reads on to the failure meets it.
            self._failure = failure
        self._ready, self._at = b"".join(parts), 0


@contextlib.contextmanager
def open_input(
    path: str | Path | BinaryIO, *, limits: Limits = DEFAULT_LIMITS, on_progress: Callable[[int], None] | None = None
) -> Generator[Input]:
    """Open a file, standard input ("-") or a binary stream.

    Args:
        path: The file, "-", or an open binary stream.
        limits: What the file may expand to.
        on_progress: Called now and then with the bytes read so far, as stored.

    Raises:
        SourceError: The file cannot be opened; or later, while it is read, its compressed data are broken or expand
        beyond the limits.
    """
    if not isinstance(path, str | Path):
        yield from_stream(path, name=str(getattr(path, "name", "stream")), limits=limits, on_progress=on_progress)
    elif str(path) == STDIN:
        if cast("object", sys.stdin) is None:
            raise SourceError("standard input is closed", source="stdin")
        yield from_stream(sys.stdin.buffer, name="stdin", limits=limits, on_progress=on_progress)
    else:
        name = str(path)
        try:
            stream = Path(path).open("rb")  # noqa: SIM115 - it is closed by the `with` below
        except (OSError, ValueError) as failure:
            raise SourceError(f"the file cannot be opened: {_words(failure)}", source=name) from failure
        with stream:
            # What is read of a large file before its format is known may be read again, so it is little.
            first = HEAD_BYTES if os.fstat(stream.fileno()).st_size > _CHUNK else _CHUNK
            yield from_stream(stream, name=name, limits=limits, on_progress=on_progress, first=first)


def from_stream(
    stream: BinaryIO,
    *,
    name: str,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Callable[[int], None] | None = None,
    first: int = _CHUNK,
) -> Input:
    """The stream's bytes, decompressed if their first bytes say so; so many are read at first."""
    raw = _Raw(stream, name=name, on_progress=on_progress)
    head = raw.read(first)  # where this is all, as in most files, it stays as it is
    raw.unread(head)
    if head.startswith(GZIP_MAGIC):
        chunks = _bounded(_gunzip(raw), raw, limits=limits)
    elif head.startswith(ZSTD_MAGIC):
        chunks = _bounded(_unzstd(raw), raw, limits=limits)
    else:
        plain = raw if len(head) == first else None
        return Input(iter(lambda: raw.read(_CHUNK), b""), name=name, plain=plain)
    return Input(chunks, name=name)


def expand_zstd(record: bytes, *, name: str, limits: Limits) -> bytes:
    """One zstd-compressed record, expanded.

    Raises:
        SourceError: It is broken or expands beyond the limits.
    """
    raw = _Raw(None, name=name)
    raw.unread(record)
    parts: list[bytes] = []
    held = 0
    for chunk in _bounded(_unzstd(raw), raw, limits=limits):
        parts.append(chunk)
        held += len(chunk)
        if held > limits.record_bytes:
            raise SourceError(f"a compressed record expands to more than {limits.record_bytes:,} bytes", source=name)
    return b"".join(parts)


def _words(failure: Exception) -> str:
    return (failure.strerror or str(failure)) if isinstance(failure, OSError) else str(failure)


class _Raw:
    """The bytes as stored; counts them, and takes back what was read too far."""

    __slots__ = ("_at", "_back", "_on_progress", "_stream", "_told", "count", "name")

    def __init__(self, stream: BinaryIO | None, *, name: str, on_progress: Callable[[int], None] | None = None) -> None:
        self.name = name
        self.count = 0
        self._stream = stream
        self._back = b""
        self._at = 0
        self._on_progress = on_progress
        self._told = 0

    def read(self, size: int) -> bytes:
        taken = self._back[self._at : self._at + size]
        self._at += len(taken)
        if self._at == len(self._back):
            self._back, self._at = b"", 0
        if not taken and self._stream is not None:
            try:
                taken = self._stream.read(size)
            except OSError as failure:
                raise self.error(f"the file cannot be read: {_words(failure)}") from failure
        self.count += len(taken)
        if self._on_progress is not None and self.count - self._told >= (_CHUNK if taken else 1):
            self._told = self.count
            self._on_progress(self.count)
        return taken

    def whole(self, start: int, at_most: int) -> bytes:
        """All from `start` on, what was read before included; nothing if it is too much or there is no way back."""
        if self._stream is None or not self._stream.seekable():
            return b""
        try:
            here = self._stream.tell()
            begin = here - self.count - len(self._back) + self._at + start
            size = self._stream.seek(0, os.SEEK_END) - begin
            self._stream.seek(begin if size <= at_most else here)
            if size > at_most:
                return b""
            self.count = start
            self._back, self._at = b"", 0
            return self.read(size)
        except OSError as failure:
            raise self.error(f"the file cannot be read: {_words(failure)}") from failure

    def unread(self, data: bytes) -> None:
        self.count -= len(data)
        self._back, self._at = data + self._back[self._at :], 0

    def error(self, message: str) -> SourceError:
        return SourceError(message, source=self.name, place=f"byte {self.count} of the compressed file")


class _Frame(Protocol):
    """A zstd frame being expanded."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd(raw: _Raw) -> tuple[Callable[[], _Frame], type[Exception]]:
    try:
        import zstandard
    except ModuleNotFoundError as failure:
        raise raw.error("reading zstd needs the package zstandard: pip install 'spanwise[cli]'") from failure
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    return cast("Callable[[], _Frame]", decompressor.decompressobj), zstandard.ZstdError


def _bounded(chunks: Iterator[bytes], raw: _Raw, *, limits: Limits) -> Iterator[bytes]:
    expanded = 0
    for chunk in chunks:
        expanded += len(chunk)
        if expanded > limits.expanded_bytes:
            raise raw.error(
                f"the file expands to more than {limits.expanded_bytes:,} bytes; decompress it first if you trust it"
            )
        if expanded > limits.ratio_free_bytes and expanded > raw.count * limits.ratio:
            raise raw.error(
                f"the file expands to more than {limits.ratio} times its size, as a bomb does;"
                " decompress it first if you trust it"
            )
        yield chunk


def _gunzip(raw: _Raw) -> Iterator[bytes]:
    while head := raw.read(_CHUNK):
        member = zlib.decompressobj(wbits=31)
        data = head
        while not member.eof:
            try:
                chunk = member.decompress(data, _CHUNK)
            except zlib.error as failure:
                raise raw.error(f"the gzip data are broken: {failure}") from failure
            if chunk:
                yield chunk
            data = member.unconsumed_tail
            if not data and not chunk and not member.eof and not (data := raw.read(_CHUNK)):
                raise raw.error("the file ends in the middle of its gzip data")
        # Padding of zeros after the last member is allowed.
        raw.unread(member.unused_data.lstrip(b"\0"))


def _unzstd(raw: _Raw) -> Iterator[bytes]:
    new_frame, broken = _zstd(raw)
    while head := raw.read(_ZSTD_PIECE):
        frame = new_frame()
        data = head
        while True:
            try:
                chunk = frame.decompress(data)
            except broken as failure:
                raise raw.error(f"the zstd data are broken: {failure}") from failure
            if chunk:
                yield chunk
            if frame.eof:
                break
            if not (data := raw.read(_ZSTD_PIECE)):
                raise raw.error("the file ends in the middle of its zstd data")
        raw.unread(frame.unused_data)
