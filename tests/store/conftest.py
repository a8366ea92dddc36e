"""Where the tests of the store keep theirs: a file, and a database of a Postgres server that is started for them.

SPANWISE_TEST_POSTGRES=URL names a database to use instead; its tables are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import Postgres

if TYPE_CHECKING:
    from spanwise.store.store import Store

POSTGRES = os.environ.get("SPANWISE_TEST_POSTGRES", "")


def emptied(url: str) -> str:
    """The database, without the tables of a store."""
    from sqlalchemy import text

    from spanwise.store._database import Database
    from spanwise.store.location import locate
    from spanwise.store.migrations import VERSION_TABLE
    from spanwise.store.schema import metadata

    database = Database(locate(url), timeout_s=5)

    def drop(connection: object) -> None:
        metadata.drop_all(connection)
        connection.execute(text(f"DROP TABLE IF EXISTS {VERSION_TABLE}"))

    database.write(drop)
    database.close()
    return url


@pytest.fixture(scope="session")
def server(require: Callable[[str], str]) -> Iterator[Postgres]:
    """A Postgres server for all tests of this process; whoever stops it starts it again."""
    require("psycopg")
    with Postgres() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made; nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "kept" / "runs.db")
    return emptied(POSTGRES or request.getfixturevalue("server").url())


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store whose clock stands still."""
    from spanwise.store.store import Store
    from tests.store.keeping import NOW_NS

    with Store.open(place, clock=lambda: NOW_NS) as opened:
        yield opened
