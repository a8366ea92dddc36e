"""Tables as versions had them."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import JSON, Boolean, Column, Connection, DateTime, Float, Integer, MetaData, event, select

from spanwise.errors import SinkError
from spanwise.store._database import Database
from spanwise.store.failures import UnusableStoreError
from spanwise.store.location import locate
from spanwise.store.migrations import VERSION_TABLE, VERSIONS, bring_up_to_date, migrate, version_of
from spanwise.store.schema import metadata
from spanwise.store.store import Store
from tests.store.keeping import content_of, result_of


def differences(connection: Connection) -> list[object]:
    """How the tables that are there differ from those that the code knows."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
    return compare_metadata(context, metadata)


def test_an_empty_place_gets_the_tables_that_the_code_knows(place: str) -> None:
    """After opening, the tables, columns, types and indexes are those of the schema."""
    with Store.open(place) as store:
        assert [] == store._database.read(differences)
        assert VERSIONS[-1] == store._database.read(version_of)


def filled(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """Put two rows into every table as the version that is there has it; all its rows afterwards."""
    tables = reflected(connection)
    for table in tables.sorted_tables:
        for number in (1, 2):
            connection.execute(table.insert().values({column.name: sample(column, number) for column in table.columns}))
    return rows_of(connection, tables)


def sample(column: Column[object], number: int) -> object:
    """A value that fits the column; what refers to another row finds it."""
    known = {"trace_id": f"trace-{number}", "run_id": f"run-{number}", "score_id": f"id-{number}", "id": f"id-{number}"}
    known["status"] = "scored"
    kind = column.type
    if column.name in known:
        return known[column.name]
    if isinstance(kind, Boolean):
        return number == 1
    if isinstance(kind, DateTime) or column.name.endswith("_at"):
        return datetime(2026, 11, 18, 12, number, tzinfo=None if "SQLite" in str(type(kind)) else UTC)
    if isinstance(kind, JSON):
        return [f"{column.name}-{number}"]
    return number if isinstance(kind, Integer | Float) else f"{column.name}-{number}"


def rows_of(connection: Connection, tables: MetaData) -> dict[str, list[tuple[object, ...]]]:
    """Every row of these tables, in these columns."""
    return {
        table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
        for table in tables.sorted_tables
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_is_brought_up_to_date_with_its_rows(place: str, version: str) -> None:
    """After opening, a store of any earlier version has the tables that the code knows, and each row that it had."""
    database = Database(locate(place), timeout_s=5)
    database.write(lambda connection: migrate(connection, to=version))
    assert version == database.read(version_of)
    before = database.write(filled)
    assert {2} == {len(rows) for rows in before.values()}
    database.close()
    with Store.open(place, max_age_s=None, max_bytes=None) as store:
        assert [] == store._database.read(differences)
        after = store._database.read(lambda connection: rows_of(connection, reflected(connection)))
        assert before.keys() <= after.keys()
        for name, rows in before.items():  # what later versions have added stands behind, and is empty
            width = len(rows[0])
            assert rows == [row[:width] for row in after[name]]
            assert {None} >= {value for row in after[name] for value in row[width:]}
        assert {"trace-1", "trace-2"} == {run.trace_id for run in store.recent()}
        store.add([result_of(1)])
        assert 3 == len(store.recent())


def reflected(connection: Connection) -> MetaData:
    """The tables that are there."""
    tables = MetaData()
    tables.reflect(connection, only=lambda name, _: name != VERSION_TABLE)
    return tables


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A version that the code does not know is an error that says so; nothing is changed."""
    path = tmp_path / "runs.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0099'")
        raw.commit()
    before = path.read_bytes()
    with pytest.raises(UnusableStoreError, match=r"made by a newer Spanwise \(version 0099"):
        Store.open(path)
    assert before == path.read_bytes()


def test_somebody_elses_tables_are_not_touched(tmp_path: Path) -> None:
    """A database with a table of one of the names that is not a store's is refused; other tables do no harm."""
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE runs (id INTEGER)")
        raw.commit()
        with pytest.raises(UnusableStoreError, match="a table 'runs' that is not Spanwise's"):
            Store.open(path)
        raw.execute("ALTER TABLE runs RENAME TO jogging")
        raw.commit()
    Store.open(path).close()


def test_a_migration_that_fails_leaves_the_older_version(tmp_path: Path) -> None:
    """A second version that cannot be made leaves the first one whole."""
    path = tmp_path / "runs.db"
    database = Database(locate(path), timeout_s=5)
    database.write(lambda connection: migrate(connection, to=VERSIONS[0]))
    in_the_way = "CREATE TABLE findings (id INTEGER)"
    database.write(lambda connection: connection.exec_driver_sql(in_the_way).close())
    with pytest.raises(SinkError, match="findings"):
        bring_up_to_date(database)
    assert VERSIONS[0] == database.read(version_of)
    database.close()


def open_and_add(path: str, number: int) -> None:
    """Open the store from one of many processes, and add a run."""
    with Store.open(path, timeout_s=30) as store:
        store.add([result_of(number)])


@pytest.mark.once
def test_many_processes_may_open_a_new_store_at_once(place: str) -> None:
    """Six processes that open the same new store make its tables once, and all their runs are kept."""
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=open_and_add, args=(place, number)) for number in range(1, 7)]
    for process in started:
        process.start()
    for process in started:
        process.join(90)
    assert [0] * 6 == [process.exitcode for process in started]
    with Store.open(place) as store:
        assert 6 == len(content_of(store)["runs"])


def test_a_store_may_be_made_while_another_process_looks_for_it(place: str) -> None:
    """Tables that appear once it was looked whether there are any are Spanwise's, and never somebody else's."""
    made: list[str] = []

    def make(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if not made and ("pg_class" in statement or "sqlite_master" in statement):
            made.append(statement)
            Store.open(place).close()

    with closing(Database(locate(place), timeout_s=5)) as database:
        event.listen(database._own().engine, "after_cursor_execute", make)
        bring_up_to_date(database)
        assert (1, VERSIONS[-1]) == (len(made), database.read(version_of))


def test_versions_have_files_in_one_line() -> None:
    """Each version but the first follows the one before it, and the newest is the one that the code knows."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "spanwise.store:migrations")
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    assert list(VERSIONS) == [one.revision for one in script.walk_revisions()][::-1]
    assert [VERSIONS[-1]] == script.get_heads()


def test_a_store_can_be_moved(tmp_path: Path) -> None:
    """A closed store is one file: moved elsewhere, it has all that it had."""
    with Store.open(tmp_path / "a.db") as store:
        store.add([result_of(1)])
    assert ["a.db"] == [path.name for path in tmp_path.iterdir()]
    shutil.move(tmp_path / "a.db", tmp_path / "b.db")
    with Store.open(tmp_path / "b.db") as store:
        assert 1 == len(store.recent())
