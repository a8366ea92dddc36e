"""What `instrument` gives back: what became of everything, the last results, and the way to undo it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from spanwise.capture.worker import Worker
from spanwise.delivery import Apart
from spanwise.model.result import RunResult
from spanwise.sinks.callback import CallbackSink

KEPT = 100
KEPT_SPANS = 20_000
_WAITING = 1_000
_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What became of every span and log event since the start of this process.

    captured = queued + own + held + released + doubled + late + the sum of refused, at a moment of rest.
    """

    captured: int
    """Spans and log events that the hooks were given."""
    queued: int
    own: int
    """Emitted by Spanwise itself, never scored."""
    held: int
    released: int
    """Part of traces that were handed out, and let go since."""
    doubled: int
    late: int
    """Came after their trace was let go."""
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """By reason: `queue` and `failures` at the hooks; `traces`, `spans`, `spans_per_trace`, `bytes`, `unfinished`, and
    `doubtful`: the trace began before others lost spans which are no longer known by name, so it may be one of them."""
    refused_traces: dict[str, int] = field(default_factory=dict[str, int])
    finished: int = 0
    """Traces."""
    again: int = 0
    """Traces handed out once more, since spans of them came late."""
    scored: int = 0
    """Runs, each revision counted."""
    unscored: dict[str, int] = field(default_factory=dict[str, int])
    """Runs that were not scored, or not by every evaluator, by reason: `rate`, `per_minute`, `per_day` (sampling),
    `broken`, `time_share` (evaluators that are not ours), `isolated_...` (evaluators in a helper process), `judge`,
    `in_evaluate`, `scored_in_evaluate`, `experiment` (evaluations)."""
    sink_failures: dict[str, int] = field(default_factory=dict[str, int])
    """How often a sink raised; `results` for the functions given to `subscribe`."""
    sink_drops: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Results that a sink did not get, by its name and the reason: `queue` and `queue_bytes` (too many waited for it),
    `closing` (it took too long at the end), and what the sink itself says it dropped."""
    undelivered: int = 0
    """Results that an `async for` over `results()` was too slow for."""


class Results:
    """Keeps the last results, and passes each on to those who asked for them, on a thread of its own."""

    inline = True

    def __init__(self) -> None:
        self._kept: deque[RunResult] = deque(maxlen=KEPT)
        self._spans = 0
        self._lock = threading.Lock()
        self._listeners: list[Callable[[RunResult], object]] = []
        self._telling = Apart(CallbackSink(self._tell))
        self.undelivered = 0
        self.failures = 0
        """How often a listener raised."""

    @property
    def drops(self) -> Mapping[str, int]:
        """Results that listeners did not get, by reason."""
        return self._telling.drops

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Keep the results, and have the listeners told."""
        for result in results:
            self._keep(result)
        if self._listeners:
            self._telling.emit(results)

    def _tell(self, result: RunResult) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(result)
            except Exception:  # noqa: BLE001  (anybody's function; the others are called all the same)
                self.failures += 1
                if self.failures == 1:
                    _log.warning("a subscriber failed; further failures are counted, not logged", exc_info=True)

    def flush(self, timeout_s: float) -> bool:
        """Wait until the listeners have what was emitted by now; False if it took longer."""
        return self._telling.flush(timeout_s)

    def _keep(self, result: RunResult) -> None:
        with self._lock:
            if len(self._kept) == KEPT:
                self._spans -= len(self._kept.popleft().run.trace.spans)
            self._kept.append(result)
            self._spans += len(result.run.trace.spans)
            while self._spans > KEPT_SPANS and len(self._kept) > 1:
                self._spans -= len(self._kept.popleft().run.trace.spans)

    def close(self) -> None:
        """Tell the listeners what waits."""
        self._telling.close()

    def last(self, count: int) -> list[RunResult]:
        """The last results, the newest at the end."""
        with self._lock:
            return list(self._kept)[-count:] if count > 0 else []

    def listen(self, listener: Callable[[RunResult], object]) -> Callable[[], None]:
        """Call a function with each result from now on; what is given back ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop


class Handle:
    """A running instrumentation. As a context manager it is undone at the end of the block."""

    def __init__(
        self,
        worker: Worker,
        results: Results,
        *,
        undo: Callable[[], None],
        counts: Callable[[], Mapping[str, int]] = dict,
        target: object = None,
    ) -> None:
        self._worker = worker
        self._results = results
        self._undo = undo
        self._counts = counts
        self._done = False
        self.target = target
        """What was instrumented, wrapped where it had to be: a function, a WSGI or ASGI callable."""

    def stats(self) -> Stats:
        """What became of everything up to now."""
        worker, intake = self._worker, self._worker.intake
        found, runs = worker.pipeline.assembler.stats, worker.pipeline.stats
        queued, taken = len(intake.items), worker.taken
        refused = {name: count for name, count in (("queue", intake.lost), ("failures", intake.failures)) if count}
        for name, count in found.refused.items():
            refused[name] = refused.get(name, 0) + count
        unscored = {name: count for name, count in (("broken", runs.broken), ("time_share", runs.left_out)) if count}
        unscored.update(self._counts())
        failures = dict(runs.sink_failures)
        if self._results.failures:
            failures["results"] = failures.get("results", 0) + self._results.failures
        return Stats(
            captured=queued + taken + intake.lost + intake.failures,
            queued=queued,
            own=worker.own,
            held=worker.pipeline.assembler.held,
            released=found.released,
            doubled=found.doubled,
            late=found.late,
            refused=refused,
            refused_traces=dict(found.refused_traces),
            finished=found.finished,
            again=found.again,
            scored=runs.scored,
            unscored=unscored,
            sink_failures=failures,
            sink_drops=worker.pipeline.delivery.drops(),
            undelivered=self._results.undelivered,
        )

    def last(self, count: int = 1) -> list[RunResult]:
        """The last results, the newest at the end; the last hundred runs are kept, or fewer long ones."""
        return self._results.last(count)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until every run that has ended by now is scored, and the sinks have it; False if it took longer."""
        return self._worker.flush(timeout_s)

    def subscribe(self, callback: Callable[[RunResult], object]) -> Callable[[], None]:
        """Call a function with each result, on a thread for subscribers; what is given back ends that."""
        return self._results.listen(callback)

    async def results(self) -> AsyncIterator[RunResult]:
        """Each result from now on, until the loop is left. One too many for a slow reader is dropped and counted."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[RunResult] = asyncio.Queue(_WAITING)

        def put(result: RunResult) -> None:
            if waiting.full():
                waiting.get_nowait()
                self._results.undelivered += 1
            waiting.put_nowait(result)

        stop = self._results.listen(lambda result: loop.call_soon_threadsafe(put, result))
        try:
            while True:
                yield await waiting.get()
        finally:
            stop()

    def uninstrument(self, timeout_s: float = 5.0) -> bool:
        """Score what is finished, then undo what `instrument` did; False if the time did not suffice."""
        if self._done:
            return True
        self._done = True
        self._undo()
        return self._worker.close(timeout_s)

    def __enter__(self) -> Handle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstrument()
