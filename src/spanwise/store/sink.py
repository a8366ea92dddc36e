"""Results kept in the store."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.errors import SinkError
from spanwise.model.result import RunResult
from spanwise.store.location import Location, asked_for, locate

if TYPE_CHECKING:
    from spanwise.store._rows import Content, Document
    from spanwise.store.store import Store

__all__ = ["StoreSink", "asked_for"]


class StoreSink:
    """Keeps each run and its scores in a store, and closes the store at the end.

    Made by `StoreSink.open`, it opens the store when the first results come, on the thread that brings them; a store
    that cannot be opened is tried again with the next ones.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        location: Location | None = None,
        content: Content = "all",
        document: Document | None = None,
    ) -> None:
        self._store = store
        self._location = location
        self._content: Content = content
        self._document = document
        self._opening = Lock()
        self._closed = False

    @classmethod
    def open(
        cls, where: str | Path | None = None, *, content: Content = "all", document: Document | None = None
    ) -> StoreSink:
        """A sink for the store at a place, which may be named as for `Store.open`. Nothing is opened yet.

        Raises:
            SinkError: The place is none, or a package that every store needs is not installed.
        """
        for package in ("sqlalchemy", "alembic"):
            if find_spec(package) is None:
                raise SinkError(f"the store needs {package}; install it with: pip install 'spanwise[store]'")
        return cls(location=locate(where), content=content, document=document)

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Keep the results, all of them in one transaction."""
        self._opened().add(results)

    def close(self) -> None:
        """Close the store."""
        with self._opening:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def _opened(self) -> Store:
        store = self._store
        if store is not None:
            return store
        with self._opening:
            if self._store is None:
                if self._closed:
                    raise SinkError(f"the store {self._location} is closed")
                from spanwise.store.store import Store

                self._store = Store.open(self._location, content=self._content, document=self._document)
            return self._store
