"""Others' evaluators, kept from harming the app: a share of the worker's time, or a process of their own.

In a process of its own an evaluator may be slow, hang, crash or fill its memory: it costs its own score, and at most a
delay for the runs behind it. A thread beside the worker owns that process. It starts it with the first run, tells it
one run at a time, ends it when an evaluator takes longer than its budget, and starts the next after a pause that grows
from failure to failure. The run goes on with the evaluators behind the one that failed. An evaluator with which three
processes in a row ended is left alone for a minute.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from spanwise.capture._frames import Setup, encode, job_of
from spanwise.capture._mark import is_isolated
from spanwise.capture._process import EndedError, LateError, Process
from spanwise.capture._sending import ByPath, sent
from spanwise.errors import ModelError
from spanwise.model.ports import AnyEvaluator
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS

_S = 1_000_000_000
_BUILT_S = 30.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 30.0
_STRIKES, _REST_S = 3, 60.0
__all__ = ["ByPath", "Helper", "RunKey", "TimeShare"]
_log = logging.getLogger("spanwise")


class TimeShare:
    """A share of wall time: up to now, and over any longer stretch, no more than it is used, but for one run's length.

    A bucket fills by the share of the time that passes, up to that of one second. A run takes out what it took, and may
    leave a debt; while there is one nobody may run, so a slow evaluator is asked about fewer runs instead of holding up
    the queue. A run that is left out is counted and not made up for.

    Args:
        share: From above 0 to 1, where 1 is no limit.

    Raises:
        ModelError: The share is no number of that range.
    """

    def __init__(self, share: float = 0.2) -> None:
        if isinstance(share, bool) or not 0.0 < share <= 1.0:
            raise ModelError(f"TimeShare: share is {share!r}, expected a number above 0 and up to 1.")
        self.share = share
        self.counts: dict[str, int] = {}
        self._full = share * _S
        self._left = self._full
        self._at_ns: int | None = None

    def may_run(self, now_ns: int) -> bool:
        """Whether there is time left; if not, a run that was left out is counted as `time_share`."""
        self._fill(now_ns)
        if self._left > 0 or self.share >= 1.0:
            return True
        self.counts["time_share"] = self.counts.get("time_share", 0) + 1
        return False

    def spent(self, ns: int, now_ns: int) -> None:
        """An evaluator took this long, and is done now."""
        self._fill(now_ns)
        self._left -= max(ns, 0)

    def _fill(self, now_ns: int) -> None:
        if self._at_ns is not None and now_ns > self._at_ns:
            self._left = min(self._full, self._left + self.share * (now_ns - self._at_ns))
        self._at_ns = now_ns if self._at_ns is None else max(now_ns, self._at_ns)


class RunKey(NamedTuple):
    """Which run scores are about."""

    trace_id: str
    run_id: str
    revision: int


class _Item:
    """A run on its way through the helper process."""

    __slots__ = ("names", "revision", "run", "scores", "spans")

    def __init__(self, run: Run, revision: int, names: Sequence[str]) -> None:
        self.run = run
        self.revision = revision
        self.names = list(names)
        self.scores: list[Score] = []
        self.spans = len(run.trace.spans)

    def fail(self, name: str, reason: str) -> None:
        self.scores.append(Score(name=name, status="error", reason=reason, evaluator=name, revision=self.revision))


class Helper:
    """Evaluators in a process of their own. `submit`, `poll` and `pending` never wait for it.

    What was submitted is either polled, each evaluator's scores or the error that it ended with, or counted in
    `counts`: `isolated_dropped` (the bound was reached), `isolated_unfinished` (still there at the end). Beside these
    `isolated_timeouts`, `isolated_crashes`, `isolated_restarts` and `isolated_rested` (an evaluator was left alone).

    Args:
        evaluators: By name: values whose classes can be imported, or where to import them.
        budget_s: How long one evaluator may take for one run.
        thresholds: When a score without a unit is ok, and when it is an alert.
        max_runs: How many runs may be on their way, those that were not polled among them.
        max_spans: How many spans these may hold.
        memory_mb: How much memory evaluators may take beside what they are loaded with; on Linux. None for no bound.
        start_s: How long the process may take until all evaluators are loaded.
        on_ready: Called, on the helper's thread, when there is something to poll.
        executable: The Python to run; the app's own if it is empty.

    Raises:
        ModelError: An evaluator cannot be sent, or this platform cannot do it.
    """

    def __init__(
        self,
        evaluators: Mapping[str, AnyEvaluator | ByPath],
        *,
        budget_s: float = 5.0,
        thresholds: Mapping[str, tuple[float, float]] = THRESHOLDS,
        max_runs: int = 64,
        max_spans: int = 100_000,
        memory_mb: int | None = 512,
        start_s: float = 30.0,
        on_ready: Callable[[], object] | None = None,
        executable: str = "",
    ) -> None:
        if sys.platform == "win32" or not hasattr(select, "poll"):
            raise ModelError("A helper process needs a POSIX system; leave `isolate` out.")
        if not 0 < budget_s < float("inf"):
            raise ModelError(f"Helper: budget_s is {budget_s!r}, expected a number of seconds above 0.")
        self.evaluators = tuple(evaluators)
        memory = None if memory_mb is None else memory_mb << 20
        listed = [sent(name, evaluator) for name, evaluator in evaluators.items()]
        self._setup = encode(Setup(listed, {name: (one, two) for name, (one, two) in thresholds.items()}, memory))
        self._budget_s, self._start_s = budget_s, start_s
        self._max_runs, self._max_spans = max_runs, max_spans
        self._executable = executable or sys.executable
        self._on_ready = on_ready
        self._process: Process | None = None
        self._forget()
        _helpers.add(self)

    def _forget(self) -> None:
        """Begin with nothing: at first, and in a forked child, whose parent keeps what it had."""
        if self._process is not None:
            self._process.abandon()
        self._process = None
        self._changed = threading.Condition()
        self._queue: deque[_Item] = deque()
        self._done: deque[_Item] = deque()
        self._runs = self._spans = 0
        self._busy = 0
        self._thread: threading.Thread | None = None
        self._closing = False
        self._ended = is_isolated()  # a helper process starts no further one
        self._pause_s, self._not_before = 0.0, 0.0
        self._strikes: dict[str, int] = {}
        self._resting: dict[str, float] = {}
        self._started = False
        self.counts: dict[str, int] = {}

    def submit(self, run: Run, revision: int = 1, names: Collection[str] | None = None) -> None:
        """Have a run evaluated, by the evaluators of these names or by all; dropped and counted if too many wait."""
        asked = [name for name in self.evaluators if names is None or name in names]
        if not asked:
            return
        item = _Item(run, revision, asked)
        with self._changed:
            full = self._runs >= self._max_runs or self._spans + item.spans > self._max_spans
            if self._closing or self._ended or full:
                self._count("isolated_dropped")
                return
            self._runs += 1
            self._spans += item.spans
            self._busy += 1
            self._queue.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="spanwise-helper", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def poll(self) -> list[tuple[RunKey, Sequence[Score]]]:
        """The scores that have come in since the last call, run by run."""
        come = self._come_in()
        return [(RunKey(one.run.trace.trace_id, one.run.run_id, one.revision), tuple(one.scores)) for one in come]

    def results(self) -> list[RunResult]:
        """The same as results."""
        return [RunResult(run=i.run, scores=tuple(i.scores), revision=i.revision) for i in self._come_in()]

    def _come_in(self) -> Sequence[_Item]:
        if not self._done:
            return ()
        with self._changed:
            found = tuple(self._done)
            self._done.clear()
            for item in found:
                self._runs -= 1
                self._spans -= item.spans
        return found

    @property
    def pending(self) -> int:
        """How many runs are waiting or at work."""
        return self._busy

    def wait(self, timeout_s: float) -> bool:
        """Wait until no run is pending; False if the time did not suffice."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout_s)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Finish what is pending, within this time, and end the process; False if runs were left unfinished.

        What came in can still be polled.
        """
        until = time.monotonic() + timeout_s
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            whole = self._changed.wait_for(lambda: not self._busy, timeout_s)
            self._ended = True
            self._changed.notify_all()
        process, thread = self._process, self._thread
        if process is not None:
            process.kill()
        if thread is not None:
            thread.join(max(until - time.monotonic(), 0.0) + 1.0)
        return whole

    def _count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    def _serve(self) -> None:
        """The helper's thread."""
        try:
            while (item := self._next()) is not None:
                try:
                    self._evaluate(item)
                except Exception as error:  # noqa: BLE001  (the thread must live: the next run may do)
                    _log.warning("the helper process could not be given a run", exc_info=True)
                    self._fail(item, item.names, f"{type(error).__name__}: {error}")
                self._finish(item)
        finally:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _next(self) -> _Item | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            if self._ended or not self._queue:
                while self._queue:
                    self._give_up(self._queue.popleft())
                return None
            return self._queue.popleft()

    def _give_up(self, item: _Item) -> None:
        self._count("isolated_unfinished")
        self._runs -= 1
        self._spans -= item.spans
        self._busy -= 1

    def _finish(self, item: _Item) -> None:
        with self._changed:
            if self._ended and item.names:
                self._give_up(item)
                return
            self._done.append(item)
            self._busy -= 1
            self._changed.notify_all()
        if self._on_ready is not None:
            try:
                self._on_ready()
            except Exception:  # noqa: BLE001  (anybody's function)
                _log.warning("the function to call when scores are ready failed; it is called no more", exc_info=True)
                self._on_ready = None

    def _evaluate(self, item: _Item) -> None:
        """Ask until every evaluator has answered or failed: each turn ends with all done, or with one failure told."""
        self._leave_alone(item)
        unread = 0
        while item.names and not self._ended:
            process = self._running()
            if isinstance(process, str):
                self._fail(item, item.names, process)
                return
            read = False
            try:
                process.tell(encode(job_of(item.run, item.names, item.revision)), time.monotonic() + _BUILT_S)
                process.hear(time.monotonic() + _BUILT_S)
                read = True
                while item.names:
                    self._heard(item, process)
                self._pause_s = 0.0
            except (EndedError, LateError) as failure:
                self._lose(late=isinstance(failure, LateError))
                if self._ended:
                    return
                unread += not read
                if read:
                    self._strike(item.names[0])
                    budget = f"time budget of {self._budget_s:g} s exceeded; the helper process was ended"
                    late = isinstance(failure, LateError)
                    self._fail(
                        item, item.names[:1], budget if late else f"the helper process did not survive: {failure}"
                    )
                elif unread > 1:
                    self._fail(item, item.names, f"the helper process could not read the run: {failure}")

    def _heard(self, item: _Item, process: Process) -> None:
        reply = process.hear(time.monotonic() + self._budget_s)
        item.scores += reply.scores
        item.names.remove(reply.name)
        self._strikes.pop(reply.name, None)

    @staticmethod
    def _fail(item: _Item, names: Sequence[str], why: str) -> None:
        for name in tuple(names):
            item.names.remove(name)
            item.fail(name, why)

    def _lose(self, *, late: bool) -> None:
        """The process is of no use any more: end it, and wait before the next."""
        if self._process is not None:
            self._process.close()
            self._process = None
        if not self._ended:
            self._count("isolated_timeouts" if late else "isolated_crashes")
        self._pause_s = min(max(2 * self._pause_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
        self._not_before = time.monotonic() + self._pause_s

    def _strike(self, name: str) -> None:
        self._strikes[name] = self._strikes.get(name, 0) + 1
        if self._strikes[name] >= _STRIKES:
            self._strikes[name] = _STRIKES - 1
            self._resting[name] = time.monotonic() + _REST_S
            _log.warning("evaluator %r ended %d helper processes; it rests for %g s", name, _STRIKES, _REST_S)

    def _leave_alone(self, item: _Item) -> None:
        """Answer for the evaluators that rest."""
        for name in [name for name in item.names if name in self._resting]:
            if self._resting[name] > time.monotonic():
                self._count("isolated_rested")
                self._fail(
                    item, [name], f"not asked: {_STRIKES} helper processes ended with it; it rests {_REST_S:g} s"
                )
            else:
                del self._resting[name]

    def _running(self) -> Process | str:
        """The process, started if there is none; why there is none, if it does not start."""
        if self._process is not None:
            return self._process
        with self._changed:
            if self._changed.wait_for(lambda: self._ended, max(self._not_before - time.monotonic(), 0.0)):
                return "the helper process was shut down"
        if self._started:
            self._count("isolated_restarts")
        self._started = True
        until = time.monotonic() + self._start_s
        try:
            self._process = Process(self._executable)
            self._process.tell(self._setup, until)
            self._process.hear(until)
        except (EndedError, LateError, OSError) as failure:
            late = isinstance(failure, LateError)
            self._lose(late=late)
            return f"the helper process did not start: {f'not within {self._start_s:g} s' if late else failure}"
        return self._process


_helpers: weakref.WeakSet[Helper] = weakref.WeakSet()


def _after_fork() -> None:
    for helper in list(_helpers):
        helper._forget()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # the module's own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
