"""Units and scales."""

from __future__ import annotations

from spanwise.grounding.units import KEYED, MONEY, SCALES, SPELT, UNITS


def test_units_are_read_in_lower_case() -> None:
    """The tables hold what is looked up: lower case, and nothing that is a scale and a unit at once but by intent."""
    assert [] == [name for name in (*UNITS, *SCALES, *SPELT) if name != name.lower()]
    assert set() == set(UNITS) & set(SCALES)


def test_kinds() -> None:
    """Currencies are units, keys name units, a mile is longer than a kilometre."""
    assert {unit for unit, _ in UNITS.values()} >= MONEY
    assert set(UNITS) >= KEYED
    assert UNITS["mile"][1] > UNITS["km"][1]
    assert (12, 90, 2) == (SPELT["twelve"], SPELT["ninety"], SPELT["twice"])
