"""Results into the hands of sinks: each gets what it may let out, and none waits for another.

What is shown (`masking.shown`) is made once for each level of content, not for each sink. A sink that does I/O, and
every one that is not ours, runs apart: on a daemon thread of its own, with a bounded queue before it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from spanwise.masking import DEFAULT, shown
from spanwise.model.ports import Content, Mask, Sink
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace

_WEIGHED = 8
"""So many waiting batches are not worth weighing."""
_SPAN = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """What each sink gets, and how long it is waited for.

    Args:
        content: The level of content by the sink's name; the sink's own where not given.
        mask: What takes secrets out of what is shown; None leaves them.
        apart: Run sinks on threads of their own, but those that say they need none.
        most: Results that may wait for a sink.
        most_bytes: About how many bytes these may hold.
        close_s: How long all sinks together may take to end.
    """

    content: Mapping[str, Content] = field(default_factory=dict[str, Content])
    mask: Mask | None = DEFAULT
    apart: bool = False
    most: int = 1000
    most_bytes: int = 64_000_000
    close_s: float = 4.0


def level_of(sink: object) -> Content:
    """How much content a sink lets out where nobody said: `emits`, else all; of ours that do not say, nothing."""
    said: object = getattr(sink, "emits", None)
    if said in {"none", "evidence", "all"}:
        return cast("Content", said)
    return "none" if type(sink).__module__.startswith("spanwise.sinks.") else "all"


class Delivery:
    """Gives results to every sink. One that fails costs its own copy only, and is counted."""

    def __init__(
        self,
        sinks: Mapping[str, Sink],
        settings: DeliverySettings,
        failed: Callable[[str, BaseException], None],
    ) -> None:
        self.sinks = dict(sinks)
        self.levels = {name: settings.content.get(name, level_of(sink)) for name, sink in sinks.items()}
        self._settings = settings
        self._failed = failed
        self._apart: dict[str, Apart] = {}
        for name, sink in sinks.items():
            if settings.apart and not getattr(sink, "inline", False):
                self._apart[name] = Apart(
                    sink, most=settings.most, most_bytes=settings.most_bytes, failed=self._of(name)
                )

    def _of(self, name: str) -> Callable[[BaseException], None]:
        return lambda error: self._failed(name, error)

    def emit(self, results: Sequence[RunResult], pause: Callable[[], None]) -> None:
        """Hand the results on; `pause` is called before each sink, and before each text that is masked."""
        made: dict[bool, Sequence[RunResult]] = {}  # evidence and all are one to scores
        for name, sink in self.sinks.items() if results else ():
            pause()
            try:
                bare = self.levels[name] == "none"
                if bare not in made:
                    made[bare] = self._shown(results, "none" if bare else "all", pause)
                self._apart.get(name, sink).emit(made[bare])
            except Exception as error:  # noqa: BLE001  (a sink may be anybody's; the others still get the results)
                self._failed(name, error)

    def unscored(self, trace_id: str) -> None:
        """Tell the sinks that want to know it that a trace was finished, and none of its runs is scored."""
        for name, sink in self.sinks.items():
            tell: object = getattr(sink, "unscored", None)
            if callable(tell):
                try:
                    tell(trace_id)
                except Exception as error:  # noqa: BLE001  (as above)
                    self._failed(name, error)

    def _shown(self, results: Sequence[RunResult], content: Content, pause: Callable[[], None]) -> Sequence[RunResult]:
        mask = self._settings.mask

        def masked(text: str) -> str:
            pause()
            return text if mask is None else mask(text)

        return [shown(result, content=content, masking=masked) for result in results]

    def flush(self, timeout_s: float) -> bool:
        """Wait until the sinks have what they were given by now; False if the time did not suffice for one of them."""
        until = time.monotonic() + timeout_s
        done = True
        for name, sink in self.sinks.items():
            flush: object = getattr(self._apart.get(name, sink), "flush", None)
            if callable(flush):
                done = flush(max(until - time.monotonic(), 0.0)) is not False and done
        return done

    def close(self) -> None:
        """Close the sinks, all of them within the time they have together."""
        until = time.monotonic() + self._settings.close_s
        for one in self._apart.values():
            one.begin_close()
        for name, sink in self.sinks.items():
            if name not in self._apart:
                try:
                    sink.close()
                except Exception as error:  # noqa: BLE001  (a sink may be anybody's; the others have to be closed)
                    self._failed(name, error)
        for one in self._apart.values():
            one.end_close(max(until - time.monotonic(), 0.0))

    def drops(self) -> dict[str, dict[str, int]]:
        """What sinks did not get, or refused themselves: how many, by the sink's name and the reason."""
        found: dict[str, dict[str, int]] = {}
        for name, sink in self.sinks.items():
            counts = dict(self._apart[name].drops) if name in self._apart else {}
            for reason, count in _drops_of(sink).items():
                counts[reason] = counts.get(reason, 0) + count
            if counts:
                found[name] = counts
        return found


def _drops_of(sink: object) -> Mapping[str, int]:
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
    size: int = -1

    def weigh(self) -> int:
        """About how many bytes it keeps alive."""
        if self.size < 0:
            self.size = sum(map(_size, {id(one.run.trace): one.run.trace for one in self.results}.values()))
        return self.size


def _size(trace: Trace) -> int:
    texts = (value for span in trace.spans for value in span.raw.attributes.values() if isinstance(value, str))
    return _SPAN * len(trace.spans) + sum(map(len, texts))


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
        self._queue: deque[_Batch] = deque()
        self._waiting = 0
        self._numbers = 0
        self._busy = 0
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

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Have the sink given these results, after those before them."""
        self._check_fork()
        with self._changed:
            if self._closing:
                self._drop("closing", len(results))
                return
            self._numbers += 1
            self._queue.append(_Batch(self._numbers, results))
            self._waiting += len(results)
            self._shed()
            self._changed.notify_all()
        self._start()

    def flush(self, timeout_s: float) -> bool:
        """Wait until the sink has got, and has flushed, what it was given by now; False if it took longer."""
        self._check_fork()
        until = time.monotonic() + timeout_s
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

    def begin_close(self) -> None:
        """Take no more results, and let the sink end."""
        self._check_fork()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._start()

    def end_close(self, timeout_s: float) -> bool:
        """Wait for the sink's end; False if it took longer."""
        if self._closed.wait(timeout_s):
            return True
        with self._changed:
            left, self._waiting = self._waiting, 0
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
            held = sum(batch.weigh() for batch in queue)
            while held > self._most_bytes and len(queue) > 1:
                held -= queue[0].weigh()
                self._drop_oldest("queue_bytes")

    def _drop_oldest(self, reason: str) -> None:
        count = len(self._queue.popleft().results)
        self._waiting -= count
        self._drop(reason, count)

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
            self._turn()

    def _turn(self) -> None:
        """Give the sink what waits, and close it if it is time for that."""
        while results := self._next():
            self._guarded(lambda results=results: self.sink.emit(results))
            del results
        if self._closing and not self._closed.is_set():
            self._guarded(self.sink.close)
            self._closed.set()

    def _next(self) -> Sequence[RunResult]:
        """The results that the sink is given next; of several traces where it says that it `joins` so many."""
        joins: object = getattr(self.sink, "joins", 1)
        most = joins if isinstance(joins, int) else 1
        found: list[RunResult] = []
        with self._changed:
            self._busy = 0
            while self._queue and (not found or len(found) + len(self._queue[0].results) <= most):
                batch = self._queue.popleft()
                self._busy = self._busy or batch.number
                self._waiting -= len(batch.results)
                found += batch.results
            self._changed.notify_all()
        return found

    def _guarded(self, call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  (anybody's sink; whatever it raises, the thread goes on)
            self._failed(error)
