"""A sink on a thread of its own, and knowing when sinks are done with what they were given."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from spanwise.assembly.sizes import size_of
from spanwise.model.ports import Sink
from spanwise.model.raw import PackedSpan
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace

_WEIGHED = 8
"""So many waiting batches are not worth weighing."""
_SPAN = 180
"""What a span takes in a trace beside its record."""
_GATHER_S = 0.01
"""How long the thread waits for more results once some are there: to wake for each costs the app more than to score."""


class Receipt:
    """Tells once when all who were given something are done with it, and whether all of them have it.

    It begins with one who is expected: whoever gives it out, and is done when all others were told. Of any thread.

    Args:
        then: Called at the end, with True if nobody lost it, on the thread of whoever was the last.
    """

    __slots__ = ("_kept", "_left", "_lock", "_then")

    def __init__(self, then: Callable[[bool], None]) -> None:
        self._then = then
        self._lock = threading.Lock()
        self._left = 1
        self._kept = True

    def expect(self) -> None:
        """One more was given it."""
        with self._lock:
            self._left += 1

    def done(self, *, lost: bool = False) -> None:
        """One of them is done with it, or has lost it."""
        with self._lock:
            self._left -= 1
            self._kept = self._kept and not lost
            is_last = self._left == 0
        if is_last:
            self._then(self._kept)


@dataclass(frozen=True, slots=True)
class Receipts:
    """For a finished trace: of its scores, and of those that come later, from evaluators that run elsewhere."""

    scores: Receipt
    later: Receipt


def held_by(sink: object) -> int:
    """How many results a sink holds in memory only, as it says in `held`."""
    held: object = getattr(sink, "held", 0)
    return held if isinstance(held, int) else 0


def drops_of(sink: object) -> Mapping[str, int]:
    """What a sink counts itself: in `drops`, or in the `dropped` of its `stats`."""
    counts: object = getattr(sink, "drops", None)
    if counts is None:
        stats: object = getattr(sink, "stats", None)
        counts = getattr(stats() if callable(stats) else stats, "dropped", None)
    return cast("Mapping[str, int]", counts) if isinstance(counts, Mapping) else {}


@dataclass(slots=True)
class _Batch:
    number: int
    results: Sequence[RunResult]
    receipt: Receipt | None = None
    size: int = -1

    def lost(self) -> None:
        """The sink does not get it."""
        if self.receipt is not None:
            self.receipt.done(lost=True)

    def weigh(self) -> int:
        """About how many bytes it keeps alive."""
        self.size = sum(map(_size, {id(one.run.trace): one.run.trace for one in self.results}.values()))
        return self.size


def _size(trace: Trace) -> int:
    kept = [len(one.content) for one in (trace.records or {}).values() if isinstance(one, PackedSpan)]
    records = trace.bytes or sum([size_of(span.raw) for span in trace.spans])
    return _SPAN * len(trace.spans) + records + sum(kept)


class Apart:
    """A sink on a daemon thread of its own, which starts with the first results.

    `emit` neither waits nor raises. Past the bounds the oldest results are dropped and counted in `drops`, by reason:
    `queue` (too many), `queue_bytes` (too large), `closing` (the sink took too long at the end). What the sink raises
    is handed to `failed`. A forked child starts anew: what waited is the parent's.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        most: int = 1000,
        most_bytes: int = 64_000_000,
        close_s: float = 4.0,
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.sink = sink
        self._most = most
        self._most_bytes = most_bytes
        self._close_s = close_s
        self._tell = failed
        self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._hurry = threading.Event()
        self._queue: deque[_Batch] = deque()
        self._waiting = 0
        self._weight = 0
        """What those of the queue hold that were weighed: its older part."""
        self._numbers = 0
        self._busy = 0
        self._owed: list[Receipt] = []
        """For what the sink was given."""
        self._thread: threading.Thread | None = None
        self._closing = False
        self._closed = threading.Event()
        self.drops: dict[str, int] = {}
        self.failures = 0

    def _check_fork(self) -> None:
        if self._pid != os.getpid():
            self._start_anew()

    @property
    def waiting(self) -> int:
        """How many results wait for the sink."""
        return self._waiting

    def emit(self, results: Sequence[RunResult], /, *, receipt: Receipt | None = None) -> None:
        """Have the sink given these results, after those before them; the receipt tells when it is done with them."""
        self._check_fork()
        if receipt is not None:
            receipt.expect()
        with self._changed:
            batch = _Batch(self._numbers + 1, results, receipt)
            if self._closing:
                self._drop("closing", len(results))
                batch.lost()
                return
            self._numbers += 1
            self._queue.append(batch)
            self._waiting += len(results)
            self._shed()
            if len(self._queue) == 1:
                self._changed.notify_all()
        if self._thread is None:
            self._start()

    def flush(self, timeout_s: float) -> bool:
        """Wait until the sink has got, and has flushed, what it was given by now; False if it took longer."""
        self._check_fork()
        until = time.monotonic() + timeout_s
        self._hurry.set()
        with self._changed:
            last = self._numbers
            if not self._changed.wait_for(lambda: self._is_past(last), timeout_s):
                return False
        own: object = getattr(self.sink, "flush", None)
        return not callable(own) or self._within(own, max(until - time.monotonic(), 0.0))

    def close(self) -> None:
        """Give the sink what waits, and close it; what it did not take in time is dropped."""
        self.begin_close()
        self.end_close(self._close_s)

    def settle(self, *, lost: bool = False) -> None:
        """Give the receipts for what the sink was given, unless it holds something in memory only."""
        if self._owed and (lost or not held_by(self.sink)):
            with self._changed:
                owed, self._owed = self._owed, []
            for receipt in owed:
                receipt.done(lost=lost)

    def begin_close(self) -> None:
        """Take no more results, and let the sink end."""
        self._check_fork()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._hurry.set()
        self._start()

    def end_close(self, timeout_s: float) -> bool:
        """Wait for the sink's end; False if it took longer."""
        if self._closed.wait(timeout_s):
            return True
        with self._changed:
            left, self._waiting, self._weight = self._waiting, 0, 0
            for batch in self._queue:
                batch.lost()
            self._queue.clear()
            if left:
                self._drop("closing", left)
        return False

    def _is_past(self, number: int) -> bool:
        busy = 0 < self._busy <= number
        return not busy and (not self._queue or self._queue[0].number > number)

    def _within(self, call: Callable[[float], object], timeout_s: float) -> bool:
        """What the sink's own flush says, if it says so in time."""
        said: list[bool] = []

        def run() -> None:
            try:
                said.append(call(timeout_s) is not False)
            except BaseException as error:  # noqa: BLE001  (anybody's; it may not reach who flushes)
                self._failed(error)

        helper = threading.Thread(target=run, name="spanwise-flush", daemon=True)
        helper.start()
        helper.join(timeout_s)
        return said == [True]

    def _shed(self) -> None:
        """Drop the oldest batches until the rest is within the bounds; the newest stays."""
        queue = self._queue
        while self._waiting > self._most and len(queue) > 1:
            self._drop_oldest("queue")
        if len(queue) > _WEIGHED:
            for batch in reversed(queue):
                if batch.size >= 0:
                    break
                self._weight += batch.weigh()
            while self._weight > self._most_bytes and len(queue) > 1:
                self._drop_oldest("queue_bytes")

    def _drop_oldest(self, reason: str) -> None:
        batch = self._take()
        batch.lost()
        self._drop(reason, len(batch.results))

    def _take(self) -> _Batch:
        """The oldest batch, which waits no more."""
        batch = self._queue.popleft()
        self._waiting -= len(batch.results)
        self._weight -= max(batch.size, 0)
        return batch

    def _drop(self, reason: str, count: int) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + count

    def _failed(self, error: BaseException) -> None:
        self.failures += 1
        if self._tell is not None:
            self._tell(error)

    def _start(self) -> None:
        """Start the thread, unless it runs; at the interpreter's end, where none can be started, do its work."""
        with self._changed:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name=f"spanwise-{type(self.sink).__name__}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None
            self._turn()

    def _run(self) -> None:
        while not self._closed.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closing)
            self._hurry.wait(_GATHER_S)
            self._hurry.clear()
            self._turn()

    def _turn(self) -> None:
        """Give the sink what waits, and close it if it is time for that."""
        while given := self._next():
            results, receipts = given
            self._guarded(lambda results=results: self.sink.emit(results))
            with self._changed:
                self._owed += receipts
            self.settle()
            del given, results, receipts
        if self._closing and not self._closed.is_set():
            dropped = sum(drops_of(self.sink).values())
            self._guarded(self.sink.close)
            self.settle(lost=sum(drops_of(self.sink).values()) > dropped)
            self._closed.set()

    def _next(self) -> tuple[Sequence[RunResult], Sequence[Receipt]] | None:
        """The results that the sink is given next; of several traces where it says that it `joins` so many."""
        joins: object = getattr(self.sink, "joins", 1)
        most = joins if isinstance(joins, int) else 1
        found: list[RunResult] = []
        receipts: list[Receipt] = []
        with self._changed:
            self._busy = 0
            while self._queue and (not found or len(found) + len(self._queue[0].results) <= most):
                batch = self._take()
                self._busy = self._busy or batch.number
                found += batch.results
                receipts += [] if batch.receipt is None else [batch.receipt]
            self._changed.notify_all()
        return (found, receipts) if found else None

    def _guarded(self, call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  (anybody's sink; whatever it raises, the thread goes on)
            self._failed(error)
