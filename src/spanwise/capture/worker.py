"""The thread that scores: it takes what was captured, in small pieces, and lets the app run between them.

A thread that computes in Python for long makes every other thread wait for the interpreter's lock. So the worker gives
it up after each `SLICE_NS` of work, by sleeping for no time. It starts with the first local root that ends, and starts
anew in a forked child, whose parent keeps what was captured before the fork.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from spanwise.capture.intake import Intake
from spanwise.capture.records import Records
from spanwise.pipeline import Pipeline

SLICE_NS = 200_000
_IDLE_S = 0.5
_PIECE = 32
_log = logging.getLogger("spanwise")


class Breath:
    """Lets other threads run when enough work was done since they last could."""

    def __init__(self) -> None:
        self._since = time.perf_counter_ns()

    def __call__(self) -> None:
        """Sleep for no time if a slice is over."""
        if time.perf_counter_ns() - self._since > SLICE_NS:
            time.sleep(0)
            self._since = time.perf_counter_ns()


class Worker:
    """Runs a pipeline on what an intake holds, on a daemon thread of its own."""

    def __init__(self, intake: Intake, make: Callable[[Callable[[], None]], Pipeline]) -> None:
        self.intake = intake
        self._make = make
        self._breath = Breath()
        self.pipeline = make(self._breath)
        self.taken = 0
        self.own = 0
        """Spans that Spanwise itself emitted."""
        self._records = Records()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closing = False
        self._closed = threading.Event()
        self._flushes: list[threading.Event] = []

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self._thread is None and not self._closing:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="spanwise", daemon=True)
                    self._thread.start()

    def notify(self) -> None:
        """There is something to score: wake the thread, or start it."""
        if self._thread is None:
            self.start()
        self.intake.wake.set()

    def after_fork(self) -> None:
        """In a forked child: forget what the parent scores, and start anew when there is something to do."""
        self.intake.reset()
        self._thread = None
        self._starting = threading.Lock()
        self._closed = threading.Event()
        self._flushes = []
        self._breath = Breath()
        self.taken = self.own = 0
        self._records = Records()
        self.pipeline = self._make(self._breath)

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was captured by now is scored, if it is finished; False if the time did not suffice."""
        if self._thread is None and not self.intake.items:
            return True
        self.start()
        done = threading.Event()
        self._flushes.append(done)
        self.intake.wake.set()
        return done.wait(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Score what is finished, close the sinks and end the thread; False if the time did not suffice."""
        if self._thread is None and not self._closed.is_set():
            self._closing = True
            self._end()  # no root ended yet, so there is little to do
        elif not self._closing:
            self._closing = True
            self.intake.wake.set()
        return self._closed.wait(timeout_s)

    def _end(self) -> None:
        try:
            self._turn()
            self.pipeline.close(time.monotonic_ns())
        finally:
            self._closed.set()

    def _run(self) -> None:
        wake = self.intake.wake
        while True:
            wake.wait(_IDLE_S)
            wake.clear()
            closing, flushes = self._closing, self._flushes[:]
            try:
                self._end() if closing else self._turn()
            except Exception:  # noqa: BLE001  (the thread must live: whatever this is, the next turn may do)
                _log.exception("the worker met an error")
            for done in flushes:
                done.set()
                self._flushes.remove(done)
            if closing:
                return

    def _turn(self) -> None:
        items, pipeline, breath = self.intake.items, self.pipeline, self._breath
        now_ns = time.monotonic_ns()
        for number in range(1, len(items) + 1):
            record = self._records.of(items.popleft())
            self.taken += 1
            if record is None:
                self.own += 1
            else:
                pipeline.add(record, now_ns)
            if number % _PIECE == 0:
                breath()
                now_ns = time.monotonic_ns()
        for trace_id in self.intake.take_torn():
            pipeline.assembler.refuse(trace_id, "queue")
        pipeline.work(time.monotonic_ns())
