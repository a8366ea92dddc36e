"""Results as JSON lines: one object per run, appended to a file that several processes may share."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from spanwise.errors import ModelError, SinkError
from spanwise.model.ports import Content, Document, Mask
from spanwise.model.result import RunResult

VARIABLE = "SPANWISE_JSONL"
MAX_BYTES = 256 * 1024 * 1024
_log = logging.getLogger("spanwise")
_encode = msgspec.json.Encoder().encode


class _Writes(Protocol):
    def write(self, text: str, /) -> object: ...


class JsonLinesSink:
    """Appends each run as one line of JSON: the contract of `spanwise score --format json`, and the run's revision.

    A line is one write at the end of the file, so that those of several processes do not mix. A file that this makes
    can be read by its user alone. Past `max_bytes` it becomes `NAME.1`, in the place of the one before, and a new one
    is begun. Nothing is synced to the disk: what the system held when it lost power is lost.

    Args:
        to: A path, or something open that text can be written to, which is neither rotated nor closed here. What
            SPANWISE_JSONL names where not given, else `spanwise/runs.jsonl` in the user's folder for state.
        content: How much is written of what people, models and tools wrote.
        document: How a run is spelt: `to_contract` of spanwise.report.contract, which `instrument` gives where it is
            not given here.
        mask: What takes secrets out; `instrument` gives its own where not given.
        max_bytes: How large the file may become; None for no bound.
    """

    def __init__(
        self,
        to: str | Path | _Writes | None = None,
        *,
        content: Content | None = None,
        document: Document | None = None,
        mask: Mask | None = None,
        max_bytes: int | None = MAX_BYTES,
    ) -> None:
        if max_bytes is not None and max_bytes <= 0:
            raise ModelError(f"max_bytes {max_bytes!r} must lie above 0")
        self._stream = None if to is None or isinstance(to, str | Path) else to
        self._path = None if self._stream is not None else _path(to if isinstance(to, str | Path) else None)
        self._content: Content | None = content
        self._document = document
        self._mask = mask
        self._max_bytes = max_bytes
        self._file: int | None = None
        self._opener = 0
        self._torn = False

    @property
    def path(self) -> Path | None:
        """The file, if it is one that this opens."""
        return self._path

    @property
    def emits(self) -> Content:
        """How much content is written."""
        return self._content or "all"

    def equip(self, *, content: Content | None, document: Document, mask: Mask | None) -> None:
        """What a door has for it: a level that goes before the own one, and what was not given."""
        self._content = content or self._content
        self._document = self._document or document
        self._mask = self._mask or mask

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Append a line for each run.

        Raises:
            SinkError: One of them could not be written; the others were, if that was possible.
        """
        failure: Exception | None = None
        for result in results:
            try:
                self._write(self._line(result))
            except (OSError, ValueError, SinkError) as error:
                failure = error
        if isinstance(failure, SinkError):
            raise failure
        if failure is not None:
            raise SinkError(f"{self._path or 'the stream'} cannot be written: {failure}") from failure

    def close(self) -> None:
        """Close the file, if this opened it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _line(self, result: RunResult) -> bytes:
        if self._document is None:
            raise SinkError("JSON lines need to know how a run is spelt; give JsonLinesSink(document=to_contract)")
        whole = self._document(result, content=self.emits, mask=self._mask)
        try:
            return _json({**whole, "revision": result.revision})
        except (TypeError, ValueError, RecursionError):  # content that JSON has no words for must not cost the scores
            bare = self._document(result, content="none", mask=self._mask)
            return _json({**bare, "revision": result.revision})

    def _write(self, line: bytes) -> None:
        if self._stream is not None:
            self._stream.write(line.decode())
            flush: object = getattr(self._stream, "flush", None)
            if callable(flush):
                flush()
            return
        if self._max_bytes is not None and len(line) > self._max_bytes:
            raise SinkError(f"a run of {len(line)} bytes is larger than {self._path} may become ({self._max_bytes})")
        file = self._ready(len(line))
        # A line that could be written in part only stays alone on its line.
        line = b"\n" + line if self._torn else line
        self._torn = True
        written = os.write(file, line)
        if written < len(line):
            raise SinkError(f"{self._path} took {written} of {len(line)} bytes of a line; the disk may be full")
        self._torn = False

    def _ready(self, more: int) -> int:
        """The open file that the path names now, with room for a line."""
        assert self._path is not None
        # Somebody may have moved or deleted it; and a forked child needs its own, or its lock is the parent's.
        if self._file is not None and (self._opener != os.getpid() or not _is_at(self._file, self._path)):
            self.close()
        if self._file is None:
            self._file, self._opener = _opened(self._path), os.getpid()
        held = os.fstat(self._file)
        if self._max_bytes is not None and stat.S_ISREG(held.st_mode) and 0 < held.st_size > self._max_bytes - more:
            self._file = _rotated(self._file, self._path)
        return self._file


def _path(named: str | Path | None) -> Path:
    if named is None:
        named = os.environ.get(VARIABLE, "").strip() or None
    if named is None:
        state = os.environ.get("XDG_STATE_HOME", "")
        folder = Path(state) if state and Path(state).is_absolute() else Path("~/.local/state")
        named = folder / "spanwise" / "runs.jsonl"
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError:
        raise SinkError(f"read {str(named)!r}, whose home folder is not known; name a path in {VARIABLE}") from None


def _opened(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if is_new:
        _log.info("spanwise: runs are written to %s", path)
    return file


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _rotated(file: int, path: Path) -> int:
    """A new file at the path. Of several processes that find the old one full, the first moves it."""
    try:
        import fcntl
    except ImportError:  # without locks the last one moves it
        os.close(file)
        path.replace(path.with_name(f"{path.name}.1"))
        return _opened(path)
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        if _is_at(file, path):
            path.replace(path.with_name(f"{path.name}.1"))
        made = _opened(path)
    finally:
        os.close(file)
    return made


def _json(document: Mapping[str, object]) -> bytes:
    """One line. What msgspec cannot write (a whole number of more than 64 bits, half a surrogate pair) json can."""
    try:
        return _encode(document) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError):
        text = json.dumps(
            document, separators=(",", ":"), allow_nan=False, default=lambda one: f"<{type(one).__name__}>"
        )
        return text.encode() + b"\n"
