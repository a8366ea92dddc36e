"""Numbers with what they measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.grounding.dates import Clock, Date
from spanwise.grounding.quantities import Quantity, close, facts_in, relation, satisfies


def one(text: str) -> Quantity:
    """The only number of a text."""
    (found,) = [fact for fact in facts_in(text) if isinstance(fact, Quantity)]
    return found


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("68.4 million people", 68_400_000, ""),
        ("68,400,000", 68_400_000, ""),
        ("6.84e7", 68_400_000, ""),
        ("2 thousand million people", 2_000_000_000, ""),
        ("1.234.567", 1_234_567, ""),
        ("1.234.567,8", 1_234_567.8, ""),
        ("1'234.5", 1234.5, ""),
        ("1.234,5", 1234.5, ""),
        ("3,5 %", 3.5, "percent"),
        ("5 per cent", 5, "percent"),
        ("5 percentage points", 5, "percent"),
        ("5 % points", 5, "points"),
        ("$3.5bn", 3.5e9, "USD"),
        ("$5m", 5e6, "USD"),
        ("US$ 5", 5, "USD"),
        ("EUR 45", 45, "EUR"),
        ("45 euros", 45, "EUR"),
        ("12 km", 12, "length"),
        ("5km", 5, "length"),
        ("12-inch", 12, "length"),
        ("1.5 km/h", 1.5, "speed"),
        ("18 °C", 18, "celsius"),
        ("-5", -5, ""),
        ("\u22125", -5, ""),
        ("the 20th", 20, ""),
        ("twenty-five", 25, ""),
        ("twelve", 12, ""),
        ("twice", 2, ""),
        ('"duration_ms": 1500', 1500, "time"),
        ("2189万", 21_890_000, ""),
        ("2.5 million dollars", 2.5e6, "USD"),
        ("1500 km", 1500, "length"),
        ("3 x", 3, ""),
        ("5k", 5000, ""),
        ("7 b", 7, ""),
        ("$5 km", 5, "USD"),
        ("2 hours 15 minutes", 135, "time"),
        ("2 hours and 15 minutes", 135, "time"),
        ("1h 30m", 90, "time"),
        ("12,75 Mio. Euro", 12_750_000, "EUR"),
    ],
)
def test_numbers(text: str, value: float, unit: str) -> None:
    """Separators, scales, currencies, units and words are read."""
    assert (value, unit) == (one(text).value, one(text).unit)


@pytest.mark.parametrize("text", ["GPT-4", "v1.2.3", "10.0.0.1", "4o", "doc-fr-1", "1e999", "x_7"])
def test_no_numbers(text: str) -> None:
    """Versions, addresses and names are none."""
    assert [] == [fact for fact in facts_in(text) if isinstance(fact, Quantity)]


def test_everything_in_order() -> None:
    """Dates, times and numbers are told apart, each sign once."""
    found = facts_in("On 3 May 2024 at 7:45, 12 of 20 came; two left in 1999.")
    assert [Date, Clock, Quantity, Quantity, Quantity, Date] == [type(fact) for fact in found]
    assert [] == facts_in("nothing to count")
    assert [] == facts_in("two", spelt=False)
    assert [] == facts_in("\u0130 two, network, a_two, two-fold")


def test_values_between_commas() -> None:
    """In a row of values the commas are no decimal commas; in a number they are what they are."""
    assert [2023.0, 14.0] == [
        float(fact.year) if isinstance(fact, Date) else fact.value
        for fact in facts_in("Turin,2023,14")
        if isinstance(fact, Date | Quantity)
    ]
    assert [1_234_567.0] == [fact.value for fact in facts_in("1,234,567") if isinstance(fact, Quantity)]
    assert 2 == len(facts_in("a, 3, b, 4"))


@pytest.mark.parametrize(
    ("said", "seen", "expected"),
    [
        ("68.4 million", "68,412,345", "same"),
        ("68,412,345", "68.4 million", "differs"),
        ("about 7,000", "6,840", "same"),
        ("about 7,000", "9,000", "differs"),
        ("over 100 people", "103 people", "same"),
        ("over 100 people", "95 people", "differs"),
        ("under 100 people", "98 people", "same"),
        ("about -5", "5", "differs"),
        ("513,000", "513,275", "same"),
        ("2,000", "2,400", "differs"),
        ("1.234", "1,234", "same"),
        ("1,234", "1.234", "same"),
        ("90 minutes", "1.5 hours", "same"),
        ("7.5 miles", "12 km", "same"),
        ("12 miles", "12 km", "differs"),
        ("5 kg", "5 km", "unit"),
        ("5 kg", "6 km", "apart"),
        ("$45", "€45", "unit"),
        ("$45", "€46", "apart"),
        ("20 °C", "68 °F", "same"),
        ("68 °F", "20 °C", "same"),
        ("20 °C", "90 °F", "apart"),
        ("20 °C", "20 °F", "unit"),
        ("10%", '"rate": 0.1', "same"),
        ("10%", "10", "same"),
        ("2 months", "2 days", "differs"),
        ("3.5m", "3.5 million", "same"),
        ("2024", "2024 rows", "same"),
        ("2024 rows", "2024", "same"),
        ("2024", "2024 km", "apart"),
        ("3 May 2024", "2023", "apart"),
        ("3 May 2024", "3 May", "apart"),
        ("3 May 2024", "4 May 2024", "differs"),
        ("7:45", "8:15", "differs"),
        ("7:45", "7:45", "same"),
        ("7:45", "12 km", "apart"),
        ("12 km", "7:45", "apart"),
    ],
)
def test_relations(said: str, seen: str, expected: str) -> None:
    """A number agrees as far as its digits go, in its unit or another of what it measures."""
    assert expected == relation(facts_in(said)[0], facts_in(seen)[0])


def test_telling() -> None:
    """Three digits or a unit hardly stand somewhere by chance."""
    assert (True, True, False) == (one("736").telling, one("5 km").telling, one("1200").telling)


def test_close() -> None:
    """Without a digit to round to, numbers are equal or not."""
    assert (True, False) == (close(1.0, 1.0, 0.0), close(1.0, 1.1, 0.0))


@given(st.text(alphabet="0123456789.,eE-+ %$km:/万twomay\n", max_size=80))
def test_any_text_is_read(text: str) -> None:
    """No text raises, places lie within it, and every fact is related to every other."""
    found = facts_in(text)
    assert all(0 <= fact.start < fact.end <= len(text) for fact in found)
    assert all(relation(a, b) in {"same", "unit", "differs", "apart"} for a in found for b in found)


@pytest.mark.parametrize(
    "text", ["2 hours, 15 minutes", "2.5 hours 15 minutes", "15 minutes 2 hours", "2 hours -5 minutes", "2 hours 5 kg"]
)
def test_numbers_apart(text: str) -> None:
    """A number joins a larger unit only right behind it, and in a smaller unit of the same."""
    assert 2 == len(facts_in(text))


@pytest.mark.parametrize(
    ("said", "seen", "expected"),
    [
        ("at least 40 people", "53 people", True),
        ("at least 40 people", "33 people", False),
        ("at most 2 km", "1500 m", True),
        ("at most 1 km", "1500 m", False),
        ("between 20 and 30 euros", "24.90 euros", True),
        ("at least 40", "up to 53", False),
        ("at least 40 kg", "53 km", False),
        ("at least 2 months", "300 days", False),
        ("40 people", "53 people", False),
        ("at least 40", "3 May 2024", False),
        ("3 May 2024", "53", False),
    ],
)
def test_satisfied(said: str, seen: str, *, expected: bool) -> None:
    """A number on the side that the words name bears out a bound."""
    assert expected is satisfies(facts_in(seen)[0], facts_in(said)[0])
