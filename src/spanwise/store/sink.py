"""Results kept in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from spanwise.errors import ModelError, SinkError
from spanwise.model.result import RunResult
from spanwise.store._spool import Reason, Spool
from spanwise.store.failures import RefusedResultsError, UnusableStoreError
from spanwise.store.location import Location, asked_for, locate

if TYPE_CHECKING:
    from spanwise.store._rows import Content, Document
    from spanwise.store.store import Store

__all__ = ["StoreSink", "StoreStats", "asked_for"]

SPOOL = 10_000
SPOOL_BYTES = 64_000_000
CLOSE_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """How many results are kept, how many wait for the store, and how many were dropped for which reason."""

    kept: int = 0
    waiting: int = 0
    dropped: dict[Reason, int] = field(default_factory=dict[Reason, int])


class StoreSink:
    """Keeps each run and its scores in a store, and closes the store at the end.

    Made by `StoreSink.open`, it opens the store when the first results come, on the thread that brings them.

    While the store cannot be written (the disk is full, others hold it, its server is away, its file is gone), results
    are held in memory and tried again by a thread. Past the bounds the oldest are dropped: `emit` then raises, and
    `stats` says how many. `close` waits some seconds for what is held.

    Args:
        store: A store that is open.
        spool: At most so many results are held; 0 holds none, so that each failure is raised at once.
        spool_bytes: They take at most about so many bytes.
        close_s: How long `close` tries to write what is held.
    """

    joins: ClassVar[int] = 200
    """So many results are better written together: then one costs half as much."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        location: Location | None = None,
        content: Content = "all",
        document: Document | None = None,
        mask: Callable[[str], str] | None = None,
        spool: int = SPOOL,
        spool_bytes: int = SPOOL_BYTES,
        close_s: float = CLOSE_S,
    ) -> None:
        if spool < 0 or spool_bytes < 0 or not close_s >= 0:
            raise ModelError(
                f"spool {spool!r}, spool_bytes {spool_bytes!r} and close_s {close_s!r} must not be negative"
            )
        self._store = store
        self._location = location
        self._content: Content = content
        self._document = document
        self._mask = mask
        self._opening = Lock()
        self._closed = False
        self._close_s = close_s
        self._kept = 0
        self._spool = Spool(self._write, most=spool, most_bytes=spool_bytes)

    @classmethod
    def open(
        cls,
        where: str | Path | None = None,
        *,
        content: Content = "all",
        document: Document | None = None,
        mask: Callable[[str], str] | None = None,
        spool: int = SPOOL,
        spool_bytes: int = SPOOL_BYTES,
        close_s: float = CLOSE_S,
    ) -> StoreSink:
        """A sink for the store at a place, which may be named as for `Store.open`. Nothing is opened yet.

        Raises:
            SinkError: The place is none, or a package that every store needs is not installed.
        """
        for package in ("sqlalchemy", "alembic"):
            if find_spec(package) is None:
                raise SinkError(f"the store needs {package}; install it with: pip install 'spanwise[store]'")
        return cls(
            location=locate(where),
            content=content,
            document=document,
            mask=mask,
            spool=spool,
            spool_bytes=spool_bytes,
            close_s=close_s,
        )

    @property
    def stats(self) -> StoreStats:
        """What became of the results so far."""
        return StoreStats(kept=self._kept, waiting=len(self._spool), dropped=dict(self._spool.dropped))

    @property
    def held(self) -> int:
        """How many results are held in memory, and are nowhere else."""
        return len(self._spool)

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Keep the results, all of them in one transaction; or hold them until the store can be written again.

        Raises:
            SinkError: The sink is closed, results had to be dropped, or the store could not take some of these.
        """
        if self._closed:
            raise SinkError(f"the store {self._where} is closed")
        because = ""
        if not len(self._spool):
            try:
                self._write(results)
            except RefusedResultsError as error:
                self._spool.refused(error.count)
                raise
            except SinkError as error:
                because = str(error)
            else:
                return
        lost = self._spool.put(results, because=because)
        if lost:
            raise SinkError(because or f"the store {self._where} is away: {lost} results had to be dropped")

    def flush(self, timeout_s: float = CLOSE_S) -> bool:
        """Try at once to write what is held; true if nothing is held any longer."""
        return self._spool.flush(timeout_s)

    def close(self) -> None:
        """Write what is held, if that works within some seconds, and close the store.

        Raises:
            SinkError: Results were lost.
        """
        with self._opening:
            if self._closed:
                return
            self._closed = True
        lost = self._spool.close(self._close_s)
        with self._opening:
            if self._store is not None:
                self._store.close()
        if lost:
            raise SinkError(f"the store {self._where} was closed before it could take {lost} results that were held")

    @property
    def _where(self) -> str:
        return str(self._location) if self._store is None else self._store.where

    def _write(self, results: Sequence[RunResult]) -> None:
        store = self._opened()
        try:
            store.add(results)
        except RefusedResultsError as error:
            self._kept += len(results) - error.count
            raise
        except UnusableStoreError:
            self._reopen(store)
            raise
        self._kept += len(results)

    def _reopen(self, store: Store) -> None:
        """Have the next results open the store anew: perhaps its file was put back by then, or can be made."""
        with self._opening:
            if self._location is not None and self._store is store:
                store.close()
                self._store = None

    def _opened(self) -> Store:
        store = self._store
        if store is not None:
            return store
        with self._opening:
            if self._store is None:
                from spanwise.store.store import Store

                self._store = Store.open(
                    self._location, content=self._content, document=self._document, mask=self._mask
                )
            return self._store
