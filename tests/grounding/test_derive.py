"""Numbers that follow from others."""

from __future__ import annotations

import pytest

from spanwise.grounding.derive import calculates, derived, elapsed
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
        ("119 euros", "119 euros with tax", "19%", "100 euros", "100 plus % of 19"),
        ("96 euros", "96 euros after the discount", "20%", "120 euros", "120 less % of 20"),
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
        ("119 km", "119 km with tax", "19%", "100 euros"),
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


@pytest.mark.parametrize(
    ("number", "text", "seen", "how"),
    [
        ("9 days", "lasted 9 days", "3 June 2025 12 June 2025", "the time between two dates"),
        ("10 days", "lasted 10 days", "12 June 2025 3 June 2025", "the time between two dates"),
        ("2 weeks", "ran for 2 weeks", "2025-06-03 2025-06-17", "the time between two dates"),
        ("66", "66 when she died", "7 November 1867, 4 July 1934", "the time between two dates"),
        ("67", "67 when she died", "7 November 1867, 4 July 1934", ""),
        ("5 years", "5 years later", "1998, 2003", "the time between two dates"),
        ("66", "66 people", "7 November 1867, 4 July 1934", ""),
        ("3 days", "3 days", "1998, 3 May 2003", ""),
        ("3 days", "3 days", "3 May, 6 May", ""),
        ("3 days", "3 days", "31 February 2024, 3 March 2024", ""),
        ("5 years", "5 years", "the 1990s, 1995", ""),
        ("9 hours", "9 hours", "3 June 2025 12 June 2025", ""),
        ("110 minutes", "takes 110 minutes", "10:05 11:55", "the time between two times of day"),
        ("3 hours", "takes 3 hours", "10:05 11:55", ""),
        ("3 weeks", "ran for 3 weeks", "2025-06-03 2025-06-17", ""),
        ("2 days", "takes 2 days", "10:05 11:55", ""),
        ("5 km", "5 km long", "10:05 11:55", ""),
    ],
)
def test_elapsed(number: str, text: str, seen: str, how: str) -> None:
    """The time between two dates, or two times of day, of one passage."""
    assert how == elapsed(numbers(number)[0], text, facts_in(seen))
