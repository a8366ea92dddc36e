"""The JSON of inspected runs."""

from __future__ import annotations

from inline_snapshot import snapshot

from spanwise.report.encode import to_line
from spanwise.report.spans import to_inspected
from tests.making import agent, run_of, tool


def test_spans_are_listed_as_understood() -> None:
    """Each span has its parent, its kind, its times, its status and its error."""
    run = run_of(agent(1), tool(2, parent=1, failed=True))
    assert to_inspected(run)["spans"] == snapshot(
        [
            {
                "span_id": "0000000000000001",
                "parent_id": None,
                "kind": "agent",
                "name": "invoke_agent helper",
                "start_ns": 1,
                "end_ns": 1001,
                "status": "unset",
                "error": None,
            },
            {
                "span_id": "0000000000000002",
                "parent_id": "0000000000000001",
                "kind": "tool",
                "name": "execute_tool search",
                "start_ns": 2,
                "end_ns": 12,
                "status": "error",
                "error": {"type": "", "message": "it broke"},
            },
        ]
    )


def test_scores_are_no_part_of_it() -> None:
    """The rest is the contract of scored runs under a schema of its own."""
    document = to_inspected(run_of(agent(1)))
    assert ("spanwise.inspect/1", set()) == (
        document["schema"],
        {"scores", "issues", "recommendations"} & set(document),
    )


def test_messages_of_errors_are_content() -> None:
    """With content off an error keeps its type only."""
    text = to_line(to_inspected(run_of(agent(1), tool(2, parent=1, failed=True)), content=False))
    assert "it broke" not in text


def test_an_unended_span_has_no_end() -> None:
    """The end of a span that did not end is null."""
    (found,) = to_inspected(run_of(tool(1, parent=None, start=5, end=0)))["spans"]
    assert (5, None) == (found["start_ns"], found["end_ns"])
