"""Two sequences of names compared, and calls that ran side by side put in the order that was expected.

Theory of operation
    The length of the longest common subsequence and the edit distance are computed a column at a time, a column being
    the bits of one integer (Hyyrö 2004, Myers 1999): a sequence of n against one of m costs n operations on integers
    of m bits, some 10 ms for 10,000 against 10,000.

    Calls that overlap in time have no order of their own. One stands before another only if it ended before the other
    began; any order that respects this is one in which the calls may be said to have been made. `arranged` looks for
    one that goes with the expectation: the k-th call of a tool is wanted at the k-th place that names the tool, a call
    that others had to wait for is wanted no later than they are, and of the calls that may come next the one wanted
    first does. Where the calls can be put in the expected order at all, this is how. Which of several calls of one
    tool is surplus can look otherwise from the end, so `closest` asks from there too, and takes the better.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush

from spanwise.model.calls import ToolCall
from spanwise.model.trace import Run


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence.

    >>> common_length("abcd", "axcd")
    3
    """
    places = _places(one)
    whole = (1 << len(one)) - 1
    column = whole
    for item in other:
        at = places.get(item)
        if at is not None:
            met = column & at
            column = ((column + met) | (column - met)) & whole
    return len(one) - column.bit_count()


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """How many insertions, removals and replacements turn one sequence into the other.

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not one:
        return len(other)
    places = _places(one)
    whole = (1 << len(one)) - 1
    last = 1 << (len(one) - 1)
    up, down, distance = whole, 0, len(one)
    for item in other:
        at = places.get(item, 0)
        vertical = at | down
        level = (((at & up) + up) ^ up) | at
        rising = down | (whole & ~(level | up))
        falling = up & level
        if rising & last:
            distance += 1
        elif falling & last:
            distance -= 1
        rising = (rising << 1) | 1
        up = ((falling << 1) | ~(vertical | rising)) & whole
        down = rising & vertical & whole
    return distance


def _places(items: Sequence[str]) -> dict[str, int]:
    """For each item a number with a bit set at each of its places."""
    places: dict[str, int] = {}
    bit = 1
    for item in items:
        places[item] = places.get(item, 0) | bit
        bit <<= 1
    return places


def intervals(run: Run, calls: Sequence[ToolCall]) -> list[tuple[int, int]]:
    """From when to when each call ran; where no times are recorded, the calls of one answer ran side by side."""
    if run.timed:
        return [(call.start_ns, max(call.end_ns, call.start_ns + 1)) for call in calls]
    answers = [call.start_ns for call in run.llm_calls]
    steps = [bisect_left(answers, call.start_ns) for call in calls]
    return [(step, step + 1) for step in steps]


def closest(run: Run, calls: Sequence[ToolCall], expected: Sequence[str]) -> tuple[Sequence[ToolCall], int]:
    """The calls, given by start, in that order of theirs that comes closest to the expected one; how many match it."""
    names = [call.name for call in calls]
    if run.timed and not overlapping(calls):
        return calls, common_length(names, expected)
    times = intervals(run, calls)
    plain = range(len(calls))
    back = sorted(plain, key=lambda at: (-times[at][1], -times[at][0]))
    from_end = arranged([names[at] for at in back], [(-times[at][1], -times[at][0]) for at in back], expected[::-1])
    orders = (plain, arranged(names, times, expected), [back[at] for at in reversed(from_end)])
    found = [common_length([names[at] for at in order], expected) for order in orders]
    most = max(found)
    return [calls[at] for at in orders[found.index(most)]], most


def overlapping(calls: Sequence[ToolCall]) -> bool:
    """Some of the calls, by start, ran at the same time."""
    latest = -1
    for call in calls:
        start, end = call.start_ns, call.end_ns
        if start < latest:
            return True
        latest = end if end > start else start + 1
    return False


def arranged(names: Sequence[str], times: Sequence[tuple[int, int]], expected: Sequence[str]) -> list[int]:
    """The places of calls, by start, with those that ran side by side in the order in which they were expected.

    >>> arranged(["a", "b", "c"], [(0, 9), (1, 5), (6, 8)], ["b", "c", "a"])
    [1, 2, 0]
    """
    wanted = _wanted(names, times, expected)
    ends = sorted(range(len(names)), key=lambda at: times[at][1])
    gone = [False] * len(names)
    ready: list[tuple[int, int]] = []
    out: list[int] = []
    begun = first = 0
    while len(out) < len(names):
        while gone[ends[first]]:
            first += 1
        earliest = times[ends[first]][1]
        while begun < len(names) and times[begun][0] < earliest:
            heappush(ready, (wanted[begun], begun))
            begun += 1
        _, at = heappop(ready)
        gone[at] = True
        out.append(at)
    return out


def _wanted(names: Sequence[str], times: Sequence[tuple[int, int]], expected: Sequence[str]) -> list[int]:
    """The place at which each call is wanted, no later than that of any call that began after it had ended."""
    places: dict[str, list[int]] = {}
    for at in range(len(expected) - 1, -1, -1):
        places.setdefault(expected[at], []).append(at)
    nowhere = len(expected)
    own = [line.pop() if (line := places.get(name)) else nowhere for name in names]
    soonest = [nowhere] * (len(names) + 1)
    for at in range(len(names) - 1, -1, -1):
        soonest[at] = min(own[at], soonest[at + 1])
    starts = [start for start, _ in times]
    return [min(mine, soonest[bisect_left(starts, end)]) for mine, (_, end) in zip(own, times, strict=True)]
