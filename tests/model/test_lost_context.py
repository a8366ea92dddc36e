"""Context that did not come with the control."""

from __future__ import annotations

import json

import pytest

from spanwise.model.calls import Handoff
from spanwise.model.lost_context import agent_key, agent_of, losses_of
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.making import agent, chat, run_of, span, span_id, tool, user

QUESTION = "Why was I charged twice?"
FOUND = {"invoice": "INV-70045"}


def lost(run: Run, *passed: tuple[str | None, str | None, int]) -> list[tuple[str | None, str | None]]:
    """The hand-offs in which context was lost, of some that took place at some times."""
    handoffs = [Handoff(source=source, target=target) for source, target, _ in passed]
    return [
        (one.handoff.source, one.handoff.target) for one in losses_of(run, handoffs, [at_ns for _, _, at_ns in passed])
    ]


def spans(
    *more: RawSpan, question: str | None = QUESTION, told: str = "Please help.", found: object = FOUND
) -> list[RawSpan]:
    """An agent `a` that found something until 110, and an agent `b` that is told something at 210."""
    asked = {} if question is None else {"gen_ai.input.messages": json.dumps([user(question)])}
    return [
        agent(1, **asked),
        agent(90, parent=1, name="a"),
        tool(100, parent=90, arguments={"customer": "c-88231"}, result=found),
        agent(200, parent=1, name="b"),
        chat(210, parent=200, sent=[user(told)]),
        *more,
    ]


def test_lost() -> None:
    """A loss names the hand-off, what was told where, and the call that had returned something."""
    (loss,) = losses_of(run_of(*spans()), [Handoff(source="A", target="b")], [150])
    assert ("A", "Please help.", span_id(210), span_id(100)) == (
        loss.handoff.source,
        loss.told.asked,
        loss.span_id,
        loss.call.span_id,
    )


@pytest.mark.parametrize(
    "passed",
    [
        (None, "b", 150),
        ("a", None, 150),
        ("c", "b", 150),
        ("a", "c", 150),
        ("a", "b", 105),
        ("a", "b", 220),
    ],
)
def test_not_this_hand_off(passed: tuple[str | None, str | None, int]) -> None:
    """Unknown agents, tools that ended later, and agents that had called a model before lost nothing."""
    assert [] == lost(run_of(*spans()), passed)


@pytest.mark.parametrize(
    "told",
    ["charges", "twice", "inv 70045", "c-88231", "\u8bf7\u5e2e\u52a9\u5ba2\u6237", "some 88,000"],
)
def test_something_came_along(told: str) -> None:
    """Words of the question, values passed and returned, and text whose words cannot be compared count as context."""
    assert [] == lost(run_of(*spans(told=told)), ("a", "b", 150))


@pytest.mark.parametrize("question", [None, "What is it?", "\u4e3a\u4ec0\u4e48 twice \u6536\u8d39"])
def test_no_question_to_compare(question: str | None) -> None:
    """Without a question whose words can be looked for nothing is told."""
    assert [] == lost(run_of(*spans(question=question)), ("a", "b", 150))


@pytest.mark.parametrize("found", [None, "ok", True, [None, 7], "charged twice", {"invoices": []}])
def test_nothing_telling(found: object) -> None:
    """Results that hold nothing telling beyond the question, whatever their fields are called, could not be lost."""
    assert [] == lost(run_of(*spans(found=found)), ("a", "b", 150))


def test_failures_tell_nothing() -> None:
    """What a failed call said was not found."""
    run = run_of(*spans())
    run.work[0].status = "error"
    assert [] == lost(run, ("a", "b", 150))


@pytest.mark.parametrize("key", ["arguments", "result"])
@pytest.mark.parametrize("held", [None, "[REDACTED]", '{"a": "cut in the mid'])
def test_calls_that_are_not_whole(key: str, held: str | None) -> None:
    """What the agent was told may be what is not recorded of another call, whoever made it."""
    other = tool(20, parent=1, name="look_up", arguments={"x": "y-55123"}, result="z-66123")
    assert [("a", "b")] == lost(run_of(*spans(other)), ("a", "b", 150))
    attributes = {**other.attributes, f"gen_ai.tool.call.{key}": held}
    other.attributes = {name: value for name, value in attributes.items() if value is not None}
    assert [] == lost(run_of(*spans(other)), ("a", "b", 150))


def test_failures_need_no_result() -> None:
    """A call that failed returned nothing, and what it was asked for counts as known."""
    failed = tool(20, parent=1, name="look_up", arguments={"x": "y-55123"}, failed=True)
    assert [("a", "b")] == lost(run_of(*spans(failed)), ("a", "b", 150))
    assert [] == lost(run_of(*spans(failed, told="y-55123")), ("a", "b", 150))


def test_what_other_agents_found() -> None:
    """What an agent earlier on the way had found is context as well."""
    other = tool(20, parent=1, name="look_up", arguments={"x": 1}, result="z-66123")
    assert [] == lost(run_of(*spans(other, told="About z-66123.")), ("a", "b", 150))


def test_retrievals() -> None:
    """What was retrieved before is not compared, so that nothing is told; later retrievals do not matter."""
    fields = {"gen_ai.operation.name": "retrieval"}
    found = [lost(run_of(*spans(span(at, parent=1, attributes=fields))), ("a", "b", 150)) for at in (20, 300)]
    assert [[], [("a", "b")]] == found


def test_a_partial_trace() -> None:
    """What is not whole cannot show that something is missing."""
    assert [] == lost(run_of(*spans(chat(300, parent=99))), ("a", "b", 150))


def test_each_agent_once() -> None:
    """The first hand-off to an agent is looked at, however often it has control; of many agents the first."""
    found = run_of(*spans())
    assert [("a", "b")] == lost(found, ("a", "b", 150), ("a", "b", 160))
    crowd = [("a", f"x{n}", 120) for n in range(15)]
    assert [("a", "b")] == lost(found, *crowd, ("a", "b", 150))
    assert [] == lost(found, *crowd, ("a", "x15", 120), ("a", "b", 150))


def test_what_was_found_is_read_once() -> None:
    """Several agents that control comes to from one agent are each compared with what it had found."""
    more = (agent(400, parent=1, name="c"), chat(410, parent=400, sent=[user("Please help.")]))
    assert [("a", "b"), ("a", "c")] == lost(run_of(*spans(*more)), ("a", "b", 150), ("a", "c", 350))


def test_names() -> None:
    """Names are compared by their words; a call belongs to the nearest agent that has a name."""
    assert ["refund_desk", "refund_desk", "!"] == [agent_key(one) for one in ("Refund Desk", "refund-desk", " ! ")]
    run = run_of(agent(1), agent(2, parent=1, name="b"), tool(3, parent=2))
    names = [agent_of(run, run.work[0].agent, names) for names in ({1: "b", 0: "a"}, {0: "a"}, {})]
    assert ["b", "a", None] == names
