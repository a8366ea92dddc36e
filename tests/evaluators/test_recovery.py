"""When a tool failed, did the agent get over it?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.evaluators.recovery import Recovery
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.score import Evidence, Score
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, tool

PYDANTIC_AI = Scope("pydantic-ai", "2.66.0", {})


def call(at: int, name: str = "search", *, failed: bool = False, words: str = "it broke") -> RawSpan:
    """The call at a place in the run."""
    made = tool(10 * at, parent=1, name=name, arguments={"n": at}, result=None if failed else "r", failed=failed)
    made.status_message = words if failed else ""
    return made


def score_of(*spans: RawSpan) -> Score:
    """The score of a run of these spans below one agent."""
    return Recovery()(run_of(agent(1), *spans))


def test_recovered() -> None:
    """A failure that a later success of the same tool follows was recovered from; its words are the evidence."""
    score = score_of(call(1, failed=True, words="bad query"), call(2))
    assert (1.0, "1 of 1 failures of tools were recovered from, after under 1 ms.", (), ()) == (
        score.value,
        score.reason,
        score.issues,
        score.recommendations,
    )
    assert (Evidence(span_id=span_id(10), quote="bad query"),) == score.evidence


def test_never_recovered() -> None:
    """A failure that nothing mended is an issue with advice; other tools' successes mend nothing."""
    score = score_of(call(1, failed=True), call(2, "lookup"))
    assert (0.0, ("search failed once and was not tried again: it broke",)) == (score.value, score.issues)
    assert "0 of 1 failures of tools were recovered from." == score.reason
    assert ("Make the error text of search say what a valid call looks like, or offer another tool.",) == (
        score.recommendations
    )


def test_retries_are_one_episode() -> None:
    """A failed call and its failing retries are one episode; the issue counts them and quotes the last."""
    score = score_of(*(call(n, failed=True, words=f"no {n}") for n in (1, 2, 3)))
    assert (0.0, 3) == (score.value, len(score.evidence))
    assert ("search failed 3 times and never succeeded afterwards: no 3",) == score.issues


def test_two_episodes() -> None:
    """After a success the next failure of the tool is another episode."""
    score = score_of(call(1, failed=True), call(2), call(3, failed=True), call(4, "lookup", failed=True), call(5))
    assert pytest.approx(2 / 3) == score.value
    assert 1 == len(score.issues)


def test_advice_names_the_error() -> None:
    """Where the failure's type is known the advice names it."""
    broken = call(1, failed=True, words="")
    broken.events = (RawEvent("exception", 11, {"exception.type": "KeyError"}),)
    score = score_of(broken)
    assert ("search failed once (permanent) and was not tried again.",) == score.issues
    assert score.recommendations[0].startswith("Handle KeyError of search: ")


def test_a_retry_that_the_tool_asked_for() -> None:
    """A request to try again is a failure that the next success recovers."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "pydantic_ai.tool.retry.cause": "model_retry",
        "pydantic_ai.tool.retry.attempt": 1,
    }
    asked = span(10, parent=1, attributes=attributes, status=2, scope=PYDANTIC_AI)
    assert [1.0, 0.0] == [score_of(asked, call(2)).value, score_of(asked).value]


def test_a_result_that_says_error() -> None:
    """The words of a failure that is only in the result are quoted from there."""
    said = tool(10, parent=1, result={"status": "error", "message": "no"}, arguments={})
    assert ('{"status":"error","message":"no"}',) == tuple(one.quote for one in score_of(said).evidence)


def test_kinds_and_time_to_recover() -> None:
    """The reason counts the kinds that are known, and tells how long the slowest recovery took."""
    late = call(9, "lookup")
    late.end_ns = 2_500_000_000
    score = score_of(
        call(1, failed=True, words="HTTP 503"),
        call(2),
        call(3, "lookup", failed=True, words="no such book"),
        call(4, "other", failed=True),
        call(5, "other"),
        late,
    )
    assert (
        1.0,
        "3 of 3 failures of tools (1 transient, 1 permanent) were recovered from, the slowest after 2.5 s.",
    ) == (
        score.value,
        score.reason,
    )


def retried(times: int, words: str, *, then: bool = False, changed: bool = False) -> Score:
    """The score of a call that fails so often with the same arguments, and then perhaps succeeds."""
    calls = [call(n, failed=n <= times, words=words) for n in range(1, times + 1 + then)]
    for one in calls[: times if changed else None]:
        one.attributes = {**one.attributes, "gen_ai.tool.call.arguments": '{"q": "a"}'}
    return score_of(*calls)


def test_retried_unchanged_after_a_permanent_error() -> None:
    """The same call again after an error that stays is an issue with advice, also if another call succeeds then."""
    lost, mended = retried(2, "invalid"), retried(3, "invalid", then=True, changed=True)
    assert (
        "search was retried unchanged once after a permanent error: invalid",
        "search failed 2 times (permanent) and never succeeded afterwards: invalid",
    ) == lost.issues
    assert ("search was retried unchanged 2 times after a permanent error: invalid",) == mended.issues
    assert ("Let the error text of search say what to change before it is called again.",) == mended.recommendations
    assert (0.0, 1.0) == (lost.value, mended.value)


def test_retried_unchanged_with_success() -> None:
    """An error that only sounded permanent is held against nobody, however the arguments are written."""
    assert () == retried(3, "invalid", then=True).issues
    calls = [call(n, failed=n < 4, words="invalid") for n in range(1, 5)]
    for one, given_ in zip(calls, (*['{"q": "a"}'] * 3, '{ "q" : "a" }'), strict=True):
        one.attributes = {**one.attributes, "gen_ai.tool.call.arguments": given_}
    assert () == score_of(*calls).issues


def test_retried_unchanged_after_a_transient_error() -> None:
    """Two retries after an error that passes are good practice; more are an issue, as after an unknown error."""
    assert ((), 1) == (retried(3, "timed out", then=True).issues, len(retried(4, "timed out", then=True).issues))
    assert ("Wait longer between tries of search, and stop after two.",) == (
        retried(4, "timed out", then=True).recommendations
    )
    assert ("search was retried unchanged 3 times after an error: it broke",) == (
        retried(4, "it broke", then=True).issues
    )
    assert (
        "Wait longer between tries of search, and stop after two.",
        "Try search again after a pause, once or twice, before the agent goes on without it.",
    ) == retried(4, "timed out").recommendations


def test_failed_model_calls_are_named() -> None:
    """They change no value, whether a tool failed or not."""
    broken = [chat(n, parent=1, model=model) for n, model in ((50, "m"), (60, "m"), (70, None))]
    for one in broken:
        one.status_code, one.status_message = 2, "too long"
    for score in (score_of(call(1), *broken), score_of(call(1, failed=True), call(2), *broken)):
        assert ("2 calls of m failed.", "1 call of a model that is not named failed.") == score.issues
        assert ("too long",) * 3 == tuple(one.quote for one in score.evidence[-3:])
    assert "not_applicable" == score_of(call(1), *broken).status
    assert "not_measurable" == Recovery()(run_of(broken[0], tool(5, parent=None, end=0))).status


def test_control_tools_and_calls_that_did_not_run() -> None:
    """A refused answer and a name that the model invented are no failures of tools."""
    run = run_of(
        agent(1),
        chat(2, parent=1, got=[asks(("c1", "serch", {}))]),
        chat(30, parent=1, sent=[returns(("c9", 1))], got=[says("done")]),
        call(5, "final_answer", failed=True),
        call(6),
    )
    score = Recovery()(run)
    assert ("not_applicable", "No tool failed.") == (score.status, score.reason)


def test_nothing_to_recover_from() -> None:
    """Without a failure, or without a call, the question does not arise."""
    answered = Recovery()(run_of(chat(1, parent=None, got=[says("A")])))
    assert ["No tool failed.", "The run called no tool.", "The run called no tool."] == [
        score.reason for score in (score_of(call(1)), score_of(), answered) if score.status == "not_applicable"
    ]


def test_calls_that_may_have_gone_unseen() -> None:
    """Where no answer of a model is recorded, tools may have been called and failed."""
    score = Recovery()(run_of(chat(1, parent=None)))
    assert ("not_measurable", True) == (score.status, "they may have asked for some" in score.reason)


def test_unknown_outcomes() -> None:
    """Calls that may have failed make it unmeasurable, each tool named once; a known failure is judged nonetheless."""
    open_ = [tool(n, parent=1, name=name, end=0) for n, name in ((10, "a"), (11, "b"), (12, "a"))]
    score = score_of(*open_)
    assert "not_measurable" == score.status
    assert score.reason.startswith("Whether calls of a, b failed is not recorded. Set OTEL_")
    assert 0.0 == score_of(*open_, call(5, failed=True)).value


def test_a_retry_of_unknown_outcome() -> None:
    """A failure whose retry may have succeeded is told neither as recovered nor as not; a known success settles it."""
    failed = call(1, failed=True)
    retried = tool(25, parent=1, name="search", end=0)
    score = score_of(failed, retried)
    assert ("not_measurable", ()) == (score.status, score.issues)
    assert score.reason.startswith("Whether calls of search succeeded when they were tried again is not recorded. Set")
    assert 1.0 == score_of(failed, retried, call(9)).value


def test_unknown_outcomes_without_a_switch() -> None:
    """Where results are recorded no switch is named."""
    open_ = tool(10, parent=1, result="partial", arguments={}, end=0)
    assert "Whether calls of search failed is not recorded." == score_of(open_).reason


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect cannot say whether a tool failed."""
    score = Recovery()(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


@pytest.mark.parametrize("case", cases_of("recovery"), ids=told)
def test_conformance(case: Case) -> None:
    """The score of each case is what the case expects."""
    check(case, Recovery)


CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=10)


@given(CALLS)
def test_bounded(calls: list[tuple[str, bool]]) -> None:
    """A score lies in [0, 1], and is there exactly when something failed."""
    score = score_of(*(call(n, name, failed=bad) for n, (name, bad) in enumerate(calls, start=1)))
    assert (score.status == "scored") == any(bad for _, bad in calls)
    assert score.value is None or 0.0 <= score.value <= 1.0


@given(CALLS)
def test_succeeding_in_the_end_recovers_all(calls: list[tuple[str, bool]]) -> None:
    """A last success of every tool leaves nothing unrecovered, and never makes the score worse."""
    spans = [call(n, name, failed=bad) for n, (name, bad) in enumerate([*calls, ("a", True)], start=1)]
    mended = [call(50 + n, name) for n, name in enumerate("abc")]
    assert (1.0, ()) == (score_of(*spans, *mended).value, score_of(*spans, *mended).issues)


@given(CALLS, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(calls: list[tuple[str, bool]], random: object, others: list[int]) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = [call(n, name, failed=bad) for n, (name, bad) in enumerate(calls, start=1)]
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    assert score_of(*spans) == score_of(*more)
