"""What makes an OpenInference span an ordinary one, and what is odd about the others."""

from __future__ import annotations

import pytest

from spanwise.conventions._openinference_plain import TOOLS, not_found
from spanwise.model.content import Memo


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("search", "Tool not found", True),
        ("serch", "Error: tool 'serch' not found in any workbench", True),
        ("search", "Error: tool 'serch' not found", False),
        ("search", "Error: no page", False),
        ("search", "Tool not found: try again", False),
        (None, "Tool not found", True),
        ("search", {"error": "Tool not found"}, False),
        ("search", None, False),
    ],
)
def test_a_tool_that_does_not_exist(name: str | None, result: object, expected: bool) -> None:
    """What AutoGen and CrewAI put into the place of a result says so word for word."""
    assert expected == not_found(name, result)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ('{"rows": 2}', {"rows": 2}),
        ("18 degrees", "18 degrees"),
        ("Tool not found", None),
        ("Error: tool 'serch' not found", None),
        ('{"type": "tool", "data": {"content": "2", "tool_call_id": "c1"}}', None),
    ],
)
def test_results_that_are_no_more_than_that(recorded: str, expected: object) -> None:
    """A result that also tells a call's id, or a tool that is not there, is left to a closer look."""
    assert expected == TOOLS.result(recorded, Memo())
