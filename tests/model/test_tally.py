"""What is asked of all calls of a run: the compiled loop and the one in Python tell the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model import tally
from spanwise.model.calls import ToolCall
from spanwise.model.tally import Tally, tally_of
from spanwise.native import core

compiled = pytest.mark.skipif(core is None, reason="the compiled part was not built here")


class Name(str):
    """A text of a type of its own."""

    __slots__ = ()


TIMES = st.one_of(st.integers(0, 9), st.sampled_from([-3, 2**62, 2**63, -(2**70)]))
CALLS = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from(["search", "book", "", Name("search")]),
        st.sampled_from(["ok", "ok", "error", "retry", "unknown", "not_run", "".join(["o", "k"])]),
        st.integers(-1, 3),
        start_ns=TIMES,
        end_ns=TIMES,
        raw_arguments=st.sampled_from([None, "{}", 7]),
    ),
    max_size=8,
)


def test_all_of_it() -> None:
    """Times by tool from least to most, what failed, and of what it is not known."""
    calls = [
        ToolCall("search", "ok", 1, start_ns=0, end_ns=9, raw_arguments="{}"),
        ToolCall("search", "retry", 2, start_ns=10, end_ns=12),
        ToolCall("book", "unknown", 3, start_ns=20, end_ns=20),
        ToolCall("book", "unknown", 4, start_ns=30, end_ns=31),
        ToolCall("plan", "ok", -1),
    ]
    names = ["search", "search", "book", "book", "plan"]
    times = {"search": [2, 9], "book": [1]}
    told = Tally(names, ["{}", None, None, None, None], times, [calls[1]], ("book",), True)
    assert told == tally_of(calls) == tally._tally(calls)


@compiled
@given(CALLS)
def test_any_calls(calls: list[ToolCall]) -> None:
    """Calls of any status and time, with and without spans, are told alike by both."""
    assert tally._tally(calls) == tally_of(calls) == tally_of(tuple(calls))


@compiled
@pytest.mark.parametrize("field", ["name", "status", "span", "start_ns", "end_ns"])
def test_what_is_no_plain_call(field: str) -> None:
    """A call that holds something else than a call does takes the twin, and is no crash."""
    assert tally._CALLS is not None
    call = ToolCall("search", "ok", 1)
    for wrong in (None, 2.5, (), object()):
        setattr(call, field, wrong)
        assert tally._CALLS.tally([ToolCall("search"), call], None) is None
    assert tally._CALLS.tally([7], None) is None  # type: ignore[list-item]  # what the checker forbids


def test_pauses() -> None:
    """Others get their turn while many calls are looked at, by either way; what they do to the list is no crash."""
    calls = [ToolCall("search") for _ in range(2000)]
    told: list[int] = []
    tally_of(calls, pause=lambda: told.append(1), paced=lambda each: told.append(1) or each)
    assert told
    if tally._CALLS is not None:
        assert tally._CALLS.tally(calls, calls.clear) is None
        with pytest.raises(ZeroDivisionError):
            tally._CALLS.tally([ToolCall("search")], lambda: 1 // 0)  # type: ignore[arg-type, return-value]  # what the checker forbids
