"""A run as a judge reads it."""

from __future__ import annotations

import json

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.judges import Goal
from spanwise.judges.transcript import encoded, transcript_of
from spanwise.model.score import Score
from tests.judges.runs import asked_and_answered, failed_run
from tests.recordings_io import FOLDER, spans, with_logs

NAMES = sorted(path.name.removesuffix(".json") for path in FOLDER.glob("*.json") if path.name.count(".json") == 1)
NAMES = [name for name in NAMES if not name.endswith((".facts", ".logs"))]


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_can_be_read(name: str) -> None:
    """Whatever framework left it: each step is one line of JSON with its number, and every call is among the steps."""
    found = with_logs(name) if (FOLDER / f"{name}.logs.json").is_file() else None
    for run in build_trace("1" * 32, found or spans(name)).runs:
        told = transcript_of(run)
        lines = [json.loads(step.line) for step in told.steps]
        assert [step.number for step in told.steps] == [line["step"] for line in lines]
        called = [call.name for call in run.tool_calls if not call.control]
        assert sorted(called) == sorted(line["tool"] for line in lines if line["kind"] == "tool_call")
        assert run.query == told.task
        asked = Goal().ask(run)
        assert isinstance(asked, Score) or len(asked) == 1


def test_a_failure_says_what_it_was() -> None:
    """A call that failed is marked, and tells its error."""
    (step,) = [step for step in transcript_of(failed_run()).steps if step.failed]
    assert ("error", "it broke") == (json.loads(step.line)["status"], json.loads(step.line)["error"])


@pytest.mark.parametrize(
    "value", ["\ud800", "a\u2028b\u2029c\x85d", "line\nbreak", {1: object}, float("nan"), {"deep": [[[None]]]}, b"\xff"]
)
def test_any_value_is_one_line(value: object) -> None:
    """Whatever a tool returned is one line of JSON that can be sent."""
    line = encoded({"result": value})
    assert [line] == line.splitlines()
    line.encode()
    assert line.startswith(('{"result":', '"'))


def test_a_deep_value_is_described() -> None:
    """A value nested too deeply for JSON is told in words."""
    deep: object = None
    for _ in range(100_000):
        deep = [deep]
    assert len(encoded([deep])) < 10_000


def test_several_agents_are_told_apart() -> None:
    """Where one agent works, none is named."""
    assert not any("agent" in json.loads(step.line) for step in transcript_of(asked_and_answered()).steps)


def test_what_a_tool_found_is_told_once() -> None:
    """A retrieval inside of a tool call is that call's result, and no step of its own."""
    (run,) = build_trace("1" * 32, spans("langgraph__openinference")).runs
    assert len(run.retrievals) == 2
    assert {"tool_call", "message"} == {json.loads(step.line)["kind"] for step in transcript_of(run).steps}
