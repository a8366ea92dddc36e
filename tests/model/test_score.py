"""What a score may say."""

from __future__ import annotations

import math

import pytest

from spanwise.errors import ModelError
from spanwise.model.score import Score, not_applicable, not_measurable, score_id


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_shares(value: float) -> None:
    """A value without a unit lies in [0, 1]."""
    assert ("scored", value) == ((score := Score(name="x", value=value)).status, score.value)


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
def test_values_outside(value: float) -> None:
    """A value outside [0, 1] needs a unit; the error says which and why."""
    with pytest.raises(ModelError, match=r"Score 'x': .* has no unit and lies outside \[0, 1\]\."):
        Score(name="x", value=value)


def test_values_with_a_unit() -> None:
    """With a unit any amount is a value."""
    assert 250.0 == Score(name="cost", value=250.0, unit="USD").value


@pytest.mark.parametrize("status", ["not_applicable", "not_measurable", "error"])
def test_only_scored_has_a_value(status: str) -> None:
    """What was not scored has no value, and what was scored has one."""
    assert None is Score(name="x", status=status).value
    with pytest.raises(ModelError, match="a value belongs to status 'scored' and to no other"):
        Score(name="x", value=0.0, status=status)
    with pytest.raises(ModelError, match="a value belongs to status 'scored' and to no other"):
        Score(name="x")


def test_abstaining() -> None:
    """The two ways to abstain carry their reason, and their unit if there is one."""
    assert Score(name="x", status="not_applicable", reason="why") == not_applicable("x", "why")
    assert Score(name="x", status="not_measurable", reason="why", unit="USD") == not_measurable("x", "why", unit="USD")


def test_frozen() -> None:
    """A score does not change once it is said."""
    with pytest.raises(AttributeError, match="immutable"):
        Score(name="x", value=1.0).value = 0.5


def test_ids() -> None:
    """An id is the same in every release for the same question about the same run, and another for any other."""
    one = score_id(trace_id="t", run_id="r", name="n")
    assert "a88de4dbbcc0f21b1798ee92c82e46ae" == one
    others = [("t2", "r", "n"), ("t", "", "n"), ("t", "r", "n2")]
    assert 4 == len({one, *(score_id(trace_id=t, run_id=r, name=n) for t, r, n in others)})
