"""Failures of tools, each with its retries."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.calls import CallStatus, ToolCall
from spanwise.model.content import Memo
from spanwise.model.episodes import Episode, episodes_of
from spanwise.model.span import SpanError
from tests.making import agent, chat, returns, run_of, tool
from tests.making import asks as requests

MEMO = Memo()


def call(
    start: int, end: int, asked: object = 1, *, ok: bool = False, name: str = "search", status: CallStatus | None = None
) -> ToolCall:
    """A call of a tool that failed, unless it is said to be ok."""
    return ToolCall(
        name,
        status or ("ok" if ok else "error"),
        start_ns=start,
        end_ns=end,
        raw_arguments=None if asked is None else json.dumps({"q": asked}),
        memo=MEMO,
    )


def told(calls: list[ToolCall], *, in_turn: bool = False) -> list[tuple[list[int], int | None]]:
    """The places of the failures and of the success of each episode."""
    at = {id(one): place for place, one in enumerate(calls)}
    return [
        ([at[id(one)] for one in episode.failures], None if episode.success is None else at[id(episode.success)])
        for episode in episodes_of(calls, in_turn=in_turn)
    ]


def test_a_failure_and_its_retries() -> None:
    """Retries belong to one episode, whatever they ask; the success ends it, and the next failure begins another."""
    calls = [call(0, 5), call(5, 9, 2), call(10, 12, 3, ok=True), call(13, 14), call(15, 16, ok=True, name="lookup")]
    assert [([0, 1], 2), ([3], None)] == told(calls)


def test_nothing_failed() -> None:
    """Without a failure there is no episode; calls of unknown outcome are no failures, and mend none."""
    assert [] == told([call(0, 1, ok=True), call(2, 3, status="unknown")])
    assert [([0], None)] == told([call(0, 1), call(2, 3, status="unknown")])


def test_a_batch_of_calls() -> None:
    """A call that was under way when another failed is no retry of it, though it succeeds later."""
    assert [([0], None)] == told([call(0, 5, 1), call(0, 9, 2, ok=True)])
    assert [([0], None)] == told([call(0, 5, 1), call(3, 9, 2, ok=True)])
    assert [([0], 2)] == told([call(0, 5, 1), call(0, 9, 2, ok=True), call(10, 12, 1, ok=True)])


def test_two_failures_of_a_batch() -> None:
    """Each is mended by the call that asks the same; one success mends one failure."""
    first, second = call(0, 5, 1), call(0, 4, 2)
    assert [([0], 3), ([1], 2)] == told([first, second, call(10, 12, 2, ok=True), call(10, 13, 1, ok=True)])
    assert [([0], 2), ([1], None)] == told([first, second, call(10, 12, 1, ok=True)])
    assert [([0], None), ([1], 2)] == told([first, second, call(10, 12, 3, ok=True)])  # the first that was known


def test_a_retry_before_the_other_is_known() -> None:
    """A retry goes to the failure that was known when it began."""
    slow, quick = call(0, 50, 1), call(0, 5, 2)
    assert [([0], None), ([1], 2)] == told([slow, quick, call(10, 12, 1, ok=True)])
    assert [([0], None), ([1, 2], 3)] == told([slow, quick, call(10, 12, 3), call(20, 22, 4, ok=True)])


def test_calls_that_begin_together() -> None:
    """Calls that one message asks for are no retries of each other, unless only their order is known."""
    calls = [call(7, 7, 1), call(7, 7, 2, ok=True)]
    assert [([0], None)] == told(calls)
    assert [([0], 1)] == told(calls, in_turn=True)


def test_arguments_that_are_not_recorded() -> None:
    """Without arguments a retry goes to the failure that was known first."""
    assert [([0], None), ([1], 2)] == told([call(0, 5, None), call(0, 4, None), call(9, 10, None, ok=True)])


def test_unchanged_retries() -> None:
    """Retries that failed with the arguments that had just failed are counted, and no others."""
    calls = [call(0, 1), call(2, 3), call(4, 5, 2), call(6, 7), call(8, 9), call(10, 11, None), call(12, 13, None)]
    (episode,) = episodes_of(calls)
    assert (2, 0, 0) == (episode.unchanged, episodes_of(calls[:1])[0].unchanged, episodes_of(calls[1:3])[0].unchanged)


def test_time_to_recover() -> None:
    """It is measured from the end of the first failure to the end of the success, where both left spans."""
    (episode,) = episodes_of([call(0, 5), call(6, 7), call(8, 20, ok=True)])
    heard = ToolCall("search", "ok", origin="message")
    failed = ToolCall("search", "error", origin="message")
    assert [15, None, None, None] == [
        episode.recovery_ns,
        Episode(failures=[call(0, 5)]).recovery_ns,
        Episode(failures=[call(0, 5)], success=heard).recovery_ns,
        Episode(failures=[failed], success=call(6, 7, ok=True)).recovery_ns,
    ]


def test_kind_of_an_episode() -> None:
    """An episode is of the kind of the failure that it began with."""
    first = call(0, 5)
    first.error = SpanError(type="TimeoutError")
    second = call(6, 7)
    second.error = SpanError(type="ValueError")
    assert ["transient"] == [episode.kind for episode in episodes_of([first, second])]


def test_calls_known_from_messages() -> None:
    """What one message asks for is a batch; without model calls only the order is known."""
    asked = requests(("c1", "search", {"q": 1}), ("c2", "search", {"q": 2}))
    given_ = returns(("c1", {"status": "error", "error": "no"}), ("c2", "fine"))
    run = run_of(agent(1), chat(2, parent=1, got=[asked]), chat(30, parent=1, sent=[asked, given_]))
    assert ["error", "ok"] == [one.status for one in run.tool_calls]
    assert [None] == [episode.success for episode in run.episodes]
    turns = [tool(10, parent=1, failed=True, end=10), tool(11, parent=1, start=10, end=10, result=1)]
    assert [True] == [episode.recovered for episode in run_of(agent(1), *turns).episodes]


CALLS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 10), st.integers(1, 3), st.booleans(), st.sampled_from("ab")),
    max_size=12,
)


@given(CALLS)
def test_every_failure_is_in_one_episode(rows: list[tuple[int, int, int, bool, str]]) -> None:
    """No failure is lost or counted twice, no success ends two episodes, and none ends one that it could not know."""
    calls = [call(at, at + took, asked, ok=ok, name=name) for at, took, asked, ok, name in sorted(rows)]
    episodes = episodes_of(calls)
    failures = [id(one) for episode in episodes for one in episode.failures]
    assert sorted(failures) == sorted(id(one) for one in calls if one.failed)
    successes = [id(episode.success) for episode in episodes if episode.success is not None]
    assert len(successes) == len(set(successes))
    for episode in episodes:
        members = [*episode.failures, *([episode.success] if episode.success else [])]
        assert 1 == len({one.name for one in members})
        assert all(before.end_ns <= after.start_ns for before, after in pairwise(members))
