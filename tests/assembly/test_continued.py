"""Pieces of one run whose own span was lost, told by what its models were told; and pieces of several runs."""

from __future__ import annotations

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.making import agent, asks, chat, returns, says, span, span_id, tool, user
from tests.recordings_io import remade, spans

FIRST = [asks(("call_a", "search", {"q": 1}))]
TOLD = [user("?"), *FIRST, returns(("call_a", "found"))]


def runs_of(*raws: RawSpan) -> tuple[Run, ...]:
    """The runs of some spans of one trace."""
    return build_trace(raws[0].trace_id, raws).runs


def ids(run: Run) -> list[int]:
    """The numbers of the spans of a run."""
    return [int(one.span_id, 16) for one in run.spans]


def ended(number: int, *, name: str = "helper") -> RawSpan:
    """An agent below a parent that nobody saw, which ended before the next begins."""
    return remade(agent(number, parent=9999, name=name), end_ns=number + 50)


def test_agents_that_go_on_with_each_other() -> None:
    """An agent whose model was told of a call that another one's asked for, since the user spoke, is of its run."""
    one = (ended(100), chat(110, parent=100, sent=[user("?")], got=FIRST))
    other = (ended(200, name="expert"), chat(210, parent=200, sent=TOLD, got=[says("A")]))
    (run,) = runs_of(*one, *other)
    assert [100, 110, 200, 210] == ids(run)
    assert (None, span_id(100), ["helper", "expert"]) == (run.root_span, run.run_id, [one.name for one in run.agents])
    assert [("search", "found", "ok")] == [(call.name, call.result, call.status) for call in run.tool_calls]


def test_what_ran_and_what_was_asked_outside_any_run() -> None:
    """A tool alone, by the id of its call, and a model call alone are of the run that they go on with."""
    first = (ended(100), chat(110, parent=100, sent=[user("?")], got=FIRST))
    alone = (tool(200, parent=9998, name="search", call_id="call_a", result="found"), chat(300, parent=9997, sent=TOLD))
    later = (ended(400), chat(410, parent=400, sent=[user("!")], got=[says("B")]))
    one, other = runs_of(*first, *alone, *later)
    assert [100, 110, 200, 300] == ids(one)
    assert [400, 410] == ids(other)


def test_a_loop_of_an_apps_own() -> None:
    """Model calls below one lost parent that go on with each other make it a run, with the functions beside them."""
    function = span(130, parent=9999, name="search", attributes={"langfuse.observation.type": "span"}, end=140)
    asked = chat(110, parent=9999, sent=[user("?")], got=FIRST)
    (run,) = runs_of(asked, function, chat(200, parent=9999, sent=TOLD, got=[says("A")]))
    assert [110, 130, 200] == ids(run)
    assert ("?", "A", None) == (run.query, run.answer, run.root_span)
    beside = runs_of(asked, function, chat(200, parent=9999, sent=[user("!")], got=[says("A")]))
    assert [[130]] == [ids(run) for run in beside]


@pytest.mark.parametrize(
    "sent",
    [
        [*TOLD, says("A"), user("And now?")],  # the next turn of a conversation
        [user("?")],
        [user("?"), asks(("call_b", "search", {})), returns(("call_b", "found"))],
    ],
)
def test_runs_of_their_own(sent: list[dict[str, object]]) -> None:
    """What was said before the user spoke again belongs to a run that is over, and an unknown call to none."""
    one = (ended(100), chat(110, parent=100, sent=[user("?")], got=FIRST))
    other = (ended(200), chat(210, parent=200, sent=sent, got=[says("A")]))
    assert [span_id(100), span_id(200)] == [run.run_id for run in runs_of(*one, *other)]


def test_an_id_that_several_asked_for() -> None:
    """Some models count their calls anew in each run: such an id proves nothing."""
    pieces = [(ended(n), chat(n + 10, parent=n, sent=[user("?")], got=FIRST)) for n in (100, 200)]
    third = (ended(300), chat(310, parent=300, sent=TOLD, got=[says("A")]))
    assert 3 == len(runs_of(*pieces[0], *pieces[1], *third))


def test_control_that_was_passed() -> None:
    """Behind a hand-off the framework may speak as the user; which call it was stands before that."""
    passed = [asks(("call_a", "transfer_to_expert", {}))]
    one = (ended(100), chat(110, parent=100, sent=[user("?")], got=passed))
    sent = [user("?"), *passed, returns(("call_a", "Transferred.")), user("You are the expert now.")]
    other = (ended(200), chat(210, parent=200, sent=sent, got=[says("A")]))
    assert 1 == len(runs_of(*one, *other))


def test_agents_of_a_graph() -> None:
    """OpenInference tells which agent passed control; what stands below a span with another run is left alone."""

    def node(number: int, name: str, above: str, *, parent: int = 9999) -> RawSpan:
        told = {"openinference.span.kind": "AGENT", "graph.node.id": name, "graph.node.parent_id": above}
        return span(number, parent=parent, name=name, end=number + 50, attributes=told)

    (run,) = runs_of(node(100, "triage", "start"), node(200, "expert", "triage"))
    assert [100, 200] == ids(run)
    shared = span(190, parent=9998, end=400)
    apart = runs_of(
        node(100, "triage", "start"), shared, node(200, "expert", "triage", parent=190), agent(300, parent=190)
    )
    assert 3 == len(apart)


@pytest.mark.parametrize(
    "name",
    [
        "autogen__openinference__swarm",
        "genkit__builtin",
        "langgraph__openinference__structured_output",
        "langgraph__openinference__subagent",
        "langgraph__openlit",
        "langgraph__otel-genai__supervisor",
        "langgraph__traceloop",
        "llama-index__traceloop",
        "voltagent__builtin__delegate_hallucinated",
    ],
)
def test_whenever_a_run_was_killed(name: str) -> None:
    """What had been exported by then is one run, however little that is."""
    raws = spans(name)
    (whole,) = {raw.trace_id for raw in raws if raw.parent_id is not None}
    raws = [raw for raw in raws if raw.trace_id == whole]
    for until in sorted({raw.end_ns for raw in raws}):
        left = [raw for raw in raws if raw.end_ns <= until]
        assert 1 >= len(runs_of(*left))
        if name == "langgraph__otel-genai__supervisor":
            (run,) = runs_of(*left)
            assert len(run.llm_calls) == sum(raw.name.startswith("chat") for raw in left)
