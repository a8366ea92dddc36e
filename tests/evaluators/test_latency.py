"""How much of the run's time did it need?"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from spanwise.errors import ModelError
from spanwise.evaluators.latency import Latency
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, asks, chat, run_of, says, span, span_id, tool

MS = 1_000_000
CAUSES = "a limit of rate, a queue, a person, or work that is not instrumented"


def helper(end: int = 1000, *, start: int = 0) -> RawSpan:
    """The agent's span around a run, in ms."""
    made = agent(1)
    made.start_ns, made.end_ns = start * MS, end * MS
    return made


def call(
    number: int,
    start: int,
    end: int,
    *,
    name: str = "search",
    failed: bool = False,
    parent: int = 1,
    arg: object = None,
) -> RawSpan:
    """The span of a tool's call, in ms."""
    return tool(
        number,
        parent=parent,
        name=name,
        arguments={"q": number if arg is None else arg},
        result=None if failed else "r",
        failed=failed,
        start=start * MS,
        end=end * MS,
    )


def model(number: int, start: int, end: int, *, parent: int = 1, **more: object) -> RawSpan:
    """The span of a model's call, in ms."""
    made = chat(number, parent=parent, got=[says("x")], **more)
    made.start_ns, made.end_ns = start * MS, end * MS
    return made


def scores_of(*spans: RawSpan, **parameters: float) -> tuple[Score, Score]:
    """Both scores of a run."""
    return Latency(**parameters)(run_of(*spans))


@pytest.mark.parametrize("case", cases_of("latency"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says of each case what the case expects."""
    check(case, Latency)


def test_a_whole_result() -> None:
    """A run with a gap, a failure and a repeat: every number can be checked by hand."""
    share, took = scores_of(
        helper(),
        model(2, 0, 200),
        call(3, 400, 500, failed=True),
        call(4, 500, 600, arg="a"),
        call(5, 600, 700, arg="a"),
        model(6, 700, 1000),
    )
    assert (
        Score(
            name="latency",
            value=0.6,
            reason="40% of 1000 ms was lost: 200 ms idle, 100 ms in failed calls, 100 ms in repeated calls. Most of "
            "the critical path: chat gpt-4o-mini 30%, invoke_agent helper itself 20%, chat gpt-4o-mini 20%.",
            evidence=(
                Evidence(span_id=span_id(6), quote="chat gpt-4o-mini"),
                Evidence(span_id=span_id(1), quote="invoke_agent helper"),
                Evidence(span_id=span_id(2), quote="chat gpt-4o-mini"),
            ),
            issues=(
                "Nothing ran for 200 ms (20% of the run) between chat gpt-4o-mini and execute_tool search.",
                "100 ms went by in failed calls of search: 10% of the run.",
                "100 ms went by in repeated calls of search: 10% of the run.",
            ),
            recommendations=(
                f"Find out what the run waits for between chat gpt-4o-mini and execute_tool search: {CAUSES}.",
                "Find out why search fails, or let it fail sooner.",
                "Keep the first result of search instead of waiting for it again.",
            ),
        )
        == share
    )
    assert (
        Score(
            name="latency_ms",
            value=1000.0,
            unit="ms",
            reason="From the start to the end of the run. The tool search: p50 100 ms, p95 100 ms of 3. The model "
            "gpt-4o-mini: p50 250 ms, p95 295 ms of 2.",
        )
        == took
    )


def test_many_gaps() -> None:
    """The three longest gaps are named, the rest is added up; the first and the last touch the run's ends."""
    calls = [model(n, 500 * n, 500 * n + 100 + n) for n in range(2, 7)]
    share, _ = scores_of(helper(4000), *calls)
    assert (
        "Nothing ran for 1000 ms (25% of the run) between the start of the run and chat gpt-4o-mini.",
        "Nothing ran for 894 ms (22% of the run) between chat gpt-4o-mini and the end of the run.",
        "Nothing ran for 398 ms (10% of the run) between chat gpt-4o-mini and chat gpt-4o-mini.",
        "3 more idle gaps took 1188 ms in all.",
    ) == share.issues


def test_small_losses_are_not_named() -> None:
    """What took less than a hundredth of the run is in the value, and no issue."""
    share, _ = scores_of(helper(), model(2, 0, 991), call(3, 991, 1000, failed=True))
    assert (0.991, (), ()) == (share.value, share.issues, share.recommendations)
    assert "1% of 1000 ms was lost: 9 ms in failed calls." in share.reason


def test_an_outer_failure_goes_first() -> None:
    """A repeat within a failed call is the failed call's time; a failure within a repeat is a failure's."""
    outer = call(3, 100, 600, name="delegate", failed=True)
    spans = (model(2, 600, 1000), call(4, 0, 100, arg="a"), outer, call(5, 200, 400, parent=3, arg="a"))
    share, _ = scores_of(helper(), *spans)
    assert (0.5, ("500 ms went by in failed calls of delegate: 50% of the run.",)) == (share.value, share.issues)
    first, again = call(3, 0, 400, name="delegate", arg="a"), call(4, 400, 1000, name="delegate", arg="a")
    share, _ = scores_of(helper(), first, again, call(5, 500, 700, parent=4, failed=True))
    assert 0.4 == share.value
    assert ("200 ms went by in failed calls of search", "400 ms went by in repeated calls of delegate") == tuple(
        issue.split(":", maxsplit=1)[0] for issue in share.issues
    )


def test_a_failed_retrieval_is_lost() -> None:
    """Time in a retrieval that failed is lost too."""
    searched = span(
        3, parent=1, start=0, end=500 * MS, status=2, attributes={"gen_ai.operation.name": "retrieval"}
    )  # fmt: skip
    share, took = scores_of(helper(), searched, model(4, 500, 1000))
    assert (0.5, ("500 ms went by in failed calls of retrieval: 50% of the run.",)) == (share.value, share.issues)
    assert "Retrieval: 500 ms." in took.reason


def test_a_span_of_several_calls() -> None:
    """A span that ran several calls at once is lost only if all of them failed."""
    values: list[float | None] = []
    for status in ("error", "ok"):
        run = run_of(helper(), model(2, 0, 500), call(3, 500, 1000, failed=True))
        run.__dict__["tool_calls"] = (*run.tool_calls, replace(run.tool_calls[0], status=status))
        values.append(Latency()(run)[0].value)
    assert [0.5, 1.0] == values


def test_what_is_not_known() -> None:
    """A run that never ended, or takes no time, or of which nothing is understood, has no number."""
    open_ = helper(0)
    open_.end_ns = 0
    assert ["not_measurable", "not_measurable"] == [one.status for one in scores_of(open_, model(2, 0, 10))]
    assert "never ended" in scores_of(open_, model(2, 0, 10))[0].reason
    backwards = helper(0)
    backwards.start_ns, backwards.end_ns = 7, 6
    assert "ends before it begins" in scores_of(backwards)[1].reason
    still = helper(0)
    still.start_ns = still.end_ns = 5
    assert "begin and end at the same time" in scores_of(still)[1].reason
    share, took = scores_of(span(1, name="GET /", start=0, end=MS))
    assert ("not_measurable", "scored", 1.0) == (share.status, took.status, took.value)
    assert "Instrument the framework" in share.reason
    assert "From the first start to the last end." == took.reason


def test_calls_that_left_no_span() -> None:
    """A call known from messages only took nobody knows how long; gaps may be its time."""
    asked = model(2, 0, 100)
    asked.attributes = {**chat(2, parent=1, got=[asks(("c1", "search", {}))]).attributes}
    share, took = scores_of(helper(), asked, model(4, 900, 1000))
    assert (1.0, ()) == (share.value, share.issues)
    assert "idle time is not judged" in share.reason
    assert "search" not in took.reason


def test_a_call_that_never_ended() -> None:
    """A call whose span never ended has no duration."""
    open_ = call(3, 100, 100)
    open_.end_ns = 0
    share, took = scores_of(helper(), model(2, 0, 100), model(4, 100, 100), open_)
    assert "Whether calls of search failed is not recorded." in share.reason
    assert "From the start to the end of the run. The model gpt-4o-mini: 100 ms." == took.reason


def test_first_tokens() -> None:
    """How long answers took to begin is told beside the slowest model, where it is recorded."""
    first = {"gen_ai.response.time_to_first_chunk": 0.1}
    took = scores_of(helper(), model(2, 0, 400, **first), model(3, 400, 700, **first), model(4, 700, 1000))[1]
    assert "The model gpt-4o-mini: p50 300 ms, p95 390 ms of 3, first token p50 100 ms, p95 100 ms of 2." in took.reason
    unnamed = scores_of(helper(), model(2, 0, 5, model=None))[1]
    assert "The model a model that is not named: 5 ms." in unnamed.reason


@pytest.mark.parametrize("field", ["target_ms", "tool_target_ms", "llm_target_ms", "retrieval_target_ms", "gap_ms"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "5"])
def test_parameters_are_checked(field: str, value: object) -> None:
    """Times are numbers above 0; no gap may also be 0."""
    with pytest.raises(ModelError, match=rf"latency: {field} is .*; give a number of milliseconds"):
        Latency(**{field: value})
    assert 0 == Latency(gap_ms=0).gap_ms


def test_one_target_alone() -> None:
    """A target for tools alone is held against tools, whatever models took."""
    share = scores_of(helper(), call(2, 0, 400), model(3, 400, 900), tool_target_ms=100.0)[0]
    assert ["The call of search took longer than 100 ms: 400 ms."] == [one for one in share.issues if "took" in one]


# Laws

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 900), st.integers(0, 500), st.booleans(), st.sampled_from("abc")),
    max_size=8,
)


def spans_of(rows: list[tuple[int, int, int, bool, str]]) -> list[RawSpan]:
    """Calls (parent among those before, start, length, whether it failed, argument) and two model calls."""
    made = [helper(), model(90, 0, 50), model(91, 950, 1000)]
    for at, (above, start, length, failed, arg) in enumerate(rows, start=2):
        parent = above % (at - 1) + 1
        made.append(call(at, start, start + length, failed=failed, parent=parent, arg=arg))
    return made


@given(ROWS, st.integers(1, 2000))
def test_bounded(rows: list[tuple[int, int, int, bool, str]], target: int) -> None:
    """The share lies in [0, 1]; a target never raises it, and a longer one never lowers it."""
    spans = spans_of(rows)
    plain, tight, loose = (
        scores_of(*spans, **more)[0].value for more in ({}, {"target_ms": target}, {"target_ms": target + 1})
    )
    assert plain is not None
    assert tight is not None
    assert loose is not None
    assert 0.0 <= tight <= loose <= plain <= 1.0


@given(ROWS, st.integers(0, 7))
def test_failing_never_helps(rows: list[tuple[int, int, int, bool, str]], which: int) -> None:
    """A call that fails instead of succeeding never raises the share, unless repeats become retries by it."""
    rows = [(above, start, length, failed, str(at)) for at, (above, start, length, failed, _) in enumerate(rows)]
    broken = [(*row[:3], row[3] or at == which, row[4]) for at, row in enumerate(rows)]
    before, after = scores_of(*spans_of(rows))[0].value, scores_of(*spans_of(broken))[0].value
    assert before is not None
    assert after is not None
    assert after <= before


@given(ROWS, st.randoms(use_true_random=False), st.lists(st.integers(1, 1000), max_size=5))
def test_order_of_arrival_and_moments(
    rows: list[tuple[int, int, int, bool, str]], shuffler: random.Random, moments: list[int]
) -> None:
    """Neither the order in which spans arrive nor other spans that take no time change anything."""
    spans = spans_of(rows)
    more = [*spans, *(span(1000 + n, parent=1, start=at * MS, end=at * MS) for n, at in enumerate(moments))]
    shuffler.shuffle(more)
    assert scores_of(*spans)[1] == scores_of(*more)[1]
    assert scores_of(*spans)[0] == scores_of(*more)[0]


@given(ROWS, st.lists(st.tuples(st.integers(0, 900), st.integers(1, 300)), max_size=4))
def test_other_spans_never_lower_it(rows: list[tuple[int, int, int, bool, str]], others: list[tuple[int, int]]) -> None:
    """What other libraries recorded below the run is work: it fills gaps, and is never held against the agent."""
    spans = spans_of(rows)
    more = [span(1000 + n, parent=1, start=at * MS, end=(at + ms) * MS) for n, (at, ms) in enumerate(others)]
    before, after = scores_of(*spans)[0].value, scores_of(*spans, *more)[0].value
    assert before is not None
    assert after is not None
    assert after >= before
