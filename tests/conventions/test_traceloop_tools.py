"""Traceloop's spans of tools: LangChain's, OpenAI Agents', MCP's, Agno's and the SDK's."""

from __future__ import annotations

import json

from spanwise import conventions
from spanwise.conventions import traceloop
from spanwise.model.content import (
    Memo,
    ToolFields,
)
from spanwise.model.span import SpanError
from tests.conventions.test_traceloop import FOUND, LANGCHAIN, SDK, named
from tests.making import trace_of
from tests.recordings_io import made


def test_tool_of_langchain() -> None:
    """Arguments, id and result are taken out of what LangChain passes to its callbacks, metadata left behind."""
    span = named("execute_tool search_docs", "langgraph__traceloop")
    expected = ToolFields("search_docs", {"query": "population of France 2024"}, FOUND, "call_000002")
    assert expected == traceloop.tool(span, Memo())


def test_failed_tool_of_langchain() -> None:
    """A failed tool has no result, and the instrumentation's own status says that it failed."""
    span = named("execute_tool calculator", "langgraph__traceloop")
    expected = ToolFields("calculator", {"expression": "68.4 million * 0.1"}, None, "call_000004", failed=True)
    assert expected == traceloop.tool(span, Memo())
    assert SpanError(type="ValueError", message="cannot parse expression: '68.4 million * 0.1'") == conventions.error(
        span
    )


def test_tool_of_langchain_without_inputs() -> None:
    """Where LangChain passed on no arguments but their printed form, that is read; a handled failure is told."""
    message = {"content": "Error: no such city", "type": "tool", "tool_call_id": "call_7", "status": "error"}
    attributes = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "weather",
        "traceloop.entity.input": json.dumps({"input_str": "{'city': 'Pariss', 'days': [1, 2]}", "inputs": None}),
        "traceloop.entity.output": json.dumps({"output": {"lc": 1, "kwargs": message}, "kwargs": {}}),
    }
    expected = ToolFields("weather", {"city": "Pariss", "days": [1, 2]}, "Error: no such city", "call_7", failed=True)
    assert expected == traceloop.tool(made(scope=LANGCHAIN, attributes=attributes), Memo())
    nothing = {**attributes, "traceloop.entity.output": json.dumps({"output": None, "kwargs": {}})}
    assert "null" == traceloop.tool(made(scope=LANGCHAIN, attributes=nothing), Memo()).result
    bare = {**attributes, "traceloop.entity.input": json.dumps({"input_str": 7})}
    assert 7 == traceloop.tool(made(scope=LANGCHAIN, attributes=bare), Memo()).arguments


def test_tool_that_is_given_the_state_of_the_graph() -> None:
    """What LangGraph injects into a tool, the model did not give."""
    given = {"input_str": "{'state': {'messages': []}, 'city': 'Paris'}"}
    attributes = {"traceloop.span.kind": "tool", "traceloop.entity.input": json.dumps(given)}
    assert {"city": "Paris"} == traceloop.tool(made(scope=LANGCHAIN, attributes=attributes), Memo()).arguments


def test_tool_of_openai_agents() -> None:
    """Arguments and result have GenAI names; a failure's text is a mapping printed into the status."""
    span = named("calculator.tool", "openai-agents__traceloop")
    expected = ToolFields(
        "calculator",
        {"expression": "68.4 million * 0.1"},
        "An error occurred while running the tool. Please try again.",
    )
    assert expected == traceloop.tool(span, Memo())
    assert SpanError(message="Tool execution failed. Error details are redacted.") == traceloop.error(span)


def test_tool_of_the_sdk() -> None:
    """A decorated function's call is unpacked: named arguments, a lone bare value, or both kinds."""
    calls = [
        {"args": [], "kwargs": {"expression": "1 + 1"}},
        {"args": ["1 + 1"], "kwargs": {}},
        {"args": ["population of France 2024"], "kwargs": {"limit": 2}},
    ]
    found = [
        traceloop.tool(
            made(
                "add.tool",
                scope=SDK,
                attributes={
                    "traceloop.span.kind": "tool",
                    "traceloop.entity.name": "add",
                    "traceloop.entity.input": json.dumps(call),
                    "traceloop.entity.output": "2",
                },
            ),
            Memo(),
        )
        for call in calls
    ]
    assert [
        ToolFields("add", {"expression": "1 + 1"}, 2),
        ToolFields("add", "1 + 1", 2),
        ToolFields("add", {"args": ["population of France 2024"], "limit": 2}, 2),
    ] == found


def test_tool_of_mcp() -> None:
    """An MCP client's call has the tool's name beside its arguments, and says in its result that it failed."""
    attributes = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "add",
        "traceloop.entity.input": '{"tool_name": "add", "arguments": {"a": 1}}',
        "traceloop.entity.output": '{"result": "no b given", "is_error": true}',
    }
    span = made("add.tool", scope="opentelemetry.instrumentation.mcp.instrumentation", attributes=attributes)
    assert ToolFields("add", {"a": 1}, "no b given", failed=True) == traceloop.tool(span, Memo())


def test_tool_without_content() -> None:
    """With content switched off, only the name is known."""
    span = made(scope=LANGCHAIN, attributes={"gen_ai.tool.name": "add", "traceloop.span.kind": "tool"})
    assert ToolFields("add") == traceloop.tool(span, Memo())


def test_agno_prints_what_a_tool_did() -> None:
    """The execution as Pydantic prints it is read: its result, or the error of one that failed under an OK status."""
    rest = " updated_session_state=None images=None videos=None audios=None files=None"

    def read(text: str) -> tuple[object, bool]:
        attributes = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "t", "traceloop.entity.output": text}
        said = traceloop.tool(made("t.tool", scope=traceloop.AGNO, attributes=attributes), Memo())
        return said.result, said.failed

    assert ([{"id": "d 'x'"}], False) == read("status='success' result='[{\"id\": \"d \\'x\\'\"}]' error=None" + rest)
    assert (6840000.0, False) == read("status='success' result='6840000.0' error=None" + rest)
    assert ("null", False) == read("status='success' result=None error=None" + rest)
    assert ("no: 'x'", True) == read("status='failure' result=None error=\"no: 'x'\"" + rest)
    assert (None, False) == read("status='success' result=<generator object ask at 0x55> error=None" + rest)
    assert ("status='success' of it", False) == read("status='success' of it")


def test_traffic_with_mcp_servers() -> None:
    """What passes before and around a call makes no run; in traces of its own it would be one."""
    names = ("initialize.mcp", "tools/list.mcp", "ResponseStreamWriter", "search.tool", "mcp.server")
    roles: dict[str, dict[str, object]] = {"search.tool": {"traceloop.span.kind": "tool"}}
    read = [traceloop.kind(made(name, scope=traceloop.MCP, attributes=roles.get(name, {}))) for name in names]
    assert ["setup", "setup", "setup", "tool", None] == read
    assert () == trace_of(made("initialize.mcp", scope=traceloop.MCP, attributes={})).runs
