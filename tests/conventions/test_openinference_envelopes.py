"""Messages in the requests, responses, states and transcripts that inputs and outputs hold."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions._openinference_envelopes import (
    asked_messages,
    complete,
    filled,
    held_messages,
    is_unsaid,
    recorded,
    said_messages,
)
from spanwise.model.content import Memo, Message, Part

HI = Message("user", (Part("text", "hi"),))
HELLO = Message("assistant", (Part("text", "hello"),))
ADD = Message("assistant", (Part("tool_call", "", "call_1", "add", {"a": 1}),))
OPENAI_ADD = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"messages": [{"role": "user", "content": "hi"}]}, (HI,)),
        ({"messages": [[{"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"content": "hi", "type": "human"}}]]}, (HI,)),
        ({"messages": [{"type": "human", "data": {"content": "hi", "type": "human"}}]}, (HI,)),
        ({"messages": ["ChatMessage(role=<R.USER: 'user'>, blocks=[TextBlock(text='hi')])"]}, (HI,)),
        ({"agent": {"messages": ["ChatMessage(_role='user', _content=[TextContent(text='hi')])"]}}, (HI,)),
        ({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}]}, (HELLO,)),
        ({"choices": [{"finish_reason": "stop", "text": "hello"}]}, (HELLO,)),
        (
            {
                "generations": [
                    [{"text": "", "message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "hello"}}}]
                ]
            },
            (HELLO,),
        ),
        ({"generations": [[{"text": "hello", "generation_info": None}]]}, (HELLO,)),
        ({"candidates": [{"content": {"parts": [{"text": "hello"}], "role": "model"}}]}, (HELLO,)),
        ({"content": {"parts": [{"text": "hello"}], "role": "model"}, "partial": False}, (HELLO,)),
        ({"role": "assistant", "content": [{"type": "text", "text": "hello"}]}, (HELLO,)),
        ({"message": {"role": "assistant", "tool_calls": [OPENAI_ADD]}, "raw": {}}, (ADD,)),
        ({"output": [{"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 1}'}]}, (ADD,)),
        ([{"graph": None, "update": {"messages": [{"role": "assistant", "content": "hello"}]}}], (HELLO,)),
        ([{"tool_calls": [OPENAI_ADD]}], (ADD,)),
        ({"type": "ai", "content": "hello"}, (HELLO,)),
        ({"a": {"b": 1}, "c": {"replies": [{"role": "assistant", "content": "hello"}]}}, (HELLO,)),
        ({"text": "hello"}, None),
        ({"type": "Document", "page_content": "hello"}, None),
        ({"a": {"b": 1}}, None),
        ({"messages": []}, None),
        ([1, "x", None], None),
        ({}, None),
        ("text", None),
        (None, None),
    ],
)
def test_envelopes(value: object, expected: tuple[Message, ...] | None) -> None:
    """Each client's and framework's envelope is opened; what holds no messages gives none."""
    assert expected == held_messages(value, Memo())
    if isinstance(value, dict | list):
        assert expected == held_messages(json.dumps(value), Memo())


def test_autogen() -> None:
    """AutoGen's messages have a source and a type; summaries of tools and notes of a team are not the agent's words."""
    asked = [{"id": "call_1", "name": "add", "arguments": '{"a": 1}'}]
    value = [
        {"source": "user", "type": "TextMessage", "content": "hi"},
        {"source": "a", "type": "ToolCallRequestEvent", "content": asked},
        {"source": "a", "type": "ToolCallSummaryMessage", "content": "3"},
        {"source": "a", "type": "MultiModalMessage", "content": ["hello"]},
        {"source": "team", "type": "StopMessage", "content": "over"},
    ]
    expected = (HI, ADD, Message("tool", (Part("text", "3"),)), HELLO, Message("system", (Part("text", "over"),)))
    assert expected == held_messages({"messages": value}, Memo())


def test_depth() -> None:
    """Nesting without an end is given up."""
    nested: object = {"role": "user", "content": "hi"}
    for _ in range(20):
        nested = [nested]
    assert None is held_messages(nested, Memo())
    for _ in range(20):
        nested = {"output": {"a": nested}}
    assert None is held_messages(nested, Memo())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hi", (HI,)),
        ({"prompt": "hi", "messages": None}, (HI,)),
        ({"input": "hi"}, (HI,)),
        ({"input": [{"role": "user", "content": "hi"}]}, (HI,)),
        ({"prompt": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}, (HI,)),
        ({"model": "m"}, None),
        ("<Prompt object at 0x7f>", None),
        (None, None),
    ],
)
def test_requests(value: object, expected: tuple[Message, ...] | None) -> None:
    """A request is a conversation, a prompt or plain text."""
    assert expected == asked_messages({"input.value": value}, Memo())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hello", (HELLO,)),
        ("42", (Message("assistant", (Part("text", "42"),)),)),
        (["hello"], (HELLO,)),
        (["hello", ""], None),
        ({"role": "assistant", "content": "hello"}, (HELLO,)),
        ({"a": 1}, None),
        ("None", None),
        (None, None),
    ],
)
def test_responses(value: object, expected: tuple[Message, ...] | None) -> None:
    """A response is a message in any client's form, texts or plain text."""
    assert expected == said_messages({"output.value": value}, Memo())


def told(call_id: str | None, value: object, *, failed: bool = False) -> Message:
    """A tool's result."""
    return Message("tool", (Part("tool_result", "", call_id, None, value, error=failed),))


ANTHROPIC = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
BEDROCK = {"toolResult": {"toolUseId": "c1", "content": [{"text": "no"}], "status": "error"}}
FINE = {"type": "tool_result", "tool_use_id": "c1", "content": "no error", "is_error": False}


@pytest.mark.parametrize(
    ("block", "as_text", "failed"),
    [(ANTHROPIC, True, True), (BEDROCK, True, True), (BEDROCK, False, True), (FINE, True, False), (FINE, False, False)],
)
def test_failures_that_only_the_request_tells(block: object, as_text: bool, failed: bool) -> None:
    """Flattened results do not say whether the tool failed, the request does."""
    request = {"messages": [{"role": "user", "content": [block]}]}
    attributes = {"input.value": json.dumps(request) if as_text else request}
    sent = (HI, told("c1", "no"), told("c2", "yes"))
    assert (HI, told("c1", "no", failed=failed), told("c2", "yes")) == filled(sent, attributes, Memo())


def test_results_that_only_the_request_tells() -> None:
    """Of several results in one message of Anthropic's the last one is flattened; the request has them all."""
    system = Message("system", (Part("text", "Be brief."),))
    blocks = [{"type": "tool_result", "tool_use_id": f"c{at}", "content": str(at)} for at in (1, 2)]
    request = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": blocks}]})
    found = filled((system, HI, told("c2", 2)), {"input.value": request}, Memo())
    assert ["system", "user"] == [message.role for message in found[:2]]
    assert [("c1", 1), ("c2", 2)] == [(part.id, part.value) for message in found[2:] for part in message.parts]
    whole = (HI, told("c1", 1), told("c2", 2))
    assert whole == filled(whole, {"input.value": request}, Memo())


def test_ids_that_only_the_request_tells() -> None:
    """Flattened results without ids are those of the request, if that has ids; instructions may stand beside it."""
    system = Message("system", (Part("text", "Be brief."),))
    sent = (system, HI, told(None, "no"))
    asked = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c1", "content": "no"}]
    whole = (HI, told("c1", "no"))
    assert (system, *whole) == filled(sent, {"input.value": json.dumps({"messages": asked})}, Memo())
    asked.insert(0, {"role": "system", "content": "Be brief."})
    assert (system, *whole) == filled(sent, {"input.value": json.dumps({"messages": asked})}, Memo())
    asked[2]["tool_call_id"] = ""
    assert sent == filled(sent, {"input.value": json.dumps({"messages": asked})}, Memo())
    assert sent == filled(sent, {}, Memo())
    assert (HI,) == filled((HI,), {"input.value": json.dumps({"messages": asked})}, Memo())


def test_call_ids_that_only_the_response_tells() -> None:
    """Flattened calls that lost their ids get those of the response, if it asks for the same tools."""

    def ids(*names: str, call_id: str | None = None) -> list[str | None]:
        got = tuple(Message("assistant", (Part("tool_call", "", call_id, name, {}),)) for name in names)
        complete(got, {"output.value": json.dumps([OPENAI_ADD])}, Memo())
        return [message.parts[0].id for message in got]

    assert [ADD.parts[0].id] == ids("add")
    assert ["own"] == ids("add", call_id="own")
    assert [None, None] == ids("add", "add")
    assert [None] == ids("other")


def test_arguments_that_only_the_response_tells() -> None:
    """A flattened call without arguments has those of the response: smolagents' last model call asks so."""
    got = (Message("assistant", (Part("tool_call", "", "own", "add", {}),)),)
    complete(got, {"output.value": json.dumps([OPENAI_ADD])}, Memo())
    assert ADD.parts[0].value == got[0].parts[0].value


def test_cut_values() -> None:
    """JSON that was cut is no value; text that only begins like JSON is."""
    cut = {"output.value": '{"role": "assistant", "con', "output.mime_type": "application/json"}
    assert None is recorded(cut, "output", Memo())
    assert None is said_messages(cut, Memo())
    assert "[1] says so" == recorded({"output.value": "[1] says so"}, "output", Memo())
    text = {"output.value": "plain", "output.mime_type": "application/json"}
    assert "plain" == recorded(text, "output", Memo())


def test_unsaid() -> None:
    """Empty, removed and printed texts are nobody's words."""
    texts = {"": True, " \n": True, "None": True, "__REDACTED__": True, "Stop(result=1": True, "None of them": False}
    assert texts == {text: is_unsaid(text) for text in texts}


def test_answers_that_only_ask_for_tools() -> None:
    """A list of nothing but requested calls is what the model said; a list that holds more is something else."""
    recorded_calls = {"output.value": json.dumps([OPENAI_ADD])}
    assert (ADD,) == said_messages(recorded_calls, Memo())
    assert said_messages({"output.value": json.dumps([OPENAI_ADD, {"a": 1}])}, Memo()) is None
