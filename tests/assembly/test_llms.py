"""Logical model calls: nested doubles merged, tokens counted once, costs recorded or estimated."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly import llms
from spanwise.model.calls import Tokens
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Run
from spanwise.pricing import estimate
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, tool, user

USAGE = "gen_ai.usage."
CACHE = {"gen_ai.usage.cache_read.input_tokens": 4, "gen_ai.usage.cache_write.input_tokens": 2}


def told(run: Run) -> list[tuple[str, str | None, int | None, int | None]]:
    """Outermost span, model and tokens of each call."""
    return [(c.span_id, c.model, c.tokens.input, c.tokens.output) for c in run.llm_calls]


def test_each_model_span_is_a_call() -> None:
    """Model spans side by side are calls of their own, by start, each with its agent and times."""
    run = run_of(agent(1), chat(5, parent=1, tokens=(7, 3)), chat(2, parent=1, tokens=(5, 1)))
    assert [(span_id(2), "gpt-4o-mini", 5, 1), (span_id(5), "gpt-4o-mini", 7, 3)] == told(run)
    first = run.llm_calls[0]
    assert (1, 0, 2, 12, False) == (first.span, first.agent, first.start_ns, first.end_ns, first.failed)


def test_wrappers_are_the_call_that_they_wrap() -> None:
    """A model span around one other is one call: the outer one's place, the inner one's count."""
    run = run_of(agent(1), chat(2, parent=1, tokens=(70, 30)), chat(3, parent=2), chat(4, parent=3, tokens=(7, 3)))
    assert [(span_id(2), "gpt-4o-mini", 7, 3)] == told(run)


def test_what_the_innermost_leaves_open() -> None:
    """Model, provider and cost are taken from the innermost span that says them, beside the count."""
    outer = chat(2, parent=1, model="outer", **{"gen_ai.provider.name": "acme", "operation.cost": 0.5})
    inner = chat(3, parent=2, model=None, tokens=(7, 3))
    (call,) = run_of(agent(1), outer, inner).llm_calls
    assert ("outer", "acme", 0.5, False, 7) == (
        call.model,
        call.provider,
        call.cost_usd,
        call.cost_estimated,
        call.tokens.input,
    )


def test_thoughts_that_the_innermost_leaves_out() -> None:
    """ADK's inner span counts what was answered without what was thought, of which only the outer one tells."""
    thoughts = {USAGE + "reasoning.output_tokens": 3}
    (call,) = run_of(
        agent(1), chat(2, parent=1, tokens=(7, 14), **thoughts), chat(3, parent=2, tokens=(7, 11))
    ).llm_calls
    assert (7, 14, 3) == (call.tokens.input, call.tokens.output, call.tokens.reasoning)


def test_a_group_without_any_count() -> None:
    """Where no span of a call counts tokens, nothing is invented."""
    run = run_of(agent(1), chat(2, parent=1, model="outer"), chat(3, parent=2, model=None))
    assert [(span_id(2), "outer", None, None)] == told(run)
    assert (None, None) == (run.cost_usd, run.llm_calls[0].cost_usd)


def test_a_span_around_several_calls_is_none() -> None:
    """A model span around several is no call of its own."""
    run = run_of(agent(1), chat(2, parent=1, tokens=(9, 9)), chat(3, parent=2, tokens=(1, 1)), chat(4, parent=2))
    assert [span_id(3), span_id(4)] == [call.span_id for call in run.llm_calls]


def test_a_sub_agents_calls_are_its_own() -> None:
    """A model span inside a tool that a model span holds is another agent's call."""
    run = run_of(agent(1), chat(2, parent=1), tool(3, parent=2), agent(4, parent=3, name="inner"), chat(5, parent=4))
    assert [(span_id(2), 0), (span_id(5), 3)] == [(call.span_id, call.agent) for call in run.llm_calls]


def test_failure_of_any_span() -> None:
    """A call failed if one of its spans did."""
    inner = chat(3, parent=2)
    inner.status_code = 2
    assert [True] == [call.failed for call in run_of(agent(1), chat(2, parent=1), inner).llm_calls]
    assert [True] == [call.failed for call in run_of(agent(1), inner).llm_calls]


def test_a_call_that_ends_before_it_starts() -> None:
    """A call's end is never before its start."""
    odd = chat(5, parent=1)
    odd.end_ns = 2
    assert [(5, 5)] == [(call.start_ns, call.end_ns) for call in run_of(agent(1), odd).llm_calls]


def test_cost_that_agents_state() -> None:
    """Where no model call tells its cost, that of the agents counts, if each that counts tokens states one."""
    stated = {"gen_ai.usage.input_tokens": 9, "operation.cost": 0.5}
    run = run_of(agent(1, **stated), chat(2, parent=1, model=None))
    assert (0.5, False) == (run.cost_usd, run.cost_estimated)
    assert 0.5 == run_of(agent(1, **stated)).cost_usd
    silent = agent(3, parent=1, name="b", **{"gen_ai.usage.input_tokens": 9})
    assert run_of(agent(1), agent(2, parent=1, **stated), silent).cost_usd is None
    assert run_of(agent(1)).cost_usd is None


def test_estimated_cost() -> None:
    """Without a recorded cost list prices, if there are any, give one, marked as estimated; one side is enough."""
    run = run_of(agent(1), chat(2, parent=1, tokens=(1000, 100), **CACHE))
    (call,) = run.llm_calls
    price = estimate("gpt-4o-mini", None, 1000, 100, 4, 2)
    assert (price, price is not None) == (call.cost_usd, call.cost_estimated)
    half = chat(2, parent=1, **{"gen_ai.usage.output_tokens": 100})
    assert [estimate("gpt-4o-mini", None, 0, 100)] == [c.cost_usd for c in run_of(agent(1), half).llm_calls]
    half = chat(2, parent=1, **{"gen_ai.usage.input_tokens": 100})
    assert [estimate("gpt-4o-mini", None, 100, 0)] == [c.cost_usd for c in run_of(agent(1), half).llm_calls]


def test_no_estimate() -> None:
    """An unknown model, a model without a name and a call without tokens have no cost."""
    for spans in (
        chat(2, parent=1, model="nobody-knows-this", tokens=(1, 1)),
        chat(2, parent=1, model=None, tokens=(1, 1)),
        chat(2, parent=1),
    ):
        (call,) = run_of(agent(1), spans).llm_calls
        assert (None, False) == (call.cost_usd, call.cost_estimated)


def test_recorded_cost_comes_first() -> None:
    """A recorded cost is not estimated over; the run's is their sum, and not known where one is not."""
    run = run_of(
        agent(1),
        chat(2, parent=1, tokens=(1, 1), **{"operation.cost": 0.1}),
        chat(20, parent=1, **{"operation.cost": 0.2}),
    )
    assert (0.3, False) == (pytest.approx(run.cost_usd), run.cost_estimated)
    assert None is run_of(agent(1), chat(2, parent=1, **{"operation.cost": 0.1}), chat(20, parent=1)).cost_usd


def test_calls_that_an_agents_span_holds() -> None:
    """Model calls that left events on their agent's span and no span of their own are calls, each known by its end."""
    usage = ({USAGE + "input_tokens": 5, USAGE + "output_tokens": 1}, {USAGE + "input_tokens": 7})
    events = [
        RawEvent("gen_ai.client.inference.operation.details", at, said)
        for at, said in zip((30, 60), usage, strict=True)
    ]
    holder = span(
        1, name="invoke_agent helper", end=99, events=events, scope=Scope("gcp.vertex.agent", "2", {}),
        attributes={"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-2.5-flash"},
    )  # fmt: skip
    run = run_of(holder, chat(50, parent=1, tokens=(1, 1)))
    assert [(30, 5, "gemini-2.5-flash"), (50, 1, "gpt-4o-mini"), (60, 7, "gemini-2.5-flash")] == [
        (call.start_ns, call.tokens.input, call.model) for call in run.llm_calls
    ]


def test_tokens_of_leaves_only() -> None:
    """Sums go over the calls and leave out what agents and wrappers state again; unknown kinds stay unknown."""
    usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 100}
    run = run_of(
        agent(1, **usage), chat(2, parent=1, tokens=(10, 1), **CACHE), chat(3, parent=2, tokens=(5, 2)),
        chat(20, parent=1, tokens=(3, 4), **CACHE),
    )  # fmt: skip
    assert Tokens(8, 6, 4, 2, None) == run.tokens


def test_tokens_of_agents_where_no_call_counts() -> None:
    """Where no model call counts tokens the topmost agents' totals stand in, without those below them."""
    usage = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2}
    run = run_of(
        agent(1),
        chat(2, parent=1),
        agent(10, parent=1, name="a", **usage),
        span(11, parent=10),
        agent(12, parent=11, name="b", **usage),
        agent(30, parent=1, name="c", **usage),
    )
    assert Tokens(14, 4, None, None, None) == run.tokens


def test_totals_that_count_more_than_the_run() -> None:
    """A total that counts other runs or agents, too, is none, nor are those below it; what is missing says why."""
    result = {"token_usage": {"prompt_tokens": 8, "successful_requests": 4}, "tasks_output": [{"messages": []}]}
    crew = {"openinference.span.kind": "CHAIN", "crew_id": "c", "output.value": json.dumps(result)}
    run = run_of(span(1, attributes=crew), agent(2, parent=1, **{"gen_ai.usage.input_tokens": 7}))
    assert None is run.tokens
    (tokens,) = [item for item in run.missing if item.field == "tokens"]
    assert "CrewAI's total" in tokens.why


def test_no_tokens_at_all() -> None:
    """Where nothing counts tokens there is no sum."""
    assert None is run_of(agent(1), chat(2, parent=1)).tokens
    assert None is run_of(agent(1)).tokens


def test_models() -> None:
    """The models of the calls by first appearance, or those that agents name where no call left a span."""
    run = run_of(agent(1), chat(2, parent=1, model="b"), chat(3, parent=1, model="a"), chat(4, parent=1, model="b"))
    assert ("b", "a") == run.models
    assert ("m",) == run_of(agent(1, **{"gen_ai.request.model": "m"}), span(2, parent=1)).models


def test_messages_of_a_group() -> None:
    """Each side of a conversation is the innermost span's that records it."""
    run = run_of(
        agent(1), chat(2, parent=1, sent=[user("outer")], got=[says("outer")]), chat(3, parent=2, got=[says("inner")])
    )
    said = llms.messages(run, run.llm_groups[0])
    assert (["outer"], ["inner"]) == ([m.text for m in said.input or ()], [m.text for m in said.output or ()])
    alone = run_of(agent(1), chat(2, parent=1, sent=[returns(("a", 1))], got=[asks(("b", "x", {}))]))
    both = llms.messages(alone, alone.llm_groups[0])
    assert (1, 1) == (len(both.input or ()), len(both.output or ()))


@st.composite
def model_trees(draw: st.DrawFn) -> list[RawSpan]:
    """Model spans in a random tree below an agent, each counting tokens or not."""
    count = draw(st.integers(0, 8))
    counts = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9))
    return [agent(1), *(chat(n + 2, parent=draw(st.integers(1, n + 1)), tokens=draw(counts)) for n in range(count))]


@given(model_trees())
def test_every_leaf_is_in_one_call(spans: list[RawSpan]) -> None:
    """Each model span that holds no other belongs to exactly one call, and tokens are those of the calls."""
    run = run_of(*spans)
    holding = {s.parent_id for s in spans}
    leaves = sorted(s.span_id for s in spans[1:] if s.span_id not in holding)
    grouped = [s.span_id for group in run.llm_groups for s in group]
    assert len(set(grouped)) == len(grouped)
    assert set(leaves) <= set(grouped)
    counted = [call.tokens.input for call in run.llm_calls if call.tokens.input is not None]
    assert (sum(counted) if counted else None) == (run.tokens.input if run.tokens else None)
