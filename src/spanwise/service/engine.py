"""Between the receivers and the sinks: what is accepted is safe, assembled and scored, or the sender comes again.

How it works
    `offer` runs on the event loop: it refuses what there is no room for, writes the request to the write-ahead log and
    puts its records in a queue. A thread owns the pipeline: it takes the queue, scores what is finished, and marks in
    the log what every sink is done with. While a sink has too much to do, that thread waits for it, the queue fills,
    and senders are refused: nothing is dropped on the way. At the start the thread first takes what the log holds.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from spanwise.assembly.assembler import Finished
from spanwise.delivery import Receipts
from spanwise.model.ports import Record
from spanwise.model.raw import Key, LogEvent
from spanwise.pipeline import Pipeline
from spanwise.service.batches import Batch, decode
from spanwise.service.handoff import HandOff, Unfinished
from spanwise.service.ledger import WAIT_S, Ledger
from spanwise.service.pressure import Bounds, Load, refusal_of
from spanwise.service.refusal import Refusal
from spanwise.service.wal import Entry, Wal, WalError, WalFullError

__all__ = ["Bounds", "Engine", "Make", "Refusal"]

Make: TypeAlias = Callable[[Callable[[], None], Callable[[Finished], Receipts]], Pipeline]
"""Makes the pipeline, given what it calls between pieces of work, and what makes receipts."""
State: TypeAlias = Literal["starting", "ready", "draining", "stopped"]

_IDLE_S = 0.1
_PIECE = 4_000
_KEEP_UP_S = 0.25
_STUCK_S = 60.0
_ELSEWHERE_S = 5.0
_log = logging.getLogger("spanwise")


@dataclass(slots=True, kw_only=True)
class EngineCounts:
    """accepted + replayed = queued + what the assembler received."""

    requests: int = 0
    accepted: int = 0
    own: int = 0
    rejected: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """Records that have to come again, by reason."""
    replayed: int = 0
    unreadable: int = 0
    errors: int = 0


@dataclass(slots=True)
class _Item:
    seq: int
    records: Sequence[Record]
    traces: tuple[bytes, ...]
    size: int


class Engine:
    """Takes batches and owns the thread that scores.

    Args:
        make: Makes the pipeline.
        wal: Where accepted requests stand until their scores are safe; None to do without.
        bounds: How much is held.
        handoff: Where unfinished traces go at the end; None to leave them in the log.
        judges_s: How long a trace stays in the log for what judges say of it.
    """

    def __init__(
        self,
        make: Make,
        *,
        wal: Wal | None = None,
        bounds: Bounds | None = None,
        handoff: HandOff | None = None,
        judges_s: float = WAIT_S,
    ) -> None:
        self.bounds = bounds or Bounds()
        self.wal = wal
        self.counts = EngineCounts()
        self.ledger = Ledger(wal, wait_s=judges_s)
        self.pipeline = make(self._pause, self.ledger.receipts)
        self.pipeline.assembler.on_gone = lambda key, reason: self.ledger.gone(cast("bytes", key), reason)
        self.state: State = "starting"
        self.left = 0
        """Traces that were left in the log at the end."""
        self._handoff = handoff
        self._is_whole = False
        self._grace_ns = self.pipeline.assembler.settings.grace_ns
        self._most_behind = max(self.pipeline.delivery.most // 2, 1)
        self._lock = threading.Lock()
        self._queue: deque[_Item] = deque()
        self._queued = self._queued_bytes = 0
        self._queued_traces: dict[bytes, int] = {}
        self._wake = threading.Event()
        self._until = 0.0
        self._beat = time.monotonic()
        self._kept_up = self._looked = 0.0
        self._seen = 0
        self._thread = threading.Thread(target=self._run, name="spanwise-engine", daemon=True)
        self._syncs: list[asyncio.Future[None]] = []
        self._syncing: asyncio.Task[None] | None = None

    # On the event loop

    async def offer(self, batch: Batch) -> Refusal | None:
        """Take a batch; None when it is safe, else when the sender has to come again."""
        records = batch.records
        self.counts.requests += 1
        if not records:
            self._count_left_out(batch)
            return None
        traces = tuple({cast("bytes", record.trace_id) for record in records})
        refusal = self._no_room(batch, traces)
        seq = 0
        if refusal is None and self.wal is not None:
            try:
                seq = self.wal.append(batch.signal, batch.content, batch.payload, traces)
            except WalError as error:
                refusal = Refusal("wal", self.bounds.retry_after_s, overload=isinstance(error, WalFullError))
        if refusal is not None:
            self.counts.refused[refusal.reason] = self.counts.refused.get(refusal.reason, 0) + len(records)
            return refusal
        self._count_left_out(batch)
        self.counts.accepted += len(records)
        self._enqueue(_Item(seq, records, traces, len(batch.payload)))
        if self.wal is not None and self.wal.fsync == "always":
            return await self._durable()
        return None

    def _count_left_out(self, batch: Batch) -> None:
        self.counts.own += batch.own
        self.counts.rejected += batch.rejected

    def _enqueue(self, item: _Item) -> None:
        waiting = self._queued_traces
        with self._lock:
            self._queue.append(item)
            self._queued += len(item.records)
            self._queued_bytes += item.size
            for trace in item.traces:
                waiting[trace] = waiting.get(trace, 0) + 1
        self._wake.set()

    async def _durable(self) -> Refusal | None:
        """Wait for the disk, together with all others who wait for it now."""
        done = asyncio.get_running_loop().create_future()
        self._syncs.append(done)
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync())
        try:
            await done
        except WalError:
            return Refusal("wal", self.bounds.retry_after_s, overload=False)
        return None

    async def _sync(self) -> None:
        while self._syncs:
            waiting, self._syncs = self._syncs, []
            failure: WalError | None = None
            try:
                await asyncio.to_thread(cast("Wal", self.wal).sync)
            except WalError as error:
                failure = error
            for one in waiting:
                if not one.done():
                    one.set_exception(failure) if failure else one.set_result(None)
        self._syncing = None

    def _no_room(self, batch: Batch, traces: tuple[bytes, ...]) -> Refusal | None:
        if self.state != "ready":
            reason = "starting" if self.state == "starting" else "draining"
            return Refusal(reason, self.bounds.retry_after_s, overload=False)
        return refusal_of(
            self.loads(len(batch.records), len(batch.payload)), self.bounds, lambda: all(map(self._holds, traces))
        )

    def _holds(self, trace: bytes) -> bool:
        return self.pipeline.assembler.holds(trace) or trace in self._queued_traces

    def loads(self, records: int = 0, size: int = 0) -> list[Load]:
        """How full everything is, with so many records and bytes more."""
        traces, spans, held = self.pipeline.assembler.unfinished
        bounds, queued = self.bounds, self._queued
        found = [
            Load(name="queue", now=queued, most=bounds.queue, more=records),
            Load(name="traces", now=traces, most=bounds.traces),
            Load(name="spans", now=spans + queued, most=bounds.spans, more=records),
            Load(name="bytes", now=held + self._queued_bytes, most=bounds.bytes, more=size),
        ]
        if self.wal is not None:
            found.append(Load(name="wal", now=self.wal.bytes, most=self.wal.max_bytes, more=size))
        return found

    @property
    def queued(self) -> int:
        """Records that wait for the thread."""
        return self._queued

    @property
    def is_alive(self) -> bool:
        """The thread moves."""
        return self.state == "stopped" or (self._thread.is_alive() and time.monotonic() - self._beat < _STUCK_S)

    def unready(self) -> list[str]:
        """Why it takes no spans just now; nothing while it does."""
        found = [] if self.state == "ready" else [self.state]
        found += [f"{load.name} full" for load in self.loads() if load.now >= load.most]
        if self.wal is not None and self.wal.broken:
            found.append(f"the write-ahead log cannot be written: {self.wal.broken}")
        return found if self.is_alive else [*found, "the thread that scores does not move"]

    def start(self) -> None:
        """Start the thread; it is ready when it has taken what the log holds."""
        self._thread.start()

    def drain(self, timeout_s: float) -> bool:
        """Take nothing more, finish what can be finished, and end; False if it took longer."""
        self._until = time.monotonic() + timeout_s
        self.state = "draining"
        self._wake.set()
        self._thread.join(timeout_s + 1.0)
        return not self._thread.is_alive()

    # On the thread

    def _run(self) -> None:
        self._guarded(self._replay)
        if self.state == "starting":
            self.state = "ready"
        while self.state != "draining":
            self._wake.wait(_IDLE_S)
            self._wake.clear()
            self._guarded(self._turn)
        self._guarded(self._end)
        self.state = "stopped"

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:  # noqa: BLE001  (the thread must live, whatever somebody's evaluator does)
            self.counts.errors += 1
            _log.exception("the thread that scores met an error")

    def _pause(self) -> None:
        """Between pieces of work: wait while a sink has too much to do, unless it is time to end."""
        now, scored = time.monotonic(), self.pipeline.stats.scored
        self._beat = now
        if now - self._looked < 0.002 and 8 * (scored - self._seen) < self._most_behind:
            return
        self._looked, self._seen = now, scored
        delivery = self.pipeline.delivery
        while delivery.backlog > self._most_behind and not (self._until and time.monotonic() > self._until):
            time.sleep(0.005)
            self._beat = time.monotonic()
            delivery.settle()

    def _turn(self) -> None:
        now_ns = time.monotonic_ns()
        taken = 0
        while self._queue and taken < _PIECE:
            item = self._queue.popleft()
            taken += len(item.records)
            self._add(item.records, item.traces, item.seq, now_ns)
            self._dequeued(item)
        if self._queue:
            self._wake.set()
        self.pipeline.work(time.monotonic_ns())
        self._settle()

    def _dequeued(self, item: _Item) -> None:
        waiting = self._queued_traces
        with self._lock:
            self._queued -= len(item.records)
            self._queued_bytes -= item.size
            for trace in item.traces:
                if waiting[trace] == 1:
                    del waiting[trace]
                else:
                    waiting[trace] -= 1

    def _add(self, records: Sequence[Record], traces: Sequence[bytes], seq: int, now_ns: int) -> None:
        self.ledger.taken(traces, seq)
        assembler = self.pipeline.assembler
        assembler.add_all(list(records), now_ns)
        for trace in traces:
            if not assembler.holds(trace):
                self.ledger.end(trace, "given_up")  # refused, or too late: the assembler has counted it

    def _settle(self) -> None:
        self._beat = time.monotonic()
        self.pipeline.delivery.settle()
        self.ledger.settle()
        if self.wal is not None and self._beat - self._kept_up >= _KEEP_UP_S:
            self._kept_up = self._beat
            self.wal.keep_up()

    # The start and the end

    def _replay(self) -> None:
        if self.wal is None:
            self._is_whole = True
            return
        assembler, wal = self.pipeline.assembler, self.wal
        handed: dict[bytes, set[Key]] = {}
        for entry in wal.entries():
            if self.state == "draining":
                return
            self._beat = time.monotonic()
            self._replay_entry(entry, wal, handed)
        now_ns = time.monotonic_ns()
        for trace in self.ledger.known():
            mark = wal.mark_of(trace)
            if not assembler.holds(trace):
                self.ledger.end(trace, "given_up")
            elif mark is not None and mark.may_be_heard:
                is_done, is_whole = wal.is_done(trace), mark.upto >= self.ledger.last(trace)
                # What is not done is scored again as what it was, unless spans came since.
                revision = mark.revision - (is_whole and not is_done)
                out = None if is_whole and mark.is_scored else handed.get(trace, set())
                assembler.restore(trace, revision, now_ns, finished=is_done, handed=out)
        self._is_whole = True
        if self.counts.replayed:
            _log.info("%d records of the write-ahead log were taken again", self.counts.replayed)

    def _replay_entry(self, entry: Entry, wal: Wal, handed: dict[bytes, set[Key]]) -> None:
        try:
            records = decode(entry.signal, entry.content, entry.payload).records
        except Exception:  # noqa: BLE001  (one request that cannot be read must not cost the others)
            self.counts.unreadable += 1
            self.ledger.taken(entry.traces, entry.seq)
            return
        crowded = self.pipeline.assembler.held > self.bounds.spans // 2
        without = {trace for trace in entry.traces if self._is_past(trace, wal, crowded=crowded)}
        if without:
            records = [record for record in records if record.trace_id not in without]
        self.counts.replayed += len(records)
        for trace in entry.traces:
            mark = None if wal.is_done(trace) else wal.mark_of(trace)
            if mark is not None and mark.is_scored and entry.seq <= mark.upto:
                ours = (one for one in records if one.trace_id == trace and not isinstance(one, LogEvent))
                handed.setdefault(trace, set()).update(one.span_id for one in ours)
        self._add(records, [trace for trace in entry.traces if trace not in without], entry.seq, time.monotonic_ns())

    def _is_past(self, trace: bytes, wal: Wal, *, crowded: bool) -> bool:
        """Nothing is to be done for it any more. One that is scored is held for late spans, if there is room."""
        mark = wal.mark_of(trace)
        if mark is None or not wal.is_done(trace) or (mark.how == "scored" and not crowded):
            return False
        wal.release(trace)
        return True

    def _end(self) -> None:
        pipeline = self.pipeline
        if self._is_whole:  # else traces are held in part, and stay in the log for the next process
            while self._queue and time.monotonic() < self._until:
                self._turn()
            pipeline.work(time.monotonic_ns())
            self._hand_off()
            pipeline.work(time.monotonic_ns() + self._grace_ns)
            pipeline.flush(max(self._until - time.monotonic(), 0.0))
            self._settle()
        self.left = len(pipeline.assembler.open_keys())
        pipeline.assembler.on_gone = None  # what is given up now is not given up in the log
        left = self._until - time.monotonic()
        elsewhere_s = max(min(_ELSEWHERE_S, left / 2), 0.0) if self.ledger.waiting else 0.0
        pipeline.delivery.close_within(max(left - elsewhere_s, 0.5))
        pipeline.close(time.monotonic_ns() if self._is_whole else 0, elsewhere_s=elsewhere_s)
        self._settle()
        if self.wal is not None:
            self.wal.close()

    def _may_be_heard(self, trace: Key) -> bool:
        """Scores of an earlier process may be known of it, so that only this one knows their revision."""
        mark = None if self.wal is None else self.wal.mark_of(cast("bytes", trace))
        return mark is not None and mark.may_be_heard

    def _hand_off(self) -> None:
        if self._handoff is None:
            return
        assembler = self.pipeline.assembler
        keys = [key for key, revision in assembler.open_keys() if not revision and not self._may_be_heard(key)]
        open_traces = (Unfinished(key, *assembler.look(key)) for key in keys)
        left = self._until - time.monotonic()
        for key in self._handoff.give(open_traces, time.monotonic() + left * 0.6):
            self.ledger.end(cast("bytes", key), "handed_off")
            assembler.take(key)
