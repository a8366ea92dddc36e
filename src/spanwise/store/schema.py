"""The tables of a store.

`execution_traces` and `trace_evaluation_results` hold what the classic profile makes of each trace; `runs`, `scores`
and `findings` what was asked for.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)

metadata = MetaData()


class UtcTime(TypeDecorator[datetime]):
    """A moment, kept and given back in UTC, also by databases that know no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The moment in UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The moment, with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _json() -> JSON:
    return JSON(none_as_null=True)


execution_traces = Table(
    "execution_traces",
    metadata,
    Column("trace_id", Text, primary_key=True),
    Column("request_id", Text, index=True),
    Column("session_id", Text, index=True),
    Column("user_id", Text),
    Column("query", Text),
    Column("response", Text),
    Column("total_duration_ms", Double, index=True),
    Column("total_tool_calls", Integer, nullable=False),
    Column("total_tokens", BigInteger),
    Column("tools_used", _json(), nullable=False),
    Column("spans", _json(), nullable=False),
    Column("started_at", UtcTime),
    Column("ended_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
)

trace_evaluation_results = Table(
    "trace_evaluation_results",
    metadata,
    Column("id", Text, primary_key=True),
    Column("trace_id", Text, ForeignKey("execution_traces.trace_id", ondelete="CASCADE"), nullable=False, index=True),
    Column("request_id", Text, index=True),
    Column("tool_selection_score", Double),
    Column("tool_sequence_score", Double),
    Column("tool_efficiency_score", Double),
    Column("latency_score", Double),
    Column("retrieval_relevance", Double),
    Column("overall_score", Double, index=True),
    Column("redundancy_count", Integer),
    Column("error_count", Integer),
    Column("recovery_rate", Double),
    Column("total_latency_ms", Double),
    Column("avg_tool_latency_ms", Double),
    Column("issues", _json()),
    Column("recommendations", _json()),
    Column("created_at", UtcTime, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("trace_id", Text, primary_key=True),
    Column("run_id", Text, primary_key=True),
    Column("agent", Text),
    Column("query_type", Text, nullable=False),
    Column("started_ns", BigInteger, nullable=False, index=True),
    Column("duration_ms", Double),
    Column("tokens", BigInteger),
    Column("cost_usd", Double),
    Column("cost_estimated", Boolean, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("reasons", _json(), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("trace_runs", _json(), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("contract", _json()),
    Index("ix_runs_created_at", "created_at", "started_ns"),
)
"""`trace_runs` are the ids of all runs that the trace had at this revision: a later one may have others."""

scores = Table(
    "scores",
    metadata,
    Column("id", Text, primary_key=True),
    Column("trace_id", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Double),
    Column("unit", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("evaluator", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("config_hash", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    ForeignKeyConstraint(["trace_id", "run_id"], ["runs.trace_id", "runs.run_id"], ondelete="CASCADE"),
    Index("ix_scores_run", "trace_id", "run_id", "name"),
)

findings = Table(
    "findings",
    metadata,
    Column("score_id", Text, ForeignKey("scores.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("span_id", Text, nullable=False),
    Column("quote", Text, nullable=False),
    Column("quote_start", Integer),
    Column("quote_end", Integer),
)
"""What stands behind a score, `kind` by kind: evidence (a span and a quote), issues and recommendations (words)."""
