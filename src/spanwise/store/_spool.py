"""Results that wait in memory for a store that cannot be written now.

How it works
    What cannot be written is held, and a thread tries it again while there is any: after a tenth of a second at first,
    then ever more rarely, up to every half minute. What comes meanwhile is held, too, so that nobody waits for a store
    that is away. Past a bound of results or of bytes the oldest are dropped, and counted. A result that the store
    refuses three times while it takes others of the same moment is dropped as refused, so that it holds nobody up.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Literal, TypeAlias

from spanwise.assembly.assembler import size_of
from spanwise.errors import SinkError
from spanwise.model.result import RunResult
from spanwise.store.failures import BusyStoreError, RefusedResultsError, UnusableStoreError

Reason: TypeAlias = Literal["spool_full", "refused", "closed"]
"""Why results were dropped: there were too many of them, the store took others but not them, or the time was up."""

BATCH = 200
"""Results that are tried in one transaction."""
STRIKES = 3
_SOONEST_S, _LATEST_S = 0.1, 30.0
_log = logging.getLogger("spanwise")
_chance = SystemRandom().random  # an app's seeded numbers are its own


class Held:
    """A result that waits, about how many bytes it holds, and how often it was refused while others were taken."""

    __slots__ = ("result", "size", "strikes")

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self.size = bytes_of(result)
        self.strikes = 0


def bytes_of(result: RunResult) -> int:
    """About how many bytes a result holds; those of a trace are shared among its runs."""
    trace = result.run.trace
    spans = sum(size_of(span.raw) for span in trace.spans)
    words = sum(
        len(score.reason) + sum(len(one.quote) for one in score.evidence) + sum(map(len, score.issues))
        for score in result.scores
    )
    return spans // max(len(trace.run_roots), 1) + words + 500 * (1 + len(result.scores))


class Spool:
    """Holds results until they are written, within bounds; one thread tries, and ends when nothing waits."""

    def __init__(self, write: Callable[[Sequence[RunResult]], None], *, most: int, most_bytes: int) -> None:
        self._write = write
        self._most = most
        self._most_bytes = most_bytes
        self._told: set[str] = set()
        self._start()

    def _start(self) -> None:
        """Begin with nothing; what a parent process holds, it writes itself."""
        self._pid = os.getpid()
        self.dropped: dict[Reason, int] = {}
        self._changed = threading.Condition()
        self._waiting: deque[Held] = deque()
        self._trying: list[Held] = []
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._hurried = 0
        self._until: float | None = None
        self._closed = False

    def __len__(self) -> int:
        if self._pid != os.getpid():
            return 0
        with self._changed:
            return 0 if self._closed else len(self._waiting) + len(self._trying)

    def put(self, results: Sequence[RunResult], *, because: str = "") -> int:
        """Hold results, and see to it that they are tried again; how many had to be dropped for them.

        `because` is told once in the log.
        """
        if self._pid != os.getpid():
            self._start()
        if because:
            self._tell(because)
        held = [Held(result) for result in results]
        with self._changed:
            if self._closed:
                self._drop("closed", len(held))
                return len(held)
            self._waiting += held
            self._bytes += sum(one.size for one in held)
            lost = self._trim()
            if self._thread is None and self._waiting:
                self._thread = self._begun()
        return lost

    def _begun(self) -> threading.Thread | None:
        """A thread that tries; None where the interpreter ends, and starts none any longer."""
        thread = threading.Thread(target=self._work, name="spanwise-store", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return None
        return thread

    def flush(self, timeout_s: float) -> bool:
        """Try again at once; true if everything was written within the time."""
        if self._pid != os.getpid():
            return True
        with self._changed:
            self._hurried += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._waiting and not self._trying, timeout_s)
            finally:
                self._hurried -= 1

    def close(self, timeout_s: float) -> int:
        """Try until all is written or the time is up; how many results are lost with that."""
        if self._pid != os.getpid():
            return 0
        with self._changed:
            self._hurried += 1
            self._until = time.monotonic() + timeout_s
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._until == 0.0 or self._thread is None, timeout_s)
            left = len(self._waiting) + len(self._trying)
            self._closed = True
            self._waiting.clear()
            self._bytes = 0
            self._drop("closed", left)
            return left

    def refused(self, count: int) -> None:
        """Count results that the store took no rows of."""
        with self._changed:
            self._drop("refused", count)

    def _drop(self, reason: Reason, count: int) -> None:
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    def _trim(self) -> int:
        lost = 0
        held = len(self._waiting) + len(self._trying)
        while self._waiting and (held - lost > self._most or self._bytes > self._most_bytes):
            self._bytes -= self._waiting.popleft().size
            lost += 1
        self._drop("spool_full", lost)
        return lost

    def _work(self) -> None:
        """Try until nothing waits; the only place that takes results out, but for those that are dropped."""
        delay = _SOONEST_S
        while True:
            with self._changed:
                # What is flushed or closed is tried at once, and then often.
                pause = min(delay, _SOONEST_S) if self._hurried else delay
                self._changed.wait(pause * (0.5 + _chance() / 2))
                count = 0 if self._is_late() else min(BATCH, len(self._waiting))
                batch = [self._waiting.popleft() for _ in range(count)]
                if not batch:
                    self._thread = None
                    self._changed.notify_all()
                    return
                self._trying = batch
            left = self._tried(batch)
            with self._changed:
                self._trying = []
                if self._closed:
                    left = []  # counted as lost by who closed
                given_up = [one for one in left if one.strikes >= STRIKES]
                again = [one for one in left if one.strikes < STRIKES]
                self._waiting.extendleft(reversed(again))
                self._bytes -= sum(one.size for one in batch) - sum(one.size for one in again)
                self._drop("refused", len(given_up))
                self._trim()
                delay = 0.0 if len(left) < len(batch) else min(max(delay, _SOONEST_S) * 2, _LATEST_S)
                self._changed.notify_all()

    def _is_late(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _tried(self, batch: Sequence[Held]) -> list[Held]:
        """Write a batch; what was not written, in its order."""
        error = self._failure(batch)
        if error is None:
            return []
        if self._until is not None and isinstance(error, UnusableStoreError):
            self._until = 0.0  # nobody will mend it while the app ends
        if len(batch) == 1 or isinstance(error, BusyStoreError | UnusableStoreError):
            return list(batch)
        # Perhaps it is one of them: the others need not wait for it.
        left: list[Held] = []
        for at, one in enumerate(batch):
            if self._failure([one]) is not None:
                left.append(one)
            if len(left) == at + 1 == 2:
                return list(batch)
        if len(left) < len(batch):
            for one in left:
                one.strikes += 1
        return left

    def _failure(self, batch: Sequence[Held]) -> Exception | None:
        try:
            self._write([one.result for one in batch])
        except RefusedResultsError as error:
            self.refused(error.count)
            self._tell(str(error))
        except Exception as error:  # noqa: BLE001  (whatever it is, the results are still held)
            if not isinstance(error, SinkError):
                self._tell(f"{type(error).__name__}: {error}")
            return error
        return None

    def _tell(self, what: str) -> None:
        if what not in self._told and len(self._told) < 20:
            self._told.add(what)
            _log.warning("%s; results are held and tried again, which is logged once", what)
