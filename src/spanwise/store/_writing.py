"""Writing results: each later revision takes the place of earlier ones, whichever comes first.

How it works
    One transaction at a time writes to a trace. The runs are written first, each only over an equal or an earlier
    revision of itself; what is then read of the trace stays true until the transaction ends: a result is *current* if
    its revision is the one that the store now has. Only current results go on to the other tables. A later revision of
    a trace may have other runs than an earlier one, for a parent span that comes late makes what was a run a part of
    another: a run of an earlier revision that the latest one does not list is deleted, be it old or just written.
    Scores of an earlier revision go as well; a result of the same revision adds its scores to those that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeAlias, cast

from sqlalchemy import Connection, Table, delete, select, tuple_

from spanwise.model.result import RunResult
from spanwise.store._dialects import Dialect, Insert
from spanwise.store._json import key
from spanwise.store._rows import Row, RunRows, Shape, classic_id, run_rows, trace_row
from spanwise.store.schema import execution_traces, findings, runs, scores, trace_evaluation_results

SLICE = 200
"""Results whose rows are held at once."""
RunKey: TypeAlias = tuple[str, str]


class Broken:
    """Results of which no rows could be made, and the first reason."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def add(self, error: Exception) -> None:
        """Count one."""
        self.count += 1
        self.first = self.first or f"{type(error).__name__}: {error}"


def write(connection: Connection, results: Sequence[RunResult], dialect: Dialect, shape: Shape) -> Broken:
    """Write results, in slices; what cannot be told as rows is left out and counted."""
    broken = Broken()
    found = _latest(results)
    dialect.lock_traces(connection, {key(result.run.trace.trace_id) for result in found})
    for begin in range(0, len(found), SLICE):
        _write_slice(connection, found[begin : begin + SLICE], dialect, shape, broken)
    return broken


def _latest(results: Iterable[RunResult]) -> list[RunResult]:
    """Each run once, at its highest revision; results of one revision put together."""
    held: dict[RunKey, RunResult] = {}
    for result in results:
        of = (result.run.trace.trace_id, result.run.run_id)
        before = held.get(of)
        if before is None or result.revision > before.revision:
            held[of] = result
        elif result.revision == before.revision:
            joined = {score.name: score for score in (*before.scores, *result.scores)}
            held[of] = replace(result, scores=tuple(joined.values()))
    return sorted(held.values(), key=lambda result: result.revision)


@cache
def _upsert(dialect: Dialect, table: Table) -> Insert:
    """Insert rows, or overwrite those that are there; none of a later revision, and no time of first writing."""
    statement = dialect.insert(table)
    changed = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if not column.primary_key and column.name != "created_at"
    }
    guard = statement.excluded["revision"] >= table.c.revision if "revision" in table.c else None
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed, where=guard)


def _put(connection: Connection, dialect: Dialect, table: Table, rows: Sequence[Row]) -> None:
    if rows:
        connection.execute(_upsert(dialect, table), list(rows))


def _write_slice(
    connection: Connection, results: Sequence[RunResult], dialect: Dialect, shape: Shape, broken: Broken
) -> None:
    traces: dict[str, tuple[Row, int]] = {}
    found: list[RunRows] = []
    for result in results:
        of = key(result.run.trace.trace_id)
        try:
            if of not in traces or traces[of][1] < result.revision:
                traces[of] = (trace_row(result.run, shape), result.revision)
            found.append(run_rows(result, shape, trace_bytes=len(str(traces[of][0]["spans"]))))
        except Exception as error:  # noqa: BLE001  (one run that cannot be told must not cost the others)
            broken.add(error)
    _put(connection, dialect, runs, [rows.run for rows in found])
    stored = _stored(connection, traces)
    current = [rows for rows in found if stored.get(rows.key) == rows.revision]
    latest: dict[str, int] = {}
    for (trace_id, _), revision in stored.items():
        latest[trace_id] = max(latest.get(trace_id, 0), revision)
    kept = {rows.key[0] for rows in current}
    _put(
        connection,
        dialect,
        execution_traces,
        [row for of, (row, revision) in traces.items() if of in kept and revision >= latest[of]],
    )
    _put(connection, dialect, trace_evaluation_results, [rows.classic for rows in current])
    _write_scores(connection, current, dialect)


def _stored(connection: Connection, traces: Iterable[str]) -> Mapping[RunKey, int]:
    """The runs that the store has of some traces, with their revisions, after those that are no longer any are gone."""
    columns = (runs.c.trace_id, runs.c.run_id, runs.c.revision, runs.c.trace_runs)
    by_trace: dict[str, list[tuple[str, int, object]]] = {}
    for trace_id, run_id, revision, members in connection.execute(
        select(*columns).where(runs.c.trace_id.in_(list(traces)))
    ):
        by_trace.setdefault(trace_id, []).append((run_id, revision, members))
    found: dict[RunKey, int] = {}
    gone: list[RunKey] = []
    for trace_id, listed in by_trace.items():
        latest = max(revision for _, revision, _ in listed)
        members = {
            member
            for _, revision, names in listed
            if revision == latest and isinstance(names, list)
            for member in cast("list[object]", names)
        }
        for run_id, revision, _ in listed:
            if revision == latest or run_id in members:
                found[trace_id, run_id] = revision
            else:
                gone.append((trace_id, run_id))
    forget_runs(connection, gone)
    return found


def forget_runs(connection: Connection, gone: Sequence[RunKey]) -> None:
    """Delete runs with all that is theirs."""
    for begin in range(0, len(gone), SLICE):
        part = gone[begin : begin + SLICE]
        ids = [classic_id(trace_id, run_id) for trace_id, run_id in part]
        connection.execute(delete(trace_evaluation_results).where(trace_evaluation_results.c.id.in_(ids)))
        connection.execute(delete(runs).where(tuple_(runs.c.trace_id, runs.c.run_id).in_(part)))


def _write_scores(connection: Connection, current: Sequence[RunRows], dialect: Dialect) -> None:
    """Write the scores of current results; those of an earlier revision that they no longer have are deleted."""
    revisions = {rows.key: rows.revision for rows in current}
    own = {row["id"] for rows in current for row in rows.scores}
    columns = (scores.c.id, scores.c.trace_id, scores.c.run_id, scores.c.revision)
    stale: list[str] = []
    again: list[str] = []
    for score_id, trace_id, run_id, revision in connection.execute(
        select(*columns).where(scores.c.trace_id.in_({trace_id for trace_id, _ in revisions}))
    ):
        if score_id in own:
            again.append(score_id)
        elif revision < revisions.get((trace_id, run_id), 0):
            stale.append(score_id)
    for column, ids in ((scores.c.id, stale), (findings.c.score_id, again)):
        for begin in range(0, len(ids), SLICE):
            connection.execute(delete(column.table).where(column.in_(ids[begin : begin + SLICE])))
    _put(connection, dialect, scores, [row for rows in current for row in rows.scores])
    _put(connection, dialect, findings, [row for rows in current for row in rows.findings])
