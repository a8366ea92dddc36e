"""Which of the processes that share an outbox delivers."""

from __future__ import annotations

import os
from pathlib import Path


class Turn:
    """Which of the processes that share an outbox delivers: the one that holds the lock on a file."""

    def __init__(self, path: Path | None) -> None:
        self.shared = path is not None
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """True while it is this process's turn."""
        if self._path is None or self._file is not None:
            return True
        try:
            import fcntl
        except ModuleNotFoundError:
            return True  # two that deliver do no harm: what is sent twice is stored once
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except OSError:
            os.close(file)
            return True
        self._file = file
        return True

    def leave(self) -> None:
        """Let others take it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def after_fork(self) -> None:
        """Let go of the parent's hold on the file, in the child."""
        self.leave()
