"""Where the tests of the store keep theirs: a file, and with SPANWISE_TEST_POSTGRES=URL that database as well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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


@pytest.fixture(params=["sqlite", *(["postgres"] if POSTGRES else [])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made; nothing is there yet."""
    return str(tmp_path / "kept" / "runs.db") if request.param == "sqlite" else emptied(POSTGRES)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store whose clock stands still."""
    from spanwise.store.store import Store
    from tests.store.keeping import NOW_NS

    with Store.open(place, clock=lambda: NOW_NS) as opened:
        yield opened
