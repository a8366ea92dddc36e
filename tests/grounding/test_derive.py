"""Numbers that follow from others."""

from __future__ import annotations

import pytest

from spanwise.grounding.derive import calculates, derived
from spanwise.grounding.quantities import Quantity, facts_in
from spanwise.grounding.steps import finish


def numbers(text: str) -> list[Quantity]:
    """The numbers of a text."""
    return [fact for fact in facts_in(text) if isinstance(fact, Quantity)]


@pytest.mark.parametrize(
    ("number", "text", "near", "seen", "how"),
    [
        ("6.84 million", "so that is 6.84 million", "10% 68.4 million", "", "10 % of 6.84e+07"),
        ("12", "that makes 12", "3 4", "", "3 x 4"),
        ("7", "7", "3 4", "", "3 + 4"),
        ("-1", "-1", "3 4", "", "3 - 4"),
        ("0.75", "0.75", "3 4", "", "3 / 4"),
        ("75%", "75%", "3 4", "", "3 as % of 4"),
        ("17", "17 more than", "", "31 14", "31 - 14"),
        ("25%", "grew by 25%", "", "80 100", "100 % up from 80"),
        ("80%", "80%", "", "80 100", "80 as % of 100"),
        ("60", "60 in total", "", "10 20 30", "the sum of 3 numbers"),
        ("20", "20 on average", "", "10 20.4 30", "the mean of 3 numbers"),
        ("2", "twice as many, 2 times", "", "30 15", "30 / 15"),
        ("8", "8 percent of it", "", "10% 80", "10 % of 80"),
    ],
)
def test_derived(number: str, text: str, near: str, seen: str, how: str) -> None:
    """Sums, differences, products, ratios, shares, growth and means follow, where the words say so."""
    assert how == finish(derived(numbers(number)[0], text, numbers(near), numbers(seen)))


@pytest.mark.parametrize(
    ("number", "text", "near", "seen"),
    [
        ("17", "17 people", "", "31 14"),
        ("27", "27 more", "", "31 14"),
        ("8%", "8%", "5% 0", ""),
        ("13 km", "13 km in total", "", "6 kg 7 kg"),
        ("5", "5", "0 7", ""),
        ("60", "60 on average", "", "10 20 30"),
    ],
)
def test_not_derived(number: str, text: str, near: str, seen: str) -> None:
    """Without the words for it, or with what measures something else, nothing follows."""
    assert "" == finish(derived(numbers(number)[0], text, numbers(near), numbers(seen)))


def test_columns() -> None:
    """Numbers under one key are summed apart from those beside them."""
    assert "the sum of 3 numbers" == finish(derived(numbers("75")[0], "75 in total", [], [], [[1, 2, 3], [20, 25, 30]]))


def test_calculates() -> None:
    """Totals and means say that numbers were taken together."""
    assert (True, True, False) == (calculates("in total"), calculates("on average"), calculates("it holds 5"))
