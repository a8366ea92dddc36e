"""Retention: traces go as a whole, the oldest first, in small transactions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from spanwise.store._dialects import Dialect
from spanwise.store._json import at
from spanwise.store.schema import execution_traces, runs, trace_evaluation_results

PART = 500
"""Runs whose traces are deleted in one transaction."""
FREED_PAGES = 4000
"""Pages that are given back to the file system in one transaction."""

_LARGEST = 1.5
"""How much more room a run may take than is reckoned: rather too few are deleted than too many, and then some more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long runs are kept, and how much room they may take; None switches a limit off."""

    max_age_s: float | None = 7 * 86400.0
    max_bytes: int | None = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many traces and runs were deleted, and the room that what is left takes."""

    traces: int = 0
    runs: int = 0
    bytes: int = 0


def prune_part(
    connection: Connection, dialect: Dialect, limits: Retention, *, now_ns: int, spare: float
) -> tuple[Pruned, bool]:
    """Delete the oldest traces that are past a limit, at most so many as one transaction takes; and whether to go on.

    Of the free room, what is more than `spare` times the used one is given back to the file system.
    """
    used = dialect.used_bytes(connection)
    gone = _past(connection, limits, over=0 if limits.max_bytes is None else used - limits.max_bytes, now_ns=now_ns)
    count = 0
    if gone:
        dialect.lock_traces(connection, gone)
        connection.execute(delete(trace_evaluation_results).where(trace_evaluation_results.c.trace_id.in_(gone)))
        count = connection.execute(delete(runs).where(runs.c.trace_id.in_(gone))).rowcount
        connection.execute(delete(execution_traces).where(execution_traces.c.trace_id.in_(gone)))
    freed = dialect.give_back(connection, pages=FREED_PAGES, spare=spare)
    left = dialect.used_bytes(connection) if gone else used
    return Pruned(traces=len(gone), runs=count, bytes=left), bool(gone or freed)


def _past(connection: Connection, limits: Retention, *, over: int, now_ns: int) -> list[str]:
    """The oldest traces that are past a limit; of the room, so many that what is `over` becomes free."""
    cutoff = None if limits.max_age_s is None else at(max(now_ns - round(limits.max_age_s * 1e9), 0))
    question = select(runs.c.trace_id, runs.c.created_at, runs.c.size_bytes)
    if over <= 0:
        if cutoff is None:
            return []
        question = question.where(runs.c.created_at < cutoff)
    gone: dict[str, None] = {}
    for trace_id, created, size in connection.execute(question.order_by(runs.c.created_at).limit(PART)):
        if over <= 0 and (cutoff is None or created >= cutoff):
            break
        gone[trace_id] = None
        over -= int(size * _LARGEST)
    return list(gone)
