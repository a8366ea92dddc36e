"""What did the run cost?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.evaluators.cost import Cost
from spanwise.model.raw import RawSpan
from spanwise.model.score import Score
from spanwise.pricing import estimate
from tests.making import agent, chat, run_of, span


def score_of(*spans: RawSpan) -> Score:
    """The score of a run of these spans below one agent."""
    return Cost()(run_of(agent(1), *spans))


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


def test_one_side_of_the_tokens() -> None:
    """A side that was not counted is shown as none."""
    score = score_of(call(2, 0.1, **{"gen_ai.usage.output_tokens": 7}))
    assert "1 model call, 0 input and 7 output tokens, as recorded." == score.reason


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
    score = Cost()(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


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
