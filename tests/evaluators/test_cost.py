"""What did the run cost?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.cost import Cost
from spanwise.model.raw import RawSpan
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.pricing import estimate
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, chat, run_of, span, tool


def score_of(*spans: RawSpan) -> Score:
    """The score of a run of these spans below one agent."""
    return cost_of(run_of(agent(1), *spans))


def cost_of(run: Run) -> Score:
    """The only score of a run without budgets."""
    score = Cost()(run)
    assert isinstance(score, Score)
    return score


def call(at: int, cost: float | None = None, **more: object) -> RawSpan:
    """A model call with a recorded cost."""
    recorded = {} if cost is None else {"operation.cost": cost}
    return chat(at, parent=1, **recorded, **more)


def test_recorded() -> None:
    """Recorded dollars are added up, and the reason says what for."""
    score = score_of(call(2, 0.25, tokens=(100, 10)), call(20, 0.5, tokens=(50, 5)))
    assert ("cost", 0.75, "USD", "2 model calls, 150 input and 15 output tokens, as recorded.") == (
        score.name,
        score.value,
        score.unit,
        score.reason,
    )


def test_what_a_run_states() -> None:
    """Without a model call it is what the agent states of itself, beside agents that state nothing."""
    stated: dict[str, object] = {"gen_ai.usage.input_tokens": 605, "gen_ai.usage.output_tokens": 95}
    run = run_of(agent(1, **stated, **{"operation.cost": 0.25}), tool(2, parent=1))
    reason = "Model calls without spans, 605 input and 95 output tokens, as recorded."
    assert (0.25, reason, 0.25) == (cost_of(run).value, cost_of(run).reason, run.cost_usd)
    assert "not_measurable" == cost_of(run_of(agent(1, **stated), tool(2, parent=1))).status


def test_estimated() -> None:
    """Without a recorded cost list prices give one and the reason says so; without the prices there is none."""
    price = estimate("gpt-4o-mini", None, 100, 10)
    alone, mixed = score_of(call(2, tokens=(100, 10))), score_of(call(2, tokens=(100, 10)), call(20, 1.0))
    if price is None:
        assert ["not_measurable"] * 2 == [alone.status, mixed.status]
        return
    assert (price, pytest.approx(1.0 + price)) == (alone.value, mixed.value)
    assert "1 model call, 100 input and 10 output tokens, estimated from list prices." == alone.reason
    assert "estimated from list prices" in mixed.reason


def test_more_than_a_dollar() -> None:
    """Dollars are no share: any amount is a score."""
    assert 250.0 == score_of(call(2, 250.0)).value


def test_recorded_without_tokens() -> None:
    """A recorded cost needs no count of tokens."""
    assert "1 model call, tokens not recorded, as recorded." == score_of(call(2, 0.1)).reason


def test_stated_by_the_agent() -> None:
    """Where no model call left a span the agent's own total is a cost, too."""
    stated = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 1, "operation.cost": 0.5}
    score = cost_of(run_of(agent(1, **stated)))
    assert (0.5, "Model calls without spans, 9 input and 1 output tokens, as recorded.") == (score.value, score.reason)
    score = cost_of(run_of(agent(1, **stated), call(2)))
    assert (0.5, "1 model call, 9 input and 1 output tokens, as recorded.") == (score.value, score.reason)


def test_one_side_of_the_tokens() -> None:
    """A side that was not counted is not shown as 0."""
    score = score_of(call(2, 0.1, **{"gen_ai.usage.output_tokens": 7}))
    assert "1 model call, 7 output tokens, as recorded." == score.reason
    score = score_of(call(2, 0.1, **{"gen_ai.usage.input_tokens": 7}))
    assert "1 model call, 7 input tokens, as recorded." == score.reason


def test_tokens_by_kind() -> None:
    """What was read from a cache, written to one, or thought, stands in brackets behind what it is part of."""
    kinds = {
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 4,
    }
    score = score_of(call(2, 0.1, tokens=(100, 10), **kinds))
    tokens = "100 input (60 read from a cache, 30 written to one) and 10 output (4 reasoning) tokens"
    assert f"1 model call, {tokens}, as recorded." == score.reason


def test_several_models() -> None:
    """The reason tells what each model cost, the dearest first."""
    score = score_of(call(2, 0.25), call(20, 1.5, model="b"), call(40, 0.5), call(60, 0.75, model=None))
    assert score.reason.endswith("as recorded. b $1.50, gpt-4o-mini $0.75, not named $0.75.")


def test_spent_on_repeats() -> None:
    """What went to repeated calls is an issue, as far as it can be told."""
    once, again = tool(30, parent=1, arguments={"q": 1}, result=1), tool(70, parent=1, arguments={"q": 1}, result=1)
    score = score_of(call(2, 0.25), once, call(50, 0.75), again, call(90, 0.5))
    assert ("$0.75 of $1.50 (50%) went to 1 repeated tool call.",) == score.issues
    more = tool(85, parent=1, arguments={"q": 1}, result=1)
    score = score_of(call(2, 0.25), once, call(50, 0.75), again, more)
    assert ("$0.75 of $1.00 (75%) went to 2 repeated tool calls.",) == score.issues
    assert () == score_of(once, again, call(90, 0.5)).issues


def test_spent_on_failed_model_calls() -> None:
    """What went to model calls that failed is an issue; one that cost nothing is none."""
    calls = [call(n, 0.25) for n in (2, 20, 40, 60)]
    for one in calls[:2]:
        one.status_code = 2
    assert ("$0.50 of $1.00 (50%) went to 2 failed model calls.",) == score_of(*calls).issues
    assert ("$0.25 of $0.75 (33%) went to 1 failed model call.",) == score_of(*calls[1:]).issues
    free = call(2, 0.0)
    free.status_code = 2
    assert () == score_of(free, calls[3]).issues


def within(budget: float, *costs: float) -> Score:
    """The score of the budget of a run whose model calls cost so much."""
    said = Cost(budget_usd=budget)(run_of(agent(1), *(call(n, cost) for n, cost in enumerate(costs, start=2))))
    assert isinstance(said, tuple)
    return said[1]


def test_budget() -> None:
    """A second score says how much of the cost the budget covers; what is above it is an issue."""
    kept, over = within(1.0, 0.5), within(0.5, 1.5, 0.5)
    assert ("cost_budget", 1.0, "", "$0.50 of a budget of $1.00.", ()) == (
        kept.name,
        kept.value,
        kept.unit,
        kept.reason,
        kept.issues,
    )
    assert (0.25, ("The run cost $2.00, $1.50 over its budget.",)) == (over.value, over.issues)


def test_budget_of_nothing() -> None:
    """A budget of 0 is kept by a run that costs nothing, and by no other."""
    assert (1.0, 0.0) == (within(0, 0.0).value, within(0, 0.5).value)


def test_budget_without_a_cost() -> None:
    """Where the cost is not known nobody can say whether the budget was kept."""
    said = Cost(budget_usd=1.0)(run_of(agent(1), call(2)))
    assert isinstance(said, tuple)
    assert [("cost", "not_measurable", "USD"), ("cost_budget", "not_measurable", "")] == [
        (one.name, one.status, one.unit) for one in said
    ]
    assert said[0].reason == said[1].reason


def test_budget_of_tokens() -> None:
    """More tokens than the budget are an issue; that they were not counted is one too."""

    def issues(*spans: RawSpan) -> tuple[str, ...]:
        said = Cost(budget_tokens=1000)(run_of(agent(1), *spans))
        assert isinstance(said, Score)
        return said.issues

    unknown = "Whether the run kept to its budget of 1,000 tokens cannot be told: tokens are not recorded."
    assert () == issues(call(2, 0.5, tokens=(900, 100)))
    assert ("The run used 1,500 tokens, 500 more than its budget of 1,000.",) == issues(call(2, 0.5, tokens=(900, 600)))
    assert ((unknown,), (unknown,)) == (issues(call(2, 0.5)), issues())


@pytest.mark.parametrize("given_", [-1, True, float("inf"), float("nan"), "5"])
@pytest.mark.parametrize("name", ["budget_usd", "budget_tokens"])
def test_no_budget(name: str, given_: object) -> None:
    """What is no amount is refused before a trace is read."""
    with pytest.raises(ModelError, match=f"cost: {name} is "):
        Cost(**{name: given_})


@pytest.mark.parametrize(
    ("unpriced", "why"),
    [
        (call(20), "a model call records neither cost nor tokens. Turn on usage reporting of the model client."),
        (call(20, model="nobody-knows-this", tokens=(1, 1)), "no list price is known for nobody-knows-this."),
        (call(20, model=None, tokens=(1, 1)), "no list price is known for a model that is not named."),
    ],
)
def test_a_call_whose_cost_is_not_known(unpriced: RawSpan, why: str) -> None:
    """One call of unknown cost makes the run's unknown: a sum without it would be wrong."""
    score = score_of(call(2, 0.5), unpriced)
    assert ("not_measurable", None, f"The cost cannot be told: {why}") == (score.status, score.value, score.reason)


def test_no_model_call_recorded() -> None:
    """Without a model span nobody knows what was spent; the reason names the switch."""
    score = score_of()
    assert ("not_measurable", "USD") == (score.status, score.unit)
    assert "Instrument the model client" in score.reason


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect tell no cost."""
    score = cost_of(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


@pytest.mark.parametrize("case", cases_of("cost"), ids=told)
def test_conformance(case: Case) -> None:
    """The score of each case is what the case expects."""
    check(case, Cost)


COSTS = st.lists(st.floats(0, 1000), min_size=1, max_size=8)


@given(COSTS, st.floats(0, 1000))
def test_another_call_never_makes_it_cheaper(costs: list[float], more: float) -> None:
    """The cost is never negative, and grows with each call."""
    before = score_of(*(call(n, cost) for n, cost in enumerate(costs, start=2))).value
    after = score_of(*(call(n, cost) for n, cost in enumerate([*costs, more], start=2))).value
    assert before is not None
    assert after is not None
    assert 0.0 <= before <= after


@given(COSTS, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(costs: list[float], random: object, others: list[int]) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = [call(n, cost) for n, cost in enumerate(costs, start=2)]
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    assert score_of(*spans) == score_of(*more)


@given(COSTS, st.floats(0, 1000), st.floats(0, 1000))
def test_a_budget_is_bounded_and_monotone(costs: list[float], budget: float, more: float) -> None:
    """The budget's score lies in [0, 1], falls with each call and rises with the budget."""
    value = within(budget, *costs).value
    dearer, looser = within(budget, *costs, more).value, within(budget + more, *costs).value
    assert value is not None
    assert dearer is not None
    assert looser is not None
    assert 0.0 <= dearer <= value <= looser <= 1.0
