"""The thread that scores: it takes what was captured, in small pieces, and lets the app run between them.

A thread that computes in Python for long makes every other thread wait for the interpreter's lock. So the worker gives
it up after each `SLICE_NS` of work, by sleeping: whoever waits for the lock needs some time to wake and take it, and
one who merely lets it go has it again before. It starts with the first local root that ends, and starts anew in a
forked child, whose parent keeps what was captured before the fork.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from spanwise.capture.intake import Captured, Intake
from spanwise.capture.records import recorder
from spanwise.model.ports import Record
from spanwise.pipeline import Pipeline

SLICE_NS = 60_000
_SLEEP_S = 1e-6
"""The shortest sleep that is one: about 60 us. None at all is no sleep in some versions of Python."""
_IDLE_S = 0.5
_GATHER_S = 0.01
"""How long the thread waits for more, once a run has ended: to wake for each costs the app more than to score it."""
_PIECE = 32
_QUEUED = 4
"""The share of the bound on bytes that the queue may take beside it: one in so many."""
_log = logging.getLogger("spanwise")


class Breath:
    """Lets other threads run when enough work was done since they last could."""

    def __init__(self) -> None:
        self._since = time.perf_counter_ns()

    def __call__(self) -> None:
        """Sleep for a moment if a slice is over."""
        if time.perf_counter_ns() - self._since > SLICE_NS:
            time.sleep(_SLEEP_S)
            self._since = time.perf_counter_ns()


class Worker:
    """Runs a pipeline on what an intake holds, on a daemon thread of its own."""

    def __init__(self, intake: Intake, make: Callable[[Callable[[], None]], Pipeline]) -> None:
        self.intake = intake
        self._make = make
        self._breath = Breath()
        self.pipeline = make(self._breath)
        most = self.pipeline.assembler.settings.max_bytes
        intake.max_bytes = None if most is None else most // _QUEUED
        intake.on_pressure = self.notify
        self.taken = 0
        self.own = 0
        """Spans that Spanwise itself emitted."""
        self._record = recorder()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._hurry = threading.Event()
        self._closing = False
        self._closed = threading.Event()
        self._flushes: list[threading.Event] = []

    def start(self) -> None:
        """Start the thread, unless it runs."""
        # Not to wait for the lock: whoever has it starts the thread, and it may be this thread, interrupted.
        if self._thread is not None or self._closing or not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="spanwise", daemon=True)
                thread.start()
                self._thread = thread
        except RuntimeError:  # the interpreter is ending, or there are too many: what waits is scored at the end
            _log.warning("the thread that scores could not be started", exc_info=True)
        finally:
            self._starting.release()

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
        self._hurry = threading.Event()
        self._closed = threading.Event()
        self._flushes = []
        self._breath = Breath()
        self.taken = self.own = 0
        self._record = recorder()
        self.pipeline = self._make(self._breath)

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was captured by now is scored and delivered, if it is finished; False if it took longer."""
        if self._closed.is_set() or (self._thread is None and not self.intake.items):
            return True
        until = time.monotonic() + timeout_s
        self.start()
        done = threading.Event()
        self._flushes.append(done)
        if self._closed.is_set():  # it closed meanwhile, and nobody looks at the list any more
            return True
        self._hasten()
        return done.wait(timeout_s) and self.pipeline.flush(max(until - time.monotonic(), 0.0))

    def close(self, timeout_s: float) -> bool:
        """Score what is finished, close the sinks and end the thread; False if the time did not suffice."""
        if self._thread is None and not self._closed.is_set():
            self._closing = True
            self._end()  # no root ended yet, so there is little to do
        elif not self._closing:
            self._closing = True
            self._hasten()
        return self._closed.wait(timeout_s)

    def _hasten(self) -> None:
        self._hurry.set()
        self.intake.wake.set()

    def _end(self) -> None:
        try:
            self._turn()
            self.pipeline.close(time.monotonic_ns())
        finally:
            self.intake.end()
            self._closed.set()

    def _run(self) -> None:
        wake = self.intake.wake
        while True:
            wake.wait(_IDLE_S)
            if self.intake.items:
                self._hurry.wait(_GATHER_S)
            self._hurry.clear()
            closing, flushes = self._closing, self._flushes[:]
            try:
                self._end() if closing else self._turn()
            except BaseException:  # noqa: BLE001  (the thread must live: an evaluator may even ask Python to end)
                _log.exception("the worker met an error")
            for done in flushes:
                done.set()
                self._flushes.remove(done)
            if closing:
                for done in self._flushes:
                    done.set()
                return

    def _turn(self) -> None:
        items, pipeline, breath = self.intake.items, self.pipeline, self._breath
        left = len(items)
        while left > 0:
            pipeline.add_all(self._recorded(min(left, _PIECE)), time.monotonic_ns())
            left -= _PIECE
            breath()
        self._refuse_torn()
        pipeline.work(time.monotonic_ns())

    def _recorded(self, count: int) -> list[Record]:
        """The records of the next so many that were captured, but for what Spanwise itself emitted."""
        take, record_of = self.intake.items.popleft, self._record
        records: list[Record] = []
        for _ in range(count):
            captured = take()
            try:
                record = record_of(captured)
            except Exception:  # noqa: BLE001  (somebody's attributes; the other records have to be taken all the same)
                self._unreadable(captured)
                continue
            self.taken += 1
            if record is None:
                self.own += 1
            else:
                records.append(record)
        return records

    def _refuse_torn(self) -> None:
        torn, until_ns = self.intake.taken()
        assembler, now_ns = self.pipeline.assembler, time.time_ns() if torn else 0
        for trace_id in torn:
            assembler.refuse(trace_id, "queue", now_ns)
        if until_ns >= 0:
            assembler.doubt(until_ns)

    def _unreadable(self, captured: Captured) -> None:
        first = captured[0]
        trace_id: object = first if isinstance(first, int) else getattr(first, "trace_id", 0)
        self.intake.fail(trace_id if isinstance(trace_id, int) else 0)
        if not self.intake.told:
            self.intake.told = True
            _log.warning("a span could not be read; further ones are counted, not logged", exc_info=True)
