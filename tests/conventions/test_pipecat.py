"""Pipecat's own spans: turns, models whose requests stand in the next input, live models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import pipecat
from spanwise.model.content import ContextFields, LLMFields, Memo, Message, Messages, Part, ToolDefinition, ToolFields
from spanwise.model.raw import EMPTY, RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.making import span as at_place
from tests.recordings_io import made

OP = "gen_ai.operation.name"
OWN = Scope("pipecat", "", EMPTY)
KEYS = (
    "turn.number", OP, "input", "output", "tools", "tools.definitions", "gen_ai.system_instructions", "metrics.ttfb",
    "tool.function_name", "tool.result", "function_calls.all_names", "gen_ai.usage.input_tokens", "conversation.id",
)  # fmt: skip
WORDS = ("chat", "role", "user", "content", "tool_calls", "function", "name", "function_declarations", "llm_response")


def span(operation: str, **attributes: object) -> RawSpan:
    """A span of a service."""
    return made("x", scope="pipecat", attributes={OP: operation, **attributes})


def asking(call_id: str, name: str = "add") -> dict[str, object]:
    """The message of a single call, as Pipecat writes it into the context."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": '{"a": 1}'}}
    return {"role": "assistant", "tool_calls": [call]}


def told(call_id: str, result: str = "2") -> dict[str, object]:
    """What the model is told of a call."""
    return {"role": "tool", "content": result, "tool_call_id": call_id}


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("chat", "llm"),
        ("llm_response", "llm"),
        ("llm_tool_result", "tool"),
        ("llm_tool_call", "other"),
        ("llm_setup", "setup"),
        ("tts", "other"),
    ],
)
def test_kinds(operation: str, kind: str) -> None:
    """The operation says what a service did."""
    assert kind == conventions.classify(span(operation))[1]


def test_turns() -> None:
    """A turn is a run, the conversation around all of them is none."""
    turn = made("turn", scope="pipecat.turn", attributes={"turn.number": 1})
    whole = made("conversation", scope="pipecat.turn", attributes={"conversation.id": "s"})
    assert ("workflow", "other") == (conventions.classify(turn)[1], conventions.classify(whole)[1])


def test_messages() -> None:
    """The system's text stands apart; what was said is text alone."""
    attributes = {"gen_ai.system_instructions": "Be kind.", "output": "Two."}
    said = (Message("assistant", (Part("text", "Two."),)),)
    instructions, question = Message("system", (Part("text", "Be kind."),)), Message("user", (Part("text", "Add."),))
    sent = [{"role": "user", "content": "Add."}]
    read = pipecat.messages(span("chat", input=json.dumps(sent), **attributes), Memo())
    assert Messages((instructions, question), said) == read
    listed = json.dumps([{"role": "system", "content": "Be kind."}, *sent])
    assert read == pipecat.messages(span("chat", input=listed, **attributes), Memo())
    assert Messages() == pipecat.messages(span("chat"), Memo())


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("The function `add` failed and returned no result.", True),
        ("The function `sub` is not currently available.", True),
        ("The function `f` is odd.", False),
        ("2", False),
    ],
)
def test_failures(result: str, failed: bool) -> None:
    """Pipecat's own sentences say that a function failed or is not there."""
    sent = json.dumps([asking("c1"), told("c1", result)])
    found = pipecat.messages(span("chat", input=sent), Memo()).input
    assert [failed] == [part.error for message in found for part in message.parts if part.type == "tool_result"]


def test_usage() -> None:
    """The first byte is counted in seconds; Anthropic's input lacks what the cache took part in."""
    used = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.cache_read.input_tokens": 7, "metrics.ttfb": 0.25}
    openai = span("chat", **used, **{"gen_ai.provider.name": "openai"})
    assert LLMFields(None, "openai", 5, None, 7, ttft_ms=250.0) == pipecat.llm(openai, Memo())
    timed = span("chat", **used, **{"gen_ai.response.time_to_first_chunk": 0.5})
    assert 500.0 == pipecat.llm(timed, Memo()).ttft_ms
    claude = span("chat", **used, **{"gen_ai.provider.name": "anthropic"})
    assert 12 == pipecat.llm(claude, Memo()).input_tokens


def test_live_models() -> None:
    """What was sent back is the call; what was asked for is known by its name."""
    back = {"tool.function_name": "add", "tool.call_id": "c1", "tool.result": "{}", "tool.result_status": "error"}
    assert ToolFields("add", None, "{}", "c1", True) == pipecat.tool(span("llm_tool_result", **back), Memo())
    (message,) = pipecat.output(span("llm_response", **{"function_calls.all_names": "add,sub"}), Memo())
    assert ["add", "sub"] == [part.name for part in message.parts]


def test_definitions() -> None:
    """Tools in OpenAI's form, and in Gemini's, where they stand in a list of their own."""
    openai = json.dumps([{"type": "function", "function": {"name": "add"}}])
    gemini = json.dumps([{"function_declarations": [{"name": "add"}]}])
    for told_by in ({"tools": openai}, {"tools": gemini}, {"tools.definitions": openai}):
        assert (ToolDefinition("add"),) == pipecat.definitions(span("chat", **told_by), Memo())
    assert pipecat.definitions(span("chat"), Memo()) is None


def test_context() -> None:
    """The conversation is the session unless the app names one."""
    assert ContextFields("s", "u") == pipecat.context(made(attributes={"conversation.id": "s", "user_id": "u"}), Memo())
    named = made(attributes={"conversation.id": "s", "session.id": "own"})
    assert "own" == pipecat.context(named, Memo()).session_id


def test_requests_stand_in_the_next_input() -> None:
    """Whatever was said beside them, calls are those of the model that was told of them next; parallel ones, too."""
    question = {"role": "user", "content": "Add."}
    first = [asking("c1"), told("c1"), asking("c2", "sub"), told("c2")]
    inputs = [[question], [question, *first], [question, *first, asking("c3"), told("c3")]]
    tree = [
        at_place(1, end=99, scope=OWN, attributes={"turn.number": 1}),
        *(
            at_place(10 * n, parent=1, scope=OWN, attributes={OP: "chat", "input": json.dumps(sent), "output": "Well."})
            for n, sent in enumerate(inputs, 1)
        ),
    ]
    (run,) = build_trace("0" * 32, tree).runs
    expected = [("add", "c1", 20), ("sub", "c2", 20), ("add", "c3", 30)]
    assert expected == [(call.name, call.call_id, call.start_ns) for call in run.tool_calls]
    assert ("Add.", "Well.") == (run.query, run.answer)


@given(spans(pipecat.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(pipecat.CONVENTION, one)
