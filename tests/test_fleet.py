"""What the scores of many runs say together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.assembly.tree import build_trace
from spanwise.fleet import Aggregate, Aggregator, Check, Distribution, Kind, Rate, Sum, Wasted, aggregate, histogram
from spanwise.model.raw import RawSpan
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable, not_measurable
from spanwise.stats import mean, percentile
from tests.making import agent, chat, tool, trace_id


def result(number: int, *scores: Score, spans: Sequence[RawSpan] = (), kind: str = "", revision: int = 1) -> RunResult:
    """The scores of a run of its own trace."""
    trace = build_trace(trace_id(number), [agent(1), *spans])
    return RunResult(run=trace.runs[0], scores=scores, query_type=kind, revision=revision)


def scored(value: float, name: str = "redundancy", *, label: str = "ok", unit: str = "") -> Score:
    """A score."""
    return Score(name=name, value=value, label=label, unit=unit)


def calls(*told: str) -> list[RawSpan]:
    """Calls of one tool, each with an argument; an exclamation mark says that it failed."""
    return [
        tool(20 * at, parent=1, arguments={"q": text[0]}, result=None if "!" in text else text[0], failed="!" in text)
        for at, text in enumerate(told, start=1)
    ]


def test_nothing() -> None:
    """Of no runs every number is missing, none is made up."""
    found = aggregate([])
    nothing = Sum(value=None, runs=0, unknown=0)
    assert (0, {}, Rate(), Rate(), Rate(), Rate(), Wasted(ms=nothing, tokens=nothing, usd=nothing), {}) == (
        found.runs,
        found.scores,
        found.redundancy,
        found.recovery,
        found.errors,
        found.latency,
        found.waste,
        found.by_type,
    )
    assert {"not_measurable"} == {check.status for check in found.checks}


def test_a_distribution() -> None:
    """Each score has its number by status and label, mean, percentiles and histogram."""
    found = aggregate(
        [
            result(1, scored(0.2, label="alert")),
            result(2, scored(0.4, label="alert")),
            result(3, scored(0.9)),
            result(4, not_applicable("redundancy", "no tool")),
            result(5, not_measurable("redundancy", "no data")),
            result(6, Score(name="redundancy", status="error", reason="x")),
            result(7),
        ]
    ).scores["redundancy"]
    assert (
        Distribution(
            name="redundancy",
            scored=3,
            not_applicable=1,
            not_measurable=1,
            error=1,
            mean=pytest.approx(0.5),
            p5=pytest.approx(0.22),
            p50=0.4,
            p95=pytest.approx(0.85),
            labels={"alert": 2, "ok": 1},
            histogram=(0, 0, 1, 0, 1, 0, 0, 0, 0, 1),
        )
        == found
    )


def test_rates() -> None:
    """Rates are of calls and failures over all runs; a run whose arguments are not recorded tells no repeats."""
    bare = [tool(n, parent=1, result="r") for n in (20, 40)]
    found = aggregate(
        [
            result(1, scored(0.5, "latency"), spans=calls("a", "a", "b!", "b")),
            result(2, scored(0.1, "latency", label="alert"), spans=calls("a!", "c!")),
            result(3, not_measurable("latency", "no times"), spans=bare),
            result(4),
        ]
    )
    assert (Rate(part=1, whole=6, runs=2), Rate(part=1, whole=2, runs=2)) == (found.redundancy, found.recovery)
    assert (Rate(part=3, whole=8, runs=3), Rate(part=1, whole=2, runs=2)) == (found.errors, found.latency)
    assert (1 / 6, 0.5, None) == (found.redundancy.value, found.latency.value, Rate().value)


def test_waste() -> None:
    """The repeats' time is summed; tokens and dollars are of the runs that tell them."""
    asked = chat(5, parent=1, tokens=(80, 20))
    found = aggregate(
        [
            result(1, spans=[asked, *calls("a", "a")]),
            result(2, spans=calls("a", "a")),
            result(3),
            result(4, spans=[tool(n, parent=1, result="r") for n in (20, 40)]),
        ]
    ).waste
    assert Sum(value=pytest.approx(2e-5), runs=3, unknown=1) == found.ms
    assert Sum(value=50.0, runs=2, unknown=2) == found.tokens


def checks(**means: float) -> dict[str, str]:
    """The checks of one run with these scores, each with its status."""
    found = aggregate([result(1, *(scored(value, name) for name, value in means.items()))])
    return {check.name: check.status for check in found.checks}


def test_checks() -> None:
    """Selection and the mean score are held against their targets; what was scored in no run is not measurable."""
    assert {
        "tool selection": "alert",
        "mean score": "warn",
        "redundancy rate": "not_measurable",
        "recovery": "not_measurable",
        "latency compliance": "ok",
    } == checks(tool_selection=0.79, overall=0.7, latency=1.0)


@pytest.mark.parametrize(
    ("value", "above", "below"),
    [
        (0.951, "ok", "alert"),
        (0.9, "warn", "alert"),
        (0.8, "warn", "alert"),
        (0.799, "alert", "alert"),
        (0.15, "alert", "warn"),
        (0.05, "alert", "warn"),
        (0.0499, "alert", "ok"),
        (None, "not_measurable", "not_measurable"),
    ],
)
def test_bounds(value: float | None, above: str, below: str) -> None:
    """A number is ok past its target and an alert past its bound; on either of them it is neither."""
    assert above == Check(name="x", value=value, target=0.9, alert=0.8).status
    assert below == Check(name="x", value=value, target=0.05, alert=0.15, above=False).status


def test_the_table_of_targets() -> None:
    """The five numbers have these targets and bounds."""
    assert [
        ("tool selection", 0.9, 0.8, True),
        ("mean score", 0.8, 0.6, True),
        ("redundancy rate", 0.05, 0.15, False),
        ("recovery", 0.8, 0.5, True),
        ("latency compliance", 0.9, 0.7, True),
    ] == [(check.name, check.target, check.alert, check.above) for check in aggregate([]).checks]


def test_a_number_of_calls_is_no_selection() -> None:
    """A score in another unit is not held against a target of a share."""
    found = aggregate([result(1, scored(3.0, "tool_selection", unit="calls"))])
    assert found.checks[0].value is None


def test_types_of_queries() -> None:
    """Runs are counted by the type of their query, the most frequent first, with the mean of each score of theirs."""
    found = aggregate(
        [
            result(1, scored(0.2), scored(5.0, "cost", unit="USD"), kind="news"),
            result(2, scored(0.4), kind="news"),
            result(3, not_applicable("redundancy", "no"), kind="data"),
            result(4, scored(1.0)),
        ]
    ).by_type
    assert {"news": Kind(runs=2, means={"redundancy": pytest.approx(0.3)}), "data": Kind(runs=1, means={})} == found
    assert ["news", "data"] == list(found)


def test_a_run_given_again_replaces_itself() -> None:
    """A later revision takes the place of an earlier one in every number."""
    first = result(1, scored(0.1, label="alert"), scored(0.5, "recovery"), spans=calls("a", "a"), kind="x")
    again = result(1, scored(0.9), spans=calls("a", "b", "c"), revision=2)
    found = aggregate([first, result(2), again])
    fresh = aggregate([result(1, scored(0.9), spans=calls("a", "b", "c")), result(2)])
    assert {**fresh.scores, "recovery": Distribution(name="recovery")} == found.scores
    assert (fresh.redundancy, fresh.errors, fresh.waste, fresh.by_type, 2) == (
        found.redundancy,
        found.errors,
        found.waste,
        found.by_type,
        found.runs,
    )


def test_a_score_that_no_later_run_has() -> None:
    """A run that is given again after a score was last seen leaves that score as it is."""
    found = aggregate([result(1, scored(0.5, "recovery")), result(2), result(2, revision=2)])
    assert (1, 2) == (found.scores["recovery"].scored, found.runs)


def test_labels_of_ones_own_are_bounded() -> None:
    """Labels beyond a few hundred of one score are counted together."""
    found = aggregate([result(n, scored(0.5, label=f"label {n}")) for n in range(1, 301)]).scores["redundancy"]
    assert (300, 51) == (sum(found.labels.values()), found.labels["(other)"])


def test_as_they_come() -> None:
    """Results can be counted one by one, and looked at in between; a run has its number."""
    counted = Aggregator()
    assert [0, 1, 0] == [counted.add(result(n, scored(0.5))) for n in (1, 2, 1)]
    assert (2, 2) == (len(counted), counted.done().runs)


def test_it_is_public() -> None:
    """`spanwise.aggregate` takes what `spanwise.score` gives."""
    found = spanwise.aggregate(spanwise.score([build_trace(trace_id(1), [agent(1), *calls("a", "a")])]))
    assert isinstance(found, Aggregate)
    assert (1, Rate(part=1, whole=2, runs=1)) == (found.runs, found.redundancy)


VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(VALUES)
def test_numbers_are_those_of_the_list(values: list[float]) -> None:
    """Mean and percentiles are what they are of the list of values, and the histogram counts each once."""
    found = aggregate(result(n, scored(value)) for n, value in enumerate(values, start=1)).scores["redundancy"]
    assert pytest.approx(mean(values)) == found.mean
    assert [percentile(values, share) for share in (0.05, 0.5, 0.95)] == [found.p5, found.p50, found.p95]
    assert (len(values), len(values)) == (sum(found.histogram), found.scored)


@given(VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random: object) -> None:
    """The order in which runs come changes no number."""
    runs = [result(n, scored(value), spans=calls("a", "a")) for n, value in enumerate(values, start=1)]
    mixed = list(runs)
    random.shuffle(mixed)
    assert aggregate(runs) == aggregate(mixed)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e6), min_size=1))
def test_histograms_count_everything(values: list[float]) -> None:
    """Values with a unit are counted over their own range."""
    assert len(values) == sum(histogram(values, unit="ms"))
    assert not math.isnan(sum(histogram(values, unit="ms")))
