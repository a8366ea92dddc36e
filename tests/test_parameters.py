"""Values made of the parameters that a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Literal

import pytest

from spanwise.parameters import built, fitted, words_of


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A table in a table."""

    word: str
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Parameters of every sort."""

    share: float = 0.5
    count: int = 1
    flag: bool = False
    word: str | None = None
    mode: Literal["on", "off"] = "on"
    names: tuple[str, ...] = ()
    pair: tuple[str, int] = ("a", 1)
    kinds: frozenset[str] = frozenset()
    table: Mapping[str, float] | None = None
    inner: Inner | None = None
    inners: Sequence[Inner] = ()
    routes: tuple[str | tuple[str, str], ...] | None = None
    loose: Any = None
    plain: list = ()
    check: Callable[[str], bool] | None = None
    extra: InitVar[int] = 0


def told(**given: object) -> tuple[object, list[str]]:
    """What is made of parameters, and what is wrong with them."""
    errors: list[str] = []
    return built(Outer, given, "here", errors), errors


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, Outer()),
        (
            {"share": 1, "count": 2, "flag": True, "word": "w", "mode": "off"},
            Outer(share=1.0, count=2, flag=True, word="w", mode="off"),
        ),
        ({"names": ["a", "b"], "pair": ["b", 2]}, Outer(names=("a", "b"), pair=("b", 2))),
        ({"kinds": ["a", "a"]}, Outer(kinds=frozenset({"a"}))),
        ({"table": {"a": 1}}, Outer(table={"a": 1.0})),
        ({"inner": {"word": "w"}}, Outer(inner=Inner(word="w"))),
        ({"inners": [{"word": "w", "times": 2}]}, Outer(inners=(Inner(word="w", times=2),))),
        ({"routes": ["a", ["a", "b"]]}, Outer(routes=("a", ("a", "b")))),
        ({"loose": [1, [2]], "plain": ["x", 1]}, Outer(loose=[1, [2]], plain=("x", 1))),
        ({"extra": 3}, Outer(extra=3)),
    ],
)
def test_parameters_that_fit(given: dict[str, object], made: Outer) -> None:
    """Text, numbers, lists and tables become what the parameters are."""
    assert (made, []) == told(**given)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"share": "x"}, "here.share: read 'x', expected a number"),
        ({"share": True}, "here.share: read True, expected a number"),
        ({"count": 1.0}, "here.count: read 1.0, expected a whole number"),
        ({"count": True}, "here.count: read True, expected a whole number"),
        ({"flag": 1}, "here.flag: read 1, expected true or false"),
        ({"word": 1}, "here.word: read 1, expected text"),
        ({"mode": "maybe"}, "here.mode: read 'maybe', expected 'on' or 'off'"),
        ({"names": "a"}, "here.names: read 'a', expected a list of text"),
        ({"names": ["a", 1]}, "here.names[2]: read 1, expected text"),
        ({"pair": ["a"]}, "here.pair: read ['a'], expected [text, a whole number]"),
        ({"table": {"a": "x"}}, "here.table.a: read 'x', expected a number"),
        ({"table": [1]}, "here.table: read [1], expected a table"),
        ({"inner": {"word": "w", "more": 1}}, "here.inner.more: unknown key; known: word, times"),
        ({"inner": {}}, "here.inner.word: missing, expected text"),
        ({"inners": [{"word": 3}]}, "here.inners[1].word: read 3, expected text"),
        ({"routes": ["a", 3]}, "here.routes[2]: read 3, expected text or [text, text]"),
        ({"inners": 3}, "here.inners: read 3, expected a list of tables"),
        ({"check": "x"}, "here.check: read 'x', expected a Callable, which only code can give"),
        ({"plain": 3}, "here.plain: read 3, expected a list"),
    ],
)
def test_parameters_that_do_not_fit(given: dict[str, object], error: str) -> None:
    """Whatever does not fit is one error with its place, what was read and what was expected."""
    assert (None, [error]) == told(**given)


def test_all_errors_at_once() -> None:
    """Every parameter that is wrong is told."""
    made, errors = told(share="x", count="y", more=1)
    assert (None, 3) == (made, len(errors))


def test_what_is_made_without_a_signature() -> None:
    """A class whose parameters Python does not tell has none."""
    errors: list[str] = []
    assert built(dict, {"a": 1}, "here", errors) is None
    assert ["here.a: unknown key; known: none"] == errors


def test_what_any_value_fits() -> None:
    """Where anything is wanted a value stays as it is, and the words for it say nothing."""
    assert ([1, [2]], "a value", "a list of numbers", "a table") == (
        fitted([1, [2]], object, "here", []),
        words_of(object),
        words_of(list[float]),
        words_of(dict),
    )
