"""Koog's spans: roles with a capital, hidden content, and what it writes of tools that did not run to their end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import koog
from spanwise.model.content import AgentFields, Memo, Messages
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import agent, run_of, span
from tests.recordings_io import made

KEYS = (
    "koog.event.id", "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.result", "gen_ai.agent.id",
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.usage.input_tokens",
)  # fmt: skip
WORDS = ("chat", "execute_tool", "Tool", "parts", '{"tool_call_id":', "tool_result", "text", "content", "role")
ID = {"koog.event.id": "e"}


def said(*messages: tuple[str, object]) -> str:
    """Messages of one part each, as Koog writes them."""
    return json.dumps([{"role": role, "parts": [part]} for role, part in messages])


def words(text: str) -> dict[str, object]:
    """A part that is text."""
    return {"type": "text", "content": text}


def read(*, sent: str | None = None, got: str | None = None) -> Messages:
    """The messages of a model call."""
    written = {"gen_ai.input.messages": sent, "gen_ai.output.messages": got}
    held = {key: text for key, text in written.items() if text is not None}
    return koog.messages(made("chat m", attributes={**ID, "gen_ai.operation.name": "chat", **held}), Memo())


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [({"gen_ai.operation.name": "chat"}, "llm"), ({"koog.node.id": "n"}, "other"), ({}, "other")],
)
def test_kinds(attributes: dict[str, object], kind: str) -> None:
    """Operations say what a span is; nodes are steps on the way."""
    assert ("koog", kind) == (
        conventions.CONVENTIONS[conventions.classify(made(attributes=ID | attributes))[0]].name,
        conventions.classify(made(attributes=ID | attributes))[1],
    )


def test_what_an_agent_is_called() -> None:
    """By its name or by the id that the app gave it; its own span tells no question and no answer."""
    own = said(("System", words("Be good.")))
    told = {"gen_ai.input.messages": own, "gen_ai.output.messages": own, "gen_ai.agent.id": "helper"}
    asked = made("invoke_agent helper", attributes={**ID, "gen_ai.operation.name": "invoke_agent", **told})
    assert AgentFields("helper") == conventions.agent(asked, Memo(), conventions.classify(asked)[0])
    assert None is koog.agent_name(made(attributes={"gen_ai.agent.id": "7630559b-d4b8-42f4-a1d5-37f447bd7ef0"}))


def test_messages() -> None:
    """Roles are read in small letters, and what is told as text of an invented tool as a call and a result."""
    call = '{"tool_call_id":"c","tool_name":"find","tool_args":{"q":1}}'
    result = '{"tool_call_id":"c","tool_name":"find","tool_result":"Tool with name \'find\' not found."}'
    found = read(sent=said(("User", words("Q")), ("Assistant", words(call)), ("User", words(result))))
    assert found.input is not None
    assert ["user", "assistant", "tool"] == [message.role for message in found.input]
    (asked,), (told,) = found.input[1].parts, found.input[2].parts
    assert ("tool_call", "c", "find", {"q": 1}) == (asked.type, asked.id, asked.name, asked.value)
    assert ("tool_result", "c", "Tool with name 'find' not found.") == (told.type, told.id, told.value)
    broken = read(got=said(("Assistant", words('{"tool_call_id": broken'))))
    assert broken.output is not None
    assert '{"tool_call_id": broken' == broken.output[0].text
    assert Messages() == read()


def ran(result: str, *, status: int = 0) -> RawSpan:
    """A tool's span with this result."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.id": "c"}
    given = {"gen_ai.tool.call.arguments": '{"q": 1}', "gen_ai.tool.call.result": result}
    return span(5, parent=1, attributes={**ID, **named, **given}, status=status)


@pytest.mark.parametrize(
    ("told", "status"),
    [("Tool with name 'find' not found in the tool registry.", "not_run"), ('"found"', "ok"), (None, "unknown")],
)
def test_a_tool_without_a_result(told: str | None, status: str) -> None:
    """An empty object says nothing of how a call ended: what the model was told does, if anything."""
    response = {"type": "tool_call_response", "id": "c", "result": told}
    sent = said(("User", words("Q")), ("tool", response)) if told is not None else said(("User", words("Q")))
    asked = span(20, parent=1, attributes={**ID, "gen_ai.operation.name": "chat", "gen_ai.input.messages": sent})
    run = run_of(agent(1), ran("{}"), asked)
    assert [status] == [call.status for call in run.tool_calls]


def test_results() -> None:
    """Text is JSON within JSON, and hidden content is redacted."""
    assert [[1], "HIDDEN:non-empty"] == [
        call.result
        for call in run_of(agent(1), ran('"[1]"')).tool_calls + run_of(agent(1), ran("HIDDEN:non-empty")).tool_calls
    ]
    hidden = run_of(agent(1), ran("HIDDEN:non-empty"))
    assert ["redacted", "unknown"] == [hidden.tool_calls[0].result_state, hidden.tool_calls[0].status]
    assert "setVerbose(true)" in koog.CONVENTION.content_switch


@pytest.mark.parametrize(("role", "used"), [("Tool", (170, 86)), ("Assistant", (340, 172))])
def test_usage_of_parallel_calls(role: str, used: tuple[int, int]) -> None:
    """Before 1.0 each of parallel calls is a message that repeats the usage, and the sum was recorded."""
    got = said(*[(role, {"type": "tool_call", "id": name, "name": name, "arguments": {}}) for name in ("a", "b")])
    usage = {"gen_ai.usage.input_tokens": 340, "gen_ai.usage.output_tokens": 172}
    found = koog.llm(made("chat m", attributes={**ID, "gen_ai.output.messages": got, **usage}), Memo())
    assert used == (found.input_tokens, found.output_tokens)


def test_usage_of_parallel_calls_that_are_hidden() -> None:
    """The answers are counted by their events, which have an index, unlike those of what was sent."""
    sent, first, second = ({"role": "tool", **index} for index in ({}, {"index": "0"}, {"index": "1"}))
    usage = {"gen_ai.usage.input_tokens": 340, "gen_ai.usage.output_tokens": 172}
    hidden = {**ID, "gen_ai.output.messages": "HIDDEN:non-empty", **usage}
    told = [("gen_ai.choice", event) for event in (sent, first, second)]
    found = koog.llm(made("chat m", attributes=hidden, events=told), Memo())
    assert (170, 86) == (found.input_tokens, found.output_tokens)


def test_before_it_had_names_of_its_own() -> None:
    """Arguments and results under OpenInference's names, and an answer told as that of an earlier turn would be."""
    named: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    old = made("tool.find.args.x", attributes=named | {"input.value": '{"q": 1}', "output.value": '"[1]"'})
    said_last = ("gen_ai.assistant.message", {"role": "assistant", "content": "A"})
    chat = made("llm.x", attributes={"gen_ai.operation.name": "chat"}, events=[said_last])
    assert ('{"q": 1}', '"[1]"') == (
        (found := conventions.tool(old, Memo(), conventions.classify(old)[0])).arguments,
        found.result,
    )
    assert ["A"] == [message.text for message in conventions.output(chat, Memo(), conventions.classify(chat)[0]) or ()]


@given(spans(koog.CONVENTION, keys=KEYS, words=WORDS))
def test_never_raises(given_span: RawSpan) -> None:
    """Whatever the attributes hold, nothing is raised."""
    assert read_all(koog.CONVENTION, given_span)
