"""Traces with the classic profile's results, runs, and their scores."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from spanwise.store.schema import UtcTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    _make_traces()
    _make_results()
    _make_runs()
    _make_scores()


def _make_traces() -> None:
    op.create_table(
        "execution_traces",
        sa.Column("trace_id", sa.Text(), primary_key=True),
        sa.Column("request_id", sa.Text()),
        sa.Column("session_id", sa.Text()),
        sa.Column("user_id", sa.Text()),
        sa.Column("query", sa.Text()),
        sa.Column("response", sa.Text()),
        sa.Column("total_duration_ms", sa.Double),
        sa.Column("total_tool_calls", sa.Integer(), nullable=False),
        sa.Column("total_tokens", sa.BigInteger()),
        sa.Column("tools_used", sa.JSON(), nullable=False),
        sa.Column("spans", sa.JSON(), nullable=False),
        sa.Column("started_at", UtcTime()),
        sa.Column("ended_at", UtcTime()),
        sa.Column("created_at", UtcTime(), nullable=False),
    )
    for name in ("request_id", "session_id", "total_duration_ms"):
        op.create_index(f"ix_execution_traces_{name}", "execution_traces", [name])


def _make_results() -> None:
    op.create_table(
        "trace_evaluation_results",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column(
            "trace_id", sa.Text(), sa.ForeignKey("execution_traces.trace_id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("request_id", sa.Text()),
        sa.Column("tool_selection_score", sa.Double),
        sa.Column("tool_sequence_score", sa.Double),
        sa.Column("tool_efficiency_score", sa.Double),
        sa.Column("latency_score", sa.Double),
        sa.Column("retrieval_relevance", sa.Double),
        sa.Column("overall_score", sa.Double),
        sa.Column("redundancy_count", sa.Integer()),
        sa.Column("error_count", sa.Integer()),
        sa.Column("recovery_rate", sa.Double),
        sa.Column("total_latency_ms", sa.Double),
        sa.Column("avg_tool_latency_ms", sa.Double),
        sa.Column("issues", sa.JSON()),
        sa.Column("recommendations", sa.JSON()),
        sa.Column("created_at", UtcTime(), nullable=False),
    )
    for name in ("trace_id", "request_id", "overall_score"):
        op.create_index(f"ix_trace_evaluation_results_{name}", "trace_evaluation_results", [name])


def _make_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("trace_id", sa.Text(), primary_key=True),
        sa.Column("run_id", sa.Text(), primary_key=True),
        sa.Column("agent", sa.Text()),
        sa.Column("query_type", sa.Text(), nullable=False),
        sa.Column("started_ns", sa.BigInteger(), nullable=False),
        sa.Column("duration_ms", sa.Double),
        sa.Column("tokens", sa.BigInteger()),
        sa.Column("cost_usd", sa.Double),
        sa.Column("cost_estimated", sa.Boolean(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("trace_runs", sa.JSON(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("contract", sa.JSON()),
    )
    op.create_index("ix_runs_started_ns", "runs", ["started_ns"])
    op.create_index("ix_runs_created_at", "runs", ["created_at", "started_ns"])


def _make_scores() -> None:
    op.create_table(
        "scores",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("config_hash", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["trace_id", "run_id"], ["runs.trace_id", "runs.run_id"], ondelete="CASCADE"),
    )
    op.create_index("ix_scores_run", "scores", ["trace_id", "run_id", "name"])
