"""What was expected of a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanwise.errors import ModelError
from spanwise.model.expectation import (
    Matched,
    Rule,
    Rules,
    again,
    candidates,
    effecting,
    never_ran,
    told_missing,
    told_surplus,
    unseen,
)
from tests.making import agent, asks, chat, run_of, says, span, tool


@pytest.mark.parametrize(
    ("words", "query", "expected"),
    [
        (("weather",), "What WEATHER is it?", True),
        (("Weather",), "what weather is it?", True),
        (("weather",), "weathered", False),
        (("weather",), "unweather", False),
        (("weather",), "weather_2", False),
        (("weather",), "weathered, but the weather!", True),
        (("forecast*",), "any forecasts?", True),
        (("forecast*",), "aforecasts", False),
        (("search  for",), "please search\n for it", True),
        (("c++",), "what is c++11?", True),
        (("a", "b"), "only b here", True),
        (("weather",), "", False),
    ],
)
def test_words(words: tuple[str, ...], query: str, expected: bool) -> None:
    """A word is found where it stands by itself, in any case; with a `*` where it begins a word."""
    assert expected == Rule(name="r", words=words).fits(query)


def test_a_matcher() -> None:
    """A rule fits if its words or its pattern do; the pattern sees the query as it was written."""
    rule = Rule(name="r", words=("x",), pattern="A", matches=lambda query: "A" in query)
    assert [True, True, False] == [rule.fits(query) for query in ("A", "x", "a")]
    assert Rule(name="r", matches=bool).fits("A")
    assert "pattern='A'" in repr(rule)
    assert "matches" not in repr(rule)


def test_what_rules_say_together() -> None:
    """All that match, in order: the union of what they expect, without what any of them forbids."""
    rules = Rules(
        (
            Rule(name="one", words=("a",), expected=("search", "search", "fetch"), forbidden=("browse",)),
            Rule(name="two", words=("b",), expected=("search", "browse", "write")),
            Rule(name="none", words=("c",), expected=()),
            Rule(name="type", words=("d",)),
        )
    )
    assert Matched(
        names=("one", "two"), expected=("search", "search", "fetch", "write"), forbidden=("browse",)
    ) == rules.match("a b")
    assert Matched(names=("none", "type"), expected=()) == rules.match("c d")
    assert Matched(names=("type",)) == rules.match("d")
    assert Matched() == rules.match("e") == Rules().match("a")
    assert ("one", "") == (rules.match("a b").query_type, rules.match("").query_type)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"words": "weather"}, "words: read 'weather', expected a tuple"),
        ({"words": ("*",)}, "words: read '\\*', expected a word"),
        ({"words": (" ",)}, "expected a word"),
        ({"words": ("fore*cast",)}, "at its end or nowhere"),
        ({"words": ("a",), "expected": ("x", 1)}, "expected: read"),
        ({"words": ("a",), "expected": ("x",), "forbidden": ("x", "y")}, "x both expected and forbidden"),
        ({"pattern": "a+"}, "pattern 'a\\+' without `matches`"),
        ({}, "matches no query"),
    ],
)
def test_rules_that_cannot_be_meant(fields: dict[str, Any], words: str) -> None:
    """A rule that contradicts itself, or matches nothing, is refused."""
    with pytest.raises(ModelError, match=words):
        Rule(name="r", **fields)


def test_which_calls_are_looked_at() -> None:
    """Those that ran; tools that only steer the run where they are named, requests that never ran nowhere."""
    offered = agent(1, **{"gen_ai.tool.definitions": json.dumps(["search"])})
    asked = [asks(("c1", "serch", {}), ("c2", "transfer_to_x", {}))]
    run = run_of(offered, tool(20, parent=1), tool(40, parent=1, name="final_answer"), chat(60, parent=1, got=asked))
    assert ["search"] == [call.name for call in candidates(run, ())] == [call.name for call in candidates(run, ("x",))]
    assert ["search", "final_answer"] == [call.name for call in candidates(run, ("final_answer",))]
    assert ["serch"] == [call.name for call in never_ran(run)]
    plain = run_of(agent(1), tool(2, parent=1))
    assert plain.work is candidates(plain, ("search",))
    assert [] == never_ran(plain)


def test_which_tools_have_side_effects() -> None:
    """The configured ones; else definitions decide, and names where those say nothing."""
    run = run_of(
        agent(
            1, **{"gen_ai.tool.definitions": json.dumps([{"name": "read", "annotations": {"destructiveHint": True}}])}
        )
    )
    names = {"read", "send_mail", "look"}
    assert {"read", "send_mail"} == effecting(run, names, None)
    assert {"look"} == effecting(run, names, ("look", "other"))
    assert {"send_mail"} == effecting(run_of(agent(1)), names, None)


def test_when_no_call_means_none() -> None:
    """In a complete trace whose model calls tell their answers, or that shows calls of any kind."""
    answered = chat(2, parent=1, got=[says("A")])
    assert "" == unseen(run_of(agent(1), answered))
    assert "" == unseen(run_of(agent(1), tool(2, parent=1, name="final_answer")))
    assert unseen(run_of(agent(1))).startswith("No model call left a span.")
    assert unseen(run_of(agent(1), chat(2, parent=1))).startswith("No tool call is recorded;")
    assert unseen(run_of(span(1))).startswith("No span here follows a known convention")
    assert unseen(run_of(agent(1, parent=9), answered)).startswith("The trace is partial: ")


def test_words_about_calls() -> None:
    """What was called too little or too much, in words."""
    assert "a was expected 2 times and called once." == told_missing("a", 2, 1, failed=True)
    assert "a was expected; every call of it failed." == told_missing("a", 1, 0, failed=True)
    assert "a was expected and never called." == told_missing("a", 1, 0, failed=False)
    assert "a was expected once and called 3 times." == told_surplus("a", 1, 3)
    assert "a was called 3 times and is not expected." == told_surplus("a", 0, 3)
    assert "" == again(1)
