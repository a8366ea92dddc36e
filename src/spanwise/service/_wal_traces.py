"""Which traces the write-ahead log holds parts of, where, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.service._wal_frames import Mark


class _Known:
    __slots__ = ("last", "mark", "released", "segments")

    def __init__(self) -> None:
        self.segments: set[int] = set()
        self.last = -1
        """The sequence number of the last request that holds a part of it."""
        self.mark: Mark | None = None
        self.released = False

    @property
    def done(self) -> bool:
        return self.mark is not None and self.mark.upto >= self.last and self.mark.how not in {"told", "begun"}

    @property
    def settled(self) -> bool:
        return self.released and self.done


class Traces:
    """The traces in the log, each with its segments. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Known] = {}
        self._within: dict[int, set[bytes]] = {}
        self._unsettled: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def mark_of(self, trace: bytes) -> Mark | None:
        """What was said of it last."""
        known = self._known.get(trace)
        return None if known is None else known.mark

    def is_done(self, trace: bytes) -> bool:
        """All that is in the log of it is done."""
        known = self._known.get(trace)
        return known is None or known.done

    def is_settled(self, trace: bytes) -> bool:
        """It is done, and nothing of it is waited for."""
        known = self._known.get(trace)
        return known is None or known.settled

    def add(self, traces: Iterable[bytes], seq: int, segment: int, *, fresh: bool = True) -> None:
        """A request stands in a segment that holds parts of these; a fresh one is news of them."""
        within = self._within.setdefault(segment, set())
        for trace in traces:
            known = self._known.get(trace)
            if known is None:
                known = self._known[trace] = _Known()
            was = known.settled
            known.last = max(known.last, seq)
            known.released = known.released and not fresh
            if trace not in within:
                within.add(trace)
                known.segments.add(segment)
                self._count(segment, 0 if known.settled else 1)
                if was and not known.settled:
                    self._changed(known, 1, but=segment)
            elif was and not known.settled:
                self._changed(known, 1)

    def mark(self, mark: Mark) -> bool:
        """What became of a trace; False if the log holds nothing of it."""
        known = self._known.get(mark.trace)
        if known is None:
            return False
        was = known.settled
        if known.mark is None or mark.upto >= known.mark.upto:
            known.mark = mark
        self._turn(known, was=was)
        return True

    def release(self, trace: bytes) -> None:
        """Nothing more is waited for of a trace."""
        known = self._known.get(trace)
        if known is not None:
            was = known.settled
            known.released = True
            self._turn(known, was=was)

    def _turn(self, known: _Known, *, was: bool) -> None:
        if was != known.settled:
            self._changed(known, -1 if known.settled else 1)

    def _changed(self, known: _Known, by: int, but: int = -1) -> None:
        for segment in known.segments:
            if segment != but:
                self._count(segment, by)

    def _count(self, segment: int, by: int) -> None:
        self._unsettled[segment] = self._unsettled.get(segment, 0) + by

    def unsettled(self, segment: int) -> int:
        """How many traces keep a segment."""
        return self._unsettled.get(segment, 0)

    def within(self, segment: int) -> int:
        """How many traces a segment holds parts of."""
        return len(self._within.get(segment, ()))

    def forget(self, segment: int) -> None:
        """The segment is gone, and with the last one of a trace the trace."""
        for trace in self._within.pop(segment, ()):
            known = self._known[trace]
            known.segments.discard(segment)
            if not known.segments:
                del self._known[trace]
        self._unsettled.pop(segment, None)

    def undone(self) -> int:
        """How many traces are not done."""
        return sum(not known.done for known in list(self._known.values()))
