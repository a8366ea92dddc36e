"""What OpenInference's tools were given and gave back, in the wrappers of every framework."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions._openinference_tools import Given, Outcome, given, outcome
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan, Scope
from tests.making import run_of, span


def asked(value: object, **more: object) -> Given:
    """What a tool with this input was given, as a value."""
    memo = Memo()
    found = given({"input.value": value, **more}, memo)
    return Given(memo.json(found.value), found.call_id)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("population of France", "population of France"),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("{'a': 1}", {"a": 1}),
        ("{a}", "{a}"),
        ("7", 7),
        ("[1, 2]", [1, 2]),
        ('{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"a": 1}}', {"a": 1}),
        ('{"kwargs": {"a": 1}}', {"a": 1}),
        ('{"ctx": "<app.Context object at 0x7fa33bb143d0>", "kwargs": {"a": 1}}', {"a": 1}),
        ('{"args": ["x"], "kwargs": {}}', ["x"]),
        ('{"args": ["x"], "kwargs": {"a": 1}}', {"a": 1, "args": ["x"]}),
        ('{"args": [], "kwargs": {}}', {}),
        ("{}", {}),
        ('{"args": 1, "a": 2}', {"args": 1, "a": 2}),
        ("__REDACTED__", "__REDACTED__"),
    ],
)
def test_arguments(value: object, expected: object) -> None:
    """Arguments come as the tool saw them: bare values bare, calls unwrapped, printed mappings read."""
    assert Given(expected) == asked(value)


@pytest.mark.parametrize("recorded", ['{"a": 1}', '{"a": {"b": [1]}}', "{'a': 1}", "{}"])
def test_arguments_that_are_whole(recorded: str) -> None:
    """Text of an object of which nothing has to be left out is handed on as it was recorded."""
    assert Given(recorded) == given({"input.value": recorded}, Memo())


def test_what_the_model_did_not_give() -> None:
    """Objects, graph state, runtimes and the call's id are no arguments; a parameter that only sounds so stays."""
    value = {
        "ctx": "<workflows.context.Context object at 0x7fa33bb143d0>",
        "state": {"messages": [], "step": 1},
        "runtime": {"tool_call_id": "call_1", "stream_writer": None},
        "config": {"depth": 2},
        "query": "x",
        "tool_call_id": "call_1",
    }
    assert Given({"config": {"depth": 2}, "query": "x"}, "call_1") == asked(json.dumps(value))
    assert Given({"tool_call_id": "call_1"}) == asked({"tool_call_id": "call_1"})
    assert Given({"a": 1}) == asked({"kwargs": {"ctx": "<Context object>", "a": 1}})


def test_beeai_options() -> None:
    """BeeAI records the input beside the options of the run; elsewhere these are arguments."""
    value = json.dumps({"input": {"a": 1}, "options": None})
    assert Given({"a": 1}) == given({"input.value": value}, Memo(), beeai=True)
    assert Given({"input": {"a": 1}, "options": None}) == asked(value)
    assert Given("x") == given({"input.value": {"input": "x", "options": None}}, Memo(), beeai=True)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"type": "object", "properties": {}}', None),
        ('{"type": "object"}', None),
        ('{"a": {"type": "string", "description": "x"}}', None),
        ('[{"name": "city", "type": "string", "value": "Paris"}, 1, {"name": "b"}]', {"city": "Paris"}),
        ("[]", None),
        ("{}", {}),
        (None, None),
        ("text", None),
    ],
)
def test_parameters_in_place_of_arguments(parameters: object, expected: object) -> None:
    """`tool.parameters` gives the arguments where nothing else does, and only if it is not the tool's schema."""
    assert Given(expected) == given({"tool.parameters": parameters}, Memo())


SAID = {"content": '{"a": 1}', "tool_call_id": "call_1", "status": "error", "type": "tool"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Outcome()),
        ("text", Outcome("text")),
        ("6840000.0", Outcome(6840000.0)),
        ('"[1, 2]"', Outcome([1, 2])),
        (SAID, Outcome({"a": 1}, True, "call_1")),
        ({"type": "tool", "data": {**SAID, "status": "success"}}, Outcome({"a": 1}, False, "call_1")),
        ({"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": SAID}, Outcome({"a": 1}, True, "call_1")),
        ({"output": {"type": "tool", "data": SAID}}, Outcome({"a": 1}, True, "call_1")),
        ({"output": "content='a\\nb' name='add' tool_call_id='call_1'"}, Outcome("a\nb", False, "call_1")),
        ({"type": "tool", "data": {"status": "none"}}, Outcome({"type": "tool", "data": {"status": "none"}})),
        ("content='7' name='add' tool_call_id='call_1' status='error'", Outcome(7, True, "call_1")),
        ('Command(update={"messages": [ToolMessage(content="it\'s", name="add")]})', Outcome("it's")),
        ("Command(goto='helper')", Outcome("Command(goto='helper')")),
        ({"update": {"messages": [1, SAID]}, "goto": [], "resume": None}, Outcome({"a": 1}, True, "call_1")),
        (
            {"update": {"messages": [SAID, {"type": "ai", "content": "x"}]}, "goto": []},
            Outcome({"a": 1}, True, "call_1"),
        ),
        ([{"update": {"messages": [SAID]}, "goto": []}], Outcome({"a": 1}, True, "call_1")),
        ({"update": {"draft": "x"}, "goto": []}, Outcome({"draft": "x"})),
        ({"update": None, "goto": [], "resume": "yes"}, Outcome("yes")),
        ({"tool_name": "add", "raw_output": [1], "blocks": [], "is_error": True}, Outcome([1], True)),
        ({"tool_name": "add", "raw_input": {}, "blocks": [{"text": "[1]"}]}, Outcome([1])),
        ({"tool_name": "add", "raw_input": {}, "content": "x"}, Outcome("x")),
        ({"tool_name": "add"}, Outcome({"tool_name": "add"})),
        ({"id": "call_1", "name": "add", "response": {"result": "[1]"}}, Outcome([1], False, "call_1")),
        (
            {"id": "call_1", "name": "add", "response": {"status": "error", "why": "x"}},
            Outcome({"status": "error", "why": "x"}, True, "call_1"),
        ),
        ({"name": "add", "response": {"error": "x"}}, Outcome({"error": "x"}, True)),
        ({"name": "add", "response": {"error": None, "a": 1}}, Outcome({"error": None, "a": 1})),
        ({"name": "add", "response": "x"}, Outcome("x")),
        ({"name": "add", "response": "x", "more": 1}, Outcome({"name": "add", "response": "x", "more": 1})),
        ({"content": [{"type": "text", "text": "x"}], "isError": True}, Outcome("x", True)),
        ({"content": [{"type": "text", "text": "6.5"}]}, Outcome(6.5)),
        ({"content": [{"text": "x"}], "more": 1}, Outcome({"content": [{"text": "x"}], "more": 1})),
        ({"content": [], "structuredContent": {"a": 1}, "isError": False}, Outcome({"a": 1})),
        (
            {"toolUseId": "call_1", "status": "error", "content": [{"text": "x"}]},
            Outcome("x", True, "call_1"),
        ),
        ({"type": "text", "text": "[1]", "annotations": None}, Outcome([1])),
        ({"type": "text", "size": 2}, Outcome({"type": "text", "size": 2})),
        ([{"text": "a"}, {"text": "b"}], Outcome("a\nb")),
        ([1, 2], Outcome([1, 2])),
        ("null", Outcome("null")),
        ({"name": "add", "response": {"result": None}}, Outcome("null")),
        ("[<app.Content object at 0x7efd8ca2bd10>]", Outcome()),
        ("[<b>", Outcome("[<b>")),
        (5, Outcome(5)),
    ],
)
def test_results(value: object, expected: Outcome) -> None:
    """The result is what the tool returned; a failure that only the wrapper tells is told."""
    assert expected == outcome(value, Memo())
    if isinstance(value, dict | list):
        assert expected == outcome(json.dumps(value), Memo())


def test_data_under_error() -> None:
    """What an ADK tool returned under `error` is a failure where it reports one; data may be what the tool found."""
    results = [outcome({"name": "count", "response": {"error": held}}, Memo()) for held in (None, "no", {"404": 3})]
    assert [(False, False), (True, False), (False, True)] == [(one.failed, one.uncertain) for one in results]


@pytest.mark.parametrize(
    ("told", "status"), [("cannot parse '68.4 million'", "error"), ("3 found", "ok"), (None, "unknown")]
)
def test_nothing_of_agnos(told: str | None, status: str) -> None:
    """Before Agno 2 `None` is what a tool returned that raised, too: what the model was told tells which."""
    scope = Scope("openinference.instrumentation.agno", "0.1.8", {})
    asks = {"message.role": "assistant", "message.tool_calls.0.tool_call.function.name": "calculate"}
    returns = {} if told is None else {"0.message.role": "tool", "0.message.content": told}

    def chat(number: int, **more: object) -> RawSpan:
        return span(number, parent=1, attributes={"openinference.span.kind": "LLM", **more}, scope=scope)

    ran = {"openinference.span.kind": "TOOL", "tool.name": "calculate", "input.value": "{}", "output.value": "None"}
    run = run_of(
        span(1, attributes={"openinference.span.kind": "AGENT"}, end=90, scope=scope),
        chat(2, **{f"llm.output_messages.0.{key}": value for key, value in asks.items()}),
        span(20, parent=1, attributes=ran, scope=scope),
        chat(40, **{f"llm.input_messages.{key}": value for key, value in returns.items()}),
    )
    assert [(told, status)] == [(call.result, call.status) for call in run.tool_calls]
