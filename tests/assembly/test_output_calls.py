"""Calls that had to be made again: outputs that were refused, arguments that did not fit, tools that do not exist."""

from __future__ import annotations

import json

import pytest

from spanwise.model.raw import Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, told, user

PYDANTIC_AI = Scope("pydantic-ai", "2.66.0", {})


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        ("Population is too small.", "retry"),
        ([{"type": "int_parsing", "loc": ["population"], "msg": "Input should be a valid integer"}], "retry"),
        ("1 validation errors: [...]\n\nFix the errors and try again.", "retry"),
        ("Output tool not used - a final result was already processed.", "not_run"),
    ],
)
def test_an_output_that_was_refused(refused: object, status: str) -> None:
    """An output tool's call that was not taken had to be made again; the one that was is in the agent's record only."""
    first, second = asks(("c1", "report_city", {"n": "x"})), asks(("c2", "report_city", {"n": 2}))
    talk = [user("?"), first, returns(("c1", refused)), second, returns(("c2", "Final result processed."))]
    record = {"gen_ai.operation.name": "invoke_agent", "pydantic_ai.all_messages": json.dumps(talk)}
    run = run_of(
        span(1, name="invoke_agent a", scope=PYDANTIC_AI, attributes=record, end=99),
        chat(20, parent=1, sent=talk[:1], got=[first]),
        chat(40, parent=1, sent=talk[:3], got=[second]),
    )
    one, other = run.tool_calls
    assert (status, True, refused) == (one.status, one.control, one.result)
    assert ("ok", True, "Final result processed.") == (other.status, other.control, other.result)


def test_an_output_tool_by_its_usual_name() -> None:
    """A call of `final_result` that was answered by anything but its acceptance is to be made again."""
    first = asks(("c1", "final_result", {"n": 1}))
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[first]),
        chat(40, parent=1, sent=[user("?"), first, returns(("c1", "Too small."))], got=[says("done")]),
    )
    assert [("final_result", {"n": 1}, "Too small.", "retry")] == told(run)


def test_a_call_to_be_made_again_in_messages() -> None:
    """What Pydantic AI tells the model of a call that was refused, where the call has no span."""
    again = "1 validation errors: [...]\n\nFix the errors and try again."
    first = asks(("c1", "search", {"n": "x"}))
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[first]),
        chat(40, parent=1, sent=[user("?"), first, returns(("c1", again))], got=[says("done")]),
    )
    assert [("search", {"n": "x"}, again, "retry")] == told(run)
    assert [again] == [call.error.message for call in run.tool_calls if call.error]


def test_a_call_to_be_made_again_whose_span_does_not_tell() -> None:
    """Pydantic AI before 0.4 records a tool's result in messages only, and no failure when it asks for another try."""
    again = "cannot parse\n\nFix the errors and try again."
    called = {"gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1", "tool_arguments": '{"n": "x"}'}
    first = asks(("c1", "search", {"n": "x"}))
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[first]),
        span(30, parent=1, name="running tool", scope=PYDANTIC_AI, attributes=called),
        chat(40, parent=1, sent=[user("?"), first, returns(("c1", again))], got=[says("done")]),
    )
    assert [("search", {"n": "x"}, again, "retry")] == told(run)
    assert ["span"] == [call.origin for call in run.tool_calls]
    assert [again] == [call.error.message for call in run.tool_calls if call.error]


def test_a_span_of_a_tool_that_does_not_exist() -> None:
    """Pydantic AI 1 leaves a span for a name that the model invented: nothing ran."""
    found = run_of(
        span(1, name="agent run", scope=PYDANTIC_AI, end=99),
        span(
            2,
            parent=1,
            name="running tool",
            scope=PYDANTIC_AI,
            status=2,
            attributes={
                "gen_ai.tool.name": "lookup",
                "tool_response": "Unknown tool name: 'lookup'. Available tools: 'a'\n\nFix the errors and try again.",
            },
        ),
    )
    assert [("lookup", "not_run")] == [(call.name, call.status) for call in found.tool_calls]


def test_an_output_that_the_model_was_told_itself() -> None:
    """LangChain in JavaScript answers the call by which an agent gave its output with that output."""
    asked = asks(("c1", "extract-1", {"city": "Paris"}), ("c2", "extract-1", {}))
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[asked]),
        chat(
            40, parent=1, sent=[user("?"), asked, returns(("c1", '{"city":"Paris"}'), ("c2", {}))], got=[says("done")]
        ),
    )
    assert [("extract-1", True, "ok"), ("extract-1", True, "retry")] == [
        (call.name, call.control, call.status) for call in run.tool_calls
    ]
