"""Did the agent go round in circles?"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.loops import Loops
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators import conformance
from tests.making import agent, run_of, span, span_id, tool


@pytest.mark.parametrize("case", conformance.cases_of("loops"), ids=conformance.told)
def test_conformance(case: conformance.Case) -> None:
    """The evaluator says of each case what the case expects."""
    conformance.check(case, Loops)


def call(at: int, name: str, arguments: object, *, result: object = "r", failed: bool = False) -> RawSpan:
    """The call at a place in the run; it takes 2 ms."""
    return tool(
        10 * at,
        parent=1,
        name=name,
        arguments=arguments,
        result=None if failed else result,
        failed=failed,
        start=10 * at,
        end=10 * at + 2_000_000,
    )


def score_of(*spans: RawSpan) -> Score:
    """The score of a run of these spans below one agent."""
    return Loops()(run_of(agent(1), *spans))


def test_a_loop_whole() -> None:
    """A loop names its calls, its place, its rounds and its time; the evidence is its first and its last span."""
    score = score_of(call(1, "plan", {}), *(call(n, "search" if n % 2 else "read", {"q": "a"}) for n in range(2, 8)))
    assert (
        Score(
            name="loops",
            value=3 / 7,
            reason="4 of 7 tool calls repeat a cycle, in 1 loop.",
            evidence=(
                Evidence(span_id=span_id(20), quote='{"q":"a"}'),
                Evidence(span_id=span_id(70), quote='{"q":"a"}'),
            ),
            issues=("read -> search was gone through 3 times in a row, calls 2 to 7 of 7; the repeats took 8 ms.",),
            recommendations=(
                (
                    "When read -> search brings nothing new, tell the model so, "
                    "or end the run after a set number of rounds."
                ),
            ),
        )
        == score
    )


def test_no_loop_whole() -> None:
    """Where nothing repeats the reason says how much was looked at."""
    assert Score(name="loops", value=1.0, reason="No cycle repeats in 1 tool call.") == score_of(call(1, "plan", {}))


def test_a_long_cycle() -> None:
    """Of a cycle of many calls the first are named."""
    score = score_of(*(call(n, f"t{(n - 1) % 7}", {}) for n in range(1, 15)))
    assert "t0 -> t1 -> t2 -> t3 -> t4 -> ... (7 calls) was gone through 2 times in a row" in score.issues[0]


def test_many_loops() -> None:
    """Twenty loops are listed, the longest, in their order; all are counted."""
    spans = [call(4 * n + k, f"t{n}", {}) for n in range(1, 26) for k in range(4 if n > 5 else 3)]
    score = score_of(*spans)
    assert (20, True) == (len(score.issues), score.reason.endswith("in 25 loops. The 20 longest are listed."))
    assert score.issues[0].startswith("t6 was called 4 times")
    assert pytest.approx(1 - (5 * 2 + 20 * 3) / (5 * 3 + 20 * 4)) == score.value


def test_calls_known_from_a_trace_without_content() -> None:
    """Bare calls leave the score open only where they could be in a loop."""
    open_ = [call(n, "search", None) for n in (1, 2, 3)]
    score = score_of(*open_, *(call(n, "read", {"n": 1}) for n in (4, 5, 6)))
    assert "not_measurable" == score.status
    assert score.reason.startswith("Whether calls of search repeat a cycle cannot be told: Arguments are not recorded")
    score = score_of(
        call(1, "search", None), call(2, "plan", {}), call(3, "search", {}), *(call(n, "x", {}) for n in (4, 5, 6))
    )
    assert 4 / 6 == score.value


def test_results_that_cannot_be_compared() -> None:
    """Where a result is not recorded, or cut, no news can be told; the same value written differently is none."""
    spans = [call(n, "job", {"id": 1}, result={"a": 1, "b": 2}) for n in (1, 2, 3)]
    for text in ('{"b":2,"a":1}', "[REDACTED]", '{"a'):
        spans[1].attributes = {**spans[1].attributes, "gen_ai.tool.call.result": text}
        assert pytest.approx(1 / 3) == score_of(*spans).value
    spans[1].attributes = {**spans[1].attributes, "gen_ai.tool.call.result": '{"a":2}'}
    assert 1.0 == score_of(*spans).value


@pytest.mark.parametrize("given", [{"minimum": 1}, {"minimum": True}, {"minimum": 2.5}, {"minimum_rounds": 0}])
def test_refused(given: dict[str, Any]) -> None:
    """Numbers of rounds are whole and at least 2."""
    with pytest.raises(ModelError, match="expected a whole number of at least 2"):
        Loops(**given)


# Laws

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["search", "read", "book_seat", "final_answer"]),
        st.sampled_from([{"q": "a"}, {}]),
        st.sampled_from("rs"),
        st.booleans(),
    ),
    max_size=12,
)
Told = list[tuple[str, object, str, bool]]


def run_spans(calls: Told) -> list[RawSpan]:
    """A run of calls, in their order."""
    return [call(n, name, args, result=said, failed=bad) for n, (name, args, said, bad) in enumerate(calls, start=1)]


@given(CALLS)
def test_bounded(calls: Told) -> None:
    """A score lies above 0, since the first round repeats nothing, and at most at 1."""
    score = score_of(*run_spans(calls))
    assert score.status == ("scored" if any(name != "final_answer" for name, *_ in calls) else "not_applicable")
    assert score.value is None or 0.0 < score.value <= 1.0


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), st.integers(2, 5))
def test_another_round_never_raises_the_score(names: list[str], times: int) -> None:
    """Going through a cycle once more, or beginning to, makes no score better."""
    cycle: Told = [(name, {}, "r", False) for name in names]
    last = 1.0
    for length in range(len(cycle) * times, len(cycle) * (times + 1) + 1):
        value = score_of(*run_spans((cycle * (times + 1))[:length])).value
        assert value is not None
        assert value <= last
        last = value


@given(CALLS, st.integers(0, 2**32), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(calls: Told, seed: int, others: list[int]) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = run_spans(calls)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.Random(seed).shuffle(more)
    assert score_of(*spans) == score_of(*more)
