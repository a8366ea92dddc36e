"""Collecting the records of many traces until each is finished, without clock, threads or input of its own.

How it works
    A record opens its trace, or joins it. A trace is *open* until it is *finished*; a finished one is handed out by
    the next `tick` and keeps its spans for `late_ns` more. A span that comes in that time makes the trace dirty, and
    the next `tick` hands it out again under the next revision. Afterwards only a tombstone remains, and what still
    comes is counted as late.

    When a trace is finished depends on the door. In a process its local root (no parent, or a remote one) ends last,
    so the end of that root finishes it, at the next tick. In a service spans of several processes meet, so the
    topmost root must have ended `grace_ns` ago, or nothing may have come for `idle_ns`. Offline nothing is finished
    before the input ends, unless `idle_ns` is set. All children need not have ended: instrumentations exist that
    never end a failing tool's span.

    Bounds are on open and finished traces together: how many, spans in one, spans and bytes in all. Finished ones give
    way first, the oldest before the others: what comes for them is late then. Admission is per trace: the record that
    would break a bound refuses its whole trace, what was held of it is given up, and every record is counted under the
    reason. So a trace is whole or absent, never torn; one that may be the rest of a refused one is refused as doubtful.

    Time is whatever the caller says it is: a monotonic clock live, the spans' own time in a file.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from hashlib import blake2b

from spanwise.assembly.bounds import LIVE, OFFLINE, SERVICE, AssemblySettings, AssemblyStats, Finish, Finished, Refusal
from spanwise.assembly.entry import Entry
from spanwise.assembly.links import fullness
from spanwise.assembly.refusals import Refusals, time_of
from spanwise.assembly.rows import hold_row
from spanwise.assembly.sizes import size_of
from spanwise.assembly.tree import build_trace
from spanwise.model.canonical import shown
from spanwise.model.ports import Record
from spanwise.model.raw import Key, LogEvent, SpanRecord

__all__ = [
    "LIVE", "SERVICE", "Assembler", "AssemblySettings", "AssemblyStats", "Finish", "Finished", "Refusal", "size_of"
]  # fmt: skip

_SLACK = 1024


class Assembler:
    """Takes records in any order and gives finished traces. Not thread-safe: one owner calls it."""

    def __init__(self, settings: AssemblySettings = OFFLINE) -> None:
        self.settings = settings
        self.pause: Callable[[], None] | None = None
        self.on_gone: Callable[[Key, str], None] | None = None
        """Called with a trace that is no longer held, and why: `released`, `taken`, or the reason of its refusal."""
        self.stats = AssemblyStats()
        self.late_traces: dict[Key, None] = {}
        """Traces of which spans came when they were no longer held; never more than there are tombstones."""
        self._open: OrderedDict[Key, Entry] = OrderedDict()  # least recently touched first
        self._done: dict[Key, Entry] = {}
        # Entries, not keys: a trace may be given up and opened again while its old entry still stands in line.
        self._due: deque[tuple[int, Entry]] = deque()
        self._ages: deque[tuple[int, Entry]] = deque()
        self._dirty: dict[Key, None] = {}
        self._retained: deque[tuple[int, Entry]] = deque()
        self._tombstones: OrderedDict[Key, None] = OrderedDict()  # of traces that were handed out
        self._refusals = Refusals(settings.max_tombstones)
        self._spans = 0
        self._bytes = 0
        self._done_spans = 0
        self._done_bytes = 0
        self._bounded = {settings.max_trace_spans, settings.max_spans, settings.max_bytes} != {None}

    @property
    def held(self) -> int:
        """Records held right now."""
        return self._spans

    @property
    def open_traces(self) -> int:
        """Traces held right now, finished ones in their late time among them."""
        return len(self._open) + len(self._done)

    @property
    def unfinished(self) -> tuple[int, int, int]:
        """Traces that are not finished, their records, and their bytes: what cannot give way to others."""
        return len(self._open), self._spans - self._done_spans, self._bytes - self._done_bytes

    def holds(self, key: Key) -> bool:
        """Whether anything is held of a trace, be it open or finished. Other threads may ask."""
        return key in self._open or key in self._done

    def add(self, record: Record, now_ns: int) -> None:
        """Take one record. Never raises for what a record holds."""
        self.stats.received += 1
        key = record.trace_id
        entry = self._open.get(key)
        if entry is not None:
            self._touch(entry, now_ns)
        else:
            entry = self._done.get(key) or self._admit(record, now_ns)
            if entry is None:
                return
        is_span = not isinstance(record, LogEvent)
        if is_span and record.span_id not in entry.spans:
            entry.spans[record.span_id] = record
            self._spans += 1
        elif not (self._hold_again(entry, record) if is_span else self._hold_event(entry, record)):
            return
        if self._bounded and not self._within(entry, record):
            return
        if entry.state == "done":
            self._dirty[key] = None
            self._count_done(entry)
        elif is_span and self.settings.finish != "end" and entry.due_ns < 0 and self._ends(record):
            if self._refusals.doubted(record):
                self._refuse(entry, "doubtful")
                return
            entry.due_ns = now_ns + self.settings.grace_ns
            self._due.append((entry.due_ns, entry))

    def add_all(self, records: list[Record], now_ns: int) -> None:
        """Take records as `add` takes each of them."""
        at = 0
        while at < len(records):
            entry = self._open.get(records[at].trace_id)
            count, size = (
                (0, 0) if entry is None else hold_row(records, at, entry, self.settings, (self._spans, self._bytes))
            )
            if entry is None or not count:
                self.add(records[at], now_ns)
                count = 1
            else:
                self._touch(entry, now_ns)
                self.stats.received += count
                self._spans += count
                self._bytes += size
            at += count

    def _touch(self, entry: Entry, now_ns: int) -> None:
        if self.settings.idle_ns is not None:
            self._open.move_to_end(entry.key)
            entry.touched_ns = now_ns

    def _hold_again(self, entry: Entry, record: SpanRecord) -> bool:
        """Hold a span of an id that is held already, if it is the fuller of the two."""
        known = entry.spans[record.span_id]
        self.stats.doubled += 1
        new, old = fullness(record), fullness(known)
        if new != old:
            entry.disagreeing.add(record.span_id)
        if new <= old:
            return False
        entry.spans[record.span_id] = record
        if self.settings.max_bytes is not None:
            entry.bytes -= size_of(known)
            self._bytes -= size_of(known)
        return True

    def _hold_event(self, entry: Entry, record: LogEvent) -> bool:
        digest = blake2b(shown(record).encode(errors="replace"), digest_size=16).digest()
        if digest in entry.seen_events:
            self.stats.doubled += 1
            return False
        entry.seen_events.add(digest)
        entry.events.append(record)
        self._spans += 1
        return True

    def _admit(self, record: Record, now_ns: int) -> Entry | None:
        key, settings = record.trace_id, self.settings
        if key in self._tombstones:
            self.stats.late += 1
            self.late_traces[key] = None
            return None
        buried = self._refusals.of(key)
        if buried is not None:
            self._count(self.stats.refused, buried)
            return None
        while (reason := self._full(1)) is not None and self._make_room(None):
            pass
        if reason is not None:
            self._count(self.stats.refused, reason)
            self._count(self.stats.refused_traces, reason)
            self._refusals.add(key, reason, time_of(record))
            return None
        entry = self._open[key] = Entry(key, now_ns)
        if settings.max_age_ns is not None:
            if len(self._ages) > 2 * len(self._open) + _SLACK:  # most of these are finished: so is this line bounded
                self._ages = deque(item for item in self._ages if item[1].state == "open")
            self._ages.append((now_ns + settings.max_age_ns, entry))
        return entry

    def _full(self, more: int) -> Refusal | None:
        """The bound that so much more would break: a trace, a span and a byte each."""
        settings = self.settings
        if settings.max_traces is not None and self.open_traces + more > settings.max_traces:
            return "traces"
        if settings.max_spans is not None and self._spans + more > settings.max_spans:
            return "spans"
        return "bytes" if settings.max_bytes is not None and self._bytes + more > settings.max_bytes else None

    def _make_room(self, but: Entry | None) -> bool:
        """Let the oldest finished trace go before its late time is over; False if there is none but this."""
        while self._retained:
            entry = self._retained[0][1]
            if entry is but:
                return False
            self._retained.popleft()
            if entry.state == "done":
                self._release(entry)
                return True
        return False

    def _within(self, entry: Entry, record: Record) -> bool:
        """Whether the bounds still hold with this record; if not, its whole trace is refused."""
        settings = self.settings
        if settings.max_bytes is not None:
            size = size_of(record)
            entry.bytes += size
            self._bytes += size
        if settings.max_trace_spans is not None and entry.held > settings.max_trace_spans:
            self._refuse(entry, "spans_per_trace")
            return False
        while (reason := self._full(0)) is not None and self._make_room(entry):
            pass
        if reason is not None:
            self._refuse(entry, reason)
        return reason is None

    def _ends(self, span: SpanRecord) -> bool:
        if span.end_ns <= 0:
            return False
        return span.parent_id is None or (self.settings.finish == "local_root" and span.parent_remote)

    def tick(self, now_ns: int) -> list[Finished]:
        """The traces that are finished by now, each at its highest revision, in the order in which they became so."""
        return list(self.finished(now_ns))

    def finished(self, now_ns: int) -> Iterator[Finished]:
        """What `tick` gives, one by one: each trace is built when it is asked for."""
        while self._due and self._due[0][0] <= now_ns:
            entry = self._due.popleft()[1]
            if entry.state == "open":
                yield self._finish(entry, "root ended", now_ns)
        idle_ns = self.settings.idle_ns
        while idle_ns is not None and self._open:
            entry = next(iter(self._open.values()))
            if entry.touched_ns + idle_ns > now_ns:
                break
            yield self._finish(entry, "idle", now_ns)
        while self._ages and self._ages[0][0] <= now_ns:
            entry = self._ages.popleft()[1]
            if entry.state == "open":
                self._refuse(entry, "unfinished")
        yield from self._again()
        while self._retained and self._retained[0][0] <= now_ns:
            entry = self._retained.popleft()[1]
            if entry.state == "done":
                self._release(entry)

    def close(self, now_ns: int) -> Iterator[Finished]:
        """What is finished by now; all else is given up: a trace without its end is no whole run."""
        yield from self.finished(now_ns)
        for entry in list(self._open.values()):
            self._refuse(entry, "unfinished")
        self._empty()

    def refuse(self, key: Key, reason: Refusal, at_ns: int) -> None:
        """Give up a trace that began before this time, now and in future; if it was handed out, that was the last."""
        entry = self._open.get(key)
        done = self._done.get(key)
        if entry is not None:
            self._refuse(entry, reason)
        elif done is not None:
            self._release(done)  # with some of its late spans only, it would be torn
        elif key not in self._tombstones and self._refusals.of(key) is None:
            self._count(self.stats.refused_traces, reason)
            self._refusals.add(key, reason, at_ns)

    def doubt(self, until_ns: int) -> None:
        """Traces lost spans that nobody can name, all of which began before this time."""
        self._refusals.doubt(until_ns)

    def drain(self, now_ns: int) -> list[Finished]:
        """Every trace that is still open or dirty: at the end of an input, or at shutdown."""
        out = [self._finish(entry, "end of input", now_ns) for entry in list(self._open.values())]
        out.extend(self._again())
        self._empty()
        return out

    def _empty(self) -> None:
        for entry in list(self._done.values()):
            self._release(entry)
        for line in (self._due, self._ages, self._retained):
            line.clear()

    def _finish(self, entry: Entry, reason: str, now_ns: int) -> Finished:
        del self._open[entry.key]
        entry.state = "done"
        self._done[entry.key] = entry
        self.stats.finished += 1
        self._retained.append((now_ns + self.settings.late_ns, entry))
        self._count_done(entry)
        return self._hand_out(entry, reason)

    def _count_done(self, entry: Entry) -> None:
        """Count what a finished trace holds now."""
        self._done_spans += entry.held - entry.done_spans
        self._done_bytes += entry.bytes - entry.done_bytes
        entry.done_spans, entry.done_bytes = entry.held, entry.bytes

    def restore(
        self, key: Key, revision: int, now_ns: int, *, finished: bool, handed: AbstractSet[Key] | None = None
    ) -> None:
        """Go on with a trace that was handed out under this revision before, perhaps by another process.

        One that is `finished` is not handed out for what is held of it now, only for what comes yet. The spans
        `handed`, all of them where none are given, are no late ones.
        """
        entry = self._open.get(key)
        if entry is None:
            return
        entry.revision = revision
        entry.hand(handed)
        if finished:
            del self._open[key]
            entry.state = "done"
            self._done[key] = entry
            self._retained.append((now_ns + self.settings.late_ns, entry))
            self._count_done(entry)

    def open_keys(self) -> list[tuple[Key, int]]:
        """The traces that are not finished, with the revision under which each was handed out last, mostly 0."""
        return [(key, entry.revision or min(entry.handed, 1)) for key, entry in self._open.items()]

    def look(self, key: Key) -> tuple[list[SpanRecord], list[LogEvent]]:
        """What is held of an open trace."""
        entry = self._open.get(key)
        return ([], []) if entry is None else (list(entry.spans.values()), list(entry.events))

    def take(self, key: Key) -> None:
        """Let go of an open trace, which goes on elsewhere."""
        entry = self._open.get(key)
        if entry is not None:
            self.stats.released += self._drop(entry, "taken")

    def _again(self) -> list[Finished]:
        out = [self._hand_out(self._done[key], "late spans") for key in self._dirty]
        self.stats.again += len(out)
        self._dirty.clear()
        return out

    def _hand_out(self, entry: Entry, reason: str) -> Finished:
        entry.revision += 1
        trace = build_trace(
            entry.key,
            entry.spans.values(),
            events=entry.events,
            unit=self.settings.unit,
            disagreeing=entry.disagreeing,
            pause=self.pause,
        )
        trace.revision, trace.late, trace.bytes = entry.revision, entry.late(), entry.bytes
        trace.records = dict(entry.spans) if self.settings.records else None
        entry.hand()
        return Finished(trace=trace, revision=entry.revision, reason=reason)

    def _release(self, entry: Entry) -> None:
        self.stats.released += self._drop(entry, "released")
        self._tombstones[entry.key] = None
        while len(self._tombstones) > self.settings.max_tombstones:
            forgotten, _ = self._tombstones.popitem(last=False)
            self.late_traces.pop(forgotten, None)

    def _refuse(self, entry: Entry, reason: Refusal) -> None:
        records = (*list(entry.spans.values())[:1], *entry.events[:1])
        at_ns = time_of(records[0]) if records else 0
        self._count(self.stats.refused, reason, self._drop(entry, reason))
        self._count(self.stats.refused_traces, reason)
        self._refusals.add(entry.key, reason, at_ns)

    def _drop(self, entry: Entry, reason: str) -> int:
        """Give up what is held of a trace; how many records that was."""
        key, held = entry.key, entry.held
        del (self._open if entry.state == "open" else self._done)[key]
        self._dirty.pop(key, None)
        self._spans -= held
        self._bytes -= entry.bytes
        self._done_spans -= entry.done_spans
        self._done_bytes -= entry.done_bytes
        entry.state = "gone"
        entry.spans, entry.events, entry.seen_events = {}, [], set()
        if self.on_gone is not None:
            self.on_gone(key, reason)
        return held

    @staticmethod
    def _count(table: dict[str, int], reason: str, by: int = 1) -> None:
        table[reason] = table.get(reason, 0) + by
