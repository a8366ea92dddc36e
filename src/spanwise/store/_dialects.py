"""All that SQLite and Postgres do differently; no other file of the store knows which of them it speaks to."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, cast

from sqlalchemy import BigInteger, Connection, Engine, Table, create_engine, event, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from spanwise.store._json import serialize
from spanwise.store.failures import UnusableStoreError
from spanwise.store.location import Location
from spanwise.store.schema import runs

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None

WRITE = "spanwise_write"
"""The execution option of a connection that is going to write."""
Insert: TypeAlias = sqlite.Insert | postgresql.Insert
Kind: TypeAlias = Literal["busy", "unusable", "failed"]
"""What an error means: try again, this store cannot be used as it is, or something around it failed."""

_MIGRATION_LOCK = 0x5350_414E_5749_5345
_WRITING_LOCK = 0x5350_414E_5749_5346
_TRACE_LOCKS = 500
"""The server has room for at least 64 locks for each of its connections, which all transactions share."""
_WAL_LIMIT = 64_000_000


class Dialect(Protocol):
    """What differs from one database to the other."""

    raw_errors: tuple[type[Exception], ...]
    reading: Mapping[str, str]
    """The options of a connection on which all that is read is of one moment."""

    def engine(self, where: Location, /, *, timeout_s: float) -> Engine: ...
    def identity(self, where: Location, /) -> object: ...
    def insert(self, table: Table, /) -> Insert: ...
    def lock_schema(self, connection: Connection, /) -> None: ...
    def lock_traces(self, connection: Connection, trace_ids: Collection[str], /) -> None: ...
    def used_bytes(self, connection: Connection, /) -> int: ...
    def give_back(self, connection: Connection, /, *, pages: int, spare: float) -> int: ...
    def explain(self, error: BaseException, /) -> tuple[Kind, str]: ...


def dialect_of(where: Location) -> Dialect:
    """The dialect that a place speaks."""
    return _SQLITE if where.path is not None else _POSTGRES


class _Sqlite:
    """SQLite: one file, one writer at a time, readers beside it."""

    raw_errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    reading: Mapping[str, str] = MappingProxyType({})
    _TOLD: tuple[tuple[int, Kind, str], ...] = (
        (sqlite3.SQLITE_BUSY, "busy", "is locked by another process"),
        (sqlite3.SQLITE_LOCKED, "busy", "is locked by another process"),
        (sqlite3.SQLITE_FULL, "failed", "cannot grow: the disk is full"),
        (sqlite3.SQLITE_READONLY, "unusable", "is read-only; allow writing to the file and its folder"),
        (sqlite3.SQLITE_PERM, "unusable", "may not be opened; allow reading and writing the file"),
        (sqlite3.SQLITE_CANTOPEN, "unusable", "cannot be opened; is its folder there, and writable?"),
        (sqlite3.SQLITE_CORRUPT, "unusable", "is corrupt; move it away, or name another place"),
        (sqlite3.SQLITE_NOTADB, "unusable", "is no SQLite file; name another place"),
        (sqlite3.SQLITE_IOERR, "failed", "cannot be read or written: the disk reports an error, or is full"),
    )

    def engine(self, where: Location, /, *, timeout_s: float) -> Engine:
        """An engine on the file, which is made for the user alone if it is not there."""
        assert where.path is not None
        _make(where.path)
        engine = create_engine(
            "sqlite+pysqlite:///",
            creator=lambda: sqlite3.connect(str(where.path), timeout=timeout_s, check_same_thread=False),
            json_serializer=serialize,
            hide_parameters=True,
            poolclass=QueuePool,
            pool_size=4,
            pool_timeout=timeout_s,
        )
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        return engine

    def identity(self, where: Location, /) -> object:
        """Which file is at the place; None where there is none."""
        assert where.path is not None
        try:
            found = where.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def insert(self, table: Table, /) -> Insert:
        """An insert that knows what to do with a row that is there."""
        return sqlite.insert(table)

    def lock_schema(self, connection: Connection, /) -> None:
        """Nothing more: a transaction that is going to write has the file for itself."""

    def lock_traces(self, connection: Connection, trace_ids: Collection[str], /) -> None:
        """Nothing more, either."""

    def used_bytes(self, connection: Connection, /) -> int:
        """The pages that hold something; what was deleted is free for use again."""
        return (_pragma(connection, "page_count") - _pragma(connection, "freelist_count")) * _pragma(
            connection, "page_size"
        )

    def give_back(self, connection: Connection, /, *, pages: int, spare: float) -> int:
        """Give free pages back to the file system, at most so many; how many it were."""
        free = _pragma(connection, "freelist_count")
        used = _pragma(connection, "page_count") - free
        count = min(pages, max(free - int(used * spare), 0))
        cursor = connection.connection.cursor()
        for _ in range(count):
            # The driver stops after the first page whatever number is given.
            cursor.execute("PRAGMA incremental_vacuum(1)")
        cursor.close()
        return count

    def explain(self, error: BaseException, /) -> tuple[Kind, str]:
        """What an error means."""
        code = getattr(_original(error), "sqlite_errorcode", None)
        if isinstance(code, int):
            for known, kind, text in self._TOLD:
                if code & 0xFF == known:
                    return kind, text
        return "failed", _words(error)


def _pragma(connection: Connection, name: str) -> int:
    return cast("int", connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


def _make(path: Path) -> None:
    """Make the file and its folder, for the user alone; what is there stays as it is."""
    try:
        if not path.parent.is_dir():
            path.parent.parent.mkdir(parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            with _alone_in(path.parent):
                if not path.exists():
                    # The log of a file that was deleted would be taken for that of the new one.
                    for left in ("-wal", "-shm", "-journal"):
                        path.with_name(path.name + left).unlink(missing_ok=True)
                    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise UnusableStoreError(f"the store {path} cannot be made: {error.strerror}") from None


@contextmanager
def _alone_in(folder: Path) -> Generator[None, None, None]:
    """Let one process at a time make a file in a folder, where the system has locks for that."""
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _prepare(raw: DBAPIConnection, _record: object) -> None:
    # The driver starts no transactions of its own: `_begin` does.
    cast("sqlite3.Connection", raw).isolation_level = None
    cursor = raw.cursor()
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone() == (0,):
        # It takes effect in an empty file only, and would write to any other.
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"journal_size_limit={_WAL_LIMIT}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A transaction that starts reading and then writes fails at once when another one wrote in between.
    writes = connection.get_execution_options().get(WRITE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class _Postgres:
    """Postgres: a server, many writers."""

    raw_errors: tuple[type[Exception], ...] = ()
    reading: Mapping[str, str] = MappingProxyType({"isolation_level": "REPEATABLE READ"})
    _PASSING = frozenset({"40001", "40P01", "55P03"})
    _PATIENCE = (
        ("keepalives_idle", 30),
        ("keepalives_interval", 10),
        ("keepalives_count", 3),
        ("tcp_user_timeout", 30_000),
    )
    """Seconds, tries and milliseconds after which a server that says nothing is given up; the URL may say others."""
    _NO_TABLE = frozenset({"42P01", "3F000"})

    def engine(self, where: Location, /, *, timeout_s: float) -> Engine:
        """An engine on the database."""
        try:
            return create_engine(
                where.url,
                json_serializer=serialize,
                hide_parameters=True,
                pool_size=4,
                pool_timeout=timeout_s,
                pool_pre_ping=True,
                connect_args=self._connecting(where.url, timeout_s),
            )
        except ModuleNotFoundError as error:
            raise UnusableStoreError(
                f"the store {where} needs {error.name}; install it with: pip install 'spanwise[postgres]'"
            ) from None
        except Exception:  # noqa: BLE001  (what is wrong with a URL is not repeated: it may hold a password)
            raise UnusableStoreError(f"the store {where} has a URL that cannot be understood") from None

    def _connecting(self, url: str, timeout_s: float) -> dict[str, int]:
        found = {"connect_timeout": max(round(timeout_s), 1)}
        if url.startswith("postgresql+psycopg"):  # libpq, of whatever version
            found |= {name: value for name, value in self._PATIENCE if f"{name}=" not in url}
        return found

    def identity(self, where: Location, /) -> object:
        """Nothing: a database that was dropped cannot be written to."""
        del where

    def insert(self, table: Table, /) -> Insert:
        """An insert that knows what to do with a row that is there."""
        return postgresql.insert(table)

    def lock_schema(self, connection: Connection, /) -> None:
        """Let one transaction at a time change the tables."""
        connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))

    def lock_traces(self, connection: Connection, trace_ids: Collection[str], /) -> None:
        """Let one transaction at a time write to a trace.

        Of two revisions that are written at the same time neither sees the other's rows otherwise. Every transaction
        takes its locks in the same order and before all else, so none waits for one that waits for it. Many locks
        would fill the server's table of them: then one stands for all.
        """
        many = len(trace_ids) > _TRACE_LOCKS
        alone = func.pg_advisory_xact_lock if many else func.pg_advisory_xact_lock_shared
        connection.execute(select(alone(_WRITING_LOCK)))
        if trace_ids and not many:
            keys = sorted({_lock_of(trace_id) for trace_id in trace_ids})
            listed = func.unnest(literal(keys, postgresql.ARRAY(BigInteger))).column_valued("key")
            connection.execute(select(func.pg_advisory_xact_lock(listed)))

    def used_bytes(self, connection: Connection, /) -> int:
        """What was written for the runs; the server's own accounts lag behind what was deleted."""
        return int(connection.execute(select(func.coalesce(func.sum(runs.c.size_bytes), 0))).scalar_one())

    def give_back(self, connection: Connection, /, *, pages: int, spare: float) -> int:
        """Nothing: the server gives space back by itself."""
        del connection, pages, spare
        return 0

    def explain(self, error: BaseException, /) -> tuple[Kind, str]:
        """What an error means."""
        state = getattr(_original(error), "sqlstate", None)
        if state in self._NO_TABLE:
            return "unusable", "has lost its tables; they are made when it is opened"
        passing = state in self._PASSING or (isinstance(error, DBAPIError) and error.connection_invalidated)
        return ("busy" if passing else "failed"), _words(error)


def _lock_of(trace_id: str) -> int:
    """A number of 64 bits for a trace; two that share one wait for each other, and no more."""
    return int.from_bytes(hashlib.sha256(trace_id.encode()).digest()[:8], "big", signed=True)


def _original(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _words(error: BaseException) -> str:
    original = _original(error)
    first = str(original).strip().partition("\n")[0]
    return f"failed: {first or type(original).__name__}"


_SQLITE = _Sqlite()
_POSTGRES = _Postgres()
