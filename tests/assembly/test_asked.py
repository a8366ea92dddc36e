"""Model calls whose answers no span records: what they asked for stands in what the next call was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanwise.model.raw import Scope
from tests.making import agent, asks, chat, returns, run_of, says, span, told, tool, user


def test_ids_from_the_next_input() -> None:
    """A call's span gets the id under which the next model call was told its result, and is counted once."""
    first, second = asks(("c1", "search", {"q": "a"})), asks(("c2", "search", {"q": "a"}), ("c3", "lookup", {}))
    so_far = [user("?"), first, returns(("c1", "A"))]
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")]),
        tool(40, parent=1, arguments={"q": "a"}, result="A"),
        chat(60, parent=1, sent=so_far),
        tool(80, parent=1, arguments={"q": "a"}, result="A"),
        chat(100, parent=1, sent=[*so_far, second, returns(("c2", "A"), ("c3", "No such tool: lookup"))]),
    )
    assert [("search", "c1", "span"), ("lookup", "c3", "message"), ("search", "c2", "span")] == [
        (call.name, call.call_id, call.origin) for call in run.tool_calls
    ]
    assert ("lookup", {}, "No such tool: lookup") == told(run)[1][:3]


def test_calls_of_earlier_turns() -> None:
    """What stands before the question, or before the run's first model call, was asked for in another run."""
    old, new = asks(("c1", "search", {"q": "a"})), asks(("c2", "search", {"q": "b"}))
    history = [user("?"), old, returns(("c1", "A")), user("And?")]
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=history),
        tool(40, parent=1, arguments={"q": "b"}, result="B"),
        chat(60, parent=1, sent=[*history, new, returns(("c2", "B"))]),
    )
    assert [("c2", "B")] == [(call.call_id, call.result) for call in run.tool_calls]
    alone = run_of(chat(20, parent=None, sent=[user("?"), old, returns(("c1", "A"))]))
    assert () == alone.tool_calls


def test_an_agent_that_passed_control() -> None:
    """The call by which one agent passed control stands in what the next agent was sent."""
    passed, asked = asks(("c1", "transfer_to_b", {})), asks(("c2", "search", {"q": "a"}))
    history = [user("?"), passed, returns(("c1", "You are b."))]
    run = run_of(
        span(1, name="run", attributes={"gen_ai.operation.name": "invoke_workflow"}, end=5000),
        agent(2, parent=1, name="a"),
        chat(20, parent=2, sent=[user("?")]),
        agent(1100, parent=1, name="b"),
        chat(1110, parent=1100, sent=history),
        tool(1130, parent=1100, arguments={"q": "a"}, result="A"),
        chat(1150, parent=1100, sent=[*history, asked, returns(("c2", "A"))]),
    )
    assert [("transfer_to_b", "c1", True), ("search", "c2", False)] == [
        (call.name, call.call_id, call.control) for call in run.tool_calls
    ]


def test_answers_of_which_only_the_text_is_recorded() -> None:
    """OpenAI's Responses under OpenLLMetry in JavaScript: the last answer's text does not say that none asked."""
    asked = asks(("c1", "search", {"q": "a"}))
    calls = [
        chat(20, parent=1, sent=[user("?")], got=[says("Let me see.")], **{"gen_ai.response.id": "resp_1"}),
        chat(
            60,
            parent=1,
            sent=[user("?"), asked, returns(("c1", "A"))],
            got=[says("Done.")],
            **{"gen_ai.response.id": "resp_2"},
        ),
    ]
    assert [] == told(run_of(agent(1), *calls))
    for one in calls:
        one.scope = Scope("@traceloop/instrumentation-openai", "1", {})
    assert [("search", {"q": "a"}, "A", "ok")] == told(run_of(agent(1), *calls))


def test_one_silent_answer_among_others() -> None:
    """What it asked for is told later; what the others asked for counts once, with ids or without."""
    first = asks(("c1", "search", {"q": "a"}), ("c2", "lookup", {}))
    second = asks(("c3", "search", {"q": "a"}))
    so_far = [user("?"), first, returns(("c1", "A"), ("c2", "B"))]
    for told_as in (("c3", "search", {"q": "a"}), (None, "search", {"q": "a"})):
        run = run_of(
            agent(1),
            chat(20, parent=1, sent=[user("?")]),
            chat(60, parent=1, sent=so_far, got=[asks(told_as)]),
            chat(100, parent=1, sent=[*so_far, second, returns(("c3", "C"))], got=[says("Done.")]),
        )
        expected = [("search", {"q": "a"}, "A", "ok"), ("lookup", {}, "B", "ok"), ("search", {"q": "a"}, "C", "ok")]
        assert expected == told(run)


def test_the_last_piece_of_a_stream() -> None:
    """Of streams of Google's client OpenLLMetry records the last piece; what the next call was sent tells all."""
    both = asks(("", "search", {"q": "a"}), ("", "ping", {}))
    sent = [user("?"), both, returns(("", "A"), ("", "pong"))]
    run = run_of(
        agent(1),
        chat(20, parent=1, sent=[user("?")], got=[asks(("", "ping", {}))]),
        chat(60, parent=1, sent=sent, got=[asks(("", "ping", {}))]),
    )
    cut = [("search", {"q": "a"}, "A", "ok"), ("ping", {}, "pong", "ok"), ("ping", {}, None, "unknown")]
    assert cut[1:] != told(run)
    for one in run.trace.spans:
        one.raw.scope = Scope("opentelemetry.instrumentation.google_generativeai", "1", {})
    assert cut == told(run_of(*(one.raw for one in run.trace.spans)))


@pytest.mark.parametrize("sent", [True, False])
def test_an_agent_that_repeats_the_conversation(*, sent: bool) -> None:
    """What an agent gives back of the conversation that it was sent, earlier turns asked for."""
    before = [user("Q"), asks(("c1", "search", {"q": "a"})), returns(("c1", "one")), says("A"), user("And now?")]
    told_all = [*before, asks(("c2", "search", {"q": "b"})), returns(("c2", "two")), says("B")]
    held: dict[str, Any] = {"gen_ai.output.messages": json.dumps(told_all)}
    if sent:
        held["gen_ai.input.messages"] = json.dumps(before)
    assert [("search", {"q": "b"}, "two", "ok")] == told(run_of(agent(1, **held)))


@pytest.mark.parametrize(("call_id", "result"), [("c1", "Error: no JSON"), (None, None)])
def test_broken_arguments_that_the_model_was_told_of(call_id: str | None, result: str | None) -> None:
    """A request in broken JSON is not the call that ran after the model had asked again, though its name fits."""
    sent = [user("?"), asks((call_id, "search", '{"q": "pop')), returns((call_id, "Error: no JSON"))]
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks((call_id, "search", '{"q": "pop'))]),
        chat(10, parent=1, sent=sent, got=[asks(("c2", "search", {"q": "population"}))]),
        tool(30, parent=1, name="search", arguments={"q": "population"}, result="68.4 million"),
        chat(50, parent=1, sent=[*sent, returns(("c2", "68.4 million"))], got=[says("Many.")]),
    )
    refused, ran = run.tool_calls
    assert ("message", '{"q": "pop', result) == (refused.origin, refused.arguments, refused.result)
    assert ("span", "c2", {"q": "population"}) == (ran.origin, ran.call_id, ran.arguments)
