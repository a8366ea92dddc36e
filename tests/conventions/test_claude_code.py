"""Claude Code's own spans, as release 2.1 writes them with and without content."""

from __future__ import annotations

import pytest
from hypothesis import given
from msgspec.structs import replace

from spanwise import conventions
from spanwise.conventions import claude_code
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawEvent, RawSpan
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.making import run_of, span_id
from tests.recordings_io import made

SCOPE = "com.anthropic.claude_code.tracing"


def span(kind: str, *, events: list[tuple[str, dict[str, object]]] | None = None, **attributes: object) -> RawSpan:
    """A span of that type, with the attributes that every span has."""
    every = {"span.type": kind, "session.id": "sess-42", "user.id": "u-1", "terminal.type": "vscode"}
    return made(f"claude_code.{kind}", scope=SCOPE, attributes={**every, **attributes}, events=events or ())


def test_kinds() -> None:
    """A prompt is the agent's run; what a tool executes is part of its call, waiting and hooks are no steps."""
    types = (
        "interaction",
        "llm_request",
        "tool",
        "tool.blocked_on_user",
        "tool.execution",
        "hook",
        "of a later release",
    )
    found = [claude_code.kind(span(kind)) for kind in types]
    assert ["agent", "llm", "tool", "other", "tool", "other", "other"] == found
    assert found == [claude_code.kind(made(attributes={"span.type": f"claude_code.{kind}"})) for kind in types]


def test_spans_of_others() -> None:
    """`span.type` is a word that others use too."""
    assert None is claude_code.kind(made("GET /", attributes={"span.type": "tool"}))
    assert None is claude_code.kind(made("claude_code.tool", attributes={"span.type": 7}))


def test_switches_of_others() -> None:
    """An app's own `span.type` does not make Claude Code's switches the ones to set."""
    other = made("chat m", attributes={"span.type": "llm", "gen_ai.operation.name": "chat"})
    assert "OTEL_LOG_TOOL_CONTENT" in conventions.content_switch(span("tool"), some=False)
    assert conventions.content_switch(other, some=False).startswith(
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="
    )


def test_tool_without_content() -> None:
    """By default only the name and the id are known, and not how it ended."""
    found = span("tool", tool_name="Edit", **{"gen_ai.tool.call.id": "toolu_1", "tool_use_id": "toolu_1"})
    assert ToolFields("Edit", call_id="toolu_1", uncertain=True) == claude_code.tool(found, Memo())


def test_tool_with_details() -> None:
    """A shell's command is all of its input; a file's path is not all of an edit's."""
    shell = span("tool", tool_name="Bash", full_command="ls", tool_use_id="toolu_1")
    edit = span("tool", tool_name="Edit", file_path="/app/main.py", tool_use_id="toolu_2")
    assert ToolFields("Bash", {"command": "ls"}, None, "toolu_1", uncertain=True) == claude_code.tool(shell, Memo())
    assert ToolFields("Edit", call_id="toolu_2", uncertain=True) == claude_code.tool(edit, Memo())


@pytest.mark.parametrize(
    ("event", "result"),
    [
        ({"bash_command": "ls", "output": "a.py"}, "a.py"),
        ({"file_path": "/a.py", "diff": '[{"lines":["-a","+b"]}]'}, '[{"lines":["-a","+b"]}]'),
        ({"file_path": "/a.py", "content": "import os"}, "import os"),
        ({"output": "<REDACTED>"}, None),
        ({}, None),
    ],
)
def test_tool_output_event(event: dict[str, object], result: str | None) -> None:
    """With content switched on, the output stands in an event."""
    found = span("tool", tool_name="Bash", events=[("other", {"output": "x"}), ("tool.output", event)])
    assert result == claude_code.tool(found, Memo()).result


def test_tool_of_detailed_tracing() -> None:
    """Detailed tracing writes input and result whole, each below a headline."""
    found = span(
        "tool",
        tool_name="Read",
        tool_input='[TOOL INPUT: Read]\n{"file_path":"/a.py"}',
        new_context='[TOOL RESULT: Read]\n{"type":"text"}',
        events=[("tool.output", {"content": "import os"})],
        success=False,
    )
    expected = ToolFields("Read", '{"file_path":"/a.py"}', '{"type":"text"}', failed=True, uncertain=True)
    assert expected == claude_code.tool(found, Memo())


def test_llm_input_includes_the_cache() -> None:
    """The recorded input leaves out what was read from and written to the cache."""
    found = span(
        "llm_request",
        model="claude-sonnet-4-5",
        input_tokens=12,
        output_tokens=40,
        cache_read_tokens=1000,
        cache_creation_tokens=200,
    )
    assert LLMFields("claude-sonnet-4-5", "anthropic", 1212, 40, 1000, 200) == claude_code.llm(found, Memo())
    assert LLMFields("m", "anthropic", 12) == claude_code.llm(span("llm_request", model="m", input_tokens=12), Memo())
    assert LLMFields(None, "anthropic", None, None, 5) == claude_code.llm(
        span("llm_request", cache_read_tokens=5), Memo()
    )


def test_messages_of_detailed_tracing() -> None:
    """What is new in a request is joined into one text, which is taken apart again."""
    parts = ("[USER]\nFix it.", "Please.", "[TOOL RESULT: toolu_1]\n[1, 2]", "[TOOL RESULT: toolu_2]\nok")
    text = "\n\n---\n\n".join(parts)
    found = span("llm_request", new_context=text, **{"response.model_output": "Done."})
    expected = Messages(
        (
            Message("user", (Part("text", "Fix it.\n\n---\n\nPlease."),)),
            Message("tool", (Part("tool_result", id="toolu_1", value=[1, 2]),)),
            Message("tool", (Part("tool_result", id="toolu_2", value="ok"),)),
        ),
        (Message("assistant", (Part("text", "Done."),)),),
    )
    assert expected == claude_code.messages(found, Memo())


def test_messages_that_are_not_there() -> None:
    """Nothing is said by default, nor by text without a headline."""
    assert Messages() == claude_code.messages(span("llm_request"), Memo())
    assert Messages() == claude_code.messages(span("llm_request", new_context="text"), Memo())


def test_agent() -> None:
    """The prompt is the question unless it is redacted; detailed tracing has it below a headline."""
    assert AgentFields(None, "Fix it.") == claude_code.agent(span("interaction", user_prompt="Fix it."), Memo())
    assert AgentFields() == claude_code.agent(span("interaction", user_prompt="<REDACTED>"), Memo())
    detailed = span("interaction", user_prompt="<REDACTED>", new_context="[USER PROMPT]\nFix it.")
    assert AgentFields(None, "Fix it.") == claude_code.agent(detailed, Memo())


def test_definitions() -> None:
    """The tools that were offered are known by name."""
    found = span("llm_request", tools='[{"name":"Bash","hash":"0a"},{"name":"Read","hash":"0b"}]')
    assert (ToolDefinition("Bash"), ToolDefinition("Read")) == claude_code.definitions(found, Memo())


def test_context() -> None:
    """Every span names session and user."""
    assert ContextFields("sess-42", "u-1") == claude_code.context(span("tool"), Memo())


def test_error() -> None:
    """A failed request names its error; without one, the status tells."""
    assert SpanError(message="529 overloaded") == claude_code.error(span("llm_request", error="529 overloaded"))
    assert SpanError(message="timed out") == conventions.error(
        made("claude_code.llm_request", scope=SCOPE, status=2, message="timed out")
    )


@given(
    spans(
        claude_code.CONVENTION,
        keys=(
            "span.type", "tool_name", "tool_input", "full_command", "new_context", "tool_use_id", "success",
            "input_tokens",
            "cache_read_tokens", "user_prompt", "response.model_output", "tools", "error", "session.id",
        ),
        words=("name", "[USER]\nx", "[TOOL RESULT: a]\nx\n\n---\n\n[USER]\n", "tool"),
        names=("claude_code.tool", "claude_code.llm_request"),
        events=("tool.output",),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 8 == read_all(claude_code.CONVENTION, span)


def test_how_a_tool_ended() -> None:
    """What a tool executes says whether it failed: the call around it has that status, and its error."""
    tree = [span("interaction"), span("tool", tool_name="Read", **{"gen_ai.tool.call.id": "toolu_1"})]
    for success, status in ((True, "ok"), (False, "error")):
        inner = span("tool.execution", success=success, tool_use_id="toolu_1", error="no file")
        ids = zip((*tree, inner), (1, 2, 3), (None, 1, 2), strict=True)
        run = run_of(*(replace(one, span_id=span_id(n), parent_id=up and span_id(up)) for one, n, up in ids))
        assert [("Read", "toolu_1", status)] == [(call.name, call.call_id, call.status) for call in run.tool_calls]


def test_log_events_of_a_prompt() -> None:
    """The prompt and the last answer stand in log events; what a subagent answered is not the run's."""
    said = [("user_prompt", {"prompt": "Q"}), ("assistant_response", {"response": "Looking.", "query_source": "sdk"})]
    said += [("assistant_response", {"response": "A", "query_source": "repl_main_thread"})]
    said += [("assistant_response", {"response": "sub", "query_source": "agent:custom"})]
    events = tuple(RawEvent("", at, {"event.name": name, **fields}) for at, (name, fields) in enumerate(said))
    prompted = replace(span("interaction", user_prompt="<REDACTED>"), events=events)
    assert AgentFields(None, "Q", "A") == claude_code.agent(prompted, Memo())
    removed = (RawEvent("claude_code.assistant_response", 1, {"response": "<REDACTED>"}),)
    assert AgentFields() == claude_code.agent(replace(span("interaction"), events=removed), Memo())


def test_log_events_of_tools() -> None:
    """A prompt's log events tell what each tool was given, by the id of its call, and why it failed."""
    served = {"tool_name": "mcp_tool", "tool_parameters": '{"mcp_server_name": "kit", "mcp_tool_name": "add"}'}
    told: list[dict[str, object]] = [
        {"tool_use_id": "t1", "tool_name": "Read", "tool_input": '{"file_path": "a"}'},
        {"tool_use_id": "t2", **served, "tool_input": '{"a": 1}', "error": "no such number"},
        {"tool_use_id": "t3", "tool_name": "Read", "tool_input": "<REDACTED>"},
        {"tool_name": "Read"},
    ]
    events = [RawEvent("claude_code.tool_result", at, fields) for at, fields in enumerate(told)]
    events.append(RawEvent("claude_code.tool_decision", 9, {"tool_use_id": "t1", "tool_name": "Read"}))
    expected = [
        Part("tool_call", id="t1", name="Read", value={"file_path": "a"}),
        Part("tool_call", id="t2", name="mcp__kit__add", value={"a": 1}),
        Part("tool_result", id="t2", value="no such number", error=True),
        Part("tool_call", id="t3", name="Read"),
    ]
    found = claude_code.record(replace(span("interaction"), events=tuple(events)), Memo()) or ()
    assert expected == [part for message in found for part in message.parts]
    assert claude_code.record(span("interaction"), Memo()) is None


@pytest.mark.parametrize(("ended", "asked"), [("end_turn", ()), ("max_tokens", ()), ("tool_use", None), (None, None)])
def test_how_an_answer_ended(ended: str | None, asked: object) -> None:
    """An answer that did not end on calls of tools asked for none; which those were is not told."""
    told = {} if ended is None else {"stop_reason": ended}
    assert asked == claude_code.requests(span("llm_request", **told), Memo())


def test_blocks_of_an_mcp_server() -> None:
    """In detailed tracing the result of an MCP server's tool stands in its blocks."""
    one = span("tool", new_context='[TOOL RESULT: mcp__kit__add]\n[{"type":"text","text":"6.5"}]')
    assert 6.5 == claude_code.tool(one, Memo()).result
