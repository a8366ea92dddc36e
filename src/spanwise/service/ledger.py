"""What became of each accepted trace, and saying so in the write-ahead log."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from spanwise.assembly.assembler import Finished
from spanwise.delivery import Receipt
from spanwise.service.wal import How, Wal


@dataclass(slots=True, kw_only=True)
class LedgerCounts:
    """Traces by what became of them."""

    done: int = 0
    """Revisions whose scores every destination has."""
    unsafe: int = 0
    """Revisions that a destination did not take; their spans stay in the log, and are scored again after a restart."""
    given_up: dict[str, int] = field(default_factory=dict[str, int])
    handed_off: int = 0


class Ledger:
    """Knows up to which request each trace was taken. One thread owns it; receipts come from any.

    Without a log it only counts.
    """

    def __init__(self, wal: Wal | None) -> None:
        self.counts = LedgerCounts()
        self._wal = wal
        self._last: dict[bytes, int] = {}
        self._safe: deque[tuple[bytes, int, int]] = deque()
        self._open = 0

    @property
    def waiting(self) -> int:
        """Revisions that some destination is not done with."""
        return self._open

    def taken(self, traces: Collection[bytes], seq: int) -> None:
        """A request with parts of these is in the assembler, or about to be."""
        last = self._last
        for trace in traces:
            last[trace] = max(seq, last.get(trace, -1))

    def known(self) -> list[bytes]:
        """Traces that are held."""
        return list(self._last)

    def receipt(self, finished: Finished) -> Receipt:
        """Tells when the scores of a trace are safe."""
        trace = bytes.fromhex(finished.trace.trace_id)
        revision, upto = finished.revision, self._last.get(trace, -1)
        self._open += 1

        def told(kept: bool) -> None:  # noqa: FBT001 - as receipts call it
            self._safe.append((trace, revision, upto if kept else -1))

        return Receipt(told)

    def settle(self) -> None:
        """Write the marks of what became safe."""
        while self._safe:
            trace, revision, upto = self._safe.popleft()
            self._open -= 1
            if upto < 0:
                self.counts.unsafe += 1
                continue
            self.counts.done += 1
            if self._wal is not None:
                self._wal.mark(trace, "scored", revision, upto)

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
        self._wal.mark(trace, how, known.revision if known is not None else 0, upto)
        self._wal.release(trace)
