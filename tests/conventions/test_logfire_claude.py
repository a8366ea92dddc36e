"""Logfire's spans of the Claude Agent SDK: model calls that were none, and results in MCP's blocks."""

from __future__ import annotations

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import logfire_claude
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "logfire.claude_agent_sdk"
KEYS = ("gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.result", "gen_ai.response.model")
WORDS = ("chat", "execute_tool", '[{"type":"text","text":"1"}]', "m")


@pytest.mark.parametrize(
    ("told", "status", "kind"),
    [({"gen_ai.response.model": "m"}, 0, "llm"), ({}, 0, "other"), ({}, 2, "llm")],
)
def test_model_calls(told: dict[str, object], status: int, kind: str) -> None:
    """A span that was opened after a result, and that no model answered, is no call."""
    one = made(scope=SCOPE, status=status, attributes={"gen_ai.operation.name": "chat", **told})
    assert kind == conventions.classify(one)[1]


def test_results() -> None:
    """A result is the text of the blocks in which an MCP server returns it."""
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp__kit__add"}
    served = made(scope=SCOPE, attributes={**told, "gen_ai.tool.call.result": '[{"type":"text","text":"6.5"}]'})
    assert ToolFields("mcp__kit__add", None, 6.5) == logfire_claude.tool(served, Memo())
    assert logfire_claude.tool(made(scope=SCOPE, attributes=told), Memo()).result is None
    assert logfire_claude.CONVENTION.content_switch == conventions.content_switch(served, some=False)


@given(spans(logfire_claude.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(logfire_claude.CONVENTION, one)
