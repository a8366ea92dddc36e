"""What a sink that must lose nothing hands its parcels to: an outbox on disk, a reserve in memory, and the delivery."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.sinks._delivery import Delivery, Pace, Remote, Words
from spanwise.sinks._outbox import Group, Outbox, Parcel

_log = logging.getLogger("spanwise")
SPILL = 10_000
"""So many parcels may wait in memory while the outbox cannot be written."""


@dataclass(slots=True, kw_only=True)
class CourierStats:
    """What became of parcels; taken = replaced + delivered + the sum of dropped + waiting, of one process's outbox."""

    taken: int = 0
    replaced: int = 0
    delivered: int = 0
    waiting: int = 0
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    shed: dict[int, int] = field(default_factory=dict[int, int])
    """Of those dropped, the ones that had to go for lack of room, by rank: maybe another courier's of the same file."""
    retries: int = 0
    requests: int = 0
    last_failure: str = ""


class Courier:
    """Takes parcels at once, and delivers them on a thread of its own, now or in the next process.

    Args:
        remote: Who gets them.
        words: What log lines call them.
        path: The outbox; None for one in memory.
        owner: Whose parcels these are, where several share the file.
        pace: Pauses and timeouts.
        max_rows: How many may wait.
        max_bytes: How many bytes of them.
        wait_s: How long to wait for the file while others write.
    """

    def __init__(
        self,
        remote: Remote,
        words: Words,
        *,
        path: Path | None,
        owner: str,
        pace: Pace,
        max_rows: int,
        max_bytes: int,
        wait_s: float = 0.25,
    ) -> None:
        self.remote = remote
        self.outbox = Outbox(path, owner=owner, max_rows=max_rows, max_bytes=max_bytes, wait_s=wait_s)
        self._spill = Outbox(None, owner=owner, max_rows=min(SPILL, max_rows), max_bytes=max_bytes // 4)
        self._words = words
        self._spilt = False
        self._moving = threading.Lock()
        self._lost = 0
        self._told = False
        lock = None if path is None else path.with_name(f"{path.name}.{owner[:8]}.lock")
        self.delivery = Delivery(remote, (self.outbox, self._spill), pace=pace, lock=lock, words=words)
        if path is not None and path.exists():
            self.delivery.wake()

    def put(self, groups: Sequence[Group]) -> bool:
        """Take groups of parcels; False where they are not in the outbox, but in memory at best."""
        return self._keep(lambda outbox: outbox.put(groups), sum(len(group.parcels) for group in groups))

    def add(self, parcels: Sequence[Parcel]) -> bool:
        """Take parcels of no group, as `put` does."""
        return self._keep(lambda outbox: outbox.add(parcels), len(parcels))

    def flush(self, timeout_s: float) -> bool:
        """Deliver what waits now; True when nothing waits any more."""
        return self.delivery.flush(timeout_s, self.waiting)

    def close(self, timeout_s: float) -> None:
        """Deliver what is possible in time. The rest stays in the outbox for the next process."""
        deadline = time.monotonic() + timeout_s
        emptied = self.flush(timeout_s)
        ended = self.delivery.stop(max(0.0, deadline - time.monotonic()) if not emptied else 1.0)
        left, path, words = self.waiting(), self.outbox.path, self._words
        if left and path is None:
            _log.warning("%d %s for %s are lost: there is no outbox on disk", left, words.items, words.there)
        elif left:
            _log.info("%d %s for %s wait in %s for the next start", left, words.items, words.there, path)
        if ended:
            self.outbox.close()
            self._spill.close()

    def waiting(self) -> int:
        """How many wait, those of earlier processes with them."""
        count = 0
        for outbox in (self.outbox, self._spill):
            try:
                count += outbox.waiting()
            except sqlite3.Error:
                continue
        return count

    def stats(self) -> CourierStats:
        """What became of the parcels up to now; what was shed is not among the dropped yet, but by its rank."""
        disk, spill, sent = self.outbox.counts, self._spill.counts, self.delivery.counts
        dropped, shed = self.dropped()
        return CourierStats(
            taken=disk.taken + spill.taken + self._lost,
            replaced=disk.replaced + spill.replaced,
            delivered=disk.done + spill.done,
            waiting=self.waiting(),
            dropped=dropped,
            shed=shed,
            retries=sent.retries,
            requests=self.remote.requests,
            last_failure=sent.last_failure,
        )

    def dropped(self) -> tuple[dict[str, int], dict[int, int]]:
        """What was dropped by reason, and what had to go for lack of room by rank."""
        disk, spill = self.outbox.counts.shed, self._spill.counts.shed
        lost = {"outbox": self._lost} if self._lost else {}
        return {**self.delivery.counts.dropped, **lost}, {
            rank: disk.get(rank, 0) + spill.get(rank, 0) for rank in {*disk, *spill}
        }

    def held(self) -> int:
        """How many are in memory only; 0 where nothing but memory was asked for."""
        if not self._spilt or self.outbox.path is None:
            return 0
        try:
            return self._spill.waiting()
        except sqlite3.Error:
            return 1

    def after_fork(self) -> None:
        """Start anew in a child process: its own connections, its own thread when there is something to send."""
        self.outbox.after_fork()
        self._spill.after_fork()
        self._moving = threading.Lock()
        self.delivery.after_fork()
        self._lost = 0

    def _keep(self, into: Callable[[Outbox], None], count: int) -> bool:
        """Into the outbox; where that cannot be written, into a reserve in memory until it can."""
        try:
            if self._spilt:
                with self._moving:  # who comes meanwhile has newer ones, which must not stand before these
                    self._spill.hand_over(self.outbox)
                    self._spilt = False
            into(self.outbox)
            self.delivery.wake()
            return True
        except sqlite3.Error as error:
            self._tell(error)
        try:
            into(self._spill)
            self._spilt = True
        except sqlite3.Error:
            self._lost += count
        self.delivery.wake()
        return False

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "the outbox of %s for %s, %s, cannot be written (%s); up to %d wait in memory",
                self._words.items,
                self._words.there,
                self.outbox.path,
                error,
                SPILL,
            )


def shed_by_name(shed: Mapping[int, int], ranks: Sequence[str]) -> dict[str, int]:
    """What had to go, as reasons for drops."""
    return {f"shed_{name}": shed[rank] for rank, name in enumerate(ranks) if shed.get(rank)}


def owner_of(*what: str) -> str:
    """A short name for whose parcels these are."""
    return hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]


def default_path(kind: str, owner: str, items: str) -> Path | None:
    """An outbox among the user's own state; None where the user has no home."""
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        _log.warning("this user has no home folder: %s wait in memory; name a file with `outbox`", items)
        return None
    return folder / "spanwise" / f"{kind}-{owner}.db"
