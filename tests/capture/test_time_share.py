"""The share of a thread's time that others' evaluators may use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.capture.isolation import TimeShare
from spanwise.errors import ModelError

S = 1_000_000_000


@given(
    share=st.floats(0.01, 0.99),
    steps=st.lists(st.tuples(st.integers(0, S), st.integers(0, S)), min_size=1, max_size=100),
)
def test_a_share_is_kept(share: float, steps: list[tuple[int, int]]) -> None:
    """Runs take no more than the share of the time, one second's of it, and one run's length."""
    time_share = TimeShare(share)
    now = used = longest = skipped = 0
    for pause, length in steps:
        now += pause
        if time_share.may_run(now):
            now += length
            used += length
            longest = max(longest, length)
            time_share.spent(length, now)
        else:
            skipped += 1
    assert used <= share * now + share * S + longest + 1
    assert skipped == time_share.counts.get("time_share", 0)


def test_a_share_is_used() -> None:
    """Under constant demand an evaluator of 50 ms gets a fifth of the time; a fast one is never left out."""
    for length, used in ((50_000_000, 0.2), (1_000, 0.01)):
        time_share, now, busy = TimeShare(0.2), 0, 0
        while now < 100 * S:
            if time_share.may_run(now):
                now += length
                busy += length
                time_share.spent(length, now)
            now += 99 * length if length < 1_000_000 else 1_000_000
        assert busy / now == pytest.approx(used, rel=0.05)
        assert (length < 1_000_000) == (not time_share.counts)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), True])
def test_a_share_is_a_share(share: float) -> None:
    """Nothing but a number above 0 and up to 1 is a share; all of the time is no limit."""
    with pytest.raises(ModelError, match="expected a number above 0 and up to 1"):
        TimeShare(share)
    whole = TimeShare(1.0)
    whole.spent(S * 100, S)
    assert whole.may_run(S)


def test_a_clock_set_back_gives_no_time() -> None:
    """Time that runs backwards fills nothing."""
    time_share = TimeShare(0.5)
    time_share.spent(S, S)
    time_share.spent(0, 0)
    assert not time_share.may_run(S)
    assert time_share.may_run(3 * S)
