"""The tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from sqlalchemy.dialects import sqlite

from spanwise.store.schema import UtcTime, execution_traces, metadata, trace_evaluation_results

TRACES = """trace_id request_id session_id user_id query response total_duration_ms total_tool_calls total_tokens
tools_used spans started_at ended_at created_at""".split()
RESULTS = """id trace_id request_id tool_selection_score tool_sequence_score tool_efficiency_score latency_score
retrieval_relevance overall_score redundancy_count error_count recovery_rate total_latency_ms avg_tool_latency_ms issues
recommendations created_at""".split()


def test_the_classic_tables_have_their_columns() -> None:
    """Both tables have the columns that dashboards of the classic profile read, in their order."""
    assert (TRACES, RESULTS) == (list(execution_traces.c.keys()), list(trace_evaluation_results.c.keys()))


def test_requests_sessions_durations_and_scores_are_indexed() -> None:
    """What dashboards look up has an index."""
    indexed = {
        table.name: {column.name for index in table.indexes for column in index.columns}
        for table in (execution_traces, trace_evaluation_results)
    }
    assert {
        "execution_traces": {"request_id", "session_id", "total_duration_ms"},
        "trace_evaluation_results": {"trace_id", "request_id", "overall_score"},
    } == indexed
    assert {"trace_id"} == {key.column.name for key in trace_evaluation_results.foreign_keys}


def test_there_are_five_tables() -> None:
    """Traces and their classic results, runs, scores and findings."""
    expected = {"execution_traces", "trace_evaluation_results", "runs", "scores", "findings"}
    assert expected == set(metadata.tables)


def test_times_are_utc() -> None:
    """A moment of any zone comes back in UTC, also from a database that knows no zones."""
    kind, dialect = UtcTime(), sqlite.dialect()
    local = datetime(2026, 11, 18, 13, tzinfo=timezone(timedelta(hours=2)))
    noon = datetime(2026, 11, 18, 11, tzinfo=UTC)
    assert noon == kind.process_bind_param(local, dialect)
    assert [noon, noon, None] == [
        kind.process_result_value(value, dialect) for value in (noon.replace(tzinfo=None), local, None)
    ]
    assert kind.process_bind_param(None, dialect) is None
