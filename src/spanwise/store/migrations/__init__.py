"""The tables as versions had them, and how one becomes the next.

A store is brought up to date when it is opened, in one transaction and by one process at a time: it is of one version
or of the next, never in between.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

from sqlalchemy import Connection, Text, column, inspect, select, table

from spanwise.errors import SinkError
from spanwise.store._database import Database
from spanwise.store.failures import UnusableStoreError
from spanwise.store.schema import metadata

VERSIONS = ("0001", "0002", "0003")
"""From the first to the newest; each has its file under versions/."""
VERSION_TABLE = "spanwise_store_version"
_NUMBER = table(VERSION_TABLE, column("version_num", Text)).c.version_num
_one_at_a_time = threading.Lock()


def bring_up_to_date(database: Database) -> None:
    """Make the tables, or change them to what this version of Spanwise knows.

    Raises:
        UnusableStoreError: The store is of a newer version, or holds tables of somebody else.
        SinkError: It cannot be read or changed.
    """
    if database.read(lambda connection: _checked(connection, database)) == VERSIONS[-1]:
        return
    # Alembic keeps what it works on in module globals.
    with _one_at_a_time:
        database.write(lambda connection: _change(connection, database))


def _change(connection: Connection, database: Database) -> None:
    database.dialect.lock_schema(connection)
    if _checked(connection, database) != VERSIONS[-1]:
        migrate(connection)


def _checked(connection: Connection, database: Database) -> str:
    """The version of the tables; empty where there are none yet."""
    there = set(inspect(connection).get_table_names())
    found = _version(connection, there)
    if found and found not in VERSIONS:
        raise UnusableStoreError(
            f"the store {database.where} was made by a newer Spanwise (version {found} of its tables, this one knows"
            f" {VERSIONS[0]} to {VERSIONS[-1]}); update Spanwise, or name another store"
        )
    if not found:
        taken = sorted(there & set(metadata.tables))
        if taken:
            raise UnusableStoreError(
                f"the store {database.where} has a table {taken[0]!r} that is not Spanwise's; name another database"
            )
    return found


def version_of(connection: Connection) -> str:
    """The version of the tables; empty where there are none."""
    return _version(connection, inspect(connection).get_table_names())


def _version(connection: Connection, there: Collection[str]) -> str:
    if VERSION_TABLE not in there:
        return ""
    return connection.execute(select(_NUMBER)).scalars().first() or ""


def migrate(connection: Connection, *, to: str = VERSIONS[-1]) -> None:
    """Bring the tables of an open transaction to a version.

    Raises:
        SinkError: The package that does it is not installed.
    """
    try:
        from alembic import command
        from alembic.config import Config
    except ModuleNotFoundError as error:
        raise SinkError(f"the store needs {error.name}; install it with: pip install 'spanwise[store]'") from None
    config = Config()
    config.set_main_option("script_location", "spanwise.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, to)
