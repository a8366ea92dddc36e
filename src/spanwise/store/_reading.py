"""Reading runs back, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from sqlalchemy import ColumnElement, Connection, Row, exists, func, select

from spanwise.model.score import Evidence, Score
from spanwise.store._json import at, key, whole
from spanwise.store.kept import KeptRun, KeptTrace
from spanwise.store.schema import execution_traces, findings, runs, scores

_PART = 200
_WHO = (execution_traces.c.session_id, execution_traces.c.request_id, execution_traces.c.user_id)
_LISTED = tuple(column for column in runs.c if column.name not in {"contract", "trace_runs", "size_bytes"})
RunKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which runs are asked for: all that is set must hold. `trace_id` may be the beginning of one."""

    trace_id: str | None = None
    session_id: str | None = None
    request_id: str | None = None
    user_id: str | None = None
    agent: str | None = None
    score: str | None = None
    label: str | None = None
    below: float | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    limit: int = 100

    def conditions(self) -> list[ColumnElement[bool]]:
        """What must hold of the rows."""
        found: list[ColumnElement[bool]] = []
        if self.trace_id is not None:
            found.append(runs.c.trace_id.startswith(key(self.trace_id.lower()), autoescape=True))
        for column, value in zip(_WHO, (self.session_id, self.request_id, self.user_id), strict=True):
            if value is not None:
                found.append(column == key(value))
        if self.agent is not None:
            found.append(runs.c.agent == self.agent)
        if self.since_ns is not None:
            found.append(runs.c.started_ns >= whole(self.since_ns))
        if self.until_ns is not None:
            found.append(runs.c.started_ns < whole(self.until_ns))
        of_score = self._of_score()
        if of_score:
            same = (scores.c.trace_id == runs.c.trace_id, scores.c.run_id == runs.c.run_id)
            found.append(exists().where(*same, *of_score))
        return found

    def _of_score(self) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if self.score is not None:
            found.append(scores.c.name == self.score)
        if self.label is not None:
            found.append(scores.c.label == self.label)
        if self.below is not None:
            found.append(scores.c.value < self.below)
            if self.score is None:
                found.append(scores.c.unit == "")
        return found


def read_runs(connection: Connection, question: Question) -> list[KeptRun]:
    """The runs that are asked for, the newest first, with their scores."""
    joined = runs.outerjoin(execution_traces, execution_traces.c.trace_id == runs.c.trace_id)
    order = (runs.c.created_at.desc(), runs.c.started_ns.desc(), runs.c.trace_id, runs.c.run_id)
    rows = connection.execute(
        select(*_LISTED, *_WHO)
        .select_from(joined)
        .where(*question.conditions())
        .order_by(*order)
        .limit(max(question.limit, 0))
    ).all()
    found = [_kept(row) for row in rows]
    told = _scores_of(connection, [(run.trace_id, run.run_id) for run in found])
    return [replace(run, scores=tuple(told.get((run.trace_id, run.run_id), ()))) for run in found]


def read_run(connection: Connection, trace_id: str, run_id: str) -> KeptRun | None:
    """One run with all that is known of it; None where the store does not have it."""
    of = (key(trace_id), key(run_id))
    columns = (runs.c.contract, execution_traces.c.query, execution_traces.c.response)
    joined = runs.outerjoin(execution_traces, execution_traces.c.trace_id == runs.c.trace_id)
    row = connection.execute(
        select(*_LISTED, *_WHO, *columns).select_from(joined).where(runs.c.trace_id == of[0], runs.c.run_id == of[1])
    ).first()
    if row is None:
        return None
    contract = cast("Mapping[str, object] | None", row.contract)
    query, answer = row.query, row.response
    if contract is not None:
        query, answer = contract.get("query"), contract.get("answer")
    listed = _scores_of(connection, [of], behind=True).get(of, ())
    return replace(
        _kept(row),
        scores=tuple(listed),
        query=cast("str | None", query),
        answer=cast("str | None", answer),
        contract=contract,
    )


def count_traces(connection: Connection, since_ns: int | None) -> int:
    """How many traces there are, or began since then."""
    return int(
        connection.execute(select(func.count()).select_from(execution_traces).where(*_since(since_ns))).scalar_one()
    )


def read_page(connection: Connection, *, after: str, since_ns: int | None, limit: int) -> list[KeptTrace]:
    """The next traces by their ids, with their runs."""
    wanted = (execution_traces.c.trace_id > after, *_since(since_ns))
    found = select(execution_traces.c.trace_id).where(*wanted).order_by(execution_traces.c.trace_id).limit(limit)
    return read_traces(connection, [str(trace_id) for (trace_id,) in connection.execute(found)])


def read_traces(connection: Connection, trace_ids: Sequence[str]) -> list[KeptTrace]:
    """These traces with their runs and scores, in this order."""
    joined = runs.outerjoin(execution_traces, execution_traces.c.trace_id == runs.c.trace_id)
    rows = connection.execute(
        select(*_LISTED, *_WHO).select_from(joined).where(runs.c.trace_id.in_(trace_ids)).order_by(runs.c.started_ns)
    ).all()
    listed = [_kept(row) for row in rows]
    told = _scores_of(connection, [(run.trace_id, run.run_id) for run in listed])
    by_trace: dict[str, list[KeptRun]] = {}
    for run in listed:
        scored = replace(run, scores=tuple(told.get((run.trace_id, run.run_id), ())))
        by_trace.setdefault(run.trace_id, []).append(scored)
    return [KeptTrace(trace_id=one, runs=tuple(by_trace.get(one, ()))) for one in trace_ids]


def _since(since_ns: int | None) -> list[ColumnElement[bool]]:
    return [] if since_ns is None else [execution_traces.c.started_at >= at(since_ns)]


def _kept(row: Row[Any]) -> KeptRun:
    return KeptRun(
        trace_id=row.trace_id,
        run_id=row.run_id,
        agent=row.agent,
        query_type=row.query_type,
        session_id=row.session_id,
        request_id=row.request_id,
        user_id=row.user_id,
        started_ns=row.started_ns,
        duration_ms=row.duration_ms,
        tokens=row.tokens,
        cost_usd=row.cost_usd,
        cost_estimated=row.cost_estimated,
        complete=row.complete,
        reasons=tuple(row.reasons or ()),
        revision=row.revision,
        source=row.source,
        created_at=row.created_at,
    )


def _scores_of(
    connection: Connection, keys: Sequence[RunKey], *, behind: bool = False
) -> Mapping[RunKey, Sequence[Score]]:
    """The scores of runs, each in its order; with what stands behind them if asked."""
    found: dict[RunKey, list[Score]] = {}
    wanted = set(keys)
    traces = list(dict.fromkeys(trace_id for trace_id, _ in keys))
    for begin in range(0, len(traces), _PART):
        part = traces[begin : begin + _PART]
        rows = connection.execute(
            select(scores).where(scores.c.trace_id.in_(part)).order_by(scores.c.position, scores.c.name)
        ).all()
        told = _findings_of(connection, [row.id for row in rows] if behind else ())
        for row in rows:
            if (row.trace_id, row.run_id) in wanted:
                found.setdefault((row.trace_id, row.run_id), []).append(_score(row, told.get(row.id, ())))
    return found


def _findings_of(connection: Connection, ids: Sequence[str]) -> Mapping[str, Sequence[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = {}
    for begin in range(0, len(ids), _PART):
        wanted = findings.c.score_id.in_(ids[begin : begin + _PART])
        for row in connection.execute(select(findings).where(wanted).order_by(findings.c.position)):
            found.setdefault(row.score_id, []).append(row)
    return found


def _score(row: Row[Any], behind: Sequence[Row[Any]]) -> Score:
    return Score(
        name=row.name,
        value=row.value,
        unit=row.unit,
        label=row.label,
        status=row.status,
        reason=row.reason,
        evidence=tuple(
            Evidence(span_id=one.span_id, quote=one.quote, start=one.quote_start, end=one.quote_end)
            for one in behind
            if one.kind == "evidence"
        ),
        issues=tuple(one.quote for one in behind if one.kind == "issue"),
        recommendations=tuple(one.quote for one in behind if one.kind == "recommendation"),
        evaluator=row.evaluator,
        version=row.version,
        config_hash=row.config_hash,
        revision=row.revision,
    )
