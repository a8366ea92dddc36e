"""Evaluators as they describe themselves."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from types import MappingProxyType

from spanwise.catalog import EVALUATORS
from spanwise.judges import Goal
from spanwise.report.evaluators import Described, Parameter, broken, describe, show_evaluators
from spanwise.report.terminal import console


@dataclass(frozen=True, kw_only=True)
class Strict:
    """1 if nothing failed.

    More words.
    """

    limit: int
    names: tuple[str, ...] = ("a",)
    table: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({"a": 1}))
    known: InitVar[int] = 0


def test_an_evaluator_says_question_value_and_parameters() -> None:
    """The question is the first line of its module, the value that of its class; parameters have types and defaults."""
    found = describe("strict", Strict)
    assert ("Evaluators as they describe themselves.", "1 if nothing failed.") == (found.question, found.value)
    assert (
        Parameter(name="limit", type="int", default=""),
        Parameter(name="names", type="tuple[str, ...]", default="('a',)"),
        Parameter(name="table", type="Mapping[str, int]", default="{'a': 1}"),
    ) == found.parameters


def test_every_built_in_asks_a_question() -> None:
    """The catalogue's evaluators all say what they ask, and how the value comes about."""
    found = [describe(name, make) for name, make in EVALUATORS.items()]
    assert [] == [one.name for one in found if not one.question.endswith("?") or not one.value]


class Own(Goal):
    """A judge of somebody's."""


class Plain:
    """1 always."""

    def __init__(self, limit: int = 2, loose=None) -> None:
        self.limit = limit


def polite() -> None:
    """1 if it is polite."""


def test_what_is_no_dataclass() -> None:
    """Another class tells its parameters, a function and a value have none; a value is described by its class."""
    plain, function, value, odd = (describe("x", one, origin="acme 1") for one in (Plain, polite, Plain(), int))
    assert (
        Parameter(name="limit", type="int", default="2"),
        Parameter(name="loose", type="", default="None"),
    ) == plain.parameters
    assert [("1 if it is polite.", ()), ("1 always.", ())] == [(one.value, one.parameters) for one in (function, value)]
    assert ({"acme 1"}, ()) == ({one.origin for one in (plain, function, value, odd)}, describe("x", dict).parameters)


def test_the_table_shows_parameters() -> None:
    """The table has each evaluator with its parameters and defaults, and where those of other packages come from."""
    file = io.StringIO()
    found = [describe("strict", Strict), describe("plain", Plain, origin="acme 1")]
    show_evaluators(console(file), [*found, broken("gone", origin="acme 1", problem="no module \x1b[1m")])
    text = file.getvalue()
    words = ("strict", "limit: int ", "names: tuple[str, ...] = ('a',)", "from acme 1", "cannot be loaded: no module")
    assert ([], False) == ([word for word in words if word not in text], "\x1b" in text)


def test_judges_stand_below_the_others() -> None:
    """Judges have a table of their own, with what they ask and without what the settings fill in; so have others'."""
    goal, own = describe("goal", Goal), describe("mine", Own, origin="acme 1")
    assert ("judge", "Was what the user asked for reached?", "judge") == (goal.kind, goal.question, own.kind)
    assert {"after", "skip", "panel"} == {one.name for one in goal.parameters}
    file = io.StringIO()
    show_evaluators(console(file), [goal, describe("strict", Strict), own])
    above, heading, below = file.getvalue().partition("Judges ask a language model")
    assert ("strict" in above, bool(heading), "goal" in below, "mine" in below) == (True, True, True, True)
    assert "goal" not in above


def test_json_of_an_evaluator() -> None:
    """An evaluator is an object with all that is known of it."""
    rest = {"question": "", "value": "", "parameters": (), "origin": "built-in", "problem": "", "kind": "evaluator"}
    assert {"name": "x", **rest} == Described(name="x").to_json()
