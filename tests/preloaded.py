"""The command `spanwise` as a process of its own, forked from one that has loaded it.

To load what a verb needs takes a second of a processor; there are hundreds of such processes in these tests. They
differ in nothing else from what `python -m spanwise` begins, which scripts/e2e and some of the tests do.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from signal import SIGKILL, Signals
from typing import IO, Protocol

_ROOT = Path(__file__).resolve().parents[1]


class Process(Protocol):
    """What tests ask of a process, be it forked or not."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Forked:
    """A process that another one forked for us."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told
        self._lines: list[int] = []
        self._rest = b""
        if not self._hear(60.0):
            told.close()
            raise AssertionError("no process was forked within a minute")
        self.pid = self._lines[0]

    def poll(self) -> int | None:
        """Its exit code, minus the signal's number where one ended it; None while it runs."""
        if len(self._lines) == 1:
            self._hear(0.0)
        return self._lines[1] if len(self._lines) > 1 else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and give its exit code."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired("spanwise", timeout or 0.0)
            self._hear(left)
        return code

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, Signals(sig))

    def kill(self) -> None:
        """End it as the system does."""
        self.send_signal(SIGKILL)

    def _hear(self, timeout_s: float | None) -> bool:
        """Whether one more line was told within the time."""
        self._told.settimeout(timeout_s)
        try:
            heard = self._told.recv(64)
        except (TimeoutError, BlockingIOError):
            return False
        assert heard, "the process that waited for it is gone"
        *lines, self._rest = (self._rest + heard).split(b"\n")
        self._lines += [int(line) for line in lines]
        if len(self._lines) > 1:
            self._told.close()
        return bool(lines)


def started(
    *arguments: str | Path,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes],
    stderr: IO[bytes],
    cwd: Path | None = None,
    environment: Mapping[str, str],
) -> Process:
    """Begin `spanwise` with these arguments; from nothing where the environment says how Python itself runs."""
    words = [*map(str, arguments)]
    if _of_python(environment) != _of_python(os.environ):
        return subprocess.Popen(
            [sys.executable, "-m", "spanwise", *words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=environment,
        )
    asked = {"arguments": words, "cwd": str(cwd or Path.cwd()), "environment": dict(environment)}
    told, tells = socket.socketpair()
    with Path(os.devnull).open("rb") as nothing, tells, _ONE_AT_A_TIME:
        given = nothing if isinstance(stdin, int) and stdin < 0 else stdin
        descriptors = [one if isinstance(one, int) else one.fileno() for one in (given, stdout, stderr, tells)]
        body = json.dumps(asked).encode()
        control = _control(os.getpid())
        socket.send_fds(control, [len(body).to_bytes(4, "big")], descriptors)
        control.sendall(body)
    return Forked(told)


_ONE_AT_A_TIME = threading.Lock()


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("PYTHON", "LC_", "LANG")) or name == "SPANWISE_PURE"
    }


@cache
def _control(_owner: int) -> socket.socket:
    """The socket of the process that forks for this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", str(_ROOT / "tests" / "_preloading.py"), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            cwd=_ROOT,
        )

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    return ours
