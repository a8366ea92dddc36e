"""The Model Context Protocol: calls and other traffic, and what Logfire records of the first SDK."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions import mcp
from spanwise.model.content import Memo, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "fastmcp__builtin"


def test_kinds_of_a_recording() -> None:
    """Three spans for each call are calls; finding and listing tools is preparation."""
    kinds: dict[str, set[object]] = {}
    for span in recorded(RECORDING):
        if "mcp.method.name" in span.attributes:
            kinds.setdefault(span.name, set()).add(mcp.kind(span))
    assert {
        "MCP send server/discover": {"setup"},
        "server/discover": {"setup"},
        "tools/call search_docs": {"tool"},
        "MCP send tools/call search_docs": {"tool"},
        "MCP send tools/list": {"setup"},
        "tools/list": {"setup"},
        "tools/call calculator": {"tool"},
        "MCP send tools/call calculator": {"tool"},
    } == kinds


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("initialize", {"mcp.method.name": "initialize"}, "setup"),
        ("notifications/initialized", {"mcp.method.name": "notifications/initialized"}, "setup"),
        ("resources/read", {"mcp.method.name": "resources/read"}, "other"),
        ("delegate add", {"mcp.method.name": "tools/call"}, "other"),
        ("odd", {"mcp.method.name": 7}, "other"),
        ("MCP request: tools/call add", {"rpc.method": "tools/call"}, "tool"),
        ("MCP server handle request: tools/call", {}, "tool"),
        ("MCP request: tools/list", {"rpc.method": "tools/list"}, "setup"),
        ("MCP server log", {}, "other"),
    ],
)
def test_kinds(name: str, attributes: dict[str, object], kind: str) -> None:
    """The method tells the kind; a step into a mounted server is no call of its own."""
    assert kind == mcp.kind(made(name, scope="logfire.mcp", attributes=attributes))


def test_names_of_a_recording() -> None:
    """All spans of one call agree on the tool's name, which some have in their own name only."""
    names = {
        (span.name, mcp.tool(span, Memo()).name)
        for span in recorded(RECORDING)
        if mcp.kind(span) == "tool" and "calculator" in span.name
    }
    assert {
        ("tools/call calculator", "calculator"),
        ("MCP send tools/call calculator", "calculator"),
    } == names


def test_names() -> None:
    """The name is an attribute, or stands in the span's name, or nowhere."""
    assert [ToolFields("add"), ToolFields("add"), ToolFields()] == [
        mcp.tool(made("tools/call", attributes={"gen_ai.tool.name": "add"}), Memo()),
        mcp.tool(made("tools/call", attributes={"params.name": "add"}), Memo()),
        mcp.tool(made("tools/call"), Memo()),
    ]


def test_requests_and_responses() -> None:
    """Logfire records request and response; an error in the response is a failure."""
    request = {"method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}}
    response = {"content": [{"type": "text", "text": "cannot add"}], "isError": True}
    attributes = {"request": json.dumps(request), "response": json.dumps(response)}
    span = made("MCP server handle request: tools/call", scope="logfire.mcp", attributes=attributes)
    assert ToolFields("add", {"a": 1}, "cannot add", failed=True) == mcp.tool(span, Memo())


def test_results() -> None:
    """Structured content stands for the result, else the text of the blocks; what is no MCP result is left."""
    results = [
        {"content": [{"type": "text", "text": "[1, 2]"}], "isError": False},
        {"content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}},
        {"content": [], "structuredContent": {"a": 1, "b": 2}},
        {"a": 1},
        "plain",
    ]
    spans_with = [
        made("tools/call add", attributes={"gen_ai.tool.call.result": json.dumps(result)}) for result in results
    ]
    assert [[1, 2], 3, {"a": 1, "b": 2}, {"a": 1}, None] == [mcp.tool(span, Memo()).result for span in spans_with]


KEYS = (
    "mcp.method.name", "rpc.method", "gen_ai.tool.name", "params.name", "request", "response",
    "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
)  # fmt: skip
WORDS = (
    "params", "name", "arguments", "content", "structuredContent", "result", "isError", "type", "text", "tools/call",
)  # fmt: skip


@given(
    spans(
        mcp.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("tools/call add", "MCP request: tools/call add", "tools/call "),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(mcp.CONVENTION, span) == 1
