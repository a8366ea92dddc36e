"""An exporter that waits for the scores: spans of a run leave the process with what the run scored on its root span.

    TracerProvider -> BatchSpanProcessor -> ScoredExporter -> the app's exporter

It finds the running captures of its process by itself. Where none runs, spans go straight through. No span is lost and
none goes twice: each waits, and then is exported once, or is left out because the app's `keep` says so. What waited is
exported on a thread of its own; what need not wait, on the thread that brings it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opentelemetry.context import attach
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from spanwise.capture._held import Held, Told, Waiting, size_of
from spanwise.capture._sdk_private import unwatched
from spanwise.capture.keep import Keep, Keeper, Keeping
from spanwise.errors import ModelError
from spanwise.model.result import RunResult

__all__ = ["ExportStats", "Keep", "ScoredExporter", "SpanScores"]

SHUTDOWN_S = 10.0
_BATCH = 512
_TICK_S = 0.25
_S = 1_000_000_000
_log = logging.getLogger("spanwise")
_exporters: dict[int, weakref.ref[ScoredExporter]] = {}
_captures: dict[int, SpanScores] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportStats:
    """What became of every span. received = exported + failed + left_out + held, at a moment of rest."""

    received: int
    exported: int
    failed: int
    """The exporter behind said that it could not export them, or raised."""
    left_out: int
    """Spans of traces that `keep` does not export."""
    held: int
    scored: int
    """Results of runs that came."""
    unscored: dict[str, int] = field(default_factory=dict[str, int])
    """Times that spans of a trace went on without scores: `deadline` (its root ended, and no result came in time),
    `open` (its root did not end), `bounds` (no room), `flush`, `shutdown`, `not_scored` (sampling, or refused)."""
    keep_failures: int = 0


class ScoredExporter(SpanExporter):
    """Exports spans with the scores of their runs, once those are there.

    A run's root span gets `spanwise.score.<name>`, `.label`, `.status` where there is no value, and more; besides, the
    evaluations of OpenInference. Use it around any exporter, behind a Batch- or SimpleSpanProcessor.

    Args:
        inner: The app's exporter.
        keep: Which traces are exported at all, by their scores; all where not given. A trace without scores is.
        deadline_s: How long after the end of a trace's root its scores are waited for.
        open_s: How long the spans of a trace wait whose root has not ended.
        max_spans: How many spans wait at most. Past it, the trace that waits longest is exported without scores.
        max_bytes: About how much text they hold at most.

    Raises:
        ModelError: A time or a bound is not positive.
    """

    def __init__(
        self,
        inner: SpanExporter,
        *,
        keep: Keeping | None = None,
        deadline_s: float = 5.0,
        open_s: float = 300.0,
        max_spans: int = 50_000,
        max_bytes: int = 256_000_000,
    ) -> None:
        for name, value in (("deadline_s", deadline_s), ("open_s", open_s), ("max_spans", max_spans)):
            if not value > 0:
                raise ModelError(f"ScoredExporter: {name} is {value!r}, expected a positive number.")
        self._inner = inner
        self._waiting = Waiting(
            deadline_ns=round(deadline_s * _S), open_ns=round(open_s * _S), max_spans=max_spans, max_bytes=max_bytes
        )
        self._keeper = Keeper(keep)
        self._told: set[str] = set()
        self._reset()
        if hasattr(os, "register_at_fork"):
            alive = weakref.WeakMethod(self._reset)
            os.register_at_fork(after_in_child=lambda: (again := alive()) and again())
        self._closed = False
        key = id(self)
        _exporters[key] = weakref.ref(self, lambda _: _exporters.pop(key, None) and None)

    def _reset(self) -> None:
        """Be as new: in a forked child, too, where what waits is the parent's to export."""
        self._held = Held(self._waiting, self._keeper)
        self._ready: deque[ReadableSpan] = deque()
        self._change = threading.Condition()
        self._exporting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._size = self._under_way = self._received = self._exported = self._failed = 0

    # What the app's processor calls.

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take the spans; those that need not wait, and those for which there is no room, are exported now."""
        now = self._take(spans)
        return self._send(now) if now else SpanExportResult.SUCCESS

    def _take(self, spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
        scoring, now_ns = bool(_captures), time.monotonic_ns()
        with self._change:
            self._received += len(spans)
            if self._closed:
                return list(spans)
            held = self._held
            passing: list[ReadableSpan] = []
            for span in spans:
                try:
                    passed = held.add(span, now_ns, scoring=scoring)
                except Exception:  # noqa: BLE001  (a span of an unforeseen kind must not be lost)
                    passed = span
                    self._tell("a span could not wait for its scores")
                if passed is not None:
                    passing.append(passed)
            passing += held.surplus(now_ns, spans=len(self._ready) + self._under_way, size=self._size)
            most = self._waiting
            # Where the thread cannot keep up, whoever brings more has to help.
            while self._ready and (
                held.spans + len(self._ready) + self._under_way > most.max_spans
                or held.bytes + self._size > most.max_bytes
            ):
                passing.append(self._pop())
            if held.spans and self._thread is None:
                self._start()
        return passing

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Score what has ended and export everything that waits; False if the time does not suffice."""
        until = time.monotonic() + timeout_millis / 1000
        self._score(until)
        emptied = self.empty("flush", until)
        left_ms = max(1, round((until - time.monotonic()) * 1000))
        try:
            return bool(self._inner.force_flush(left_ms)) and emptied
        except Exception:  # noqa: BLE001  (anybody's exporter)
            _log.warning("the exporter behind ScoredExporter could not be flushed", exc_info=True)
            return False

    def shutdown(self, timeout_millis: float = SHUTDOWN_S * 1000) -> None:
        """Score what has ended, export everything that waits, and shut the exporter behind down."""
        if self._closed:
            return
        until = time.monotonic() + timeout_millis / 1000
        self._score(until)
        if not self.empty("shutdown", until):
            left = len(self._ready) + self._under_way
            _log.warning("ScoredExporter: %d spans could not be exported within the time to shut down", left)
        with self._change:
            self._closed = True
            self._change.notify_all()
        _exporters.pop(id(self), None)
        self._inner.shutdown()

    def _score(self, until: float) -> None:
        for capture in list(_captures.values()):
            try:
                capture.score(max(0.0, until - time.monotonic()))
            except Exception:  # noqa: BLE001  (what waits has to be exported all the same)
                self._tell("what has ended could not be scored")

    # What a capture calls, on the thread that scores.

    def settle(self, results: Sequence[RunResult], /) -> None:
        """Take the results of one trace."""
        told = Told.of(results, self._keeper)
        self._hand_over(lambda now_ns: self._held.settle(told, now_ns))

    def give_up(self, trace_id: int, /) -> None:
        """There will be no result of this trace."""
        self._hand_over(lambda now_ns: self._held.give_up(trace_id, now_ns))

    def empty(self, reason: str, until: float) -> bool:
        """Have all that waits exported, and wait for it; False if it takes longer than until then."""
        self._hand_over(lambda now_ns: self._held.everything(now_ns, reason))
        return self.wait(until)

    def wait(self, until: float) -> bool:
        """Wait until all that need not wait any more is exported; False if it takes longer than until then."""
        while self._thread is None and self._ready:
            with self._change:
                batch = self._next() or []
            self._send(batch)
            self._done(len(batch))
        with self._change:
            return self._change.wait_for(
                lambda: not self._ready and not self._under_way, max(0.0, until - time.monotonic())
            )

    def stats(self) -> ExportStats:
        """What became of everything up to now."""
        with self._change:
            held = self._held
            return ExportStats(
                received=self._received,
                exported=self._exported,
                failed=self._failed,
                left_out=held.stats.left_out,
                held=held.spans + len(self._ready) + self._under_way,
                scored=held.stats.scored,
                unscored=dict(held.stats.unscored),
                keep_failures=self._keeper.failures,
            )

    # The thread that exports what waited.

    def _hand_over(self, choose: Callable[[int], list[ReadableSpan]]) -> None:
        with self._change:
            found = choose(time.monotonic_ns())
            if found:
                self._add(found)
                if self._thread is None:
                    self._start()
                self._change.notify_all()

    def _start(self) -> None:
        """Start the thread; at the interpreter's end, where none can be started, whoever flushes does its work."""
        thread = threading.Thread(
            target=_run, args=(weakref.ref(self), self._change), name="spanwise-export", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            return
        self._thread = thread

    def _tell(self, what: str) -> None:
        """Log an error, the first of its kind only."""
        if what not in self._told:
            self._told.add(what)
            _log.exception("ScoredExporter: %s; further ones are not logged", what)

    def _next(self) -> list[ReadableSpan] | None:
        """The next spans to export; None once there will be no more. Called with the lock held."""
        self._add(self._held.due(time.monotonic_ns()))
        if not self._ready and self._closed:
            return None
        batch = [self._pop() for _ in range(min(_BATCH, len(self._ready)))]
        self._under_way += len(batch)
        return batch

    def _add(self, spans: Sequence[ReadableSpan]) -> None:
        self._ready.extend(spans)
        self._size += sum(map(size_of, spans))

    def _pop(self) -> ReadableSpan:
        span = self._ready.popleft()
        self._size = self._size - size_of(span) if self._ready else 0
        return span

    def _done(self, count: int) -> None:
        with self._change:
            self._under_way -= count
            self._change.notify_all()

    def _send(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans, never two batches at a time."""
        try:
            with self._exporting:
                result = self._inner.export(spans)
        except Exception:  # noqa: BLE001  (anybody's exporter; the SDK logs what it raises, and so do we)
            self._tell("the exporter behind it failed")
            result = SpanExportResult.FAILURE
        with self._change:
            if result is SpanExportResult.SUCCESS:
                self._exported += len(spans)
            else:
                self._failed += len(spans)
        return result


def _run(alive: weakref.ref[ScoredExporter], change: threading.Condition) -> None:
    """Export what waited for as long as the exporter lives."""
    attach(unwatched())
    while True:
        with change:
            exporter = alive()
            if exporter is None:
                return
            batch = exporter._next()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # the exporter's own thread
            if batch is None:
                return
            if not batch:
                del exporter
                change.wait(_TICK_S)
                continue
        exporter._send(batch)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # the exporter's own thread
        exporter._done(len(batch))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # the exporter's own thread
        del exporter


def _living() -> list[ScoredExporter]:
    return [one for held in list(_exporters.values()) if (one := held()) is not None]


class SpanScores:
    """A sink that hands the results of a capture to every `ScoredExporter` of the process.

    Args:
        score: Scores what has ended, within so many seconds.
    """

    inline = True
    emits = "none"

    def __init__(self, score: Callable[[float], bool]) -> None:
        self.score = score
        _captures[id(self)] = self

    @property
    def idle(self) -> bool:
        """There is nobody to hand results to."""
        return not _exporters

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Hand the results over, trace by trace."""
        traces: dict[str, list[RunResult]] = {}
        for result in results:
            traces.setdefault(result.run.trace.trace_id, []).append(result)
        for exporter in _living():
            for of_one in traces.values():
                exporter.settle(of_one)

    def unscored(self, trace_id: str, /) -> None:
        """A trace was finished, and none of its runs is scored."""
        for exporter in _living():
            exporter.give_up(int(trace_id, 16))

    def flush(self, timeout_s: float) -> bool:
        """Wait until the spans of what was scored are exported; False if the time did not suffice.

        A provider that is flushed flushes its processors, and these do not flush their exporters: the capture does.
        """
        until = time.monotonic() + timeout_s
        emptied = [exporter.wait(until) for exporter in _living()]
        return all(emptied)

    def close(self) -> None:
        """There will be no more results."""
        _captures.pop(id(self), None)
        if not _captures:
            for exporter in _living():
                exporter.empty("shutdown", 0.0)
