"""Expected calls and made ones, matched one to one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.calls import ToolCall
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.matching import Difference, Lens, Match, Matching, Pair, matched


def want(tool: str = "t", **arguments: object) -> ExpectedCall:
    """An expected call."""
    return ExpectedCall(tool=tool, arguments=arguments)


def made(tool: str = "t", **arguments: object) -> ToolCall:
    """A call that was made."""
    return ToolCall(tool, "ok", raw_arguments=arguments)


def credit(found: Matching) -> float:
    """The sum of credits."""
    return sum(pair.credit for pair in found.pairs)


def test_matching() -> None:
    """Equal calls belong together, others as they fit best; what is left is missing or too much."""
    one, other, third = want(q="a"), want(q="b", n=1), want("u", q="a")
    first, second, extra = made(q="b", n=2), made(q="a"), made(q="z")
    found = matched([one, other, third], [first, second, extra, made("v")], Lens())
    assert [Pair(one, second, 1.0), Pair(other, first, 0.5)] == found.pairs
    assert ([third], [extra], False) == (found.missing, found.surplus, found.in_order)


def test_equal_calls_are_taken_in_order() -> None:
    """Of equal calls the first expected one is matched with the first that was made."""
    wanted, done = [want(q="a"), want(q="a")], [made(q="a"), made(q="a"), made(q="a")]
    found = matched(wanted, done, Lens())
    assert all(
        pair.expected is one and pair.made is call
        for pair, one, call in zip(found.pairs, wanted, done[:2], strict=True)
    )
    assert [done[2]] == found.surplus


def test_superset_is_not_greedy() -> None:
    """Where expected leaves are free of others, an equal call may be better off with another one."""
    big = {f"k{n}": n for n in range(10)}
    wanted = [want(**big), want(k0=0)]
    done = [made(**big), made(**{**big, "k0": 9})]
    assert pytest.approx(1.9) == credit(matched(wanted, done, Lens(match="superset")))


def test_many_calls_in_order() -> None:
    """Beyond 200 calls of a tool that differ, and beyond 200,000 pairs, calls are matched in order."""
    wanted, done = [want(q=n) for n in range(201)], [made(q=-n - 1) for n in range(201)]
    found = matched(wanted, done, Lens())
    assert (True, 201) == (found.in_order, len(found.pairs))
    assert not matched([*wanted, want(q="x")], [made(q=n) for n in range(201)], Lens()).in_order
    tools = [f"t{n}" for n in range(6)]
    wanted = [want(tool, q=n) for tool in tools for n in range(200)]
    done = [made(tool, q=-n - 1) for tool in tools for n in range(200)]
    assert matched(wanted, done, Lens(match="ignore")) == matched(wanted, done, Lens(match="ignore"))
    assert not matched(wanted, done, Lens(match="ignore")).in_order


def test_pairs_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once so many pairs were looked at, the calls of further tools are matched in order."""
    monkeypatch.setattr("spanwise.model.matching._PAIRS", 4)
    wanted = [want(tool, q=n) for tool in "ab" for n in range(2)]
    done = [made(tool, q=-n - 1) for tool in "ab" for n in range(2)]
    assert not matched(wanted[:2], done[:2], Lens()).in_order
    assert matched(wanted, done, Lens()).in_order


def test_lens() -> None:
    """Paths, ignored globs and defaults say which leaves are compared."""
    given = {"a": {"b": 1, "timestamp": 2}, "timestamp": 3, "limit": 10, "tags": ["x", "y"]}
    assert {"a.b": 1, "tags.0": "x", "tags.1": "y", "limit": 10} == Lens(ignore=("*.timestamp",)).leaves("t", given)
    assert {"a.b": 1, "a.timestamp": 2} == Lens(paths=("a",)).leaves("t", given)
    assert {"tags.1": "y"} == Lens(paths=("tags.1",)).leaves("t", given)
    assert {"limit": 10} == Lens(ignore=("a", "t*")).leaves("t", given)
    defaults = {"t": {"limit": 10.0, "timestamp": 4}}
    assert ["timestamp"] == list(Lens(defaults=defaults, paths=("limit", "timestamp")).leaves("t", given))
    assert {"limit": 10} == Lens(defaults=defaults, paths=("limit",)).leaves("other", given)
    assert {"": "text"} == Lens(defaults=defaults).leaves("t", "text")


def test_ignored_leaves_make_calls_equal() -> None:
    """Calls that differ only in what is not compared ask the same."""
    found = matched([want(q="a", at=1)], [made(q="b", at=2), made(q="a", at=3)], Lens(ignore=("at",)))
    assert (1.0, 1) == (credit(found), len(found.surplus))


@pytest.mark.parametrize(("match", "share"), [("exact", 1 / 3), ("superset", 0.5), ("subset", 0.5), ("ignore", 1.0)])
def test_ways_to_match(match: Match, share: float) -> None:
    """The leaves that have to be there are those of both, of the expected call, of the made one, or none."""
    lens = Lens(match=match)
    assert pytest.approx(share) == lens.credit("t", {"a": 1, "b": 2}, {"a": 1, "c": 3})
    assert 1.0 == lens.credit("t", {}, {})


def test_one_side_is_free() -> None:
    """More arguments are free for a superset, fewer for a subset."""
    assert 1.0 == Lens(match="superset").credit("t", {}, {"a": 1})
    assert 1.0 == Lens(match="subset").credit("t", {"a": 1}, {})
    assert 0.0 == Lens().credit("t", {"a": 1}, {})


def test_differences() -> None:
    """What costs a pair its credit is told by path; what is free is not."""
    pair = Pair(want(a=1, b=2, c="x"), made(a=1, b=3, d="y"), 0.25)
    b, c, d = Difference("b", (2,), (3,)), Difference("c", ("x",), None), Difference("d", None, ("y",))
    assert [b, c, d] == Lens().differences(pair)
    assert [b, c] == Lens(match="superset").differences(pair)
    assert [b, d] == Lens(match="subset").differences(pair)
    assert [c, d] == Lens(tolerance=0.5).differences(pair)


ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 2, "x"]), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from("tu"), ARGUMENTS), max_size=5)


@given(CALLS, CALLS)
def test_taking_equal_calls_out_loses_nothing(
    wanted: list[tuple[str, dict[str, object]]], done: list[tuple[str, dict[str, object]]]
) -> None:
    """The credit is that of the best assignment of all calls together."""
    expected = [want(tool, **arguments) for tool, arguments in wanted]
    calls = [made(tool, **arguments) for tool, arguments in done]
    # A tolerance below any difference changes no credit, but sends all calls into the assignment.
    best = credit(matched(expected, calls, Lens(tolerance=1e-9)))
    assert pytest.approx(best) == credit(matched(expected, calls, Lens()))


@given(CALLS, CALLS, st.sampled_from(["exact", "superset", "subset", "ignore"]))
def test_each_call_once(
    wanted: list[tuple[str, dict[str, object]]], done: list[tuple[str, dict[str, object]]], match: Match
) -> None:
    """Each expected call is matched or missing, each call of an expected tool matched or too much."""
    expected = [want(tool, **arguments) for tool, arguments in wanted]
    calls = [made(tool, **arguments) for tool, arguments in done]
    found = matched(expected, calls, Lens(match=match))
    names = {tool for tool, _ in wanted}
    assert len(expected) == len(found.pairs) + len(found.missing)
    assert sum(call.name in names for call in calls) == len(found.pairs) + len(found.surplus)
    assert all(pair.expected.tool == pair.made.name and 0.0 <= pair.credit <= 1.0 for pair in found.pairs)
