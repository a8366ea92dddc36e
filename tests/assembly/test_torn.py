"""Runs whose own span was lost: their parts are one run, and what only stands beside them is not of it."""

from __future__ import annotations

import pytest

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
from tests.making import agent, span, span_id, tool
from tests.recordings_io import remade, spans


def runs_of(*raws: RawSpan) -> tuple[Run, ...]:
    """The runs of some spans of one trace."""
    return build_trace(raws[0].trace_id, raws).runs


def step(number: int, *, parent: int, end: int) -> RawSpan:
    """A step of an agent's loop."""
    attributes = {"gen_ai.operation.name": "execute_event_loop_cycle"}
    return span(number, parent=parent, name="execute_event_loop_cycle", end=end, attributes=attributes)


@pytest.mark.parametrize(
    "name",
    [
        "ag2__builtin__group_chat",
        "agno__openinference__team",
        "crewai__openinference-listener__two-tasks",
        "crewai__openinference__shared-model",
        "langchain__langsmith-otel__create_agent_parallel_hallucinated",
        "langgraph__langfuse",
        "langgraph__openinference",
        "llama-index__openinference",
        "openai-agents__openinference",
        "openai-agents__otel-genai__handoff",
        "openai-agents__weave__handoff",
        "smolagents__openinference",
        "smolagents__openinference__codeagent",
        "strands__builtin",
        "strands__openinference",
        "vercel-ai__genai",
        "voltagent__builtin__delegate_hallucinated",
    ],
)
def test_a_run_that_never_ended(name: str) -> None:
    """What had been exported when a run was killed is one run, with the calls and the time of all of it."""
    raws = spans(name)
    (whole,) = runs_of(*raws)
    around = {whole.trace.spans[0].raw.span_id}
    if name.startswith("ag2"):  # the conversation, and the group's manager
        around = {one.span_id for one in raws[:2]}
    if name == "openai-agents__openinference":  # the trace, the workflow and the agent each have a span
        around = {one.span_id for one in raws[:3]}
    left = [raw for raw in raws if raw.span_id not in around]
    (run,) = runs_of(*left)
    assert run.root_span is None
    assert run.query == whole.query
    assert [call.name for call in run.tool_calls] == [call.name for call in whole.tool_calls]
    assert [call.status for call in run.tool_calls] == [call.status for call in whole.tool_calls]
    assert len(run.llm_calls) == len(whole.llm_calls)
    assert (run.start_ns, run.end_ns) == (min(raw.start_ns for raw in left), max(raw.end_ns for raw in left))
    assert not run.completeness.complete


def test_runs_under_one_lost_request() -> None:
    """Agents that stand side by side below a parent that nobody saw are runs of their own, each with its steps."""
    raws = [one for n in range(10, 20) for one in (agent(n, parent=99), step(n + 100, parent=n, end=n + 110))]
    assert [span_id(n) for n in range(10, 20)] == [run.run_id for run in runs_of(*raws)]


def test_what_stands_beside_the_parts() -> None:
    """An agent that runs where another one's crash left its context is no part; a model that was asked there is."""
    asked = span(5, parent=99, end=9, attributes={"gen_ai.operation.name": "chat"})
    crashed = (asked, step(10, parent=99, end=20), step(30, parent=99, end=40), tool(31, parent=30, end=35))
    later = (agent(50, parent=99), step(51, parent=50, end=60))
    first, second = runs_of(*crashed, *later)
    assert [5, 10, 30, 31] == [int(one.span_id, 16) for one in first.spans]
    assert (span_id(10), None, (5, 40), 1) == (
        first.run_id, first.root_span, (first.start_ns, first.end_ns), len(first.llm_calls)
    )  # fmt: skip
    assert (span_id(50), span_id(50)) == (second.run_id, second.root_span and second.root_span.span_id)
    assert [50, 51] == [int(one.span_id, 16) for one in second.spans]


def test_one_crash_below_another() -> None:
    """Parts of another lost parent are a run, unless they lie within the time of a part: then of an agent in it."""
    outer = (step(10, parent=99, end=20), step(30, parent=99, end=80))
    inner = (step(40, parent=98, end=50), step(51, parent=98, end=60))
    (run,) = runs_of(*outer, *inner)
    assert [10, 30, 40, 51] == [int(one.span_id, 16) for one in run.spans]
    assert [0, 0, 2, 2] == [one.agent for one in run.spans]
    after = (step(90, parent=98, end=95), step(96, parent=98, end=97))
    assert [span_id(10), span_id(90)] == [run.run_id for run in runs_of(*outer, *after)]
    (run,) = runs_of(agent(1), *inner)
    assert (span_id(1), [-1, 1, 1]) == (run.run_id, [one.parent if one.index == 0 else one.agent for one in run.spans])


def test_a_single_part_is_its_own_run() -> None:
    """A part that stands alone has nothing to be put together with."""
    (run,) = runs_of(step(10, parent=99, end=20), tool(11, parent=10, end=15))
    assert (span_id(10), span_id(10)) == (run.run_id, run.root_span and run.root_span.span_id)


def test_parts_of_a_remote_parent_are_not_lost() -> None:
    """What another process called hangs below a span that is recorded there."""
    raws = [remade(step(n, parent=99, end=n + 5), parent_remote=True) for n in (10, 20)]
    assert [span_id(10), span_id(20)] == [run.run_id for run in runs_of(*raws)]


def test_what_lay_within_a_lost_part() -> None:
    """Beside the only run, whose span was lost, a part of a lost part is of it: a call in a step that never ended."""
    task = {"traceloop.span.kind": "task", "gen_ai.operation.name": "execute_task"}
    scope = Scope("opentelemetry.instrumentation.llamaindex", "", {})
    steps = [span(n, parent=99, name="BaseWorkflowAgent.task", attributes=task, scope=scope) for n in (10, 30)]
    inner = span(50, parent=98, name="OpenAI.task", attributes=task, scope=scope)
    (run,) = runs_of(*steps, inner)
    assert [10, 30, 50] == [int(one.span_id, 16) for one in run.spans]
    lost = next(one for one in run.missing if one.field == "answer")
    assert "The run's own span was lost: it crashed or was killed, or is still to come." == lost.why
    assert 2 == len(runs_of(agent(1), *[remade(one, start_ns=one.start_ns + 2000, end_ns=0) for one in steps]))


def killed(name: str, share: float) -> Run:
    """The only run of what had been exported of a recording when this share of its spans had ended."""
    raws = spans(name)
    until = sorted(raw.end_ns for raw in raws)[int(len(raws) * share) - 1]
    (run,) = runs_of(*(raw for raw in raws if raw.end_ns <= until))
    return run


@pytest.mark.parametrize("name", ["openai-agents__openinference__handoff", "openai-agents__weave__handoff"])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_run_that_was_killed_behind_a_handoff(name: str, share: float) -> None:
    """The agent that passed control, whose span is whole, and what the next had done by then are one run."""
    run = killed(name, share)
    assert [("triage_agent", "research_agent")] == [(one.source, one.target) for one in run.handoffs]
    assert ["transfer_to_research_agent", "search_docs", "calculator"] == [call.name for call in run.tool_calls[:3]]
    assert (None, None) == (run.root_span, run.answer)
    assert run.query


def test_handoffs_of_two_runs_at_once() -> None:
    """What two runs left that were killed at the same time stays apart: their times overlap."""
    scope = Scope("openinference.instrumentation.openai_agents", "", {})

    def turn(number: int, *, parent: int, end: int) -> RawSpan:
        attributes = {"openinference.span.kind": "CHAIN"}
        return span(number, parent=parent, name="turn", end=end, attributes=attributes, scope=scope)

    one = (turn(10, parent=98, end=20), turn(30, parent=98, end=40))
    assert [span_id(10), span_id(15)] == [
        run.run_id for run in runs_of(*one, turn(15, parent=99, end=25), turn(35, parent=99, end=45))
    ]
    (run,) = runs_of(*one, turn(45, parent=99, end=50))
    assert [10, 30, 45] == [int(each.span_id, 16) for each in run.spans]
    beside = runs_of(*one, turn(45, parent=99, end=50), agent(60, parent=97))
    assert [[10, 30, 45], [60]] == [[int(each.span_id, 16) for each in run.spans] for run in beside]


def test_a_members_answer_is_not_the_teams() -> None:
    """Of a team that was killed before it answered there is no answer, though those whom it asked had theirs."""
    run = killed("agno__openinference__team", 0.8)
    assert (None, ["researcher", "analyst"]) == (run.answer, [agent.name for agent in run.agents])
    assert killed("agno__openinference__team", 0.95).answer


def test_a_delegates_answer_is_not_the_runs() -> None:
    """A graph that LangGraph runs in a tool's node answers that tool, though neither it nor the tool was over."""
    run = killed("langgraph__openinference__subagent", 0.8)
    assert (None, "delegate_research") == (run.answer, run.tool_calls[0].name)
    assert killed("langgraph__openinference__subagent", 0.99).answer


def test_an_agent_around_the_parts() -> None:
    """What lies in the time of an agent below the same lost parent is of its run; behind it that is another's."""
    parts = (step(20, parent=99, end=30), step(40, parent=99, end=50))
    (run,) = runs_of(agent(10, parent=99), *parts)
    assert (span_id(10), [10, 20, 40]) == (run.run_id, [int(one.span_id, 16) for one in run.spans])
    assert 2 == len(runs_of(agent(30, parent=99), *parts))


def test_steps_of_a_graph_are_counted() -> None:
    """What is not the first step of a run of LangGraph's is none of its own, nor is a graph within another's node."""

    def node(number: int, *, parent: int, step: int, place: str = "model:1") -> RawSpan:
        told = f'{{"langgraph_step": {step}, "langgraph_node": "model", "langgraph_checkpoint_ns": "{place}"}}'
        attributes = {"openinference.span.kind": "CHAIN", "metadata": told}
        return span(number, parent=parent, name="model", end=number + 5, attributes=attributes)

    first = node(10, parent=99, step=1)
    compact = node(20, parent=98, step=2)
    compact.attributes = {key: str(value).replace(": ", ":") for key, value in compact.attributes.items()}
    assert 1 == len(runs_of(first, compact))
    assert 1 == len(runs_of(first, node(20, parent=98, step=2)))
    assert 1 == len(runs_of(first, node(20, parent=98, step=1, place="tools:2|model:3")))
    assert 2 == len(runs_of(first, node(20, parent=98, step=1)))
    assert 2 == len(runs_of(first, node(15, parent=98, step=1), node(30, parent=97, step=2))[:2])
