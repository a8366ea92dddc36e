"""Messages of a conversation, whatever the library that wrote them."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions._messages import (
    definitions_of,
    message_of,
    messages_of,
    part_of,
    plain,
)
from spanwise.model.content import Memo, Message, Part, ToolDefinition

CALL = Part("tool_call", "", "c1", "search", {"q": "a"})
SCHEMA = {"type": "object", "properties": {}}


def text(role: str, said: str) -> Message:
    """A message of text."""
    return Message(role, (Part("text", said),))


def result(value: object, *, call_id: str | None = "c1", name: str | None = None, failed: bool = False) -> Message:
    """A message that gives a tool's result back."""
    return Message("tool", (Part("tool_result", "", call_id, name, value, failed),))


ARGUMENTS = '{"q": "a"}'
SHAPES: list[tuple[str, object, Message]] = [
    ("GenAI text", {"role": "user", "parts": [{"type": "text", "content": "hi"}]}, text("user", "hi")),
    (
        "GenAI call",
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "a"}}]},
        Message("assistant", (CALL,)),
    ),
    (
        "GenAI response",
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "r"}]},
        result("r"),
    ),
    (
        "GenAI result",
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": [1, 2]}]},
        result([1, 2]),
    ),
    (
        "GenAI reasoning",
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "so"}]},
        Message("assistant", (Part("reasoning", "hm"), Part("text", "so"))),
    ),
    (
        "GenAI blob",
        {"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "AA=="}]},
        Message("user", (Part("other", "AA=="),)),
    ),
    (
        "GenAI provider's tool",
        {
            "role": "assistant",
            "parts": [{"type": "server_tool_call", "id": "c1", "name": "search", "server_tool_call": {"q": "a"}}],
        },
        Message("assistant", (CALL,)),
    ),
    (
        "GenAI provider's tool, arguments inside",
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "server_tool_call",
                    "id": "c1",
                    "name": "search",
                    "server_tool_call": {"type": "web", "arguments": {"q": "a"}},
                }
            ],
        },
        Message("assistant", (CALL,)),
    ),
    (
        "GenAI provider's result",
        {
            "role": "assistant",
            "parts": [
                {"type": "server_tool_call_response", "id": "c1", "server_tool_call_response": {"response": "r"}}
            ],
        },
        Message("assistant", result("r").parts),
    ),
    ("OpenAI text", {"role": "user", "content": "hi"}, text("user", "hi")),
    ("OpenAI developer", {"role": "developer", "content": "be brief"}, text("system", "be brief")),
    (
        "OpenAI parts",
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, "there"]},
        Message("user", (Part("text", "hi"), Part("text", "there"))),
    ),
    (
        "OpenAI call",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "search", "arguments": ARGUMENTS}},
            ],
        },
        Message("assistant", (CALL,)),
    ),
    ("OpenAI result", {"role": "tool", "tool_call_id": "c1", "content": "r"}, result("r")),
    (
        "OpenAI function",
        {"role": "function", "name": "search", "content": "r"},
        result("r", call_id=None, name="search"),
    ),
    (
        "Responses call",
        {"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "search", "arguments": ARGUMENTS},
        Message("assistant", (CALL,)),
    ),
    ("Responses result", {"type": "function_call_output", "call_id": "c1", "output": "r"}, result("r")),
    ("Responses reasoning", {"type": "reasoning", "content": "hm"}, Message("assistant", (Part("reasoning", "hm"),))),
    (
        "Responses message",
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        text("assistant", "so"),
    ),
    (
        "Anthropic call",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "a"}}]},
        Message("assistant", (CALL,)),
    ),
    (
        "Anthropic result",
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}],
        },
        Message("user", result("no", failed=True).parts),
    ),
    (
        "Anthropic thinking",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        Message("assistant", (Part("reasoning", "hm"),)),
    ),
    (
        "Bedrock call",
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "search", "input": {"q": "a"}}}]},
        Message("assistant", (CALL,)),
    ),
    (
        "Bedrock result",
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "no"}]}}],
        },
        Message("user", result("no", failed=True).parts),
    ),
    ("Bedrock text", {"role": "user", "content": [{"text": "hi"}]}, text("user", "hi")),
    (
        "Gemini call",
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "search", "args": {"q": "a"}}}]},
        Message("assistant", (CALL,)),
    ),
    (
        "Gemini result",
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "search", "response": {"result": "r"}}}]},
        Message("user", result("r", name="search").parts),
    ),
    (
        "Gemini thought",
        {"role": "model", "parts": [{"text": "hm", "thought": True}]},
        Message("assistant", (Part("reasoning", "hm"),)),
    ),
    (
        "LangChain constructor",
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "search", "args": {"q": "a"}}]},
        },
        Message("assistant", (CALL,)),
    ),
    (
        "LangChain constructor without a class",
        {"lc": 1, "id": [], "kwargs": {"content": "hi", "type": "human"}},
        text("user", "hi"),
    ),
    (
        "LangChain tool",
        {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": "no", "tool_call_id": "c1", "status": "error"}},
        result("no", failed=True),
    ),
    ("LangChain data", {"type": "human", "data": {"content": "hi", "id": "m1"}}, text("user", "hi")),
    (
        "LangChain raw calls",
        {
            "role": "ai",
            "content": "",
            "additional_kwargs": {
                "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": ARGUMENTS}}],
            },
        },
        Message("assistant", (CALL,)),
    ),
    (
        "LlamaIndex blocks",
        {"role": "user", "blocks": [{"block_type": "text", "text": "hi"}]},
        text("user", "hi"),
    ),
    (
        "LlamaIndex tool",
        {
            "role": "tool",
            "blocks": [{"block_type": "text", "text": "r"}],
            "additional_kwargs": {"tool_call_id": "c1"},
        },
        result("r"),
    ),
    (
        "Vercel call",
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "search", "input": {"q": "a"}}],
        },
        Message("assistant", (CALL,)),
    ),
    (
        "Vercel result",
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "search",
                    "output": {"type": "error-text", "value": "no"},
                }
            ],
        },
        result("no", name="search", failed=True),
    ),
    ("choice", {"index": 0, "message": {"role": "assistant", "content": "so"}}, text("assistant", "so")),
    ("a role nobody knows", {"role": "critic", "content": "hm"}, text("critic", "hm")),
    ("no role", {"content": "so"}, text("assistant", "so")),
    ("nothing", {"role": "assistant", "content": None}, Message("assistant", ())),
    ("an empty result", {"role": "tool", "id": "c1"}, result(None)),
    ("a result of nobody", {"role": "tool"}, Message("tool", ())),
]


@pytest.mark.parametrize(("shape", "message"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_shapes(shape: object, message: Message) -> None:
    """Each library's message reads the same: as a value, as JSON text, alone, in a list, in a wrapping object."""
    for value in (shape, [shape], (shape,), [json.dumps(shape)], json.dumps([shape]), [[shape]], {"messages": [shape]}):
        assert (message,) == messages_of(value, Memo())


def test_plain_text_is_the_users() -> None:
    """Text in a list of messages is what the user said; empty text and what is no message is nothing."""
    assert (text("user", "hi"),) == messages_of(["hi", "", 7, None], Memo())


@pytest.mark.parametrize("value", [None, "", "hi", [], "[]", 3, [None], [[]], {"messages": []}])
def test_no_messages(value: object) -> None:
    """Where there are no messages there are none, which is not the same as an empty conversation."""
    assert None is messages_of(value, Memo())


@pytest.mark.parametrize("key", ["messages", "contents", "input_messages", "chat_history"])
def test_wrapping_objects(key: str) -> None:
    """A list of messages is found in what wraps it."""
    assert (text("user", "hi"),) == messages_of({key: [{"role": "user", "content": "hi"}], "n": 1}, Memo())


def test_a_call_recorded_twice() -> None:
    """A call that stands among the parts and in the list of calls is one; calls without an id are each one."""
    block = {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "a"}}
    listed = {"id": "c1", "function": {"name": "search", "arguments": ARGUMENTS}}
    bare = {"function": {"name": "search", "arguments": ARGUMENTS}}
    (message,) = messages_of([{"role": "assistant", "content": [block], "tool_calls": [listed, bare, 7]}], Memo()) or ()
    assert (CALL, Part("tool_call", "", None, "search", {"q": "a"})) == message.parts


def test_calls_that_stand_in_a_block_without_an_id() -> None:
    """LangChain keeps Google's blocks beside its own list of calls: a block is the listed call that says the same."""
    block = {"functionCall": {"name": "search", "args": {"q": "a"}}}
    other = {"functionCall": {"name": "search", "args": {"q": "b"}}}
    listed = [{"id": i, "name": "search", "args": {"q": q}} for i, q in (("c1", "a"), ("c2", "a"), ("c3", "c"))]
    (message,) = (
        messages_of([{"role": "assistant", "content": [block, block, other], "tool_calls": listed}], Memo()) or ()
    )
    expected = [("c1", "a"), ("c2", "a"), (None, "b"), ("c3", "c")]
    assert [Part("tool_call", "", i, "search", {"q": q}) for i, q in expected] == list(message.parts)


def test_a_call_that_stands_as_its_stream_began() -> None:
    """Of a stream of Anthropic's LangChain keeps the block with which a call began: its list has the arguments."""
    block = {"type": "tool_use", "id": "c1", "name": "search", "input": ""}
    listed = {"id": "c1", "name": "search", "args": {"q": "a"}}
    (message,) = messages_of([{"role": "assistant", "content": [block], "tool_calls": [listed]}], Memo()) or ()
    assert (CALL,) == message.parts


def test_results_with_their_origin() -> None:
    """A result that carries the call which it answers has that call's id and name, and its own word for a failure."""
    part = part_of(
        {"type": "tool_result", "result": "no", "error": True, "origin": {"id": "c1", "tool_name": "search"}}, Memo()
    )
    assert Part("tool_result", "", "c1", "search", "no", error=True) == part


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("text", "text"),
        ("[1, 2]", [1, 2]),
        ([{"text": "[1, 2]"}], [1, 2]),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], [{"type": "text", "text": "a"}, {"type": "image"}]),
        ([{"type": "text"}], [{"type": "text"}]),
        ([1, 2], [1, 2]),
        ([], []),
        ({"result": "7"}, 7),
        ({"output": "text"}, "text"),
        ({"content": "text"}, "text"),
        ({"result": 7}, {"result": 7}),
        ({"result": "a", "more": 1}, {"result": "a", "more": 1}),
        (None, None),
    ],
)
def test_results_as_the_tool_returned_them(recorded: object, value: object) -> None:
    """Blocks of text around a result, and an object around one text, are taken off; anything else is the result."""
    assert value == plain(recorded, Memo())


def test_calls_that_langchain_refused() -> None:
    """A call whose arguments are no JSON is one that the model asked for, with the text as it wrote it."""
    valid = {"name": "add", "args": {"a": 1}, "id": "c2", "type": "tool_call"}
    refused = {"type": "invalid_tool_call", "id": "c1", "name": "add", "args": '{"a": 1, "b": ', "error": "no JSON"}
    read = message_of(
        {"role": "assistant", "content": "", "tool_calls": [valid], "invalid_tool_calls": [refused, {"id": "c2"}]},
        Memo(),
    )
    assert (
        Part("tool_call", "", "c2", "add", {"a": 1}),
        Part("tool_call", "", "c1", "add", '{"a": 1, "b": '),
    ) == read.parts


def test_definitions_that_were_cut() -> None:
    """The name of a tool whose schema was cut stands near its beginning; one without a name is not known."""
    cut = '{"type":"function","name":"search","inputSchema":{"$schema":"http'
    assert (ToolDefinition("search"), ToolDefinition("plain")) == definitions_of([cut, "plain", '{"type":"fun'], Memo())


@pytest.mark.parametrize(("content", "value"), [(False, False), (0, 0), ([], []), ("", ""), (None, None)])
def test_results_that_are_empty_or_false(content: object, value: object) -> None:
    """What a tool returned is its result also where that counts for nothing; null is not told from nothing recorded."""
    read = message_of({"role": "tool", "tool_call_id": "c1", "name": "shut", "content": content}, Memo())
    assert (Part("tool_result", "", "c1", "shut", value),) == read.parts
