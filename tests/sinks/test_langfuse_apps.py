"""Scores reach the traces that Langfuse has, whoever sent the spans there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.catalog import default_evaluators
from spanwise.offline.reading import Reading
from tests.sinks.langfuse_making import sink_to
from tests.sinks.langfuse_server import serving

CLIENT = """
import json, os, sys, tempfile
from pathlib import Path
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from examples.langfuse_scores import work
from tests.sinks.langfuse_server import PUBLIC, SECRET, serving
with serving() as server:
    os.environ.update(LANGFUSE_PUBLIC_KEY=PUBLIC, LANGFUSE_SECRET_KEY=SECRET, LANGFUSE_BASE_URL=server.host,
                      LANGFUSE_TRACING_ENVIRONMENT="staging")
    work(sys.argv[1])
    spans = set()
    for body in server.otlp:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                spans |= {(span.trace_id.hex(), span.span_id.hex()) for span in scope.spans}
    print(json.dumps({"spans": sorted(spans), "rows": list(server.scores.values())}), flush=True)
    os._exit(0)
"""


@pytest.fixture(autouse=True)
def _needs_the_sdk(require: Callable[[str], str]) -> None:
    require("langfuse")
    require("httpx")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("LANGFUSE_", "OTEL_"))}


def test_with_langfuses_own_client(root: Path, tmp_path: Path) -> None:
    """Each score is on a trace that the app's own client exports, in its environment, and holds no content."""
    ran = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path)],
        cwd=root,
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    found = json.loads(ran.stdout)
    traces = {trace_id for trace_id, _ in found["spans"]}
    assert (3, traces) == (len(traces), {row["traceId"] for row in found["rows"]})
    spans = {tuple(pair) for pair in found["spans"]}
    runs = {(row["traceId"], row["metadata"]["spanwise.run.id"]) for row in found["rows"]}
    assert (3, True) == (len(runs), runs <= spans)
    assert {"staging"} == {row["environment"] for row in found["rows"]}
    assert [] == [row for row in found["rows"] if "comment" in row or "Atlantis" in json.dumps(row)]


def test_the_example(root: Path) -> None:
    """The example prints what the dashboard shows: three traces, of which one repeats itself."""
    ran = subprocess.run(
        [sys.executable, "examples/langfuse_scores.py"],
        cwd=root,
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    lines = ran.stdout.splitlines()
    assert "trace     on        score" == lines[0][:25]
    assert 3 == len({line[:8] for line in lines[1:] if " 1" in line[-2:]})
    assert 1 == sum("redundancy" in line and "0.250" in line and "alert" in line for line in lines)
    assert 3 == sum("tool_selection.status" in line and "not_applicable" in line for line in lines)
    assert "average of redundancy: 0.75 of 3 traces" in lines


def test_spans_that_came_by_a_collector(recordings: Path, tmp_path: Path) -> None:
    """Of spans that somebody else sent to Langfuse, the ids are the same, and so are the scores' targets."""
    reading = Reading(
        paths=[str(recordings / "crewai__openinference.json"), str(recordings / "crewai__traceloop.json")]
    )
    results = list(reading.results(default_evaluators()))
    assert results
    with serving() as server:
        sink = sink_to(server, tmp_path / "out.db", scores="all")
        sink.emit(results)
        sink.emit(results)
        assert sink.flush(30)
        sink.close()
        assert {} == sink.stats().dropped
        expected = {(one.run.trace.trace_id, score.name) for one in results for score in one.scores}
        assert expected == {(row["traceId"], row["name"].removesuffix(".status")) for row in server.scores.values()}
