"""Content that stands in log events, as the generic dialect reads it; and AutoGen's spans, which need no dialect."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import _genai
from spanwise.model.content import AgentFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import SpanError
from tests.recordings_io import made, spans, with_logs

CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")


def model_calls(found: tuple[RawSpan, ...]) -> list[RawSpan]:
    """The model calls among spans."""
    return [span for span in found if conventions.classify(span)[1] == "llm"]


@pytest.mark.parametrize(
    "recording",
    [
        "agent-framework__builtin",
        "google-adk__builtin-genai-latest",
        "langgraph__otel-genai",
        "langgraph__otel-genai__subagent",
        "openai-agents__otel-genai__plus_openai_client",
    ],
)
def test_log_events_tell_what_attributes_tell(recording: str) -> None:
    """Messages, instructions among them, read the same from log events as from attributes."""
    memo = Memo()
    by_attribute = [_genai.messages(span, memo) for span in model_calls(spans(recording))]
    by_event = [_genai.messages(span, memo) for span in model_calls(with_logs(recording, strip=CONTENT))]
    assert len(by_attribute) >= 5
    assert by_attribute == by_event


@pytest.mark.parametrize(
    "recording", ["google-adk__builtin-genai-latest", "openai-agents__otel-genai__plus_openai_client"]
)
def test_tools_in_log_events(recording: str) -> None:
    """Tool definitions of a log event are the tools that the model was offered."""
    call = model_calls(with_logs(recording, strip=CONTENT))[0]
    assert ["search_docs", "calculator"] == [tool.name for tool in _genai.definitions(call, Memo()) or ()]


def test_capture_switched_off() -> None:
    """Where capturing was off, bodies are empty, or elided, and calls keep id and name."""
    call = {"id": "c1", "type": "function", "function": {"name": "add"}}
    events = [
        ("gen_ai.user.message", {"content": "<elided>"}),
        ("gen_ai.system.message", {}),
        ("gen_ai.choice", {"message": {"role": "assistant", "tool_calls": [call]}}),
    ]
    expected = Messages(None, (Message("assistant", (Part("tool_call", "", "c1", "add"),)),))
    assert expected == _genai.messages(made(events=events), Memo())


def test_names_and_bodies_of_older_log_events() -> None:
    """Before events had names of their own, the name was an attribute; some libraries write the body as JSON text."""
    base = made(events=[("", {"event.name": "gen_ai.user.message"}), ("", {"event.name": "app.log"}), ("", {})])
    bodies = ['{"role": "user", "content": "add one"}', '{"content": "not a message"}', "plain"]
    for event, body in zip(base.events, bodies, strict=True):
        event.body = body
    assert Messages((Message("user", (Part("text", "add one"),)),)) == _genai.messages(base, Memo())


def test_events_before_release_1_28() -> None:
    """Older releases of the convention had one event for each side, Langtrace's calls standing among the content."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    asked, called = [{"role": "user", "content": "add one"}], [{"role": "assistant", "content": [call]}]
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(asked)}),
        ("gen_ai.content.completion", {"gen_ai.completion": json.dumps(called)}),
    ]
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    )
    assert expected == _genai.messages(made(events=events), Memo())


def test_a_tool_result_with_parts_is_whole() -> None:
    """Only a message's content object is looked into, never a tool's result."""
    body = {"id": "c1", "content": {"parts": ["a"]}}
    expected = (Message("tool", (Part("tool_result", "", "c1", None, {"parts": ["a"]}),)),)
    assert expected == _genai.messages(made(events=[("gen_ai.tool.message", body)]), Memo()).input


def test_autogen_needs_no_dialect() -> None:
    """AutoGen's own spans are GenAI's: a created agent is no run, content is not recorded, failures are told once."""
    memo = Memo()
    found = spans("autogen__builtin")
    kinds = [conventions.classify(span) for span in found]
    generic = len(conventions.CONVENTIONS) - 1
    assert [(generic, "setup"), (generic, "agent"), *[(generic, "tool")] * 4] == kinds
    agent, failed = found[1], next(span for span in found if span.status_code == 2)
    assert AgentFields("research_agent") == conventions.agent(agent, memo, generic)
    assert ToolFields("calculator", call_id="call_000004") == conventions.tool(failed, memo, generic)
    error = SpanError(type="ValueError", message="cannot parse expression: '68.4 million * 0.1'")
    assert error == conventions.error(failed)
