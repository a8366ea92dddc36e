"""Taken together, how well did the run go?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.overall import DEFAULT, Overall
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.run import config_hash
from tests.evaluators.conformance import Case, cases_of, told

BROKEN = Score(name="latency", status="error", reason="KeyError: 'secret'")


def scored(name: str, value: float) -> Score:
    """A score."""
    return Score(name=name, value=value)


def test_weighted_mean() -> None:
    """The value is the weighted mean, and the reason shows each term with its share of the weight."""
    said = Overall()([scored("tool_selection", 1.0), scored("redundancy", 0.5), scored("latency", 0.75)])
    assert 0.8125 == said.value
    assert (
        "100% of the weight is scored: 0.50 x 1.00 tool_selection + 0.25 x 0.50 redundancy + 0.25 x 0.75 latency."
        == (said.reason)
    )
    assert ("redundancy at 0.50 takes 0.12 off overall.", "latency at 0.75 takes 0.06 off overall.") == said.issues


def test_what_could_not_be_told_lowers_the_share() -> None:
    """A score that is not measurable, and one whose evaluator broke, are weight that is not scored, and are named."""
    said = Overall()([scored("tool_selection", 0.5), not_measurable("redundancy", "No arguments."), BROKEN])
    assert (0.5, "scored") == (said.value, said.status)
    assert (
        "50% of the weight is scored: 1.00 x 0.50 tool_selection; "
        "Missing: redundancy is not measurable (No arguments); the evaluator of latency broke."
    ) == said.reason


def test_too_little_is_scored() -> None:
    """Below half of the weight there is no overall score; the reason names what is missing, no message of an error."""
    said = Overall()([scored("recovery", 1.0), not_measurable("redundancy", "No arguments."), BROKEN])
    assert ("not_measurable", None) == (said.status, said.value)
    assert (
        "Only 20% of the weight is scored. Missing: redundancy is not measurable (No arguments);"
        " the evaluator of latency broke."
    ) == said.reason


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [not_applicable("redundancy", "no tool")],
        [Score(name="latency_ms", value=3.0, unit="ms")],
        [Score(name="cost", value=3.0, unit="USD"), scored("mine", 1.0)],
    ],
)
def test_nothing_applies(scores: list[Score]) -> None:
    """Without a score that has a weight and applies there is nothing to weigh."""
    assert "not_applicable" == Overall()(scores).status


def test_a_unit_keeps_a_score_out() -> None:
    """A score with a unit never enters, though it has a weighed name."""
    said = Overall()([Score(name="redundancy", value=3.0, unit="calls"), scored("recovery", 0.25)])
    assert 0.25 == said.value


def test_a_weight_of_zero_takes_a_score_out() -> None:
    """What weighs nothing neither counts nor lacks."""
    overall = Overall(weights={"redundancy": 1.0, "latency": 0.0})
    assert overall([scored("redundancy", 0.5)]) == overall([scored("redundancy", 0.5), BROKEN])


def test_values_by_rule() -> None:
    """Where a rule says so, a score without a value, or of exactly 0, counts what the rule says; a broken one lacks."""
    overall = Overall(weights={"redundancy": 0.5, "latency": 0.5}, without={"latency": 1.0})
    half = scored("redundancy", 0.5)
    assert [0.75, 0.75, 0.75, 0.55] == [
        overall([half, score]).value
        for score in (
            not_applicable("latency", "no"),
            not_measurable("latency", "no"),
            scored("latency", 0.0),
            scored("latency", 0.6),
        )
    ]
    assert "0.50 x 1.00 latency (by rule)" in overall([half, not_applicable("latency", "no")]).reason
    assert (0.5, True) == ((said := overall([half, BROKEN])).value, "broke" in said.reason)


def test_ones_own_scores_can_be_weighed() -> None:
    """Names beside the built-in ones are weighed if they are known, as are further scores of an evaluator."""
    overall = Overall(weights={"brief": 1.0, "cost_budget": 1.0}, known=("brief", "cost"))
    assert 0.75 == overall([scored("brief", 1.0), scored("cost_budget", 0.5)]).value


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"redundancy": -0.1}, "The weight of 'redundancy' is -0.1; expected a finite number of at least 0."),
        ({"redundancy": math.nan}, "is nan; expected a finite number"),
        ({"redundancy": math.inf}, "is inf; expected a finite number"),
        ({"redundant": 1.0}, "The weight of 'redundant' belongs to no score; known: grounding, tool_selection"),
        ({"redundancy": 0.0}, "All weights are 0"),
        ({}, "All weights are 0"),
    ],
)
def test_unusable_weights_are_refused(weights: dict[str, float], message: str) -> None:
    """Negative, infinite and all-zero weights, and those of no score, are refused when they are set."""
    with pytest.raises(ModelError, match=message.replace("(", r"\(")):
        Overall(weights=weights)


@pytest.mark.parametrize("without", [{"latency": 1.5}, {"latency": math.nan}, {"mine": 1.0}])
def test_unusable_rules_are_refused(without: dict[str, float]) -> None:
    """A value without a score lies in [0, 1] and belongs to a weighed score."""
    with pytest.raises(ModelError, match=r"counts .* without a value; expected"):
        Overall(without=without)


def test_default_weights() -> None:
    """The default weights are ten, and make 1."""
    assert (10, 1.0) == (len(DEFAULT), math.fsum(DEFAULT.values()))


def test_equal_weights_are_one_configuration() -> None:
    """What may be weighed makes no other configuration, what weighs does."""
    one, same, other = Overall(), Overall(known=("brief",)), Overall(weights={"redundancy": 1.0})
    assert (True, False) == (config_hash(one) == config_hash(same), config_hash(one) == config_hash(other))


@pytest.mark.parametrize("case", cases_of("overall"), ids=told)
def test_conformance(case: Case) -> None:
    """Scores and weights as a case tells them give what the case expects."""
    scores = [
        Score(name=one["name"], value=one.get("value"), unit=one.get("unit", ""), status=one.get("status", "scored"))
        for one in case["scores"]
    ]
    said = Overall(**case.get("parameters", {}))(scores)
    expected = case["expect"]
    assert expected["status"] == said.status, said
    assert pytest.approx(expected.get("value")) == said.value
    assert expected.get("reason", "") in said.reason


SCORES = st.lists(
    st.tuples(
        st.sampled_from([*DEFAULT, "mine"]),
        st.one_of(st.floats(0, 1), st.sampled_from(["not_applicable", "not_measurable", "error"])),
    ),
    max_size=12,
    unique_by=lambda pair: pair[0],
)


def made(pairs: list[tuple[str, float | str]]) -> list[Score]:
    """The scores that pairs of names and values, or of names and statuses, tell."""
    return [
        Score(name=name, value=what) if isinstance(what, float) else Score(name=name, status=what)
        for name, what in pairs
    ]


@given(SCORES)
def test_bounded(pairs: list[tuple[str, float | str]]) -> None:
    """An overall score lies between the least and the greatest that it is made of."""
    said = Overall()(made(pairs))
    values = [what for name, what in pairs if isinstance(what, float) and name in DEFAULT]
    if said.value is not None:
        assert min(values) - 1e-9 <= said.value <= max(values) + 1e-9
        assert 0.0 <= said.value <= 1.0


@given(SCORES, st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: list[tuple[str, float | str]], random: object) -> None:
    """The order of the scores changes nothing."""
    mixed = list(pairs)
    random.shuffle(mixed)
    assert Overall()(made(pairs)) == Overall()(made(mixed))


@given(SCORES)
def test_what_does_not_apply_changes_nothing(pairs: list[tuple[str, float | str]]) -> None:
    """Dropping a score that does not apply gives the same overall score, word for word."""
    assert Overall()(made(pairs)) == Overall()(made([pair for pair in pairs if pair[1] != "not_applicable"]))


@given(SCORES, st.floats(0.1, 10))
def test_weights_are_relative(pairs: list[tuple[str, float | str]], factor: float) -> None:
    """Multiplying all weights by a number changes no value."""
    scaled = Overall(weights={name: weight * factor for name, weight in DEFAULT.items()})
    one, other = Overall()(made(pairs)), scaled(made(pairs))
    assert one.status == other.status
    assert one.value == pytest.approx(other.value)


@given(SCORES, st.sampled_from(list(DEFAULT)), st.floats(0, 1), st.floats(0, 1))
def test_monotone(pairs: list[tuple[str, float | str]], name: str, low: float, high: float) -> None:
    """A better score never makes the overall score worse."""
    low, high = sorted((low, high))
    others = made([pair for pair in pairs if pair[0] != name])
    worse, better = (Overall()([*others, scored(name, value)]) for value in (low, high))
    assert worse.value is None or worse.value <= (better.value or 0.0) + 1e-9
