"""The table of frameworks."""

from __future__ import annotations

from spanwise.report.environment import normal
from spanwise.report.frameworks import FRAMEWORKS, SWITCHES


def test_names_are_in_normal_form() -> None:
    """Distributions are named as registries normalise them, so that they are found."""
    names = [name for one in FRAMEWORKS for name in (*one.distributions, *one.instrumentations)]
    assert [normal(name) for name in names] == names


def test_switches_exist() -> None:
    """A framework's own switch is in the table of switches."""
    assert set() == {one.switch for one in FRAMEWORKS if one.switch} - set(SWITCHES)


def test_every_framework_can_be_instrumented() -> None:
    """Each framework has a package that instruments it."""
    assert [] == [one.title for one in FRAMEWORKS if not one.instrumentations]


def test_no_framework_stands_twice() -> None:
    """A distribution belongs to one framework."""
    names = [name for one in FRAMEWORKS for name in one.distributions]
    assert sorted(set(names)) == sorted(names)
