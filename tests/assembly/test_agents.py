"""Agents, hand-offs and retrievals, each counted once however many spans carry it."""

from __future__ import annotations

import json

import pytest

from spanwise.assembly.agents import agent_name
from spanwise.model.calls import Agent, Handoff, Retrieval
from spanwise.model.content import Document
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, tool

OPENAI_AGENTS = Scope("opentelemetry.instrumentation.openai_agents", "1", {})


def passes(number: int, *, parent: int, **attributes: object) -> RawSpan:
    """A hand-off's span."""
    return span(number, parent=parent, attributes={"gen_ai.operation.name": "handoff", **attributes})


def retrieval(number: int, *, parent: int, query: str | None = None, documents: object = None) -> RawSpan:
    """A retriever's span."""
    attributes: dict[str, object] = {"gen_ai.operation.name": "retrieval"}
    if query is not None:
        attributes["gen_ai.retrieval.query.text"] = query
    if documents is not None:
        attributes["gen_ai.retrieval.documents"] = json.dumps(documents)
    return span(number, parent=parent, attributes=attributes)


def ways(run: Run) -> list[tuple[str | None, str | None, str]]:
    """Source, target and span of each hand-off."""
    return [(one.source, one.target, one.span_id) for one in run.handoffs]


# Agents


def test_agents_by_first_appearance() -> None:
    """Agents stand by first appearance; spans of one name are one agent; a nameless span is none."""
    run = run_of(
        agent(1, name="a"), agent(2, parent=1, name="a"), agent(3, parent=2, name="b"), agent(4, parent=1, name="")
    )
    assert (Agent(name="a", spans=(0, 1)), Agent(name="b", spans=(2,))) == run.agents


def test_graphs_without_a_name() -> None:
    """LangGraph calls what was given no name by its own: that is no agent's."""
    assert () == run_of(agent(1, name="LangGraph"), chat(2, parent=1, **{"gen_ai.agent.name": "LangGraph"})).agents
    (named,) = run_of(agent(1, name="LangGraph"), agent(2, parent=1, name="writer")).agents
    assert "writer" == named.name


def test_agents_named_on_other_spans() -> None:
    """Without an agent's span, the agent that model and tool spans name is the agent."""
    run = run_of(
        span(1),
        chat(2, parent=1, **{"gen_ai.agent.name": "a"}),
        chat(3, parent=1, **{"gen_ai.agent.name": ""}),
        chat(4, parent=1, **{"gen_ai.agent.name": 7}),
    )
    assert (Agent(name="a", spans=(1,)),) == run.agents


def test_nodes_that_are_said_to_be_agents() -> None:
    """A graph's node that its dialect knows for a step names no agent, where no agent left a span."""
    root = span(1, end=99, attributes={"gen_ai.operation.name": "invoke_workflow"})
    node = agent(2, parent=1, name="model")
    node.scope = Scope("openlit.instrumentation.langgraph", "1", {})
    assert () == run_of(root, node).agents


def test_no_agents() -> None:
    """A run may name no agent."""
    assert () == run_of(chat(1, parent=None)).agents


def test_name_of_the_agent_that_a_span_belongs_to() -> None:
    """A span's agent is the nearest agent above it that has a name."""
    run = run_of(agent(1, name="a"), agent(2, parent=1, name=""), tool(3, parent=2), tool(4000, parent=None))
    assert ["a", "a", "a"] == [agent_name(run, at) for at in range(3)]
    assert None is agent_name(run, -1)
    assert None is agent_name(run_of(chat(1, parent=None)), 0)


# Hand-offs


def test_spans_of_handoffs() -> None:
    """A hand-off's own span names both sides; what it leaves open is the agent around it and the next other agent."""
    run = run_of(
        span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}, end=9000),
        agent(2, parent=1, name="a"),
        passes(3, parent=2),
        passes(4, parent=2, **{"gen_ai.transfer.source.name": "x", "gen_ai.transfer.target.name": "y"}),
        agent(2000, parent=1, name="a"),
        agent(4000, parent=1, name="b"),
    )
    assert [("a", "b", span_id(3)), ("x", "y", span_id(4))] == ways(run)


def test_a_handoff_to_nobody() -> None:
    """A hand-off behind which no other agent came has no target."""
    assert [("helper", None, span_id(2))] == ways(run_of(agent(1), passes(2, parent=1)))


def test_handoffs_by_tool() -> None:
    """A transfer tool names its target in an argument, else in its own name, else it is the next agent."""
    run = run_of(
        span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}, end=9000),
        agent(2, parent=1, name="a"),
        tool(3, parent=2, name="transfer_to_agent", arguments={"agent_name": "b"}),
        tool(4, parent=2, name="Transfer_To_Sales", arguments={"reason": "x"}),
        tool(5, parent=2, name="handoff", arguments={"to_agent": "c"}),
        tool(6, parent=2, name="transfer_to_agent"),
        tool(7, parent=2, name="handoff", arguments={"agent_name": 7}),
        tool(8, parent=2, name="handOff", arguments={"toAgent": "e", "reason": "x"}),
        agent(4000, parent=1, name="d"),
    )
    expected = [("a", "b"), ("a", "Sales"), ("a", "c"), ("a", "d"), ("a", "d"), ("a", "e")]
    assert expected == [(one.source, one.target) for one in run.handoffs]


def test_agents_that_only_hand_offs_name() -> None:
    """Who passes control by a tool is an agent, and whom it is passed to, where a step of the run bears the name."""
    prefix = "langfuse.observation"
    places = {f"{prefix}.metadata.langgraph_checkpoint_ns": "alice:1-2|tools:3-4"}
    step, transfer = {f"{prefix}.type": "span"}, {f"{prefix}.type": "tool", **places}
    run = run_of(
        span(1, name="team", attributes=step, end=99),
        span(2, parent=1, name="alice", attributes=step, end=20),
        span(3, parent=2, name="tools", attributes=step, end=19),
        span(4, parent=3, name="transfer_to_bob", attributes=transfer, end=18),
        span(30, parent=1, name="bob", attributes=step, end=60),
        span(31, parent=30, name="bob", attributes=step, end=59),
    )
    assert [("alice", (1,)), ("bob", (4, 5))] == [(one.name, one.spans) for one in run.agents]
    assert [("alice", "bob")] == [(one.source, one.target) for one in run.handoffs]


def test_handoffs_that_did_not_happen() -> None:
    """A transfer that failed, or was asked for and never run, passed no control."""
    run = run_of(
        agent(1),
        tool(2, parent=1, name="transfer_to_a", failed=True),
        chat(20, parent=1, got=[asks(("h", "transfer_to_b", {}))]),
        chat(40, parent=1, sent=[returns(("x", 1))], got=[says("no")]),
    )
    assert () == run.handoffs


def test_a_handoff_that_led_nowhere() -> None:
    """Where agents leave spans, one that was told to go on and left none did not; but not where spans are missing."""

    def passed(*others: RawSpan, source: str = "a", **given: str) -> list[tuple[str | None, str | None]]:
        call = tool(3, parent=2, name="transfer_to_agent", arguments=given)
        return [(one.source, one.target) for one in run_of(agent(2, name=source), call, *others).handoffs]

    assert [] == passed(agent_name="nobody")
    assert [] == passed(agent(4000, parent=3, name="a"), agent_name="nobody")
    assert [("a", "A-1")] == passed(agent(4, parent=2, name="a 1"), agent_name="A-1")
    assert [("a", "b")] == passed(agent(4000, parent=2, name="Team B"), agent_name="b")
    assert [("a", "nobody")] == passed(span(9, parent=77), agent_name="nobody")
    assert [("a", None)] == passed(why="x")
    assert [(None, "nobody")] == passed(source="", agent_name="nobody")


def test_a_handoff_known_from_messages() -> None:
    """A transfer that left no span has its target from its name, and none where the name does not tell."""
    run = run_of(agent(1), chat(2, parent=1, got=[asks(("h", "transfer_to_sales", {}), ("i", "handoff", {}))]))
    assert (
        Handoff(source="helper", target="sales", span=-1, span_id=""),
        Handoff(source="helper", target=None, span=-1, span_id=""),
    ) == run.handoffs


def test_siblings_of_a_framework_without_handoff_spans() -> None:
    """Where OpenAI Agents' spans show no hand-off, agents that follow each other under one parent passed control."""

    def turn(number: int, name: str, *, end: int, parent: int = 1) -> RawSpan:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return span(number, parent=parent, end=end, attributes=attributes, scope=OPENAI_AGENTS)

    top = span(1, attributes={"gen_ai.operation.name": "invoke_workflow"}, end=99)
    run = run_of(top, turn(2, "a", end=5), turn(6, "b", end=9), turn(10, "b", end=12), turn(13, "", end=14))
    assert [("a", "b", span_id(6))] == ways(run)
    side_by_side = run_of(top, turn(2, "a", end=50), turn(6, "b", end=9), turn(7, "c", end=8, parent=6))
    assert () == side_by_side.handoffs
    assert () == run_of(top, agent(2, parent=1, name="a"), agent(2000, parent=1, name="b")).handoffs


# Retrievals


def test_retrievals() -> None:
    """A retrieval tells its query and its documents with their scores, as recorded."""
    found = [{"id": "d1", "score": 0.9}, {"id": "d2", "score": "0.5", "content": "text"}]
    run = run_of(agent(1), retrieval(2, parent=1, query="q", documents=found))
    assert (
        Retrieval(
            query="q",
            documents=(Document("d1", 0.9), Document("d2", 0.5, "text")),
            span=1,
            span_id=span_id(2),
            start_ns=2,
            end_ns=12,
        ),
    ) == run.retrievals


def test_a_retriever_inside_a_retriever() -> None:
    """A retriever that only calls another is the same retrieval; each says what the other does not."""
    broken = retrieval(4, parent=3, query="other", documents=[])
    broken.status_code = 2
    run = run_of(agent(1), retrieval(2, parent=1), retrieval(3, parent=2, query="q"), broken)
    (one,) = run.retrievals
    assert ("q", (), True, span_id(2)) == (one.query, one.documents, one.failed, one.span_id)


def test_retrievers_side_by_side() -> None:
    """Two retrievers, also in a tool that a retriever calls, are two retrievals."""
    run = run_of(agent(1), retrieval(2, parent=1), retrieval(3, parent=1), tool(4, parent=3), retrieval(5, parent=4))
    assert [span_id(2), span_id(3), span_id(5)] == [one.span_id for one in run.retrievals]


def test_a_failed_retrieval() -> None:
    """A retrieval whose span failed has failed."""
    broken = retrieval(2, parent=1)
    broken.status_code = 2
    assert [True] == [one.failed for one in run_of(agent(1), broken).retrievals]


def test_a_handoff_beside_the_steps_of_agents() -> None:
    """A tool that stands beside the steps of agents was asked for in the step that ended last before it."""
    first, second, later = agent(2, parent=1, name="a"), agent(10, parent=1, name="b"), agent(40, parent=1, name="c")
    for step in (first, second, later):
        step.end_ns = step.start_ns + 5
    root = span(1, end=99, attributes={"gen_ai.operation.name": "invoke_workflow"})
    run = run_of(root, first, second, tool(20, parent=1, name="transfer_to_c"), later)
    assert [("b", "c")] == [(one.source, one.target) for one in run.handoffs]
    step = span(20, parent=1, name="call_tool")
    run = run_of(root, first, second, step, tool(21, parent=20, name="transfer_to_c"), later)
    assert [("b", "c")] == [(one.source, one.target) for one in run.handoffs]
    run = run_of(tool(20, parent=None, name="transfer_to_c"))
    assert [(None, "c")] == [(one.source, one.target) for one in run.handoffs]
    run = run_of(root, tool(2, parent=1, name="transfer_to_c"), later)
    assert [(None, "c")] == [(one.source, one.target) for one in run.handoffs]
    run = run_of(root, chat(2, parent=1, got=[asks(("h", "transfer_to_c", {}))]))
    assert [(None, "c")] == [(one.source, one.target) for one in run.handoffs]


@pytest.mark.parametrize("name", ["supervisor", "team"])
def test_a_handoff_in_a_graph_of_graphs(name: str) -> None:
    """Where no agent is nearer than the graph that holds all of them, the node in which the tool ran passes control."""
    prefix = "traceloop.association.properties."
    place = {f"{prefix}langgraph_checkpoint_ns": "supervisor:1|tools:2", f"{prefix}__handoff_destination": "maths"}
    call = tool(30, parent=20, name="transfer_to_agent")
    call.attributes = {**call.attributes, **place, "traceloop.span.kind": "tool"}
    run = run_of(agent(1, name="team"), agent(20, parent=1, name=name), call, agent(60, parent=1, name="maths"))
    assert [("supervisor", "maths")] == [(one.source, one.target) for one in run.handoffs]
