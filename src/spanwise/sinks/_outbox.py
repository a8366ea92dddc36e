"""What waits to be delivered, in an SQLite file of the user's own, or in memory.

A parcel has a key at its destination; one that comes while another of the same key waits takes its place, so that the
last word counts and is said once. Parcels come in groups (the scores of one run): those that a group had when it was
last given, and no longer has, become parcels without a body, which stand for a deletion.

The file outlives the process, killed or not: each group is one transaction. It is bounded in rows and in bytes; what is
over the bound goes, what would be missed least first, and is counted. Several processes may write to one file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

GROUPS = 10_000
_AT_ONCE = 500
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parcels(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    rank INTEGER NOT NULL, UNIQUE(owner, key));
CREATE INDEX IF NOT EXISTS parcels_rank ON parcels(rank, seq);
CREATE INDEX IF NOT EXISTS parcels_owner ON parcels(owner, seq);
CREATE TABLE IF NOT EXISTS given(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, name TEXT NOT NULL, keys TEXT NOT NULL,
    UNIQUE(owner, name));
CREATE TABLE IF NOT EXISTS numbers(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, of TEXT NOT NULL, name TEXT NOT NULL,
    value REAL NOT NULL, UNIQUE(owner, of, name));
CREATE TABLE IF NOT EXISTS totals(
    one INTEGER PRIMARY KEY CHECK (one = 1), rows INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS parcels_added AFTER INSERT ON parcels BEGIN
    UPDATE totals SET rows = rows + 1, bytes = bytes + length(NEW.body); END;
CREATE TRIGGER IF NOT EXISTS parcels_gone AFTER DELETE ON parcels BEGIN
    UPDATE totals SET rows = rows - 1, bytes = bytes - length(OLD.body); END;
"""


class Parcel(NamedTuple):
    """Something to deliver: its key there, the body (empty: delete it there), and how much it would be missed."""

    key: str
    body: bytes
    rank: int


class Held(NamedTuple):
    """A parcel in the outbox."""

    seq: int
    key: str
    body: bytes


class Group(NamedTuple):
    """All parcels of one thing, as it is now."""

    name: str
    parcels: Sequence[Parcel]


@dataclass(slots=True, kw_only=True)
class OutboxCounts:
    """taken = replaced + shed + done + what is still there, as far as this process took and gave it."""

    taken: int = 0
    replaced: int = 0
    done: int = 0
    shed: dict[int, int] = field(default_factory=dict[int, int])
    """Parcels that had to go for lack of room, by rank."""


class Outbox:
    """A bounded, ordered set of parcels. Every method raises `sqlite3.Error` where the file cannot be used just now."""

    def __init__(
        self,
        path: Path | None,
        *,
        owner: str = "",
        max_rows: int = 100_000,
        max_bytes: int = 64 * 1024 * 1024,
        wait_s: float = 0.25,
    ) -> None:
        self.path = path
        self.counts = OutboxCounts()
        self._owner = owner
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._base: sqlite3.Connection | None = None
        self._pid = 0
        self._left: list[sqlite3.Connection] = []
        self._ended = False

    def put(self, groups: Sequence[Group]) -> None:
        """Take groups of parcels as they are now, all or none."""
        with self._writing() as base:
            before = self.counts.replaced
            taken = 0
            try:
                for group in groups:
                    taken += self._put_group(base, group)
                shed = self._shed(base)
            except sqlite3.Error:
                self.counts.replaced = before
                raise
        self._took(taken, shed)

    def _took(self, taken: int, shed: Mapping[int, int]) -> None:
        self.counts.taken += taken
        for rank, count in shed.items():
            self.counts.shed[rank] = self.counts.shed.get(rank, 0) + count

    def add(self, parcels: Sequence[Parcel]) -> None:
        """Take parcels that belong to no group, all or none."""
        rows = [(self._owner, *parcel) for parcel in parcels]
        with self._writing() as base:
            replaced = base.executemany(
                "DELETE FROM parcels WHERE owner = ? AND key = ?", [row[:2] for row in rows]
            ).rowcount
            base.executemany("INSERT INTO parcels(owner, key, body, rank) VALUES (?, ?, ?, ?)", rows)
            shed = self._shed(base)
        self.counts.replaced += replaced
        self._took(len(parcels), shed)

    def mean(self, of: str, name: str, value: float) -> tuple[float, int]:
        """The mean of the numbers that were told of something, each name's last one, and how many they are."""
        with self._writing() as base:
            mine = (self._owner, of)
            base.execute("DELETE FROM numbers WHERE owner = ? AND of = ? AND name = ?", (*mine, name))
            base.execute("INSERT INTO numbers(owner, of, name, value) VALUES (?, ?, ?, ?)", (*mine, name, value))
            base.execute("DELETE FROM numbers WHERE seq <= (SELECT max(seq) FROM numbers) - ?", (GROUPS,))
            found = base.execute("SELECT avg(value), count(*) FROM numbers WHERE owner = ? AND of = ?", mine).fetchone()
        return float(found[0]), int(found[1])

    def first(self, count: int, max_bytes: int) -> list[Held]:
        """The oldest parcels, so many or fewer that they stay below so many bytes, but one in any case."""
        with self._using() as base:
            rows = base.execute(
                "SELECT seq, key, body FROM parcels WHERE owner = ? ORDER BY seq LIMIT ?", (self._owner, count)
            ).fetchall()
        found: list[Held] = []
        size = 0
        for row in rows:
            held = Held(*row)
            size += len(held.body) + 1
            if found and size > max_bytes:
                break
            found.append(held)
        return found

    def done(self, parcels: Sequence[Held]) -> int:
        """Let go of parcels, unless another took their place meanwhile; how many went."""
        with self._writing() as base:
            gone = base.executemany("DELETE FROM parcels WHERE seq = ?", [(one.seq,) for one in parcels]).rowcount
        self.counts.done += gone
        return gone

    def last(self, parcel: Held) -> None:
        """Move a parcel behind all others."""
        with self._writing() as base:
            found = base.execute("SELECT rank FROM parcels WHERE seq = ?", (parcel.seq,)).fetchone()
            if found is not None:
                base.execute("DELETE FROM parcels WHERE seq = ?", (parcel.seq,))
                self._insert(base, Parcel(parcel.key, parcel.body, found[0]))

    def hand_over(self, other: Outbox) -> None:
        """Give all parcels to another outbox, which must not have newer ones."""
        while True:
            with self._writing() as base:  # nobody else takes them meanwhile, so each is handed over once
                rows = base.execute("SELECT seq, key, body, rank FROM parcels ORDER BY seq LIMIT 500").fetchall()
                if not rows:
                    return
                with other._writing() as into:
                    replaced = sum(other._replace(into, Parcel(*row[1:])) for row in rows)
                base.executemany("DELETE FROM parcels WHERE seq = ?", [row[:1] for row in rows])
            other.counts.taken += len(rows)
            other.counts.replaced += replaced
            self.counts.taken -= len(rows)

    def waiting(self) -> int:
        """How many parcels wait."""
        with self._using() as base:
            return int(base.execute("SELECT count(*) FROM parcels WHERE owner = ?", (self._owner,)).fetchone()[0])

    def close(self) -> None:
        """Close the file; who asks later has it opened for that alone. What waits in memory is gone."""
        with self._lock:
            self._ended = True
            self._let_go()

    def _let_go(self) -> None:
        if self._base is not None and self._pid == os.getpid():
            self._base.close()
        self._base = None

    def after_fork(self) -> None:
        """Forget what belongs to the parent, in the child: SQLite's connections must not be used across a fork."""
        self._lock = threading.Lock()
        if self._base is not None:
            self._left.append(self._base)  # neither used nor closed here, for both would touch the parent's file
        self._base = None
        self.counts = OutboxCounts()

    def _put_group(self, base: sqlite3.Connection, group: Group) -> int:
        keys = [parcel.key for parcel in group.parcels]
        mine = (self._owner, group.name)
        found = base.execute("SELECT keys FROM given WHERE owner = ? AND name = ?", mine).fetchone()
        before = str(found[0]).split() if found is not None else []
        if keys != before:
            base.execute("DELETE FROM given WHERE owner = ? AND name = ?", mine)
            base.execute("INSERT INTO given(owner, name, keys) VALUES (?, ?, ?)", (*mine, " ".join(keys)))
            base.execute("DELETE FROM given WHERE seq <= (SELECT max(seq) FROM given) - ?", (GROUPS,))
        vanished = [Parcel(key, b"", 3) for key in before if key not in keys]
        for parcel in (*vanished, *group.parcels):
            self.counts.replaced += self._replace(base, parcel)
        return len(vanished) + len(group.parcels)

    def _replace(self, base: sqlite3.Connection, parcel: Parcel) -> int:
        """Put a parcel in the place of one of its key, if there is one; how many there were."""
        of_key = (self._owner, parcel.key)
        gone = base.execute("DELETE FROM parcels WHERE owner = ? AND key = ?", of_key).rowcount
        self._insert(base, parcel)
        return gone

    def _insert(self, base: sqlite3.Connection, parcel: Parcel) -> None:
        base.execute(
            "INSERT INTO parcels(owner, key, body, rank) VALUES (?, ?, ?, ?)",
            (self._owner, parcel.key, parcel.body, parcel.rank),
        )

    def _shed(self, base: sqlite3.Connection) -> dict[int, int]:
        """Delete what would be missed least, the oldest first, until the bounds are kept."""
        shed: dict[int, int] = {}
        rows, size = base.execute("SELECT rows, bytes FROM totals").fetchone()
        while rows > self._max_rows or size > self._max_bytes:
            victims = base.execute(
                "SELECT seq, rank, length(body) FROM parcels ORDER BY rank, seq LIMIT ?", (_AT_ONCE,)
            ).fetchall()
            for seq, rank, length in victims:
                base.execute("DELETE FROM parcels WHERE seq = ?", (seq,))
                shed[rank] = shed.get(rank, 0) + 1
                rows, size = rows - 1, size - length
                if rows <= self._max_rows and size <= self._max_bytes:
                    break
        return shed

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        if not self._lock.acquire(timeout=self._wait_s):
            raise sqlite3.OperationalError("the outbox is busy")
        try:
            if self._base is not None and self._pid != os.getpid():
                self._left.append(self._base)
                self._base = None
            if self._base is None:
                self._base = _opened(self.path, self._wait_s)
                self._pid = os.getpid()
            yield self._base
        finally:
            if self._ended:
                self._let_go()
            self._lock.release()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._using() as base:
            base.execute("BEGIN IMMEDIATE")
            try:
                yield base
                base.execute("COMMIT")
            except BaseException:
                if base.in_transaction:
                    base.execute("ROLLBACK")
                raise


def _opened(path: Path | None, wait_s: float) -> sqlite3.Connection:
    if path is not None:
        _make(path)
    name = ":memory:" if path is None else str(path)
    base = sqlite3.connect(name, timeout=wait_s, isolation_level=None, check_same_thread=False)
    try:
        if path is not None:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = NORMAL")
        base.executescript(_SCHEMA)
    except sqlite3.Error as error:
        base.close()
        if path is None or isinstance(error, sqlite3.OperationalError):
            raise
        _set_aside(path)
        return _opened(path, wait_s)
    return base


def _make(path: Path) -> None:
    """Make the file and its folder, for this user alone.

    A file that is there is not opened: closing it would let go of all locks that this process has on it, those of
    SQLite's own connections with them, and the next process to close it would delete the log that they write to.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise sqlite3.OperationalError(f"{path} cannot be written: {error.strerror}") from error


def _set_aside(path: Path) -> None:
    """Move a file that is no database out of the way; what waited in it cannot be read."""
    try:
        path.replace(path.with_name(f"{path.name}.broken"))
        for suffix in ("-wal", "-shm"):
            path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(f"{path} is damaged and cannot be moved: {error.strerror}") from error
