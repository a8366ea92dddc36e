"""What differs between databases stands in one file."""

from __future__ import annotations

import ast
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from spanwise.store._dialects import dialect_of
from spanwise.store._reading import Question, read_run, read_runs
from spanwise.store._writing import _upsert
from spanwise.store.location import locate
from spanwise.store.schema import metadata

POSTGRES = postgresql.dialect()


def test_only_one_file_knows_sqlite(root: Path) -> None:
    """No other module of the store imports a driver or a dialect, or writes SQL as text."""
    strange = []
    for path in sorted((root / "src" / "spanwise" / "store").rglob("*.py")):
        if path.name == "_dialects.py":
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            strange += [(path.name, name) for name in names if name.startswith(("sqlite3", "sqlalchemy.dialects"))]
            called = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            strange += [(path.name, called)] if called in {"text", "exec_driver_sql"} else []
    assert [] == strange


def test_tables_and_upserts_can_be_said_to_postgres() -> None:
    """Every table, index and upsert has a form that Postgres takes."""
    dialect = dialect_of(locate("postgresql://h/d"))
    said = [
        str(made.compile(dialect=POSTGRES))
        for table in metadata.sorted_tables
        for made in (CreateTable(table), *(CreateIndex(index) for index in table.indexes), _upsert(dialect, table))
    ]
    assert 5 == sum("ON CONFLICT" in text for text in said)
    guarded = [text for text in said if "excluded.revision >=" in text]
    assert 2 == len(guarded)


def test_questions_can_be_said_to_postgres() -> None:
    """Every condition that a question can set has a form that Postgres takes."""
    question = Question(
        trace_id="ab",
        session_id="s",
        request_id="r",
        user_id="u",
        agent="a",
        score="x",
        label="alert",
        below=0.5,
        since_ns=1,
        until_ns=2,
    )
    said = [str(condition.compile(dialect=POSTGRES)) for condition in question.conditions()]
    assert 8 == len(said)
    assert callable(read_run)
    assert callable(read_runs)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, "busy"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "busy"),
        (sqlite3.SQLITE_FULL, "failed"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "unusable"),
        (sqlite3.SQLITE_CORRUPT, "unusable"),
        (sqlite3.SQLITE_NOTADB, "unusable"),
        (sqlite3.SQLITE_CANTOPEN, "unusable"),
        (sqlite3.SQLITE_IOERR_WRITE, "failed"),
        (sqlite3.SQLITE_MISUSE, "failed"),
    ],
)
def test_errors_of_sqlite_are_told_in_words(code: int, kind: str) -> None:
    """Each code of SQLite, extended or not, says whether to try again, and what is wrong."""
    error = sqlite3.OperationalError("as the driver says")
    error.sqlite_errorcode = code
    found, text = dialect_of(locate("x.db")).explain(error)
    assert (kind, False) == (found, text == "")


def test_errors_without_a_code_keep_their_first_line() -> None:
    """What the driver says is repeated, but not what follows its first line."""
    assert ("failed", "failed: first") == dialect_of(locate("x.db")).explain(OSError("first\nsecond"))
    assert ("failed", "failed: ValueError") == dialect_of(locate("postgresql://h/d")).explain(ValueError())


def test_passing_errors_of_postgres_are_tried_again() -> None:
    """A deadlock, a serialisation failure and a lock that is not free are no failures yet; lost tables are one."""
    postgres = dialect_of(locate("postgresql://h/d"))
    error = OSError("x")
    kinds = []
    for state in ("40001", "40P01", "55P03", "42P01", "42703"):
        error.sqlstate = state
        kinds.append(postgres.explain(error)[0])
    assert ["busy", "busy", "busy", "unusable", "failed"] == kinds
