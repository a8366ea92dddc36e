"""A helper process as the app sees it: started, told something, listened to until a deadline, ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import msgspec

from spanwise.capture._frames import LENGTH, MOST_BYTES, Reply
from spanwise.capture._mark import MARK
from spanwise.errors import SpanwiseError

# Not `-m`: the package may be found only by the app's own search path. Not multiprocessing: it imports the main module.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); parent = int(sys.argv[2]); sys.argv[:] = ['spanwise'];"
    " from spanwise.capture._isolated import main; main(parent)"
)
_PIECE = 1 << 16
_END_S = 1.0


class EndedError(Exception):
    """The process is gone; the message says how it ended."""


class LateError(Exception):
    """The process did not answer in time."""


class Process:
    """One helper process. Only the thread that made it calls it, but for `kill`."""

    def __init__(self, executable: str) -> None:
        environment = {**os.environ, MARK: "1", "SPANWISE_ENABLED": "false"}
        path = json.dumps([str(entry) for entry in sys.path])
        self._process = subprocess.Popen(  # noqa: S603  (the app's own Python, with code of ours)
            [executable, "-c", _BOOT, path, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._heard = bytearray()
        self._decoder = msgspec.msgpack.Decoder(Reply)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def tell(self, frame: bytes, until: float) -> None:
        """Send a frame.

        Raises:
            EndedError: The process is gone.
            LateError: It does not listen.
        """
        left = memoryview(frame)
        while left:
            self._wait(self._in, select.POLLOUT, until)
            try:
                left = left[os.write(self._in, left[:_PIECE]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise EndedError(self._how()) from error

    def hear(self, until: float) -> Reply:
        """The next reply.

        Raises:
            EndedError: The process is gone, or what it says is no reply.
            LateError: It says nothing until then.
        """
        heard = self._heard
        while True:
            if len(heard) >= LENGTH.size:
                end = LENGTH.size + LENGTH.unpack_from(heard)[0]
                if end > MOST_BYTES:
                    raise EndedError("its answer was too long")
                if len(heard) >= end:
                    body = bytes(heard[LENGTH.size : end])
                    del heard[:end]
                    return self._reply(body)
            self._wait(self._out, select.POLLIN, until)
            try:
                piece = os.read(self._out, _PIECE)
            except BlockingIOError:
                continue
            except OSError as error:
                raise EndedError(self._how()) from error
            if not piece:
                raise EndedError(self._how())
            heard += piece

    def _reply(self, body: bytes) -> Reply:
        try:
            return self._decoder.decode(body)
        except (msgspec.MsgspecError, SpanwiseError) as error:
            raise EndedError(f"its answer was not readable: {error}") from error

    @staticmethod
    def _wait(file: int, event: int, until: float) -> None:
        left = until - time.monotonic()
        poll = select.poll()
        poll.register(file, event)
        if left <= 0 or not poll.poll(left * 1000):
            raise LateError

    def _how(self) -> str:
        """How the process ended, in words."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        if code >= 0:
            return f"it exited with code {code}"
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it was ended by signal {-code}"

    def kill(self) -> None:
        """End the process and all that it started, now."""
        if self._process.poll() is None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(OSError):
                self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)

    def close(self) -> None:
        """End the process and let go of its pipes."""
        self.kill()
        self.abandon()

    def abandon(self) -> None:
        """Let go of the pipes, and leave the process to whoever else holds them: in a forked child."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.poll()
