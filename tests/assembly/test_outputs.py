"""Schemas that LangChain offers as tools: a parser takes the call of one as the model's output, and nothing runs it."""

from __future__ import annotations

import json

import pytest

from spanwise.model.raw import RawEvent, RawSpan, Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, told, tool, user

GIVEN = {"messages": [{"type": "ai", "tool_calls": [{"name": "Report", "args": {"n": 1}, "id": "c1"}]}]}


def parser(
    number: int, *, name: str = "PydanticToolsParser", key: str = "input.value", failed: bool = False
) -> RawSpan:
    """The span of a parser that was given the model's call."""
    events = [RawEvent("exception", 0, {"exception.type": "ValidationError"})] if failed else []
    status = 2 if failed else 0
    return span(number, parent=1, name=name, attributes={key: json.dumps(GIVEN)}, status=status, events=events)


@pytest.mark.parametrize("name", ["PydanticToolsParser", "execute_task JsonOutputKeyToolsParser"])
@pytest.mark.parametrize("key", ["input.value", "gen_ai.prompt", "traceloop.entity.input"])
def test_a_call_that_a_parser_took(name: str, key: str) -> None:
    """The parser of `with_structured_output` takes the call: it steers the run, succeeded, and lacks no result."""
    asked = asks(("c1", "Report", {"n": 1}))
    run = run_of(agent(1), chat(20, parent=1, sent=[user("?")], got=[asked]), parser(40, name=name, key=key))
    (call,) = run.tool_calls
    assert ("Report", "ok", True, None) == (call.name, call.status, call.control, call.result)
    assert "results" not in {one.field for one in run.missing}


def test_a_call_that_a_parser_refused() -> None:
    """Arguments that do not fit the schema make the parser fail, and the call with it."""
    asked = asks(("c1", "Report", {"n": 1}))
    run = run_of(agent(1), chat(20, parent=1, sent=[user("?")], got=[asked]), parser(40, failed=True))
    (call,) = run.tool_calls
    assert ("error", True, "ValidationError") == (call.status, call.control, call.error and call.error.type)


@pytest.mark.parametrize("name", ["ToolsAgentOutputParser", "StrOutputParser", "tools_condition"])
def test_a_call_that_another_step_saw(name: str) -> None:
    """A step that is no such parser takes no call: the one tool of an agent that was cut off stays a tool."""
    asked = asks(("c1", "Report", {"n": 1}))
    run = run_of(agent(1), chat(20, parent=1, sent=[user("?")], got=[asked]), parser(40, name=name))
    assert [("unknown", False)] == [(call.status, call.control) for call in run.tool_calls]


def test_a_call_that_was_parsed_and_run() -> None:
    """A call whose tool left a span, or whose result a model was told, is a tool's, parsed or not."""
    asked = asks(("c1", "Report", {"n": 1}))
    spanned = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[asked]),
        parser(40),
        tool(60, parent=1, name="Report", arguments={"n": 1}, result="done"),
    )
    assert [("Report", {"n": 1}, "done", "ok")] == told(spanned)
    answered = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[asked]),
        parser(40),
        chat(60, parent=1, sent=[user("?"), asked, returns(("c1", "done"))], got=[says("ok")]),
    )
    assert [("Report", {"n": 1}, "done", "ok")] == told(answered)
    assert [False, False] == [call.control for run in (spanned, answered) for call in run.tool_calls]


def test_a_parsed_call_is_no_answer() -> None:
    """What a parser took may be a grade or a route on the way: only what the run says itself is its answer."""
    asked = asks(("c1", "Grade", {"score": "yes"}))
    run = run_of(agent(1), chat(20, parent=1, sent=[user("?")], got=[asked]), parser(40))
    assert run.answer is None


def test_an_output_told_by_the_workflow_below_the_agent() -> None:
    """Where an agent's span has no content, the state that the workflow right below it returned tells the output."""
    asked = {"type": "ai", "content": "", "tool_calls": [{"name": "Report", "args": {"n": 1}, "id": "c1"}]}
    taken = {"type": "tool", "content": "Returning structured response: n=1", "tool_call_id": "c1"}
    state = {"messages": [{"type": "human", "content": "?"}, asked, taken], "structured_response": {"n": 1}}
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.output": json.dumps({"outputs": state, "kwargs": {}}),
    }
    run = run_of(
        agent(1),
        span(2, parent=1, name="helper.workflow", attributes=workflow, end=90),
        chat(20, parent=2, sent=[user("?")], got=[asks(("c1", "Report", {"n": 1}))]),
    )
    assert [("Report", {"n": 1}, "Returning structured response: n=1", "ok")] == told(run)
    assert ([True], '{"n":1}') == ([call.control for call in run.tool_calls], run.answer)


def test_a_parser_that_took_another_call() -> None:
    """A parser takes the call that it was given; one beside it, whose result nobody recorded, stays as it is."""
    asked = asks(("c1", "Report", {"n": 1}), ("c2", "search", {"q": "a"}))
    run = run_of(agent(1), chat(20, parent=1, sent=[user("?")], got=[asked]), parser(40))
    assert [("Report", True), ("search", False)] == [(call.name, call.control) for call in run.tool_calls]


@pytest.mark.parametrize(("status", "last"), [(1, "ok"), (2, "error")])
def test_calls_of_a_schema_that_instructor_offers(status: int, last: str) -> None:
    """The schema is no tool: a call of it was refused where the model was told why, the last one is the answer."""
    call = asks(("c1", "Town", {"n": 1}))
    again = asks(("c2", "Town", {"n": 2}))
    other = asks(("c3", "search", {}))
    create = span(1, start=1, end=10**9, status=status, attributes={"instructor.response_model": "Town"})
    create.attributes["openinference.span.kind"] = "CHAIN"
    create.scope = Scope("openinference.instrumentation.instructor", "1", {})
    run = run_of(
        create,
        chat(20, parent=1, sent=[user("?")], got=[call]),
        chat(30, parent=1, sent=[user("?"), call, returns(("c1", "n is too small"))], got=[again, other]),
    )
    assert [("Town", "retry", True), ("Town", last, True), ("search", "unknown", False)] == [
        (one.name, one.status, one.control) for one in run.tool_calls
    ]
