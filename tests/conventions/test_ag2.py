"""AG2's own tracing, before and since 1.0, and OpenInference's of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import _genai, ag2
from spanwise.model.content import AgentFields, HandoffFields, Memo, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.conventions.robustness import read_all, spans
from tests.making import span as at_place
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "ag2__builtin__group_chat"
SCOPE = "opentelemetry.instrumentation.ag2"
BY_OPENINFERENCE = "openinference.instrumentation.ag2"
KEYS = (
    "ag2.span.type", "ag2.code_execution.exit_code", "ag2.code_execution.output", "ag2.recipient.name", "agent.name",
    "openinference.span.kind", "output.value", "tool.name", "tool_call.function.arguments", "tool_call.id",
    "gen_ai.agent.name", "gen_ai.request.model", "gen_ai.input.messages", "gen_ai.output.messages", "error.type",
    "gen_ai.tool.call.result", "gen_ai.usage.cost", "gen_ai.usage.thinking_tokens",
)  # fmt: skip
WORDS = (
    "agent", "conversation", "code_execution", "TOOL", "AGENT", "role", "user", "parts", "type", "text", "content",
    "tool_call", "agent_name", "Transfer to ", "TERMINATE",
)  # fmt: skip


def span(kind: object, **attributes: object) -> RawSpan:
    """A span of AG2's own tracing."""
    return made("x", scope=SCOPE, attributes={"ag2.span.type": kind, **attributes})


def by_openinference(kind: str, **attributes: object) -> RawSpan:
    """A span of OpenInference's instrumentation of AG2."""
    return made("x", scope=BY_OPENINFERENCE, attributes={"openinference.span.kind": kind, **attributes})


def spoken(*said: tuple[str, str]) -> str:
    """Messages of a chat as AG2 records them."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said])


def run_of(*tree: RawSpan) -> Run:
    """The only run of some spans of AG2's."""
    for one in tree:
        one.scope = made("x", scope=SCOPE).scope
    (run,) = build_trace("0" * 32, list(tree)).runs
    return run


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("conversation", "workflow"),
        ("multi_conversation", "workflow"),
        ("speaker_selection", "workflow"),
        ("agent", "agent"),
        ("llm", "llm"),
        ("tool", "tool"),
        ("code_execution", "other"),
        ("usage", "other"),
        ("envelope", "other"),
        (7, None),
    ],
)
def test_kinds(found: object, kind: str | None) -> None:
    """The type tells what a span is; code that was looked for in vain is nothing that ran."""
    assert kind == ag2.kind(span(found))


def test_who_has_no_model_is_no_agent() -> None:
    """A user's proxy and the executor of a group's tools take turns in a chat, too, and have no model of their own."""
    said = {"gen_ai.output.messages": spoken(("tool", "6840000.0"))}
    assert "workflow" == ag2.kind(span("agent", **said))
    assert "agent" == ag2.kind(span("agent", **said, **{"gen_ai.request.model": "gpt-4o-mini"}))


def test_a_group_chat_is_one_run() -> None:
    """The conversation holds the turns of all; who passed the chat on is who spoke last, not who ran the tool."""
    (run,) = build_trace("0" * 32, list(recorded(RECORDING))).runs
    assert ["triage_agent", "research_agent"] == [one.name for one in run.agents]
    assert [("triage_agent", "research_agent")] == [(one.source, one.target) for one in run.handoffs]
    assert ["ok", "ok", "error", "ok", "ok"] == [call.status for call in run.tool_calls]


def test_a_failed_tool_has_no_error_status() -> None:
    """The type of the error is all that the span says of a tool that failed; no message need tell."""
    failing = span("tool", **{"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "{}", "error.type": "E"})
    assert ag2.tool(failing, Memo()).failed
    assert conventions.failed(failing, conventions.classify(failing)[0])
    assert not ag2.tool(span("tool", **{"gen_ai.tool.name": "f"}), Memo()).failed


def test_code_that_ran() -> None:
    """Code that was run is a call without arguments, failed where it did not exit with 0."""
    ran = span("code_execution", **{"ag2.code_execution.exit_code": 1, "ag2.code_execution.output": "boom"})
    assert "tool" == ag2.kind(ran)
    assert ToolFields("execute_code", None, "boom") == ag2.tool(ran, Memo())
    ran.attributes["error.type"] = "CodeExecutionError"
    assert ag2.tool(ran, Memo()).failed


@pytest.mark.parametrize(
    ("history", "answer"),
    [
        ([("assistant", "How many?"), ("user", "68.4 million.\nTERMINATE")], "68.4 million."),
        ([("assistant", "How many?"), ("user", "68."), ("assistant", ""), ("user", "TERMINATE")], "68."),
        ([("assistant", "How many?"), ("user", "68."), ("tool", "[]")], None),
        ([("assistant", "How many?")], None),
    ],
)
def test_the_answer_of_a_conversation(history: list[tuple[str, str]], answer: str | None) -> None:
    """What others say is a user's in the eyes of who began; a chat that stops at a tool's result has no answer."""
    chat = span(
        "conversation",
        **{"gen_ai.input.messages": spoken(("user", "How many?")), "gen_ai.output.messages": spoken(*history)},
    )
    assert AgentFields(None, "How many?", answer) == ag2.agent(chat, Memo())


def test_a_conversation_that_stops_at_a_request_has_no_answer() -> None:
    """What was said before a model asked for a tool is not the answer."""
    asking = [
        {"role": "user", "parts": [{"type": "text", "content": "I will look."}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": {}}]},
    ]
    assert AgentFields() == ag2.agent(span("conversation", **{"gen_ai.output.messages": json.dumps(asking)}), Memo())


def test_names_and_models() -> None:
    """A middleware that was given no name says `unknown`, and an unknown price is no price."""
    assert AgentFields() == ag2.agent(span("agent", **{"gen_ai.agent.name": "unknown"}), Memo())
    assert "helper" == ag2.agent_name(span("agent", **{"gen_ai.agent.name": "helper"}))
    free = ag2.llm(span("llm", **{"gen_ai.usage.cost": 0, "gen_ai.usage.thinking_tokens": 3}), Memo())
    assert (None, 3) == (free.cost_usd, free.reasoning_tokens)
    paid = ag2.llm(span("llm", **{"gen_ai.usage.cost": 0.5, "gen_ai.usage.reasoning_tokens": 2}), Memo())
    assert (0.5, 2) == (paid.cost_usd, paid.reasoning_tokens)


def test_a_request_in_openai_form_is_known() -> None:
    """AG2 1.0 writes OpenAI's messages: a call that left no span is known from them."""
    call = {"id": "c1", "type": "function", "function": {"name": "no_such", "arguments": '{"a": 1}'}}
    asked = json.dumps([{"content": None, "role": "assistant", "tool_calls": [call]}])
    run = run_of(
        at_place(1, end=99, attributes={"ag2.span.type": "agent", "gen_ai.agent.name": "helper"}),
        at_place(2, parent=1, attributes={"ag2.span.type": "llm", "gen_ai.output.messages": asked}),
    )
    assert [("no_such", {"a": 1}, "message")] == [(c.name, c.arguments, c.origin) for c in run.tool_calls]


def test_requests_in_another_form_are_read_from_the_messages() -> None:
    """Answers without `parts` (OpenAI's messages, Anthropic's) are not said to ask for nothing."""
    called = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    used = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    for answer in ({"role": "assistant", "tool_calls": [called]}, {"role": "assistant", "content": [used]}):
        one = span("llm", **{"gen_ai.output.messages": json.dumps([answer])})
        assert _genai.requests(one, Memo()) is None
        found = conventions.requests(one, Memo(), conventions.classify(one)[0])
        assert ["f"] == [part.name for part in found or ()]


def test_what_to_switch_on() -> None:
    """Missing content is a matter of AG2's own arguments, not of a variable."""
    assert "capture_content" in conventions.content_switch(span("llm"), some=False)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"agent.name": "user", "ag2.recipient.name": "helper"}, "workflow"),
        ({"agent.name": "_Group_Tool_Executor"}, "workflow"),
        ({}, "workflow"),
        ({"agent.name": "helper"}, "agent"),
    ],
)
def test_agents_of_openinference(attributes: dict[str, object], kind: str) -> None:
    """A chat is no agent, nor is who only runs the tools of a group, nor what has no name."""
    assert kind == conventions.classify(by_openinference("AGENT", **attributes))[1]
    assert ag2.kind(by_openinference("CHAIN")) is None


@pytest.mark.parametrize("given", ['{"a": 1}', '"{\\"a\\": 1}"'])
def test_tools_of_openinference(given: str) -> None:
    """The arguments, encoded twice of old, and the content of the message without the flag beside it."""
    told = {
        "tool.name": "f",
        "tool_call.id": "c1",
        "tool_call.function.arguments": given,
        "input.value": json.dumps({"name": "f", "arguments": '{"a": 1}'}),
    }
    answer = {"name": "f", "role": "function", "content": "6840000.0"}
    (fine, failed) = (
        by_openinference("TOOL", **told, **{"output.value": json.dumps([went, answer])}) for went in (True, False)
    )
    read = conventions.tool(fine, Memo(), conventions.classify(fine)[0])
    assert ({"a": 1}, "6840000.0", "c1", False) == (
        json.loads(read.arguments) if isinstance(read.arguments, str) else read.arguments,
        read.result,
        read.call_id,
        read.failed,
    )
    assert ag2.tool(failed, Memo()).failed
    assert not ag2.tool(by_openinference("TOOL", **told), Memo()).failed


def test_the_answer_of_openinference() -> None:
    """The last message of a chat, also where it was written as JSON."""
    for written in ("68 million", '"68 million"'):
        assert AgentFields(answer="68 million") == ag2.agent(
            by_openinference("AGENT", **{"output.value": written}), Memo()
        )


def test_handoffs() -> None:
    """The target stands in the result: the tool's name carries a number that is not the agent's."""
    own = span("tool", **{"gen_ai.tool.call.result": "Transfer to helper"})
    assert HandoffFields(None, "helper") == ag2.handoff(own, Memo())
    told = json.dumps([True, {"content": {"agent_name": "helper"}}])
    assert HandoffFields(None, "helper") == ag2.handoff(by_openinference("TOOL", **{"output.value": told}), Memo())
    assert ag2.handoff(span("tool", **{"gen_ai.tool.call.result": "6840000.0"}), Memo()) is None
    assert ag2.handoff(by_openinference("TOOL", **{"output.value": '[true, {"content": {}}]'}), Memo()) is None


@given(spans(ag2.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(ag2.CONVENTION, one)
