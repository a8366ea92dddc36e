"""One process for each folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


class FolderLock:
    """Holds a file locked; the system lets it go with the process. `owner` is the process that holds it instead."""

    def __init__(self, path: Path) -> None:
        self.held = True
        self.owner = ""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ModuleNotFoundError:
            return  # a system without such locks
        except OSError:
            self.held = False
            self.owner = os.pread(self._file, 20, 0).decode(errors="replace").strip()
            self.leave()
            return
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def leave(self) -> None:
        """Let others have it."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
