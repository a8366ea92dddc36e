"""Replies by the hash of what was asked: bounded, in memory, and in a folder where one is named."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

from spanwise.text import excerpt

_LONGEST = 100_000
_EVERY = 64
_log = logging.getLogger("spanwise")


class Cache:
    """Replies by key: the last ones used in memory, and in a folder as files that only their owner may read.

    A folder that cannot be written is left alone: what is not kept is asked again.

    Args:
        remember: How many replies are held in memory.
        folder: Where they are kept too; nowhere if empty.
        files: How many are kept there; of more, those that were used longest ago are deleted.
    """

    def __init__(self, *, remember: int = 1_024, folder: str = "", files: int = 10_000) -> None:
        self._held: OrderedDict[str, str] = OrderedDict()
        self._remember = remember
        self._folder = Path(folder).expanduser() if folder else None
        self._files = files
        self._written = 0
        self._lock = threading.Lock()
        self.problem = ""

    def get(self, key: str) -> str | None:
        """The reply; None where there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        found = self._load(key)
        if found is not None:
            self._hold(key, found)
        return found

    def put(self, key: str, reply: str) -> None:
        """Keep a reply; one that is very long is not kept."""
        if len(reply) > _LONGEST:
            return
        self._hold(key, reply)
        if self._folder is None:
            return
        try:
            self._save(self._folder, key, reply)
        except OSError as error:
            if not self.problem:
                self.problem = excerpt(error.strerror or str(error))
                _log.warning("replies cannot be kept in %s: %s; they are kept in memory", self._folder, self.problem)

    def _hold(self, key: str, reply: str) -> None:
        with self._lock:
            self._held[key] = reply
            self._held.move_to_end(key)
            while len(self._held) > self._remember:
                self._held.popitem(last=False)

    def _load(self, key: str) -> str | None:
        if self._folder is None:
            return None
        path = self._folder / f"{key}.json"
        try:
            found = path.read_text(encoding="utf-8")
            os.utime(path)
        except (OSError, UnicodeDecodeError):
            return None
        return found if len(found) <= _LONGEST else None

    def _save(self, folder: Path, key: str, reply: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")  # readable by its owner only
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(reply)
            Path(name).replace(folder / f"{key}.json")
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        self._written += 1
        if self._written % _EVERY == 1:
            self._prune(folder)

    def _prune(self, folder: Path) -> None:
        found: list[tuple[float, Path]] = []
        for path in folder.glob("*.json"):
            with contextlib.suppress(OSError):  # another process may have deleted it
                found.append((path.stat().st_mtime, path))
        for _, path in sorted(found)[: max(len(found) - self._files, 0)]:
            with contextlib.suppress(OSError):
                path.unlink()
