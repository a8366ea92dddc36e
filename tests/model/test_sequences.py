"""Sequences compared, and calls side by side put in order."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.sequences import arranged, closest, common_length, edit_distance, intervals, overlapping
from tests.making import agent, chat, run_of, tool

WORDS = st.lists(st.sampled_from("abc"), max_size=9)
SPANS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.integers(1, 8)), max_size=5)


def slow_common_length(one: list[str], other: list[str]) -> int:
    """The textbook's table."""
    row = [0] * (len(other) + 1)
    for left in one:
        above, row = row, [0]
        for at, right in enumerate(other):
            row.append(above[at] + 1 if left == right else max(above[at + 1], row[at]))
    return row[-1]


def slow_edit_distance(one: list[str], other: list[str]) -> int:
    """The textbook's table."""
    row = list(range(len(other) + 1))
    for left in one:
        above, row = row, [row[0] + 1]
        for at, right in enumerate(other):
            row.append(min(above[at] + (left != right), above[at + 1] + 1, row[at] + 1))
    return row[-1]


@given(WORDS, WORDS)
def test_as_the_textbook_has_it(one: list[str], other: list[str]) -> None:
    """Bits of an integer give what the tables give, whichever of the two comes first."""
    assert slow_common_length(one, other) == common_length(one, other) == common_length(other, one)
    assert slow_edit_distance(one, other) == edit_distance(one, other) == edit_distance(other, one)


def test_long_sequences() -> None:
    """Nothing breaks beyond the width of a machine's word."""
    long = ["a", "b"] * 500
    assert (1000, 0) == (common_length(long, long), edit_distance(long, long))
    assert (999, 1) == (common_length(long, long[1:]), edit_distance(long, long[1:]))
    assert (0, 1000) == (common_length(long, ["c"] * 1000), edit_distance(long, ["c"] * 1000))
    assert (0, 1000) == (common_length(long, []), edit_distance(long, []))


def may_precede(order: tuple[int, ...], times: list[tuple[int, int]]) -> bool:
    """No call stands behind one that began after it had ended."""
    return all(times[later][1] > times[earlier][0] for at, earlier in enumerate(order) for later in order[at + 1 :])


@given(SPANS, WORDS)
def test_arranged_is_an_order_of_the_calls(spans: list[tuple[str, int, int]], expected: list[str]) -> None:
    """Each call stands once, and none before one that had ended when it began."""
    told = sorted(((begun, begun + long, name) for name, begun, long in spans), key=lambda one: one[0])
    times = [(begun, end) for begun, end, _ in told]
    order = tuple(arranged([name for *_, name in told], times, expected))
    assert list(range(len(told))) == sorted(order)
    assert may_precede(order, times)


@given(SPANS, st.randoms(use_true_random=False))
def test_an_order_that_is_possible_is_found(spans: list[tuple[str, int, int]], random: object) -> None:
    """Where the calls can be put in the expected order, they are."""
    told = sorted(((begun, begun + long, name) for name, begun, long in spans), key=lambda one: one[0])
    times = [(begun, end) for begun, end, _ in told]
    possible = [order for order in permutations(range(len(told))) if may_precede(order, times)]
    expected = [told[at][2] for at in random.choice(possible)]
    run = run_of(
        agent(1),
        *(tool(10 + n, parent=1, name=name, start=b, end=e) for n, (b, e, name) in enumerate(told)),
    )
    order, matched = closest(run, run.tool_calls, expected)
    assert (expected, len(told)) == ([call.name for call in order], matched)


def test_calls_of_one_tool_within_each_other() -> None:
    """Of two calls of a tool the one that ended first may be the one to come first, though it began later."""
    spans = [(2, 6, "a"), (3, 4, "a"), (5, 9, "b")]
    run = run_of(agent(1), *(tool(10 + n, parent=1, name=name, start=b, end=e) for n, (b, e, name) in enumerate(spans)))
    order, matched = closest(run, run.tool_calls, ["a", "b", "a"])
    assert (3, [3, 5, 2]) == (matched, [call.start_ns for call in order])


def test_overlap() -> None:
    """Calls overlap if one begins before another ends; one that takes no time overlaps what begins with it."""
    for spans, expected in (
        ([(0, 5), (5, 9)], False),
        ([(0, 5), (4, 9)], True),
        ([(3, 3), (3, 3)], True),
        ([(3, 3), (4, 4)], False),
        ([], False),
    ):
        run = run_of(agent(1), *(tool(10 + n, parent=1, start=b, end=e) for n, (b, e) in enumerate(spans)))
        assert expected == overlapping(run.tool_calls)


def test_intervals() -> None:
    """Calls have the times of their spans; without times those of one answer share a step."""
    spans = [chat(20, parent=1), chat(40, parent=1), *(tool(n, parent=1, end=n) for n in (25, 30, 45))]
    timed = run_of(agent(1), *spans)
    assert [(25, 26), (30, 31), (45, 46)] == intervals(timed, timed.tool_calls)
    untimed = run_of(agent(1, **{"spanwise.times": "none"}), *spans)
    assert [(1, 2), (1, 2), (2, 3)] == intervals(untimed, untimed.tool_calls)
