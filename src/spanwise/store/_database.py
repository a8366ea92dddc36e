"""One database for all threads and processes that use a store: connections, transactions, retries, errors.

A process that was forked gets connections of its own: those of its parent are kept open, unused, because closing
an SQLite connection in a child harms the parent's.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from spanwise.errors import SinkError
from spanwise.store._dialects import WRITE, Kind, dialect_of
from spanwise.store.failures import BusyStoreError, MovedStoreError, UnusableStoreError
from spanwise.store.location import Location

TRIES = 4
_PAUSE_S = 0.02
_T = TypeVar("_T")
_chance = SystemRandom().random  # an app's seeded numbers are its own
_inherited: list[object] = []


class _Held:
    """What belongs to one process: its engine, and who of its threads may write."""

    def __init__(self, engine: Engine, identity: object) -> None:
        self.pid = os.getpid()
        self.engine = engine
        self.identity = identity
        self.writing = threading.Lock()


class Database:
    """Transactions on one database; every failure is a SinkError that names the store and no secret of its URL."""

    def __init__(self, where: Location, *, timeout_s: float) -> None:
        self.where = where
        self.dialect = dialect_of(where)
        self._timeout_s = timeout_s
        self._held: _Held | None = None
        self._making = threading.Lock()
        self._closed = False

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """What the work gives, done in one transaction, or not at all. Others who write are waited for."""
        held = self._own()
        if not held.writing.acquire(timeout=self._timeout_s):
            raise BusyStoreError(f"the store {self.where} is busy: another thread writes to it")
        try:
            done = self._tried(work, held.engine, writes=True)
        finally:
            held.writing.release()
        if self.dialect.identity(self.where) != held.identity:
            # SQLite goes on writing to a file that has no name any longer.
            raise MovedStoreError(f"the store {self.where} was moved or deleted while it was open; open it again")
        return done

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """What the work gives, all of it as of one moment."""
        return self._tried(work, self._own().engine, writes=False)

    def close(self) -> None:
        """Give the connections up; there is no use of the store afterwards."""
        self._closed = True
        held, self._held = self._held, None
        if held is not None and held.pid == os.getpid():
            held.engine.dispose()

    def _own(self) -> _Held:
        """The engine of this process, made if it has none yet."""
        if self._closed:
            raise SinkError(f"the store {self.where} is closed")
        held = self._held
        if held is not None and held.pid == os.getpid():
            return held
        if held is not None:
            # Another thread of the parent may have held the lock at the fork: it is of no use here.
            self._making = threading.Lock()
        with self._making:
            if self._held is held:
                if held is not None:
                    _inherited.append(held)
                engine = self.dialect.engine(self.where, timeout_s=self._timeout_s / TRIES)
                self._held = _Held(engine, self.dialect.identity(self.where))
            assert self._held is not None
            return self._held

    def _tried(self, work: Callable[[Connection], _T], engine: Engine, *, writes: bool) -> _T:
        deadline = time.monotonic() + self._timeout_s
        attempt = 1
        options: dict[str, object] = {WRITE: writes, **({} if writes else self.dialect.reading)}
        while True:
            try:
                with engine.connect().execution_options(**options) as connection, connection.begin():
                    return work(connection)
            except (SQLAlchemyError, OSError, *self.dialect.raw_errors) as error:
                kind, text = self.dialect.explain(error)
            if kind != "busy" or attempt >= TRIES or time.monotonic() >= deadline:
                # Not chained: what the driver says may hold what the URL does.
                raise self._told(kind, text)
            time.sleep(_PAUSE_S * 2**attempt * (0.5 + _chance()))
            attempt += 1

    def _told(self, kind: Kind, text: str) -> SinkError:
        message = f"the store {self.where} {self.where.masked(text)}"
        known: dict[Kind, type[SinkError]] = {"busy": BusyStoreError, "unusable": UnusableStoreError}
        return known.get(kind, SinkError)(message)
