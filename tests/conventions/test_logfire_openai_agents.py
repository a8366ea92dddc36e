"""OpenAI's Agents SDK behind Logfire: kinds by template, content of both of OpenAI's APIs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import logfire_openai_agents as dialect
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "logfire.openai_agents"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
USAGE = {
    "requests": 1,
    "input_tokens": 100,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 3},
    "output_tokens_details": {"reasoning_tokens": 2},
}


def span(title: str = "span", /, *, status: int = 0, **attributes: object) -> RawSpan:
    """A span of this dialect; structured values become JSON text, as Logfire writes them."""
    fields = {
        key.replace("__", "."): json.dumps(value) if isinstance(value, dict | list) or value is None else value
        for key, value in attributes.items()
    }
    return made(title, scope=SCOPE, attributes=fields, status=status)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("OpenAI Agents trace: {name}", "workflow"),
        ("Task: question", "workflow"),
        ("Agent run: {name!r}", "agent"),
        ("Turn {turn} for agent helper", None),
        ("Responses API", "llm"),
        ("Responses API with {gen_ai.request.model!r}", "llm"),
        ("Chat completion with {gen_ai.request.model!r}", "llm"),
        ("Function: {name}", "tool"),
        ("Handoff: {from_agent} → {to_agent}", "handoff"),
        ("Guardrail {name!r} {triggered=}", "guardrail"),
        ("Custom span: {name}", None),
        ("OpenAI agents: {type} span", None),
        ("Text → Speech", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    """The template tells the kind, wherever it stands; turns, custom spans and speech are no steps."""
    found = [dialect.kind(span(name)), dialect.kind(span("renamed", logfire__msg_template=name))]
    assert [kind, kind] == found


def test_a_notice_is_no_span() -> None:
    """What Logfire sends when a span begins is not the span."""
    assert "other" == dialect.kind(span("Function: {name}", logfire__span_type="pending_span"))


def test_tool() -> None:
    """Name, arguments and result as the SDK had them; nothing recorded is nothing."""
    call = span("Function: {name}", name="add", input='{"a": 1}', output="2", mcp_data=None)
    assert ToolFields("add", '{"a": 1}', "2") == dialect.tool(call, Memo())
    assert ToolFields("add") == dialect.tool(span("Function: {name}", name="add", input=None, output=None), Memo())


FAILURE = {
    "message": "Error running tool (non-fatal)",
    "data": {"tool_name": "add", "error": "Tool execution failed. Error details are redacted."},
}


def test_failed_tool() -> None:
    """The SDK tells a failure in an attribute of its own."""
    failed = span("Function: {name}", status=2, name="add", input="{}", output="An error occurred.", error=FAILURE)
    assert ToolFields("add", "{}", "An error occurred.", failed=True) == dialect.tool(failed, Memo())
    assert SpanError(message="Tool execution failed. Error details are redacted.") == dialect.error(failed)
    turn = span("Turn {turn}", error={"message": "Tool not found", "data": {"tool_name": "web_search"}})
    assert SpanError(message="Tool not found") == dialect.error(turn)
    assert SpanError(message="") == dialect.error(span(error={}))
    assert dialect.error(span()) is None


def test_usage() -> None:
    """The usage has the details that the names of GenAI lack; a task's total has them flat."""
    assert LLMFields(
        input_tokens=100, output_tokens=7, cache_read_tokens=64, cache_write_tokens=3, reasoning_tokens=2
    ) == dialect.llm(span("Responses API", usage=USAGE), Memo())
    total = {"input_tokens": 100, "output_tokens": 7, "cached_input_tokens": 64, "cache_write_input_tokens": 3}
    assert LLMFields(input_tokens=100, output_tokens=7, cache_read_tokens=64, cache_write_tokens=3) == dialect.llm(
        span("Task: question", usage=total), Memo()
    )
    assert LLMFields() == dialect.llm(span("Agent run"), Memo())


CALL = Part("tool_call", "", "call_1", "add", {"a": 1})
RESULT = Part("tool_result", "", "call_1", None, 2)


def test_messages_of_the_responses_api() -> None:
    """Items that went in, the response that came out, and the instructions in it."""
    item = {"type": "function_call", "call_id": "call_1", "id": "fc_1", "name": "add", "arguments": '{"a": 1}'}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]}
    first = span(
        "Responses API",
        raw_input=[{"content": "add one", "role": "user"}],
        response={"instructions": "Be brief.", "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, item]},
    )
    last = span(
        "Responses API", raw_input=[{"content": "add one", "role": "user"}, item, output], response={"output": [text]}
    )
    system, asked = Message("system", (Part("text", "Be brief."),)), Message("user", (Part("text", "add one"),))
    assert [
        Messages((system, asked), (Message("assistant", (Part("reasoning"),)), Message("assistant", (CALL,)))),
        Messages(
            (asked, Message("assistant", (CALL,)), Message("tool", (RESULT,))),
            (Message("assistant", (Part("text", "Two."),)),),
        ),
    ] == [dialect.messages(one, Memo()) for one in (first, last)]


def test_a_stream_of_chat_completions() -> None:
    """The answer is a response's object in a list; zeros for its usage say that nobody counted."""
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}', "id": "__fake_id__"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Three."}]}
    nothing = {"requests": 1, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    model = {"gen_ai.response.model": "gpt-4o-mini", "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
    output = json.dumps([{"id": "__fake_id__", "object": "response", "output": [text, call]}])
    streamed = span("Chat completion with {gen_ai.request.model!r}", output=output, usage=json.dumps(nothing), **model)
    assert (
        Message("assistant", (Part("text", "Three."),)),
        Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),
    ) == dialect.output(streamed, Memo())
    found = conventions.llm(streamed, Memo(), conventions.classify(streamed)[0])
    assert ("gpt-4o-mini", None, None) == (found.model, found.input_tokens, found.output_tokens)


def test_a_question_without_wrapping() -> None:
    """A run that was given plain text sends plain text."""
    expected = Messages((Message("user", (Part("text", "add one"),)),))
    assert expected == dialect.messages(span("Responses API", raw_input="add one"), Memo())
    assert Messages() == dialect.messages(span("Responses API", raw_input=None), Memo())


def test_messages_of_chat_completions() -> None:
    """Both sides are lists of messages."""
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    one = span(
        "Chat completion",
        input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "add one"}],
        output=[{"role": "assistant", "content": None, "tool_calls": [call]}],
    )
    assert Messages(
        (Message("system", (Part("text", "Be brief."),)), Message("user", (Part("text", "add one"),))),
        (Message("assistant", (CALL,)),),
    ) == dialect.messages(one, Memo())


def test_agent() -> None:
    """Agents have a name, workflows have one that is no agent's."""
    assert AgentFields("helper") == dialect.agent(span("Agent run: {name!r}", name="helper"), Memo())
    assert AgentFields() == dialect.agent(span("OpenAI Agents trace: {name}", name="question"), Memo())


def test_handoff() -> None:
    """Both agents of a hand-off are named."""
    passed = span("Handoff: {from_agent} → {to_agent}", from_agent="triage", to_agent="helper")
    assert HandoffFields("triage", "helper") == dialect.handoff(passed, Memo())
    assert HandoffFields("triage") == dialect.handoff(span(from_agent="triage", to_agent=None), Memo())
    assert dialect.handoff(span(), Memo()) is None


def test_definitions() -> None:
    """A response repeats the tools with their schemas; an agent lists their names."""
    tool = {"type": "function", "name": "add", "description": "Adds.", "parameters": SCHEMA, "strict": True}
    described = dialect.definitions(span("Responses API", response={"tools": [tool]}), Memo())
    named = dialect.definitions(span("Agent run: {name!r}", tools=["add"]), Memo())
    assert [(ToolDefinition("add", "Adds.", SCHEMA),), (ToolDefinition("add"),)] == [described, named]
    assert dialect.definitions(span("Agent run: {name!r}", tools=None), Memo()) is None


def test_context() -> None:
    """The group of a trace is its session."""
    assert ContextFields("sess-42") == dialect.context(span(group_id="sess-42"), Memo())
    assert ContextFields() == dialect.context(span(group_id=None), Memo())


KEYS = (
    "name", "input", "output", "error", "usage", "raw_input", "response", "tools", "group_id", "from_agent",
    "to_agent", "logfire.msg_template", "logfire.span_type", "gen_ai.operation.name", "gen_ai.usage.input_tokens",
)  # fmt: skip
WORDS = (
    "role", "content", "type", "text", "output", "tools", "instructions", "message", "data", "error", "call_id",
    "name", "arguments", "function_call", "function_call_output", "input_tokens_details", "cached_tokens",
    "tool_calls",
)  # fmt: skip


@given(
    spans(
        dialect.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("Function: {name}", "Responses API", "Handoff: {a}", "Agent run: {name!r}"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(dialect.CONVENTION, span) == 8


def test_a_tool_of_an_mcp_server() -> None:
    """The block of text in which MCP's servers answer is taken off; a mapping that a tool returned is not."""
    for output, result in (('{"type":"text","text":"2"}', 2), ('{"result": "2"}', '{"result": "2"}')):
        attributes = {"logfire.msg_template": "Function: {name}", "name": "add", "output": output}
        said = dialect.tool(made("Function: {name}", attributes=attributes), Memo())
        assert result == said.result
