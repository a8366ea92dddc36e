"""Messages in events, definitions of tools, and values of any type where messages should be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions._messages import (
    definition_of,
    definitions_of,
    items,
    messages_of,
    operation_details,
    per_message_events,
    plain,
)
from spanwise.model.content import Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import RawEvent
from tests.conventions.robustness import values
from tests.making import span

CALL = Part("tool_call", "", "c1", "search", {"q": "a"})
SCHEMA = {"type": "object", "properties": {}}


def text(role: str, said: str) -> Message:
    """A message of text."""
    return Message(role, (Part("text", said),))


def result(value: object, *, call_id: str | None = "c1", name: str | None = None, failed: bool = False) -> Message:
    """A message that gives a tool's result back."""
    return Message("tool", (Part("tool_result", "", call_id, name, value, failed),))


ARGUMENTS = '{"q": "a"}'


def test_one_event_per_message() -> None:
    """Messages that stand in one event each, in attributes or body, are read in order; a choice is the answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": ARGUMENTS}}
    events = [
        RawEvent("gen_ai.system.message", 1, {"content": "be brief"}),
        RawEvent("", 2, {"event.name": "gen_ai.user.message"}, {"content": "hi"}),
        RawEvent("gen_ai.assistant.message", 3, {}, json.dumps({"tool_calls": [call]})),
        RawEvent("gen_ai.tool.message", 4, {"id": "c1", "content": '[{"text": "r"}]'}),
        RawEvent("gen_ai.user.message", 5, {"content": {"role": "user", "parts": [{"text": "go on"}]}}),
        RawEvent("gen_ai.user.message", 6, {"content": "<elided>"}),
        RawEvent("gen_ai.user.message", 7, {}),
        RawEvent("something.else", 8, {"content": "x"}),
        RawEvent("gen_ai.choice", 9, {"message": '{"content": "so"}', "finish_reason": "stop"}),
        RawEvent("gen_ai.choice", 10, {"message": "thus"}),
        RawEvent("gen_ai.choice", 11, {}, {"tool_calls": [call]}),
    ]
    expected = Messages(
        (
            text("system", "be brief"),
            text("user", "hi"),
            Message("assistant", (CALL,)),
            result("r"),
            text("user", "go on"),
        ),
        (text("assistant", "so"), text("assistant", "thus"), Message("assistant", (CALL,))),
    )
    assert expected == per_message_events(span(1, events=events), Memo())


def test_one_event_for_all_messages() -> None:
    """An event with all messages of a call is read from its attributes or its body."""
    sent, got = [{"role": "user", "content": "hi"}], [{"role": "assistant", "content": "so"}]
    for event in (
        RawEvent("d", 1, {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": got}),
        RawEvent("d", 1, {}, {"gen_ai.input.messages": sent, "gen_ai.output.messages": json.dumps(got)}),
    ):
        found = operation_details(span(1, events=[RawEvent("first", 0, {}), event]), Memo())
        assert Messages((text("user", "hi"),), (text("assistant", "so"),)) == found


def test_an_event_for_each_item_of_an_answer() -> None:
    """OpenAI's instrumentation in JavaScript tells each item of a streamed response alone: all are the answer."""
    events = [
        RawEvent("d", at, {"gen_ai.output.messages": [{"role": "assistant", "content": said}]})
        for at, said in enumerate(("so", "thus", "so"))
    ]
    expected = (text("assistant", "so"), text("assistant", "thus"))
    assert expected == operation_details(span(1, events=events), Memo()).output


@pytest.mark.parametrize(
    ("recorded", "definition"),
    [
        ("search", ToolDefinition("search")),
        ({"name": "search", "description": "d", "parameters": SCHEMA}, ToolDefinition("search", "d", SCHEMA)),
        (
            {"type": "function", "function": {"name": "search", "parameters": SCHEMA}},
            ToolDefinition("search", "", SCHEMA),
        ),
        ({"name": "search", "input_schema": json.dumps(SCHEMA)}, ToolDefinition("search", "", SCHEMA)),
        ({"name": "search", "input_schema": "{broken"}, ToolDefinition("search")),
        ({"toolSpec": {"name": "search", "inputSchema": {"json": SCHEMA}}}, ToolDefinition("search", "", SCHEMA)),
        (
            {"name": "search", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
            ToolDefinition("search", "", SCHEMA, {"readOnlyHint": True}),
        ),
        ({"tool_name": "search"}, ToolDefinition("search")),
        ({"description": "nameless"}, None),
        ("", None),
        (7, None),
    ],
)
def test_definitions(recorded: object, definition: ToolDefinition | None) -> None:
    """A tool's definition in the form of any provider is its name, description, schema and annotations."""
    assert definition == definition_of(recorded)
    expected = () if definition is None else (definition,)
    assert [expected, expected] == [definitions_of(value, Memo()) for value in ([recorded], json.dumps([recorded]))]


def test_googles_tools_declare_several_functions() -> None:
    """A tool of Google's stands for the functions that it declares, in either spelling."""
    declared = [{"name": "search", "parameters_json_schema": SCHEMA}, {"name": "ping"}]
    tools = [{"function_declarations": declared[:1]}, {"functionDeclarations": declared[1:]}, {"google_search": {}}]
    assert (ToolDefinition("search", "", SCHEMA), ToolDefinition("ping")) == definitions_of(json.dumps(tools), Memo())


def test_no_definitions() -> None:
    """What is no list defines no tools, which is not the same as an empty list."""
    assert [None, None, ()] == [definitions_of(value, Memo()) for value in (None, "search", [])]


def test_lists() -> None:
    """Lists and tuples are lists, text is none."""
    assert [[1], (1,), None, None] == [items(value) for value in ([1], (1,), "1", {})]


WORDS = [
    "role", "content", "parts", "type", "text", "tool_call", "tool_result", "tool", "id", "name", "arguments",
    "message", "messages", "kwargs", "lc", "data", "function", "tool_calls", "toolUse", "toolResult", "function_call",
    "origin",
    "additional_kwargs", "server_tool_call", "server_tool_call_response", "output", "value", "response", "block_type",
    "inputSchema", "json", "annotations", "toolSpec",
]  # fmt: skip


@pytest.mark.parametrize("odd", [[], {}, 7, None, ["text"], {"text": "text"}])
def test_odd_types(odd: object) -> None:
    """A type, role or name that is no text is as good as none, wherever it stands."""
    memo = Memo()
    block = {"type": odd, "block_type": odd, "kind": odd, "name": odd, "id": odd, "text": "t"}
    for role in ("tool", "user", odd):
        messages = messages_of([{"role": role, "type": odd, "content": [block], "id": odd}], memo) or ()
        assert 1 == len(messages)
        assert isinstance(messages[0].role, str)
    assert "t" in str(plain([block], memo))


@given(values(WORDS), values(WORDS))
def test_anything(one: object, other: object) -> None:
    """No value raises, be it messages, parts, results, definitions or events; what is read is text and parts."""
    memo = Memo()
    for message in messages_of(one, memo) or ():
        assert isinstance(message.role, str)
        assert all(isinstance(part, Part) and isinstance(part.text, str) for part in message.parts)
    definitions_of(one, memo)
    plain(one, memo)
    names = ["gen_ai.user.message", "gen_ai.tool.message", "gen_ai.choice"]
    events = [RawEvent(name, 1, {"content": one, "message": one, "id": other}, other) for name in names]
    events += [RawEvent("x", 1, {"gen_ai.input.messages": one}, {"gen_ai.output.messages": other})]
    per_message_events(span(1, events=events), memo)
    operation_details(span(1, events=events), memo)


def test_results_that_are_told_twice() -> None:
    """Botocore tells results alone and again in the user's message, which also says what failed; that one counts."""

    def block(call_id: str, status: str) -> dict[str, object]:
        return {"toolResult": {"toolUseId": call_id, "content": [{"text": f"r{call_id}"}], "status": status}}

    alone = [
        RawEvent("gen_ai.tool.message", 1, {}, {"id": i, "content": [{"text": f"r{i}"}]}) for i in ("c0", "c1", "c2")
    ]
    both = {"content": [block("c1", "success"), block("c2", "error")]}
    asked = RawEvent("gen_ai.user.message", 3, {}, {"content": "go on"})
    events = [*alone, RawEvent("gen_ai.user.message", 2, {}, both), asked]
    results = tuple(Part("tool_result", "", i, None, f"r{i}", error=i == "c2") for i in ("c1", "c2"))
    expected = (result("rc0", call_id="c0"), Message("user", results), text("user", "go on"))
    assert expected == per_message_events(span(1, events=events), Memo()).input


def azure(role: str, content: object) -> RawEvent:
    """A message as Azure's clients write it."""
    name = "gen_ai.choice" if role == "choice" else f"gen_ai.{role}.message"
    return RawEvent(name, 1, {"gen_ai.system": "az.ai.inference", "gen_ai.event.content": json.dumps(content)})


def test_azures_events() -> None:
    """Azure's clients write each message as JSON into one attribute of its event."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "a"}'}}
    events = [
        azure("user", {"role": "user", "content": "How many?"}),
        azure("assistant", {"role": "assistant", "tool_calls": [call]}),
        azure("tool", {"role": "tool", "tool_call_id": "c1", "content": "[1]"}),
        azure("choice", {"message": {"content": "One", "tool_calls": [call]}, "finish_reason": "stop", "index": 0}),
    ]
    sent = (text("user", "How many?"), Message("assistant", (CALL,)), result([1], call_id="c1"))
    expected = Messages(sent, (Message("assistant", (Part("text", "One"), CALL)),))
    assert expected == per_message_events(span(1, events=events), Memo())


def test_azures_events_without_content() -> None:
    """With content switched off a call has no name: what the model asked for is not known, and it said nothing."""
    nameless = {"tool_calls": [{"id": "c1", "type": "function"}]}
    events = [azure("choice", {"message": nameless, "finish_reason": "tool_calls", "index": 0})]
    events.append(azure("choice", {"finish_reason": "stop", "index": 0}))
    assert Messages() == per_message_events(span(1, events=events), Memo())
