"""Microsoft's Agent Framework: kinds by name beside the operations, content by the generic dialect."""

from __future__ import annotations

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import agent_framework
from spanwise.model.content import AgentFields, LLMFields, Memo, Message, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made, with_logs
from tests.recordings_io import spans as recorded

SCOPE = "agent_framework"
RECORDING = "agent-framework__builtin"
CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("invoke_agent helper", {"gen_ai.operation.name": "invoke_agent"}, "agent"),
        ("workflow.run", {}, "workflow"),
        ("workflow.run Sequential", {}, "workflow"),
        ("workflow.build", {}, "setup"),
        ("executor.process helper", {}, "other"),
        ("edge_group.process SingleEdgeGroup", {}, "other"),
        ("message.send", {}, "other"),
        ("tools/call add", {"mcp.method.name": "tools/call"}, None),
    ],
)
def test_kinds(name: str, attributes: dict[str, object], kind: str | None) -> None:
    """A workflow's run is a workflow, its inner traffic is nobody's step; MCP's spans are left to their own dialect."""
    assert kind == agent_framework.kind(made(name, scope=SCOPE, attributes=attributes))


def dialect_of(span: RawSpan) -> int:
    """The dialect that a span is read by."""
    index, _ = conventions.classify(span)
    assert "agent_framework" == conventions.CONVENTIONS[index].name
    return index


def test_reading_by_the_generic_dialect() -> None:
    """Agent, model call and failed tool of a recorded run."""
    agent, chat, *_ = recorded(RECORDING)
    tool = next(span for span in recorded(RECORDING) if span.status_code == 2)
    memo = Memo()
    question = "How many people lived in France in 2024, and what is 10% of that?"
    answer = (
        "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
    )
    assert AgentFields("research_agent", question, answer) == conventions.agent(agent, memo, dialect_of(agent))
    expected = LLMFields("gpt-4o-mini-2024-07-18", "openai", 193, 15, 0, None, 0)
    assert expected == conventions.llm(chat, memo, dialect_of(chat))
    failed = ToolFields("calculator", '{"expression": "68.4 million * 0.1"}', call_id="call_000004")
    assert failed == conventions.tool(tool, memo, dialect_of(tool))
    called = Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})
    assert (Message("assistant", (called,)),) == conventions.output(chat, memo, dialect_of(chat))


def test_log_events_tell_the_same_as_attributes() -> None:
    """Messages in log events, one each, are the messages of the attributes."""
    by_attribute = [span for span in recorded(RECORDING) if span.name.startswith("chat")]
    by_event = [span for span in with_logs(RECORDING, strip=CONTENT) if span.name.startswith("chat")]
    memo = Memo()
    assert 5 == len(by_attribute)
    assert [conventions.messages(span, memo, dialect_of(span)) for span in by_attribute] == [
        conventions.messages(span, memo, dialect_of(span)) for span in by_event
    ]


def test_a_call_without_id() -> None:
    """An id of "unknown" is none."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "unknown",
    }
    span = made("execute_tool add", scope=SCOPE, attributes=attributes)
    assert ToolFields("add") == conventions.tool(span, Memo(), dialect_of(span))


KEYS = (*CONTENT, "gen_ai.operation.name", "gen_ai.tool.name", "mcp.method.name")
WORDS = ("role", "parts", "type", "content", "tool_call", "tool_call_response", "message", "tool_calls")


@given(
    spans(
        agent_framework.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("workflow.run", "message.send"),
        events=("gen_ai.choice", "gen_ai.tool.message"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(agent_framework.CONVENTION, span) == 4


def test_a_tool_that_takes_nothing() -> None:
    """Called with nothing it is recorded as called with `None`; what could not be printed is no result."""
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "ping",
        "gen_ai.tool.call.arguments": "None",
        "gen_ai.tool.call.result": "[<agent_framework._types.Content object at 0x7efd8ca2bd10>]",
    }
    span = made("execute_tool ping", scope=SCOPE, attributes=said)
    assert ToolFields("ping", {}) == conventions.tool(span, Memo(), dialect_of(span))


@pytest.mark.parametrize(
    ("recorded_id", "expected"),
    [("resp_0a1", None), ("caresp_0a1", None), ("conv_7", "conv_7"), ("thread-1", "thread-1")],
)
def test_whose_conversation(recorded_id: str, expected: str | None) -> None:
    """The id of the response that a request goes on from is another one in every turn, and no session."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": recorded_id}
    assert (
        expected == conventions.context(made("invoke_agent x", scope=SCOPE, attributes=attributes), Memo()).session_id
    )
