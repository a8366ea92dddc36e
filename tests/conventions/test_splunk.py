"""Splunk's instrumentations of agent frameworks, which all write through one fork of OpenTelemetry's GenAI util."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions import classify, llm, messages, splunk
from spanwise.conventions import requests as asked_for
from spanwise.conventions import tool as read_tool
from spanwise.model.content import AgentFields, ContextFields, Memo, Part
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

SCOPE = "opentelemetry.util.genai.handler"
OPERATION = "gen_ai.operation.name"
KEYS = (
    OPERATION, "gen_ai.framework", "gen_ai.system", "gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.tool.call.result",
    "gen_ai.tool.call.arguments", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.conversation_root",
)  # fmt: skip
WORDS = ("execute_tool", "invoke_agent", "crewai", "langchain", "llamaindex", "role", "parts", "content", "ToolCall")


def span(operation: str, **attributes: object) -> RawSpan:
    """A span of the fork's, its attributes without their prefix."""
    named = {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return made("x", scope=SCOPE, attributes={OPERATION: operation, **named})


def said(*texts: str, role: str = "user") -> str:
    """Messages as the fork writes them."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts])


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (span("invoke_agent", framework="langchain", agent__name="research_agent"), "agent"),
        (span("invoke_agent", framework="langchain", agent__name="RunnableSequence"), "workflow"),
        (span("invoke_agent", framework="crewai", agent__name="crew", conversation_root=True), "workflow"),
        (span("invoke_agent", framework="crewai", agent__name="Researcher"), "agent"),
        (span("invoke_agent", framework="llamaindex", agent__name="ReActAgent"), "workflow"),
        (span("invoke_agent", framework="llamaindex", agent__name="research_agent"), "agent"),
        (span("invoke_agent", framework="llamaindex", agent__name=["research_agent"]), "agent"),
        (span("invoke_agent", framework="openai_agents", agent__name="triage", conversation_root=True), "agent"),
        (span("generate_text"), "llm"),
        (span("execute_tool", tool__name="add"), "tool"),
        (made(scope=SCOPE, attributes={"gen_ai.step.name": "model"}), None),
        (made(scope=SCOPE, attributes={OPERATION: "execute_tool", "mcp.method.name": "tools/call"}), None),
    ],
)
def test_kinds(found: RawSpan, kind: str | None) -> None:
    """What runs an agent is no agent, whatever the root of a run is said to be; requests to MCP servers are MCP's."""
    assert kind == splunk.kind(found)


def test_crewais_arguments() -> None:
    """They are printed with what CrewAI adds; the id is a place in memory, and `{}` stands for what was not named."""
    given_ = {"input": {"a": 1, "security_context": {"agent_fingerprint": {"uuid_str": "u"}}}}
    found = [
        splunk.tool(
            span("execute_tool", system="crewai", tool__name="t", tool__call__id="140", tool__call__arguments=text),
            Memo(),
        )
        for text in (str(given_), "{'input': 'x', 'b': 2}", "{}", "printed <object>")
    ]
    assert [{"a": 1}, {"input": "x", "b": 2}, None, "printed <object>"] == [one.arguments for one in found]
    assert {None} == {one.call_id for one in found}


def test_unrecorded_results() -> None:
    """LlamaIndex's failures are not marked, and results are not recorded: such a call is neither fine nor failed."""
    told, untold = ({"tool__call__arguments": "{}"}, {})
    assert [True, False] == [
        splunk.tool(span("execute_tool", tool__name="t", **fields), Memo()).uncertain for fields in (told, untold)
    ]


def test_failures_that_are_told_to_the_model() -> None:
    """The OpenAI Agents SDK tells the model of a tool that raised, and the span's status does not."""
    text = "An error occurred while running the tool. Please try again."
    found = splunk.tool(span("execute_tool", tool__name="t", tool__call__result=text), Memo())
    fine = splunk.tool(span("execute_tool", tool__name="t", tool__call__result="2"), Memo())
    assert (True, text, False) == (found.failed, found.message, fine.failed)


def test_printed_results() -> None:
    """The message that a tool of LangChain's returned is opened: content, the id of its call, and whether it failed."""
    text = "content='no number' name='add' tool_call_id='c1' status='error'"
    found = span("execute_tool", tool__name="add", tool__call__arguments="{}", tool__call__result=json.dumps(text))
    index, kind = classify(found)
    read = read_tool(found, Memo(), index)
    assert ("tool", "no number", "c1", True) == (kind, read.result, read.call_id, read.failed)


def test_requests() -> None:
    """Calls of the OpenAI Agents SDK's models have names of their own for name and id."""
    part = {"type": "tool_call", "tool_name": "add", "tool_call_id": "c1", "arguments": '{"a": 1}'}
    found = span("chat", output__messages=json.dumps([{"role": "assistant", "parts": [part]}]))
    assert [Part("tool_call", "", "c1", "add", {"a": 1})] == asked_for(found, Memo(), classify(found)[0])
    assert splunk.requests(span("chat"), Memo()) is None


def test_what_stands_for_requests_is_no_answer() -> None:
    """LangChain's requests are left out: what the model asked for is not known, and it said nothing."""
    written = json.dumps([{"role": "assistant", "parts": ["ToolCall"], "finish_reason": "tool_calls"}])
    found = span("chat", output__messages=written, input__messages=said("How many?"))
    index = classify(found)[0]
    read = messages(found, Memo(), index)
    assert (None, "How many?") == (read.output, read.input[0].text if read.input else "")
    assert asked_for(found, Memo(), index) is None


@pytest.mark.parametrize(
    ("framework", "sent", "got", "expected"),
    [
        ("crewai", said("How many?", "One sentence"), said("68", role="assistant"), ("How many?", "68")),
        ("crewai", None, None, (None, None)),
        (
            "langchain",
            said('{"question": "How many?"}'),
            said('{"output": "68"}', role="assistant"),
            ("How many?", "68"),
        ),
        ("langchain", said("How many?"), said('{"answer": 68}', role="assistant"), ("How many?", '{"answer": 68}')),
        (
            "langchain",
            said('{"input": "How many?"}'),
            said('{"input": "How many?", "context": [], "answer": "68"}', role="assistant"),
            ("How many?", "68"),
        ),
        ("langchain", said("{broken"), said("{broken", role="assistant"), ("{broken", "{broken")),
        ("openai_agents", said('{"a": 1}'), said("68", role="assistant"), ('{"a": 1}', "68")),
    ],
)
def test_questions_and_answers(
    framework: str, sent: str | None, got: str | None, expected: tuple[str | None, str | None]
) -> None:
    """CrewAI's task stands first, LangChain's input and output in a state; an answer in JSON stays as it was said."""
    found = span("invoke_agent", framework=framework, agent__name="a", input__messages=sent, output__messages=got)
    assert AgentFields("a", *expected) == splunk.agent(found, Memo())


def test_context() -> None:
    """Conversation and user, from the fork's attributes or from LangChain's metadata."""
    found = span("chat", conversation__id="s1", association__properties__user_id="u1")
    assert ContextFields("s1", "u1") == splunk.context(found, Memo())
    given_ = made(scope=SCOPE, attributes={"user_id": "u2"})
    assert ContextFields(None, "u2") == splunk.context(given_, Memo())


def test_recorded_model() -> None:
    """The tokens of a recorded call are GenAI's."""
    found = next(one for one in recorded("langgraph__splunk__parallel") if one.name.startswith("chat"))
    used = llm(found, Memo(), classify(found)[0])
    assert (161, 86) == (used.input_tokens, used.output_tokens)


@given(spans(splunk.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(splunk.CONVENTION, one)
