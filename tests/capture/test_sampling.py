"""Which runs are scored: nested subsets, rates that are kept, caps that are never exceeded."""

import random
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.capture.sampling import Admission, Gate, Sampling, has_failed, randomness
from spanwise.errors import ModelError
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.making import agent, run_of, tool

S = 1_000_000_000
DAY = 86_400 * S
RATES = st.floats(0, 1)
TRACE_IDS = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")


def fine(run: Run) -> Score:
    """An evaluator that is content with everything."""
    return Score(name="fine", value=1.0)


@given(trace=TRACE_IDS, cheap=RATES, dear=RATES, failed=st.booleans())
def test_dear_evaluators_see_a_part_of_what_cheap_ones_see(trace: str, cheap: float, dear: float, failed: bool) -> None:
    """What the evaluator with the lower rate sees, the one with the higher rate sees too."""
    low, high = sorted((cheap, dear))
    admission = Admission(Sampling(rates={"dear": low, "cheap": high}))
    decision = admission.admit(trace, failed=failed, now_ns=0)
    assert decision.wants("cheap") or not decision.wants("dear")


@given(trace=TRACE_IDS, rate=RATES)
def test_every_process_decides_alike(trace: str, rate: float) -> None:
    """Two admissions that know nothing of each other decide the same about a trace, at any time."""
    found = [
        Admission(Sampling(default=rate)).admit(trace, failed=False, now_ns=now).wants("any") for now in (0, 5 * DAY)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1, 0.5, 0.99, 1.0])
def test_the_share_that_is_seen_is_the_rate(rate: float) -> None:
    """Of 20,000 random traces the rate is seen, to within four standard deviations; of rate 0 none, of rate 1 all."""
    ids = random.Random(7)
    admission = Admission(Sampling(default=rate))
    seen = sum(
        admission.admit(f"{ids.getrandbits(128):032x}", failed=False, now_ns=0).wants("any") for _ in range(20_000)
    )
    assert abs(seen - 20_000 * rate) <= 4 * (20_000 * rate * (1 - rate)) ** 0.5
    assert {"rate": 20_000 - seen} == admission.counts or seen == 20_000


def test_weights_add_up_to_all_runs() -> None:
    """The weights of the runs that are seen add up to about how many there were."""
    ids = random.Random(11)
    admission = Admission(Sampling(rates={"dear": 0.1}, default=0.5))
    decisions = [admission.admit(f"{ids.getrandbits(128):032x}", failed=False, now_ns=0) for _ in range(20_000)]
    assert abs(sum(one.weight_of("dear") for one in decisions) - 20_000) < 2_000
    assert abs(sum(one.weight for one in decisions) - 20_000) < 800


def test_the_number_is_the_w3c_one() -> None:
    """The number of a trace is the low 56 bits of its id, and the greatest ones are kept, as in tracestate's `th`."""
    assert 0xFF_0000_0000_0001 == randomness("0123456789abcdef01ff000000000001")
    half = Admission(Sampling(default=0.5))
    wanted = {
        low: half.admit("0" * 18 + low, failed=False, now_ns=0).wants("a") for low in ("7f" + "f" * 12, "80" + "0" * 12)
    }
    assert {"7f" + "f" * 12: False, "80" + "0" * 12: True} == wanted


def test_it_agrees_with_consistent_samplers() -> None:
    """The SDK's composable ratio sampler, or where there is none OpenTelemetry's rule, samples the same traces."""
    ids = random.Random(3)
    admission = Admission(Sampling(default=0.3))
    traces = [ids.getrandbits(128) for _ in range(500)]
    rule = {trace: trace & (2**56 - 1) >= 2**56 - round(0.3 * 2**56) for trace in traces}
    if find_spec("opentelemetry.sdk.trace._sampling_experimental"):
        experimental = import_module("opentelemetry.sdk.trace._sampling_experimental")
        sampler = experimental.composite_sampler(experimental.composable_traceid_ratio_based(0.3))
        assert rule == {trace: sampler.should_sample(None, trace, "run").decision.is_sampled() for trace in traces}
    assert rule == {trace: admission.admit(f"{trace:032x}", failed=False, now_ns=0).wants("any") for trace in traces}


@pytest.mark.parametrize("trace", ["", "short", "not hexadecimal at all", "ä" * 32, "\ud800" * 20, "0x" + "1" * 12])
def test_any_id_has_a_number(trace: str) -> None:
    """An id that is no hex text has a number in range, the same each time."""
    assert randomness(trace) == randomness(trace)
    assert 0 <= randomness(trace) < 2**56


def test_failed_runs_are_kept() -> None:
    """A failed run is seen by all at any rate and weighs one; with keep_on_error off it is like any other."""
    kept = Admission(Sampling(default=0.0)).admit("0" * 32, failed=True, now_ns=0)
    other = Admission(Sampling(default=0.0, keep_on_error=False)).admit("0" * 32, failed=True, now_ns=0)
    assert (True, 1.0, "") == (kept.wants("any"), kept.weight, kept.reason)
    assert (False, 0.0, "rate") == (other.wants("any"), other.weight, other.reason)


@given(
    cap=st.integers(1, 20),
    steps=st.lists(st.integers(0, 20 * S), min_size=1, max_size=150),
    failed=st.booleans(),
)
def test_a_minute_never_sees_more_than_its_cap(cap: int, steps: list[int], failed: bool) -> None:
    """In no window of sixty seconds, are more runs scored than the cap says, failed ones included."""
    admission = Admission(Sampling(per_minute=cap))
    now, times = 0, []
    for step in steps:
        now += step
        if not admission.admit("f" * 32, failed=failed, now_ns=now).reason:
            times.append(now)
    assert all(times[at + cap] - times[at] >= 60 * S for at in range(len(times) - cap))
    assert len(steps) == len(times) + admission.counts.get("per_minute", 0)


def test_a_minutes_cap_is_used() -> None:
    """Under steady overload nearly the cap is scored each minute."""
    admission = Admission(Sampling(per_minute=60))
    for tick in range(6_100):
        admission.admit("f" * 32, failed=False, now_ns=tick * S // 10)
    assert 600 == admission.admitted


@given(st.lists(st.integers(0, DAY // 3), min_size=1, max_size=60))
def test_a_day_never_sees_more_than_its_cap(steps: list[int]) -> None:
    """On no day in UTC are more runs scored than the cap says, and each day begins anew."""
    admission = Admission(Sampling(per_day=2))
    now = 0
    days: dict[int, list[str]] = {}
    for step in steps:
        now += step
        days.setdefault(now // DAY, []).append(admission.admit("f" * 32, failed=False, now_ns=now).reason)
    assert all(reasons == (["", ""] + ["per_day"] * len(reasons))[: len(reasons)] for reasons in days.values())


def test_a_clock_set_back_opens_no_cap() -> None:
    """Time that runs backwards neither frees a minute nor a day."""
    admission = Admission(Sampling(per_minute=1, per_day=5))
    assert "" == admission.admit("f" * 32, failed=False, now_ns=3 * DAY).reason
    assert "per_minute" == admission.admit("f" * 32, failed=False, now_ns=DAY).reason
    assert "" == admission.admit("f" * 32, failed=False, now_ns=3 * DAY + 61 * S).reason


def test_what_no_evaluator_would_see_uses_up_no_cap() -> None:
    """With every evaluator at a rate, a run that none of them sees is counted under its rate, not under a cap."""
    admission = Admission(Sampling(rates={"only": 0.0}, per_minute=1), ["only"])
    assert ["rate", "rate"] == [admission.admit("f" * 32, failed=False, now_ns=0).reason for _ in range(2)]
    assert "" == admission.admit("f" * 32, failed=True, now_ns=0).reason


def test_a_later_revision_uses_up_no_cap() -> None:
    """A run that is scored again is not counted again."""
    admission = Admission(Sampling(per_minute=1))
    found = [admission.admit("f" * 32, failed=False, now_ns=0, again=again).reason for again in (False, True, False)]
    assert ["", "", "per_minute"] == found


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"default": 1.5}, "Sampling: default is 1.5, expected a number from 0 to 1."),
        ({"default": True}, "Sampling: default is True, expected a number from 0 to 1."),
        ({"rates": {"a": float("nan")}}, "Sampling: rates['a'] is nan, expected a number from 0 to 1."),
        ({"rates": {"a": "0.1"}}, "Sampling: rates['a'] is '0.1', expected a number from 0 to 1."),
        ({"rates": {1: 0.1}}, "Sampling: rates names 1, expected the name of an evaluator."),
        ({"rates": 0.1}, "Sampling: rates is 0.1, expected a mapping of evaluators' names to rates."),
        (
            {"per_minute": 0},
            "Sampling: per_minute is 0, expected a whole number of at least 1, or None for no cap.",
        ),
        ({"per_day": 1.5}, "Sampling: per_day is 1.5, expected a whole number of at least 1, or None for no cap."),
    ],
)
def test_what_is_not_usable_is_refused(settings: Mapping[str, Any], message: str) -> None:
    """A rate or cap out of range is an error that says what was read and what was expected."""
    with pytest.raises(ModelError) as caught:
        Sampling(**settings)
    assert message == str(caught.value)


def test_settings_do_not_change_behind_their_back() -> None:
    """The mapping that was given may be changed afterwards."""
    rates = {"a": 0.5}
    sampling = Sampling(rates=rates)
    rates["a"] = 7.0
    assert 0.5 == sampling.rate_of("a")


def test_a_gate_gives_a_run_to_those_who_may_see_it() -> None:
    """A pipeline's gate leaves out evaluators by rate, keeps failed runs, and gives none where a cap refuses."""
    fast = run_of(agent(1))
    broken = run_of(agent(1), tool(2, parent=1, failed=True))
    assert (False, True) == (has_failed(fast), has_failed(broken))
    gate = Gate(Admission(Sampling(rates={"dear": 0.0}, per_day=2)), wall_offset_ns=DAY)
    evaluators = {"dear": fine, "cheap": fine}
    assert [{"cheap"}, {"dear", "cheap"}, set()] == [
        set(gate.admit(run, evaluators, 0)) for run in (fast, broken, fast)
    ]
    assert {"per_day": 1} == gate.admission.counts
