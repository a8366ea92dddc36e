"""A trace as the store has it, built again from its spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sqlalchemy import Connection, select

from spanwise.assembly.tree import build_trace
from spanwise.errors import SinkError
from spanwise.model.raw import STATUS_ERROR, STATUS_OK, STATUS_UNSET, RawEvent, RawSpan, Scope
from spanwise.model.trace import Trace
from spanwise.store._json import key
from spanwise.store.schema import execution_traces, runs

_STATUS: Mapping[object, int] = {"ok": STATUS_OK, "error": STATUS_ERROR, "timeout": STATUS_ERROR}
_Fields = Mapping[str, object]


def read_trace(connection: Connection, trace_id: str) -> Trace | None:
    """A trace with its runs; None where the store does not have it.

    Raises:
        SinkError: The store was told to keep no content, or the trace was too large for it.
    """
    of = key(trace_id)
    rows = connection.execute(select(execution_traces.c.spans).where(execution_traces.c.trace_id == of)).first()
    if rows is None:
        return None
    spans = cast("Sequence[_Fields]", rows.spans)
    if any("attributes" not in span for span in spans):
        raise SinkError(f"trace {trace_id}: its spans were stored without content, and cannot be scored again")
    told = connection.execute(
        select(runs.c.reasons, runs.c.source, runs.c.revision, runs.c.run_id).where(runs.c.trace_id == of)
    ).all()
    lost = dict.fromkeys(cast("str", reason) for row in told for reason in row.reasons or ())
    scopes: dict[str, Scope] = {}
    unit = "trace" if [row.run_id for row in told] == [""] else "run"
    trace = build_trace(trace_id, [_span(trace_id, span, scopes) for span in spans], unit=unit)
    if trace.completeness.complete and lost:
        trace = build_trace(trace_id, [span.raw for span in trace.spans], unit=unit, lost=list(lost))
    trace.source = next((row.source for row in told), "")
    trace.revision = max((row.revision for row in told), default=1)
    return trace


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
        cast("_Fields", row["attributes"]),
        tuple(_event(event) for event in cast("Sequence[_Fields]", row.get("events") or ())),
        scopes.setdefault(name, Scope(name, "", {})),
    )


def _event(row: _Fields) -> RawEvent:
    return RawEvent(
        str(row["name"]), cast("int", row["time_ns"]), cast("_Fields", row.get("attributes") or {}), row.get("body")
    )
