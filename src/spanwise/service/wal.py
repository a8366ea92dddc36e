"""The write-ahead log: what was accepted stands on disk before the sender hears so, until its scores are safe.

How it works
    A request is appended to the newest of the segment files as it came. When the scores of a trace are safe, a mark
    says up to which request it is done, and under which revision. When a trace is done and nothing more is waited for
    of it, it is settled; a segment that holds settled traces only is deleted, the oldest first. One that a few long
    traces keep is emptied: what they need is moved to the newest, and so the log stays within its bound.
    What a killed process left is given out at the next start: a tail that was cut off by the end of the process is cut
    off the file, and damage in the middle is passed over; both are counted.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from spanwise.errors import SpanwiseError
from spanwise.service._wal_frames import HEAD, MAGIC, Content, Entry, How, Mark, Scan, Signal, framed, new_salt
from spanwise.service._wal_lock import FolderLock
from spanwise.service._wal_traces import Traces

__all__ = ["Entry", "How", "Mark", "Wal", "WalError", "WalFullError", "WalStats"]

Fsync: TypeAlias = Literal["always", "interval", "never"]
SEGMENT_BYTES = 16 << 20
_INTERVAL_S = 1.0
_CROWDED = 0.5
_FEW = 0.25


class WalError(SpanwiseError):
    """The log cannot be written or opened."""


class WalFullError(WalError):
    """The log has no room for this until traces are done."""


@dataclass(slots=True, kw_only=True)
class WalStats:
    """What happened to the log since it was opened."""

    appended: int = 0
    marks: int = 0
    torn: int = 0
    """Segments whose tail was cut off, since the process ended while it wrote."""
    damaged: int = 0
    """Places in segments that could not be read, and were passed over."""
    moved: int = 0
    deleted: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Segment:
    number: int
    path: Path
    size: int


class Wal:
    """A bounded log of requests in a folder of its own. Thread-safe.

    Args:
        folder: Where it is; made for this user alone.
        max_bytes: How large it may become.
        fsync: When the disk has to have what was written: before each answer, every second, or when the system likes.
            A process that is killed loses nothing in any case; a machine that loses power does.
        segment_bytes: How large one file becomes.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = 1 << 30,
        fsync: Fsync = "interval",
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folder = folder
        self.fsync: Fsync = fsync
        self.max_bytes = max_bytes
        self.stats = WalStats()
        self.broken = ""
        """Why it cannot be written just now; empty while it can."""
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._traces = Traces()
        self._segments: list[_Segment] = []
        self._bytes = 0
        self._file = -1
        self._salt = b""
        self._unsynced: list[int] = []
        self._synced_at = time.monotonic()
        self._seq = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._turn = FolderLock(folder / "lock")
        except OSError as error:
            raise WalError(f"the write-ahead log {folder} cannot be opened: {error.strerror or error}") from error
        if not self._turn.held:
            raise WalError(
                f"the write-ahead log {folder} is in use by process {self._turn.owner or 'of another user'}; give each"
                " process a folder of its own: --wal-folder, or SPANWISE_SERVE_WAL_FOLDER"
            )
        try:
            self._recover()
        except OSError as error:
            self._turn.leave()
            raise WalError(f"the write-ahead log {folder} cannot be read: {error.strerror or error}") from error

    # What is in it

    @property
    def bytes(self) -> int:
        """How large it is."""
        return self._bytes

    @property
    def segments(self) -> int:
        """In how many files."""
        return len(self._segments)

    def undone(self) -> int:
        """How many traces in it are not done."""
        with self._lock:
            return self._traces.undone()

    def mark_of(self, trace: bytes) -> Mark | None:
        """What was said of a trace last; None if nothing was, or the log holds nothing of it any more."""
        with self._lock:
            return self._traces.mark_of(trace)

    def is_done(self, trace: bytes) -> bool:
        """All of a trace that the log holds is done."""
        with self._lock:
            return self._traces.is_done(trace)

    def entries(self) -> Iterator[Entry]:
        """The requests in it that hold a part of any trace that is not settled."""
        for segment in list(self._segments):
            try:
                scan = self._scan(segment)
            except FileNotFoundError:  # settled meanwhile
                continue
            except OSError:
                self.stats.damaged += 1
                continue
            for record in scan.records():
                if isinstance(record, Entry):
                    with self._lock:
                        is_wanted = not all(map(self._traces.is_settled, record.traces))
                    if is_wanted:
                        yield record

    # Writing

    def append(self, signal: Signal, content: Content, payload: bytes, traces: Sequence[bytes]) -> int:
        """Write a request; its number.

        Raises:
            WalFullError: There is no room.
            WalError: It cannot be written.
        """
        with self._lock:
            entry = Entry(self._seq + 1, signal, content, traces, payload)
            self._write(entry, bounded=True)
            self._seq += 1
            self._traces.add(traces, entry.seq, self._segments[-1].number)
            self.stats.appended += 1
            return entry.seq

    def mark(self, trace: bytes, how: How, revision: int, upto: int) -> None:
        """Write that all of a trace up to a request is done, or told.

        What cannot be written is counted, and done all the same: after a restart it would be done once more.
        """
        with self._lock:
            mark = Mark(trace, how, revision, upto)
            if not self._traces.mark(mark):
                return
            self.stats.marks += 1
            with suppress(WalError):
                self._write(mark, bounded=False)
            self._delete_settled()

    def release(self, trace: bytes) -> None:
        """Nothing more is waited for of a trace: once it is done, it keeps no segment."""
        with self._lock:
            self._traces.release(trace)
            self._delete_settled()

    def sync(self) -> None:
        """Wait until the disk has what was written by now.

        Raises:
            WalError: It does not take it.
        """
        with self._lock:
            files, self._unsynced = self._unsynced, []
            if self._file >= 0:
                files.append(os.dup(self._file))
        try:
            for file in files:
                os.fsync(file)
        except OSError as error:
            with self._lock:
                self._fail(error)
                self._leave_segment()
            raise WalError(f"the write-ahead log {self.folder} cannot be synced: {error.strerror}") from error
        finally:
            for file in files:
                os.close(file)

    def keep_up(self) -> None:
        """Sync where it is time for that, and make room where few traces keep much."""
        now = time.monotonic()
        if self.fsync == "interval" and now - self._synced_at >= _INTERVAL_S:
            self._synced_at = now
            with suppress(WalError):
                self.sync()
        while self._bytes > self.max_bytes * _CROWDED and self._empty_oldest():
            pass

    def close(self) -> None:
        """Sync and close it; what is not done stays."""
        if self.fsync != "never":
            with suppress(WalError):
                self.sync()
        with self._lock:
            self._leave_segment()
            for file in self._unsynced:
                os.close(file)
            self._unsynced = []
            self._turn.leave()

    def _write(self, record: Entry | Mark, *, bounded: bool) -> None:
        try:
            if self._file < 0 or self._segments[-1].size >= self._segment_bytes:
                self._begin_segment()
            frame = framed(record, self._salt)
            if bounded and self._bytes + sum(map(len, frame)) > self.max_bytes:
                raise WalFullError(f"the write-ahead log {self.folder} is full ({self._bytes} bytes)")
            self._put(frame)
        except OSError as error:
            self._fail(error)
            raise WalError(f"the write-ahead log {self.folder} cannot be written: {error.strerror}") from error
        self.broken = ""

    def _put(self, frame: Sequence[bytes]) -> None:
        segment, size = self._segments[-1], sum(map(len, frame))
        try:
            written = _write(self._file, frame)
            while written < size:
                written += os.write(self._file, b"".join(frame)[written:])
        except OSError:
            try:
                os.ftruncate(self._file, segment.size)
            except OSError:
                self._leave_segment()
            raise
        segment.size += size
        self._bytes += size

    def _fail(self, error: OSError) -> None:
        self.stats.failures += 1
        self.broken = error.strerror or str(error)

    # Segments

    def _begin_segment(self) -> None:
        self._leave_segment()
        number = self._segments[-1].number + 1 if self._segments else 1
        path = self.folder / f"{number:012d}.wal"
        self._salt = new_salt()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, MAGIC + self._salt)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self._file = file
        self._segments.append(_Segment(number, path, HEAD))
        self._bytes += HEAD
        if self.fsync != "never":
            _sync_folder(self.folder)

    def _leave_segment(self) -> None:
        if self._file >= 0:
            if self.fsync == "never":
                os.close(self._file)
            else:
                self._unsynced.append(self._file)
            self._file = -1

    def _delete_settled(self) -> None:
        """Delete the oldest segments as long as nothing needs them. The order keeps marks as long as what they mark."""
        while self._segments and not self._traces.unsettled(self._segments[0].number):
            if len(self._segments) == 1 and self._file >= 0:
                return
            self._delete_oldest()

    def _delete_oldest(self) -> None:
        segment = self._segments.pop(0)
        with suppress(OSError):
            segment.path.unlink(missing_ok=True)
        self._traces.forget(segment.number)
        self._bytes -= segment.size
        self.stats.deleted += 1

    def _empty_oldest(self) -> bool:
        """Move what a few traces still need of the oldest segment to the newest, and delete it."""
        with self._lock:
            if len(self._segments) < 2:
                return False
            oldest, traces = self._segments[0], self._traces
            if traces.unsettled(oldest.number) > traces.within(oldest.number) * _FEW:
                return False
            try:
                self._move(oldest)
            except (WalError, OSError):
                return False
            self._delete_oldest()
            return True

    def _move(self, segment: _Segment) -> None:
        traces = self._traces
        for record in self._scan(segment).records():
            if isinstance(record, Mark) or all(map(traces.is_settled, record.traces)):
                continue
            self._write(record, bounded=False)
            traces.add(record.traces, record.seq, self._segments[-1].number, fresh=False)
            self.stats.moved += 1
            for mark in filter(None, map(traces.mark_of, record.traces)):
                self._write(mark, bounded=False)
        if self.fsync != "never" and self._file >= 0:
            os.fsync(self._file)

    # The start

    def _recover(self) -> None:
        marks: dict[bytes, Mark] = {}
        for path in sorted(self.folder.glob("*.wal")):
            if path.stem.isdigit():
                self._read_segment(_Segment(int(path.stem), path, 0), marks)
        for mark in marks.values():
            if self._traces.mark(mark) and not mark.may_be_heard:
                self._traces.release(mark.trace)
        self._delete_settled()

    def _read_segment(self, segment: _Segment, marks: dict[bytes, Mark]) -> None:
        scan = self._scan(segment)
        if not scan.is_segment:
            is_begun = len(scan.data) < HEAD
            self.stats.torn += is_begun
            self.stats.damaged += not is_begun
            segment.path.unlink() if is_begun else segment.path.replace(segment.path.with_suffix(".broken"))
            return
        for record in scan.records():
            if isinstance(record, Entry):
                self._seq = max(self._seq, record.seq)
                self._traces.add(record.traces, record.seq, segment.number)
                continue
            known = marks.get(record.trace)
            if known is None or record.upto >= known.upto:
                marks[record.trace] = record
        self.stats.damaged += scan.damaged
        if scan.torn:
            self.stats.torn += 1
            os.truncate(segment.path, scan.end)
        segment.size = scan.end
        self._segments.append(segment)
        self._bytes += segment.size

    def _scan(self, segment: _Segment) -> Scan:
        return Scan(segment.path.read_bytes())


def _write(file: int, parts: Sequence[bytes]) -> int:
    """Write as much as the system takes at once, without a copy where it can do that; how much that was."""
    return os.writev(file, parts) if hasattr(os, "writev") else os.write(file, b"".join(parts))


def _sync_folder(folder: Path) -> None:
    """Have the disk know the names of the files in a folder, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
