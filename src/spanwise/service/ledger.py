"""What became of each accepted trace, and saying so in the write-ahead log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from spanwise.assembly.assembler import Finished
from spanwise.delivery import Receipt, Receipts
from spanwise.service.wal import How, Wal

WAIT_S = 600.0


@dataclass(slots=True, kw_only=True)
class LedgerCounts:
    """Traces by what became of them."""

    done: int = 0
    """Revisions whose scores every destination has."""
    unsafe: int = 0
    """Revisions that a destination did not take; their spans stay in the log, and are scored again after a restart."""
    overdue: int = 0
    """Revisions that were marked as done without what is still waited for, since it took too long."""
    given_up: dict[str, int] = field(default_factory=dict[str, int])
    handed_off: int = 0


@dataclass(slots=True, eq=False)
class _Ticket:
    """A revision of a trace: up to which request, and whether its scores and the later ones are kept, once known."""

    trace: bytes
    revision: int
    upto: int
    scores: bool | None = None
    later: bool | None = None
    closed: bool = False


class Ledger:
    """Knows up to which request each trace was taken. One thread owns it; receipts come from any.

    Before a trace is scored the log says that it is begun, for once it is scored somebody may hear of it: a process
    that is killed then scores it again, under the same revision, or under the next one where spans came since. It is
    done when its scores are safe, and those that come later: what judges say. In between it is told: it is scored again
    in the same way, and the judges are asked again. Without a log it only counts.

    Args:
        wal: Where marks are written.
        wait_s: How long the later scores of a trace are waited for before it is done without them.
    """

    def __init__(self, wal: Wal | None, *, wait_s: float = WAIT_S) -> None:
        self.counts = LedgerCounts()
        self._wal = wal
        self._wait_s = wait_s
        self._last: dict[bytes, int] = {}
        self._told: deque[tuple[_Ticket, bool, bool]] = deque()
        self._unheard: dict[_Ticket, float] = {}
        """Those whose later scores are waited for, the oldest first, and until when."""
        self._open = 0

    @property
    def waiting(self) -> int:
        """Revisions that some destination is not done with."""
        return self._open

    @property
    def unheard(self) -> int:
        """Revisions whose scores are safe but for what judges say."""
        return len(self._unheard)

    def last(self, trace: bytes) -> int:
        """The last request with a part of a trace that is held; -1 for any other."""
        return self._last.get(trace, -1)

    def taken(self, traces: Collection[bytes], seq: int) -> None:
        """A request with parts of these is in the assembler, or about to be."""
        last = self._last
        for trace in traces:
            last[trace] = max(seq, last.get(trace, -1))

    def known(self) -> list[bytes]:
        """Traces that are held."""
        return list(self._last)

    def receipts(self, finished: Finished) -> Receipts:
        """Tell when the scores of a trace, which is about to be scored, are safe."""
        trace = bytes.fromhex(finished.trace.trace_id)
        ticket = _Ticket(trace, finished.revision, self.last(trace))
        self._open += 1
        if ticket.upto >= 0:
            self._mark(ticket, "begun")
        return Receipts(
            scores=Receipt(lambda kept: self._told.append((ticket, False, kept))),
            later=Receipt(lambda kept: self._told.append((ticket, True, kept))),
        )

    def settle(self) -> None:
        """Write the marks of what became safe."""
        while self._told:
            ticket, is_later, kept = self._told.popleft()
            if is_later:
                ticket.later = kept
            else:
                ticket.scores = kept and ticket.upto >= 0
            if ticket.scores is not None:
                self._advance(ticket)
        now = time.monotonic()
        while self._unheard and next(iter(self._unheard.values())) <= now:
            ticket = next(iter(self._unheard))
            ticket.later = True
            self.counts.overdue += 1
            self._advance(ticket)

    def _advance(self, ticket: _Ticket) -> None:
        """Mark what is known of a revision since its scores were, or what judges said was."""
        if ticket.scores and ticket.later is None:
            self._unheard[ticket] = time.monotonic() + self._wait_s
            self._mark(ticket, "told")
            return
        self._unheard.pop(ticket, None)
        if ticket.closed:  # it was overdue, or lost before it was heard
            return
        ticket.closed = True
        self._open -= 1
        if ticket.scores and ticket.later:
            self._mark(ticket, "scored")
            self.counts.done += 1
        else:
            self.counts.unsafe += 1

    def _mark(self, ticket: _Ticket, how: How) -> None:
        if self._wal is not None:
            self._wal.mark(ticket.trace, how, ticket.revision, ticket.upto)

    def gone(self, trace: bytes, reason: str) -> None:
        """The assembler holds nothing of a trace any more."""
        if reason in {"released", "taken"}:
            self._last.pop(trace, None)
            if self._wal is not None and reason == "released":
                self._wal.release(trace)
        else:
            self.counts.given_up[reason] = self.counts.given_up.get(reason, 0) + 1
            self.end(trace, "given_up")

    def end(self, trace: bytes, how: How) -> None:
        """All of a trace is done with, and nothing is waited for: it was refused, came too late, or is elsewhere."""
        upto = self._last.pop(trace, None)
        if how == "handed_off":
            self.counts.handed_off += 1
        if self._wal is None or upto is None:
            return
        known = self._wal.mark_of(trace)
        if known is not None and known.how == "told":  # what judges say of it is still to come
            for ticket in (one for one in self._unheard if one.trace == trace):
                ticket.upto, how = upto, "told"
        self._wal.mark(trace, how, known.revision if known is not None else 0, upto)
        self._wal.release(trace)
