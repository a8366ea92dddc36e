"""A trace as the store has it, built again from its spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sqlalchemy import Connection, select

from spanwise.errors import SinkError
from spanwise.model.raw import STATUS_ERROR, STATUS_OK, STATUS_UNSET, RawEvent, RawSpan, Scope
from spanwise.model.trace import Trace
from spanwise.store._json import key
from spanwise.store.kept import KeptSpans
from spanwise.store.schema import execution_traces, runs

_STATUS: Mapping[object, int] = {"ok": STATUS_OK, "error": STATUS_ERROR, "timeout": STATUS_ERROR}
_Fields = Mapping[str, object]


def read_spans(connection: Connection, trace_id: str) -> KeptSpans | None:
    """The spans of a trace as they were kept; None where the store does not have it."""
    of = key(trace_id)
    rows = connection.execute(select(execution_traces.c.spans).where(execution_traces.c.trace_id == of)).first()
    if rows is None:
        return None
    spans = cast("Sequence[_Fields]", rows.spans)
    told = connection.execute(
        select(runs.c.reasons, runs.c.source, runs.c.revision, runs.c.run_id).where(runs.c.trace_id == of)
    ).all()
    scopes: dict[str, Scope] = {}
    return KeptSpans(
        trace_id=trace_id,
        spans=tuple(_span(trace_id, span, scopes) for span in spans),
        bare=any("attributes" not in span for span in spans),
        unit="trace" if [row.run_id for row in told] == [""] else "run",
        lost=tuple(dict.fromkeys(cast("str", reason) for row in told for reason in row.reasons or ())),
        source=next((row.source for row in told), ""),
        revision=max((row.revision for row in told), default=1),
    )


def read_trace(connection: Connection, trace_id: str) -> Trace | None:
    """A trace with its runs; None where the store does not have it.

    Raises:
        SinkError: The store was told to keep no content, or the trace was too large for it.
    """
    kept = read_spans(connection, trace_id)
    if kept is None:
        return None
    if kept.bare:
        raise SinkError(f"trace {trace_id}: its spans were stored without content, and cannot be scored again")
    return kept.trace()


def _span(trace_id: str, row: _Fields, scopes: dict[str, Scope]) -> RawSpan:
    name = str(row["scope"])
    parent = row["parent_id"]
    return RawSpan(
        trace_id,
        str(row["span_id"]),
        None if parent is None else str(parent),
        str(row["name"]),
        cast("int", row["start_ns"]),
        cast("int | None", row["end_ns"]) or 0,
        _STATUS.get(row["status"], STATUS_UNSET),
        str(row.get("status_message") or ""),
        cast("_Fields", row.get("attributes") or {}),
        tuple(_event(event) for event in cast("Sequence[_Fields]", row.get("events") or ())),
        scopes.setdefault(name, Scope(name, "", {})),
        parent_remote=bool(row.get("parent_remote")),
    )


def _event(row: _Fields) -> RawEvent:
    return RawEvent(
        str(row["name"]), cast("int", row["time_ns"]), cast("_Fields", row.get("attributes") or {}), row.get("body")
    )
