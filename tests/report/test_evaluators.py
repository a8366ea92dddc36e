"""Evaluators as they describe themselves."""

from __future__ import annotations

import io
from dataclasses import dataclass

from spanwise.catalog import EVALUATORS
from spanwise.report.evaluators import Parameter, describe, show_evaluators
from spanwise.report.terminal import console


@dataclass(frozen=True, kw_only=True)
class Strict:
    """1 if nothing failed.

    More words.
    """

    limit: int
    names: tuple[str, ...] = ("a",)


def test_an_evaluator_says_question_value_and_parameters() -> None:
    """The question is the first line of its module, the value that of its class; parameters have types and defaults."""
    found = describe("strict", Strict)
    assert ("Evaluators as they describe themselves.", "1 if nothing failed.") == (found.question, found.value)
    assert (
        Parameter(name="limit", type="int", default=""),
        Parameter(name="names", type="tuple[str, ...]", default="('a',)"),
    ) == found.parameters


def test_every_built_in_asks_a_question() -> None:
    """The catalogue's evaluators all say what they ask, and how the value comes about."""
    found = [describe(name, make) for name, make in EVALUATORS.items()]
    assert [] == [one.name for one in found if not one.question.endswith("?") or not one.value]


def test_the_table_shows_parameters() -> None:
    """The table has each evaluator with its parameters and defaults."""
    file = io.StringIO()
    show_evaluators(console(file), {"strict": Strict})
    assert [True] * 3 == [
        word in file.getvalue() for word in ("strict", "limit: int", "names: tuple[str, ...] = ('a',)")
    ]
