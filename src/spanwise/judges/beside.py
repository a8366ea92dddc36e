"""Judges in a running app: threads of their own wait for the models, so that nothing else does.

The worker that scores gives a run away and goes on; the judges' scores make a result of their own when they are there.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from spanwise.model.ports import AnyEvaluator
from spanwise.model.result import RunResult
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS, evaluate

_log = logging.getLogger("spanwise")


class Receipt(Protocol):
    """Is told when something was done."""

    def done(self) -> None: ...


class _Item(NamedTuple):
    run: Run
    revision: int
    names: tuple[str, ...]
    receipt: Receipt | None = None


class Beside:
    """Judges on threads of their own. `submit` and `results` never wait.

    What was submitted comes among the results, or is counted: `judges_dropped` (too many were waiting),
    `judges_unfinished` (still there at the end), `judges_broken` (no result could be made).

    Args:
        judges: By name.
        thresholds: When a score without a unit is ok, and when it is an alert.
        threads: How many runs are judged at a time.
        max_runs: How many runs may be on their way, those whose results were not taken among them.
        max_spans: How many spans these may hold.
    """

    def __init__(
        self,
        judges: Mapping[str, AnyEvaluator],
        *,
        thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS,
        threads: int = 4,
        max_runs: int = 256,
        max_spans: int = 200_000,
    ) -> None:
        self._judges = dict(judges)
        self._thresholds = thresholds
        self._most = threads
        self._max_runs, self._max_spans = max_runs, max_spans
        self.evaluators: Sequence[str] = tuple(judges)
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """Begin with nothing: at first, and in a forked child, whose parent keeps what it had."""
        self._changed = threading.Condition()
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._done: deque[tuple[_Item, RunResult | None]] = deque()
        self._threads: list[threading.Thread] = []
        self._runs = self._spans = self._working = 0
        self._closing = False
        self.counts: dict[str, int] = {}

    def submit(self, run: Run, revision: int = 1, names: Collection[str] | None = None) -> None:
        """Have a run judged, by the judges of these names or by all; dropped and counted if too many wait."""
        self._take(_Item(run, revision, tuple(name for name in self.evaluators if names is None or name in names)))

    def ask(self, run: Run, revision: int, names: Collection[str], receipt: Receipt) -> None:
        """Have a run judged, and its receipt given back with the answer; it is done if there will be none."""
        if not self._take(_Item(run, revision, tuple(name for name in self.evaluators if name in names), receipt)):
            receipt.done()

    def _take(self, item: _Item) -> bool:
        if not item.names:
            return False
        spans = len(item.run.trace.spans)
        with self._changed:
            if self._closing or self._runs >= self._max_runs or self._spans + spans > self._max_spans:
                self._count("judges_dropped")
                return False
            self._runs += 1
            self._spans += spans
            self._working += 1
            if len(self._threads) < min(self._most, self._working):
                thread = threading.Thread(target=self._serve, name="spanwise-judging", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put(item)
        return True

    def results(self) -> Sequence[RunResult]:
        """What was judged since the last call."""
        return [result for result, _ in self.answers()]

    def answers(self) -> Sequence[tuple[RunResult, Receipt | None]]:
        """What was judged since the last call, with the receipts that came with the runs."""
        found: list[tuple[RunResult, Receipt | None]] = []
        while self._done:
            item, result = self._done.popleft()
            with self._changed:
                self._runs -= 1
                self._spans -= len(item.run.trace.spans)
            if result is not None:
                found.append((result, item.receipt))
            elif item.receipt is not None:
                item.receipt.done()
        return found

    @property
    def pending(self) -> int:
        """How many runs are not judged yet."""
        return self._working

    def close(self, timeout_s: float = 5.0) -> bool:
        """Wait for what is on its way, and take no more; False if the time did not suffice."""
        until = time.monotonic() + timeout_s
        with self._changed:
            self._closing = True
            finished = self._changed.wait_for(lambda: not self._working, max(until - time.monotonic(), 0.0))
            if not finished:
                self._count("judges_unfinished", self._working)
        for _ in self._threads:
            self._queue.put(None)
        return finished

    def _serve(self) -> None:
        changed, waiting, done = self._changed, self._queue, self._done
        while (item := waiting.get()) is not None:
            result = None
            try:
                judges = {name: self._judges[name] for name in item.names}
                result = evaluate(item.run, judges, revision=item.revision, thresholds=self._thresholds)
            except Exception:  # noqa: BLE001  (a run that cannot be read must not end the thread)
                self._count("judges_broken")
                _log.warning("a run could not be judged", exc_info=True)
            done.append((item, result))
            with changed:
                self._working -= 1
                changed.notify_all()

    def _count(self, what: str, many: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + many


_all: weakref.WeakSet[Beside] = weakref.WeakSet()


def _after_fork() -> None:
    for beside in list(_all):
        beside.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
