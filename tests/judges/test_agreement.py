"""How far a judge can be trusted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.judges.agreement import Judged, Limits, findings, kappa, weighted_kappa

LIMITS = Limits(labels=4)


def judged(*passes: bool | None, rules: bool | None = None, label: bool | None = None, error: str = "") -> Judged:
    """One run: what the judge said each time, and what others say."""
    numbers = tuple(None if one is None else 3 if one else 0 for one in passes)
    return Judged(
        trace_id="1", run_id="", numbers=numbers, passes=passes, rules=rules, label=label, error=error,
        label_number=None if label is None else 3 if label else 0,
    )  # fmt: skip


GOOD, BAD = judged(True, True, label=True), judged(False, False, label=False)


def test_kappa_of_a_known_table() -> None:
    """Cohen's own kind of table: 20 and 15 agreed, 5 and 10 not: 0.4."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = kappa(pairs)
    assert (0.7, 0.5, 50) == (found.observed, found.expected, found.n)
    assert found.value == pytest.approx(0.4)
    assert (found.low, found.high) == (pytest.approx(0.146, abs=1e-3), pytest.approx(0.654, abs=1e-3))


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([(1, 1), (0, 0)], 1.0),
        ([(1, 0), (0, 1)], -1.0),
        ([(1, 1), (1, 1)], None),
        ([], None),
        ([(1, 1), (1, 0), (0, 1), (0, 0)], 0.0),
    ],
)
def test_kappa_at_its_ends(pairs: list[tuple[int, int]], value: float | None) -> None:
    """Full agreement is 1, none -1, chance 0; where all is one and the same, kappa says nothing."""
    assert value == kappa(pairs).value


def test_weights_forgive_neighbours() -> None:
    """Two numbers that lie close together disagree less than two that lie apart."""
    near = [(0, 0), (1, 1), (2, 2), (3, 2)]
    far = [(0, 0), (1, 1), (2, 2), (3, 0)]
    assert weighted_kappa(near) > weighted_kappa(far)
    assert (1.0, None, None) == (weighted_kappa(near[:3]), weighted_kappa([(1, 1)]), weighted_kappa([]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_kappa_lies_between_minus_one_and_one(pairs: list[tuple[int, int]]) -> None:
    """Whatever the ratings, kappa is at most 1 and at least -1, and it does not matter who is first."""
    found, turned = kappa(pairs).value, kappa([(b, a) for a, b in pairs]).value
    assert found is None or -1.0 - 1e-9 <= found <= 1.0
    assert found == pytest.approx(turned)


@pytest.mark.parametrize(
    ("runs", "trust", "says"),
    [
        ([judged(True, True, label=True), judged(False, False, label=False)] * 10, "TRUSTWORTHY", None),
        ([judged(True, True), judged(False, False)] * 10, "NEEDS CALIBRATION", "have a hand label; 4 are needed"),
        ([judged(True, label=True), judged(False, label=False)] * 10, "NEEDS CALIBRATION", "was not asked again"),
        ([judged(True, True, label=True)] * 10, "NEEDS CALIBRATION", "kappa says nothing"),
        (
            [*[GOOD, BAD] * 9, *[judged(True, False, label=True)] * 2],
            "NEEDS CALIBRATION",
            "2 of 20 (10%) of the verdicts flip",
        ),
        ([judged(True, False, label=True), judged(False, False, label=False)] * 5, "UNRELIABLE", "flip"),
        (
            [*[GOOD, judged(False, False, label=True)] * 5, *[judged(True, True, label=False)] * 5],
            "UNRELIABLE",
            "kappa against 15 hand labels is -0.50",
        ),
        (
            [judged(True, True, rules=False, label=True), judged(False, False, rules=False, label=False)] * 5,
            "UNRELIABLE",
            "5 of 10 (50%) of its verdicts contradict deterministic checks",
        ),
        (
            [judged(True, True, label=True), judged(False, False, label=False)] * 5 + [judged(error="it broke")] * 9,
            "UNRELIABLE",
            "9 of 19 (47%) of the runs got no verdict",
        ),
    ],
)  # fmt: skip
def test_the_gravest_finding_decides(runs: list[Judged], trust: str, says: str | None) -> None:
    """A judge is trusted if nothing speaks against it, and there are labels to say so."""
    found = findings(runs, LIMITS)
    assert trust == found.trust
    assert says is None if not found.reasons else any(says in reason for reason in found.reasons)


def test_who_cannot_tell_is_counted_apart() -> None:
    """A run of which the judge cannot tell is no error, no disagreement, and no rating."""
    found = findings([judged(None, None, rules=True, label=True), judged(True, True, rules=True, label=True)], LIMITS)
    assert (1, 2) == (found.abstained.count, found.abstained.of)
    assert (1, 1, 0) == (found.disagreement.of, found.kappa.n, found.errors.count)


def test_nothing_was_judged() -> None:
    """Of no runs nothing is known, and no judge is trusted."""
    found = findings([], LIMITS)
    assert ("NEEDS CALIBRATION", None, None) == (found.trust, found.flips.value, found.kappa.value)
