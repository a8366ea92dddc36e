"""Which calls repeat an earlier one, and which only look as if they did."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.calls import CallStatus, ToolCall, canonical_of
from spanwise.model.content import Memo
from spanwise.model.repeats import asked_of, near_repeats_of, repeats_of
from tests.making import agent, run_of, tool

MEMO = Memo()


def call(arguments: object, name: str = "search", *, status: CallStatus = "ok", result: object = "r") -> ToolCall:
    """A call with these arguments, as text or as a value."""
    return ToolCall(name, status, raw_arguments=arguments, raw_result=result, memo=MEMO)


def texts(*values: object) -> list[ToolCall]:
    """Calls with these values as JSON text."""
    return [call(json.dumps(value)) for value in values]


def duplicates(calls: Sequence[ToolCall], acting: Sequence[str] = ()) -> list[tuple[int, int]]:
    """The places of the duplicates, each behind the place of the call that it repeats."""
    found = repeats_of(calls, asked_of(calls), lambda: acting).duplicates
    at = {id(one): place for place, one in enumerate(calls)}
    return [(at[id(first)], at[id(again)]) for first, again in found]


def near(calls: Sequence[ToolCall], acting: Sequence[str] = ()) -> list[tuple[int, int]]:
    """The places of the near-duplicates, each behind the place of the call that it resembles."""
    asked = asked_of(calls)
    found = near_repeats_of(calls, asked, repeats_of(calls, asked, lambda: acting), lambda: acting)
    at = {id(one): place for place, one in enumerate(calls)}
    return [(at[id(first)], at[id(again)]) for first, again in found]


def never() -> Sequence[str]:
    """Nobody may ask which tools change something."""
    raise AssertionError


def test_nothing_repeats() -> None:
    """Where all calls differ nothing repeats, and nobody asks for effects."""
    calls = texts({"q": "a"}, {"q": "b"}, {"p": "a"})
    asked = asked_of(calls)
    repeats = repeats_of(calls, asked, never)
    assert ((), (), ()) == (repeats.duplicates, repeats.exempt, near_repeats_of(calls, asked, repeats, never))


def test_no_calls() -> None:
    """Without calls there is nothing to tell."""
    asked = asked_of([])
    assert (0, (), ()) == (len(asked.keys), asked.untold, repeats_of([], asked, never).duplicates)


@pytest.mark.parametrize(
    "other",
    [
        '{"n": 1, "q": "a"}',
        '{"n":1.0,"q":"a"}',
        '{"q":" a ","n":1}',
        '{"q":"\\u0061","n":1}',
        '{\n "q": "a",\n "n": 1\n}',
        "{'q': 'a', 'n': 1}",
        {"q": "a", "n": 1},
    ],
)
def test_the_same_value(other: object) -> None:
    """How a value is written does not matter: the same value is the same question."""
    assert [(0, 1)] == duplicates([call('{"q":"a","n":1}'), call(other)])


@pytest.mark.parametrize("other", ["{}\n{}", "", "  ", '{"q":"a"', "[1]", '"a"', "7", '{"q":"a"}\n'])
def test_texts_that_cannot_be_read_together(other: str) -> None:
    """A text that is not one object on a line of its own takes nothing from the others."""
    calls = [call('{"q":"a"}'), call(other), call('{"q":"a"}')]
    assert (0, 2) in [(0, last) for _, last in duplicates(calls) if last == 2]
    asked = asked_of(calls)
    assert [canonical_of(one) for one in asked.calls] == [
        canonical_of(one) if key is None else key[1] for one, key in zip(asked.calls, asked.keys, strict=True)
    ]


def test_two_objects_in_one_text_make_up_for_no_other() -> None:
    """Two objects in one text and none in the next are not taken for one in each: the empty ones are alike."""
    calls = [call('{"q":"a"}\n{"q":"b"}'), call(" "), call('{"q":"c"}\n{"q":"d"}'), call(" ")]
    assert [(1, 3)] == duplicates(calls)


def test_arguments_that_are_not_recorded() -> None:
    """A call without arguments equals none; the tools are named of which it is not known."""
    calls = [call(None), call(None), call('{"q": "a'), call(None, "lookup"), call('{"q":"a"}', "other")]
    assert [] == duplicates(calls)
    assert ("search",) == asked_of(calls).untold


def test_masked_arguments() -> None:
    """Calls that differ at most in what was masked equal none; what differs otherwise is told apart."""
    calls = texts({"q": "[REDACTED]"}, {"q": "[REDACTED]"}, {"q": "a"}, {"q": "a"})
    assert [(2, 3)] == duplicates(calls)
    assert ("search",) == asked_of(calls).untold
    assert () == asked_of(texts({"q": "[REDACTED]"}, {"q": "a"})).untold


def test_nested_beyond_reason() -> None:
    """Arguments that no decoder takes are compared as they are."""
    deep = "{" + '"a":{' * 5000 + "}" * 5001
    assert [(0, 2)] == duplicates([call(deep), call('{"q":"a"}'), call(deep)])
    value: object = "x"
    for _ in range(3000):
        value = {"a": value}
    assert [(1, 3)] == duplicates([call({"q": 1}), call(value), call({"q": 2}), call(value)])
    assert [] == near([call({"q": n}) for n in range(3)] + [call([value, n]) for n in range(40)])


def test_effects_in_between() -> None:
    """A call of a tool that changes something makes every question new, unless it failed."""
    read, write = call('{"q":"a"}'), call("{}", "save")
    again = call('{"q":"a"}')
    assert [] == duplicates([read, write, again], ["save"])
    assert [(0, 2)] == duplicates([read, write, again])
    assert [(0, 2)] == duplicates([read, call("{}", "save", status="error"), again], ["save"])
    assert [] == duplicates([read, call(None, "save"), again], ["save"])


def test_a_failure_without_arguments() -> None:
    """What failed with arguments that nobody knows is retried by nothing."""
    calls = [call(None, status="error"), *texts({"q": 1}, {"q": 1})]
    assert [(1, 2)] == duplicates(calls)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Population of France?", "population of  france"),
        ("the 'Eiffel' tower", 'the "Eiffel" tower'),
        ("Paris, France.", "paris france"),
        ("follow-up, please!", "Follow-Up please"),
        ("a\nb\tc", "a b c"),
        ("C:\\new dir", 'C:\\new "dir"'),
        ("Größe", "GRÖSSE"),
        ("in 2024?", "in 2024"),
    ],
)
def test_nearly_the_same(one: str, other: str) -> None:
    """Case, space, and punctuation at the ends of words make no other question."""
    assert [(0, 1)] == near(texts({"q": one, "n": 1}, {"n": 1, "q": other}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"q": "2+3"}, {"q": "2*3"}),
        ({"q": "1.5"}, {"q": "15"}),
        ({"q": "1 2"}, {"q": "12"}),
        ({"q": "5!"}, {"q": "5"}),
        ({"q": "a-b"}, {"q": "ab"}),
        ({"n": 1.5}, {"n": 15}),
        ({"q": "a/B1"}, {"q": "a/b1"}),
        ({"q": "x1Y"}, {"q": "x1y"}),
        ({"q": "a", "next_page_token": "AbC="}, {"q": "a", "next_page_token": "abc"}),
        ({"q": "a", "pageToken": "AbC="}, {"q": "a", "pageToken": "abc"}),
        ({"a": "bc"}, {"ab": "c"}),
        ({"Q": "a"}, {"q": "a"}),
        ({"q": "a", "page": 1}, {"q": "a", "page": 2}),
    ],
)
def test_not_nearly_the_same(one: object, other: object) -> None:
    """Numbers, formulas, ids, paths, the names of arguments and the places where pages begin must be the same."""
    assert [] == near(texts(one, other))


def test_near_and_exact() -> None:
    """What repeats a call exactly is no near-duplicate too, whatever stands between."""
    calls = texts({"q": "a b"}, {"q": "A b."}, {"q": "a b"})
    assert ([(0, 2)], [(0, 1)]) == (duplicates(calls), near(calls))


def test_what_makes_no_near_duplicate() -> None:
    """After a failure, a change, or with another result a call that asks nearly the same is a call like others."""
    first, again = texts({"q": "a b"}, {"q": "A b"})
    assert [] == near([call('{"q":"a b"}', status="error"), again])
    assert [] == near([first, call("{}", "save"), again], ["save"])
    assert [] == near([first, call('{"q":"A b"}', result="other")])
    assert [] == near([first, call('{"q":"A b"}', "lookup"), call(None)])
    assert [(0, 2)] == near([first, call(None), again, call(None)])


def test_near_repeats_of_a_run() -> None:
    """A run tells its near-duplicates itself."""
    run = run_of(agent(1), *(tool(n, parent=1, arguments={"q": q}, result="r") for n, q in ((10, "a b"), (30, "A b"))))
    assert [tuple(run.tool_calls)] == list(run.near_repeats)


VALUES = st.recursive(
    st.one_of(st.integers(-3, 3), st.sampled_from([1.0, 1.5, "a", " a ", "A", 'x "y', "n\nm", True, None])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2), max_size=8))
def test_as_if_each_were_compared_with_each(values: list[object]) -> None:
    """The keys are the canonical arguments, so that the duplicates are those that comparing all pairs would find."""
    calls = texts(*values)
    seen = [canonical_of(one) for one in calls]
    assert [(seen.index(key), at) for at, key in enumerate(seen) if key in seen[:at]] == duplicates(calls)
    assert not set(near(calls)) & set(duplicates(calls))


def test_names_of_a_type_of_their_own() -> None:
    """A tool's name that is a text of the caller's own type is compared as plain text is."""

    class Name(str):
        __slots__ = ()

    calls = [call('{"q":"a"}', Name("search")), call('{"q":"b"}'), call('{"q":"a"}')]
    assert [(0, 2)] == duplicates(calls)
