"""Tool spans that run several calls, and spans and requests of one call that do not name it alike."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from spanwise.model.raw import RawSpan, Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, tool, user

INVOKER = Scope("openinference.instrumentation.haystack", "1", {})
CALL = "ToolCall(tool_name='{0}', arguments={1}, id='{2}', extra=None)"


def invoker(number: int, parent: int, *calls: tuple[str, str, str, str | None, bool]) -> RawSpan:
    """Haystack's tool invoker: name, arguments, id, result and failure of each call."""
    asked = ", ".join(CALL.format(*call[:3]) for call in calls)
    told = [
        f"ChatMessage(_role='tool', _content=[ToolCallResult(result={json.dumps(result)}, "
        f"origin={CALL.format(name, given, call_id)}, error={failed})], _name=None, _meta={{}})"
        for name, given, call_id, result, failed in calls
        if result is not None
    ]
    attributes: dict[str, object] = {
        "openinference.span.kind": "CHAIN",
        "input.value": json.dumps({"messages": [f"ChatMessage(_role='assistant', _content=[{asked}])"]}),
    }
    if told:
        attributes["output.value"] = json.dumps({"tool_messages": told})
    return span(number, parent=parent, name="ToolInvoker.run", attributes=attributes, scope=INVOKER)


def told(run_spans: Sequence[RawSpan]) -> list[tuple[str, object, object, str, int]]:
    """Name, arguments, result, status and span of each call."""
    return [(c.name, c.arguments, c.result, c.status, c.span) for c in run_of(*run_spans).tool_calls]


def test_each_call_of_a_batch() -> None:
    """A span that ran several calls is as many calls, each with its own result and status."""
    batch = invoker(
        5, 1, ("add", "{'a': 1}", "c1", "2", False), ("sub", "{'b': 1}", "c2", "no number", True),
        ("mul", "{'c': 1}", "c3", None, False),
    )  # fmt: skip
    assert [
        ("add", {"a": 1}, 2, "ok", 1),
        ("sub", {"b": 1}, "no number", "error", 1),
        ("mul", {"c": 1}, None, "unknown", 1),
    ] == told([agent(1), batch])


def test_a_batch_inside_a_batch() -> None:
    """The same calls recorded by two instrumentations inside each other are counted once."""
    calls = (("add", "{'a': 1}", "c1", "2", False),)
    assert [("add", {"a": 1}, 2, "ok", 1)] == told([agent(1), invoker(5, 1, *calls), invoker(6, 5, *calls)])


def test_a_batch_without_content_is_left_to_the_one_inside_it() -> None:
    """Where the outer span records no calls, those of the inner one are taken."""
    outer = span(5, parent=1, name="ToolInvoker.run", attributes={"openinference.span.kind": "CHAIN"}, scope=INVOKER)
    inner = invoker(6, 5, ("add", "{'a': 1}", "c1", "2", False))
    assert [("add", {"a": 1}, 2, "ok", 2)] == told([agent(1), outer, inner])
    assert [] == told([agent(1), outer])


@pytest.mark.parametrize(
    "said",
    [
        "Tool 'gone' not found. Available tools: add",
        "gone is not a valid tool, try one of [add].",
        "Unknown tool name: 'gone'. Available tools: 'add'",
        "The tool call with name `gone` is not part of the provided tools",
        "No such tool: gone",
    ],
)
def test_a_tool_that_does_not_exist(said: str) -> None:
    """What a framework says of an invented tool is not that tool's result: the call did not run."""
    calls = told([agent(1), invoker(5, 1, ("gone", "{'a': 1}", "c1", said, True))])
    assert [("gone", {"a": 1}, said, "not_run", 1)] == calls
    run = [
        agent(1),
        chat(2, parent=1, sent=[user("Q")], got=[asks(("c1", "gone", {"a": 1}))]),
        chat(20, parent=1, sent=[user("Q"), asks(("c1", "gone", {"a": 1})), returns(("c1", said))], got=[says("A")]),
    ]
    assert [("gone", {"a": 1}, said, "not_run", -1)] == told(run)


def test_a_tool_that_finds_nothing() -> None:
    """A result about something else that is missing is a result."""
    run = [
        agent(1),
        chat(2, parent=1, sent=[user("Q")], got=[asks(("c1", "find", {"a": 1}))]),
        chat(20, parent=1, sent=[user("Q"), asks(("c1", "find", {"a": 1})), returns(("c1", "the tool box is empty"))]),
    ]
    assert [("find", {"a": 1}, "the tool box is empty", "ok", -1)] == told(run)


def test_a_decorated_function() -> None:
    """A span named after the function is the call that the model asked for by the tool's name."""
    function = tool(10, parent=1, name="add_tool", arguments={"a": 1}, result=2)
    asking = chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))])
    asking.end_ns = 9
    run = run_of(agent(1), asking, function)
    assert [("add", {"a": 1}, 2, "ok", "c1")] == [
        (c.name, c.arguments, c.result, c.status, c.call_id) for c in run.tool_calls
    ]


def test_a_tool_that_is_named_for_its_class() -> None:
    """LangChain's tools that raised bear the name of their class in JavaScript: what was asked for tells their own."""
    failing = tool(10, parent=1, name="DynamicStructuredTool", arguments={"a": 1}, failed=True)
    asking = chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))])
    asking.end_ns = 9
    assert [("add", {"a": 1}, "error", "c1")] == [
        (c.name, c.arguments, c.status, c.call_id) for c in run_of(agent(1), asking, failing).tool_calls
    ]


@pytest.mark.parametrize(("name", "arguments"), [("add_tool", {"a": 2}), ("sub_tool", {"a": 1}), ("add_tool", None)])
def test_another_function(name: str, arguments: object) -> None:
    """Other arguments, or a name that has nothing in common, make another call."""
    function = tool(10, parent=1, name=name, arguments=arguments, result=2)
    asking = chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))])
    asking.end_ns = 9
    assert ["add", name] == sorted(call.name for call in run_of(agent(1), asking, function).tool_calls)


def test_the_models_id_of_a_call() -> None:
    """Where a span has an id of the framework's own, the call has the id that the model gave it."""
    asking = chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))])
    run = run_of(agent(1), asking, tool(20, parent=1, name="add", arguments={"a": 1}, result=2, call_id="run-7"))
    assert [("add", "c1")] == [(call.name, call.call_id) for call in run.tool_calls]


def test_a_request_after_which_the_run_ended() -> None:
    """A tool whose calls leave spans did not run where there is none; of one that never left any nobody knows."""
    last = chat(40, parent=1, got=[asks(("c2", "add", {"a": 2}), ("c3", "sub", {"b": 1}))])
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))]),
        tool(20, parent=1, name="add", arguments={"a": 1}, result=2, call_id="c1"),
        last,
    )
    assert [("add", "ok"), ("add", "not_run"), ("sub", "unknown")] == [(c.name, c.status) for c in run.tool_calls]


def test_a_request_in_a_trace_with_losses() -> None:
    """Where spans are missing, a call without one may well have run."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "add", {"a": 1}))]),
        tool(20, parent=1, name="add", arguments={"a": 1}, result=2, call_id="c1"),
        chat(40, parent=1, got=[asks(("c2", "add", {"a": 2}))]),
        span(60, parent=99),
    )
    assert [("add", "ok"), ("add", "unknown")] == [(c.name, c.status) for c in run.tool_calls]
