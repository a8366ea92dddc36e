"""Reading long inputs: what is handed out when, and what becomes of a trace whose spans lie far apart."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanwise.errors import SourceError
from spanwise.offline.reading import Reading
from tests.making import span_id, trace_id

Told = tuple[int, int, int]
"""Number of a trace, its revision, its spans."""


def line(trace: int, span: int, *, parent: int | None = None) -> str:
    """One OTLP/JSON request with one span."""
    fields = {
        "traceId": trace_id(trace),
        "spanId": span_id(span),
        "name": "invoke_agent helper" if parent is None else "work",
        "startTimeUnixNano": str(1_000_000 + span),
        "endTimeUnixNano": str(2_000_000 + span),
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}]
        if parent is None
        else [],
    }
    if parent is not None:
        fields["parentSpanId"] = span_id(parent)
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "tests"}, "spans": [fields]}]}]}) + "\n"


def noise(count: int, *, first: int) -> list[str]:
    """Lines of whole traces of one span."""
    return [line(first + at, 1) for at in range(count)]


def read(path: Path | str, *, ended: int, idle: int, streamed: bool = True) -> tuple[list[Told], list[str]]:
    """The traces in the order in which they are handed out, without those of one span, and the errors."""
    errors: list[SourceError] = []
    reading = Reading(
        paths=[str(path)],
        on_error=errors.append,
        small_bytes=0 if streamed else 1 << 30,
        ended_records=ended,
        idle_records=idle,
    )
    found = [(int(trace.trace_id, 16), trace.revision, len(trace.spans)) for trace in reading.traces_of()]
    return [one for one in found if one[0] < 100], [str(error) for error in errors]


def written(folder: Path, lines: Sequence[str]) -> Path:
    """A file of those lines."""
    path = folder / "spans.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_small_inputs_are_held_whole(tmp_path: Path) -> None:
    """However far apart its spans lie, a trace of a small input is given once."""
    path = written(tmp_path, [line(1, 1), *noise(9000, first=1000), line(1, 2, parent=1)])
    assert ([(1, 1, 2)], []) == read(path, ended=10, idle=10, streamed=False)


def test_a_trace_is_given_soon_after_its_root(tmp_path: Path) -> None:
    """The first trace is whole with its root, and given before the second, whose root comes in the end."""
    path = written(
        tmp_path,
        [line(2, 2, parent=1), line(1, 2, parent=1), line(1, 1), *noise(9000, first=1000), line(2, 1)],
    )
    assert ([(1, 1, 2), (2, 1, 2)], []) == read(path, ended=10, idle=100_000)


def test_a_trace_without_a_root_is_given_when_nothing_more_comes(tmp_path: Path) -> None:
    """Where no root ends a trace, it is handed out when it was idle long enough."""
    path = written(tmp_path, [line(1, 2, parent=1), line(2, 1), *noise(9000, first=1000), line(3, 1)])
    assert ([(2, 1, 1), (1, 1, 1), (3, 1, 1)], []) == read(path, ended=10, idle=5000)


def test_a_torn_trace_is_given_again(tmp_path: Path) -> None:
    """A span that comes long after its root's trace was given makes a second revision, which is whole."""
    path = written(tmp_path, [line(1, 1), *noise(9000, first=1000), line(1, 2, parent=1)])
    assert ([(1, 1, 1), (1, 2, 2)], []) == read(path, ended=10, idle=100_000)


def test_what_is_left_out_or_put_right_is_told(tmp_path: Path) -> None:
    """A reader of the results is told what of the inputs is not in them, and what was guessed, each with its number."""
    odd = json.loads(line(1, 1))
    odd["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["kind"] = 99
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hi"}}] * 2}]}]}
    path = written(tmp_path, [f"{json.dumps(each)}\n" for each in ({"resourceMetrics": []}, logs, odd)])
    reading = Reading(paths=[str(path)])
    assert 1 == len(list(reading.traces_of()))
    assert [
        "left out: log record without trace and span id (2 times)",
        "left out: metrics (1 time)",
        "span kind unknown: left unspecified (1 time)",
    ] == reading.remarks()


def test_a_torn_trace_of_a_pipe_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input cannot be read twice: what came too late is told, and the rest is scored."""
    lines = [line(1, 1), *noise(9000, first=1000), line(1, 2, parent=1)]
    stdin = io.TextIOWrapper(io.BytesIO("".join(lines).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    found, errors = read("-", ended=10, idle=100_000)
    assert [(1, 1, 1)] == found
    (error,) = errors
    assert error.startswith("standard input: 1 records came long after the rest of their trace")
