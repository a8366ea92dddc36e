"""LiveKit Agents' own spans: turns, tools that fail without a status, content of its own and GenAI's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import livekit
from spanwise.model.content import AgentFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import EMPTY, RawSpan, Scope
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.making import span as at_place
from tests.recordings_io import made

SCOPE = "livekit-agents"
OWN = Scope(SCOPE, "", EMPTY)
NAMES = ("agent_turn", "function_tool", "llm_node", "llm_request")
KEYS = (
    "lk.pii.chat_ctx", "lk.chat_ctx", "lk.pii.user_input", "lk.pii.response.text", "lk.pii.response.function_calls",
    "lk.function_tool.name", "lk.function_tool.is_error", "lk.pii.function_tool.output", "gen_ai.operation.name",
    "gen_ai.output.messages", "error.type",
)  # fmt: skip
WORDS = ("items", "type", "message", "role", "content", "function_call", "call_id", "name", "arguments", "chat")


def span(name: str, **attributes: object) -> RawSpan:
    """A span of LiveKit's."""
    return made(name, scope=SCOPE, attributes=attributes)


@pytest.mark.parametrize(
    ("name", "operation", "kind"),
    [
        ("agent_session", "invoke_workflow", "other"),
        ("agent_turn", "invoke_agent", "agent"),
        ("function_tool", None, "tool"),
        ("llm_node", None, "llm"),
        ("llm_request", None, "llm"),
        ("start_agent_activity", "create_agent", "setup"),
        ("judge_evaluation", None, "evaluation"),
        ("tts_node", None, "other"),
    ],
)
def test_kinds(name: str, operation: str | None, kind: str) -> None:
    """The name tells most spans, with or without an operation; a session is no run, its turns are."""
    told = {} if operation is None else {"gen_ai.operation.name": operation}
    assert kind == conventions.classify(span(name, **told))[1]


@pytest.mark.parametrize("marked", ["lk.pii.", "lk."])
def test_a_tool_that_failed(marked: str) -> None:
    """Neither status nor GenAI's result tells; LiveKit's own attributes do, in older releases without `pii`."""
    held = {"lk.function_tool.name": "add", "lk.function_tool.id": "c1", "lk.function_tool.is_error": True}
    content = {f"{marked}function_tool.arguments": '{"a":1}', f"{marked}function_tool.output": "no"}
    one = span("function_tool", **held, **content)
    assert ToolFields("add", '{"a":1}', "no", "c1", failed=True) == livekit.tool(one, Memo())
    dialect = conventions.classify(one)[0]
    assert (True, SpanError(message="no")) == (conventions.failed(one, dialect), conventions.error(one))
    worked = span("function_tool", **{**held, "lk.function_tool.is_error": False}, **content)
    assert (False, None) == (conventions.failed(worked, dialect), conventions.error(worked))


def test_turns() -> None:
    """A turn has its question and its answer; one that the agent began itself has no question."""
    said = {"lk.pii.response.text": "Two.", "gen_ai.agent.name": "helper"}
    asked = span("agent_turn", **said, **{"lk.pii.user_input": "Add."})
    assert AgentFields("helper", "Add.", "Two.") == livekit.agent(asked, Memo())
    older = span("agent_turn", **{"lk.agent_label": "helper", "lk.user_input": "Add."})
    assert AgentFields("helper", "Add.") == livekit.agent(older, Memo())
    assert livekit.agent_name(span("function_tool", **said)) is None


def test_each_turn_is_a_run() -> None:
    """The question of one turn and the answer of another are not put together."""
    tree = [
        at_place(1, end=99, name="agent_session", scope=OWN, attributes={"gen_ai.operation.name": "invoke_workflow"}),
        *(
            at_place(
                10 * n, parent=1, name="agent_turn", scope=OWN,
                attributes={"lk.pii.user_input": f"Q{n}", "lk.pii.response.text": f"A{n}"},
            )
            for n in (1, 2)
        ),
    ]  # fmt: skip
    assert [("Q1", "A1"), ("Q2", "A2")] == [(run.query, run.answer) for run in build_trace("0" * 32, tree).runs]


def test_messages_of_a_node() -> None:
    """A node holds what GenAI's attributes were told to leave out."""
    context = {
        "items": [
            {"type": "message", "role": "user", "content": ["Add."]},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "name": "add", "output": "no", "is_error": True},
        ]
    }
    calls = [{"id": "item_1", "call_id": "c2", "name": "add", "arguments": '{"a": 1}'}]
    held = {"lk.pii.chat_ctx": json.dumps(context), "lk.pii.response.text": "Well."}
    node = span("llm_node", **held, **{"lk.pii.response.function_calls": json.dumps(calls)})
    expected = Messages(
        (
            Message("user", (Part("text", "Add."),)),
            Message("assistant", (Part("tool_call", "", "c1", "add", {}),)),
            Message("tool", (Part("tool_result", "", "c1", "add", "no", True),)),
        ),
        (Message("assistant", (Part("text", "Well."), Part("tool_call", "", "c2", "add", {"a": 1}))),),
    )
    assert expected == livekit.messages(node, Memo())
    assert Messages() == livekit.messages(span("llm_node"), Memo())
    assert livekit.output(span("agent_turn", **held), Memo()) is None


@given(spans(livekit.CONVENTION, keys=KEYS, words=WORDS, names=NAMES))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(livekit.CONVENTION, one)
