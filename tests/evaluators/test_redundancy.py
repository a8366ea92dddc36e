"""Did the agent repeat work that it had already done?"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, asks, chat, run_of, says, span, span_id, tool

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def call(at: int, name: str, arguments: object, *, result: object = "r", failed: bool = False) -> RawSpan:
    """The call at a place in the run."""
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
    return Redundancy()(run_of(agent(1), *spans))


def test_nothing_repeated() -> None:
    """Calls that all differ, in name or in arguments, score 1."""
    score = score_of(call(1, "search", {"q": "a"}), call(2, "search", {"q": "b"}), call(3, "lookup", {"q": "a"}))
    assert (1.0, "0 of 3 tool calls repeat an earlier one.", (), ()) == (
        score.value,
        score.reason,
        score.issues,
        score.recommendations,
    )


def test_a_repeated_search() -> None:
    """The same search again is a duplicate, shown with its span, its arguments and the time it took."""
    score = score_of(call(1, "search", {"q": "a"}), call(2, "lookup", {"q": "a"}), call(3, "search", {"q": "a"}))
    assert pytest.approx(2 / 3) == score.value
    assert (Evidence(span_id=span_id(30), quote='{"q":"a"}'),) == score.evidence
    assert ('search was called twice with the same arguments ({"q":"a"}); the second call cost 2 ms.',) == score.issues
    assert "1 of 3 tool calls repeat an earlier one. Wasted: 2 ms." == score.reason
    assert ("Keep the first result of search in the conversation, or cache search by its arguments.",) == (
        score.recommendations
    )


def test_how_arguments_are_written_does_not_matter() -> None:
    """The order of keys, space around text and the form of a number make no other call."""
    score = score_of(call(1, "search", {"q": "a", "n": 1}), call(2, "search", {"n": 1.0, "q": " a "}))
    assert 0.5 == score.value


def test_one_issue_per_repeated_call() -> None:
    """A call that was repeated often is one issue and one piece of advice; each repeat is evidence."""
    score = score_of(*(call(n, "search", {"q": "a"}) for n in range(1, 5)))
    assert (0.25, 3, 1) == (score.value, len(score.evidence), len(score.recommendations))
    assert ('search was called 4 times with the same arguments ({"q":"a"}); the 3 repeats cost 6 ms.',) == score.issues


def test_what_a_repeat_cost() -> None:
    """Tokens and dollars are those of the model call that asked for it, shared among all that it asked for."""
    run = run_of(
        agent(1),
        chat(2, parent=1, tokens=(200, 20), **{"operation.cost": 0.5}),
        call(2, "search", {"q": "a"}),
        chat(40, parent=1, tokens=(300, 20), **{"operation.cost": 0.5}),
        call(5, "search", {"q": "a"}),
        call(6, "lookup", {"q": "a"}),
    )
    said = (
        'search was called twice with the same arguments ({"q":"a"}); the second call cost 2 ms, 160 tokens and $0.25.'
    )
    assert ((said,), "1 of 3 tool calls repeat an earlier one. Wasted: 2 ms, 160 tokens and $0.25.") == (
        Redundancy()(run).issues,
        Redundancy()(run).reason,
    )


def test_retry_after_failure_is_exempt() -> None:
    """A call that failed is not done: trying it again counts neither way, however often."""
    failing = [call(n, "search", {"q": "a"}, failed=True) for n in (1, 2)]
    score = score_of(*failing, call(3, "search", {"q": "a"}))
    assert (1.0, "0 of 1 tool calls repeat an earlier one, 2 exempt.") == (score.value, score.reason)


def test_a_success_repeated_after_a_retry() -> None:
    """Once a call has succeeded, repeating it is a duplicate, whatever failed before."""
    spans = [call(1, "search", {"q": "a"}, failed=True), *(call(n, "search", {"q": "a"}) for n in (2, 3))]
    assert (0.5, "1 of 2 tool calls repeat an earlier one, 1 exempt. Wasted: 2 ms.") == (
        score_of(*spans).value,
        score_of(*spans).reason,
    )


def test_a_repeat_that_fails_is_a_duplicate() -> None:
    """Doing again what was done already is redundant also when it fails the second time."""
    assert 0.5 == score_of(call(1, "search", {"q": "a"}), call(2, "search", {"q": "a"}, failed=True)).value


def test_polling_is_exempt() -> None:
    """A repeated read whose result changed was worth asking; the next one is compared with the latest result."""
    reads = [call(n, "job_status", {"id": 1}, result=said) for n, said in enumerate(["new", "busy", "busy"], start=1)]
    score = score_of(*reads)
    assert (0.5, "1 of 2 tool calls repeat an earlier one, 1 exempt. Wasted: 2 ms.") == (score.value, score.reason)


def test_results_that_only_look_different() -> None:
    """Results that are the same value written differently did not change; one that is redacted tells no change."""
    one, other = (call(n, "lookup", {"id": 1}) for n in (1, 2))
    one.attributes = {**one.attributes, "gen_ai.tool.call.result": '{"a": 1, "b": 2}'}
    other.attributes = {**other.attributes, "gen_ai.tool.call.result": '{"b":2,"a":1}'}
    assert 0.5 == score_of(one, other).value
    other.attributes = {**other.attributes, "gen_ai.tool.call.result": "[REDACTED]"}
    assert 0.5 == score_of(one, other).value


def test_a_write_whose_result_changes_is_no_polling() -> None:
    """Sending the same message twice is a duplicate though each sending bears an id of its own."""
    sent = [call(n, "send_message", {"to": "ann"}, result={"id": n}) for n in (1, 2)]
    assert 0.5 == score_of(*sent).value


def test_reading_after_a_write_is_fresh() -> None:
    """A read repeated after a tool that changes things is no duplicate."""
    read = [call(n, "list_orders", {}) for n in (1, 3)]
    assert 1.0 == score_of(read[0], call(2, "create_order", {"item": 1}), read[1]).value
    failed = call(2, "create_order", {"item": 1}, failed=True)
    assert pytest.approx(2 / 3) == score_of(read[0], failed, read[1]).value


def test_writing_again_and_again() -> None:
    """The same write three times is two duplicates."""
    assert pytest.approx(1 / 3) == score_of(*(call(n, "book_seat", {"seat": "1A"}) for n in (1, 2, 3))).value


def test_annotations_tell_effects() -> None:
    """What a tool's definition says of its effects goes before its name."""
    tools = [{"name": "create_report", "annotations": {"readOnlyHint": True}}]
    offered = agent(1, **{"gen_ai.tool.definitions": json.dumps(tools)})
    read = [call(n, "list_orders", {}) for n in (1, 3)]
    run = run_of(offered, read[0], call(2, "create_report", {}), read[1])
    assert pytest.approx(2 / 3) == Redundancy()(run).value


NEAR = [call(1, "search", {"q": "Population of France?"}), call(2, "search", {"q": "population of  france"})]


def test_near_duplicates_are_named() -> None:
    """A call that asks nearly the same is an issue with evidence and advice, and changes no value."""
    score = score_of(*NEAR)
    assert (1.0, "0 of 2 tool calls repeat an earlier one.", span_id(20)) == (
        score.value,
        score.reason,
        score.evidence[0].span_id,
    )
    (issue,) = score.issues
    assert 'search was called twice with nearly the same arguments ({"q":"Population of France?"}, then ' == issue[:92]
    assert '{"q":"population of france"}); the second call cost 2 ms.' == issue[92:]
    assert ("Bring the texts that search is given into one form before it is called or cached.",) == (
        score.recommendations
    )


def test_near_duplicates_counted_or_not_looked_for() -> None:
    """Where configured they count as duplicates, or nobody looks for them."""
    run = run_of(agent(1), *NEAR)
    counted, off = Redundancy(near_duplicates="count")(run), Redundancy(near_duplicates="off")(run)
    assert (0.5, "1 of 2 tool calls repeat an earlier one. Wasted: 2 ms.") == (counted.value, counted.reason)
    assert (1.0, (), ()) == (off.value, off.issues, off.recommendations)


def test_exact_and_near_duplicates_of_one_tool() -> None:
    """A tool that has exact duplicates is advised on once, for those."""
    score = score_of(*NEAR, call(3, "search", {"q": "Population of France?"}))
    assert (pytest.approx(2 / 3), 2, 1) == (score.value, len(score.issues), len(score.recommendations))


def test_no_such_mode() -> None:
    """A mode that is not known is refused, and those that are known are named."""
    with pytest.raises(ModelError, match=r"near_duplicates is 'on'; it is one of 'issue', 'count', 'off'"):
        Redundancy(near_duplicates="on")


def test_masked_arguments() -> None:
    """Calls that differ at most in what was masked cannot be told apart."""
    masked = [call(n, "search", {"q": "[REDACTED]"}) for n in (1, 2)]
    score = score_of(*masked)
    why = "their arguments are masked, or not recorded whole."
    assert ("not_measurable", f"Whether calls of search repeat each other cannot be told: {why}") == (
        score.status,
        score.reason,
    )
    assert 1.0 == score_of(*masked[:1], call(2, "search", {"q": "b"})).value


def test_control_tools_and_calls_that_did_not_run() -> None:
    """Ending the run and asking for a tool that does not exist is no repeated work."""
    asked = [asks(("c1", "serch", {}), ("c2", "serch", {}))]
    offered = {"gen_ai.tool.definitions": json.dumps(["search"])}
    run = run_of(
        agent(1, **offered),
        chat(2, parent=1, got=asked),
        call(3, "final_answer", {"answer": "x"}),
        call(4, "final_answer", {"answer": "x"}),
        call(5, "search", {"q": "a"}),
    )
    assert (1.0, "0 of 1 tool calls repeat an earlier one.") == (Redundancy()(run).value, Redundancy()(run).reason)


def test_calls_known_from_messages() -> None:
    """A repeat that left no span is one all the same; it has no span to show and no time."""
    asked = [asks(("c1", "search", {"q": "a"}), ("c2", "search", {"q": "a"}))]
    score = Redundancy()(run_of(agent(1), chat(2, parent=1, got=asked)))
    assert (0.5, ('search was called twice with the same arguments ({"q":"a"}).',), "") == (
        score.value,
        score.issues,
        score.evidence[0].span_id,
    )


def test_no_tool_called() -> None:
    """A run that called no tool cannot have repeated one."""
    for run in (run_of(agent(1)), run_of(chat(1, parent=None, got=[says("A")]))):
        score = Redundancy()(run)
        assert ("not_applicable", "The run called no tool.") == (score.status, score.reason)


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect cannot say whether there were calls."""
    score = Redundancy()(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


def test_arguments_that_are_not_recorded() -> None:
    """Calls of one tool without recorded arguments can be equal or not; the reason names the switch."""
    score = score_of(call(1, "search", None), call(2, "search", {"q": "a"}), call(3, "lookup", {"q": "a"}))
    assert "not_measurable" == score.status
    assert score.reason.startswith("Whether calls of search repeat each other cannot be told: ")
    assert SWITCH in score.reason


def test_a_single_call_without_arguments() -> None:
    """A tool that was called once repeats nothing, whatever it was called with."""
    assert 1.0 == score_of(call(1, "search", None), call(2, "lookup", {"q": "a"})).value


def test_half_recorded_arguments() -> None:
    """Arguments that were cut compare with nothing."""
    cut = [call(n, "search", {"q": "a"}) for n in (1, 2)]
    cut[0].attributes = {**cut[0].attributes, "gen_ai.tool.call.arguments": '{"q": "a'}
    assert "not_measurable" == score_of(*cut).status


@pytest.mark.parametrize("case", cases_of("redundancy"), ids=told)
def test_conformance(case: Case) -> None:
    """The score of each case is what the case expects."""
    check(case, Redundancy)


# Laws

NAMES = st.sampled_from(["search", "lookup", "book_seat", "final_answer"])
ARGUMENTS = [{"q": "a"}, {"q": "b"}, {"q": "A."}, {}]
CALLS = st.lists(
    st.tuples(NAMES, st.sampled_from([{"q": "a"}, {"q": "b"}, {"q": "A."}, {}]), st.sampled_from("rst"), st.booleans()),
    max_size=8,
)


def run_spans(calls: list[tuple[str, object, str, bool]]) -> list[RawSpan]:
    """A run of calls, in their order."""
    return [call(n, name, args, result=said, failed=bad) for n, (name, args, said, bad) in enumerate(calls, start=1)]


@given(CALLS)
def test_bounded(calls: list[tuple[str, object, str, bool]]) -> None:
    """A score lies above 0, since the first call repeats nothing, and at most at 1."""
    score = score_of(*run_spans(calls))
    assert score.status == ("scored" if any(name != "final_answer" for name, *_ in calls) else "not_applicable")
    assert score.value is None or 0.0 < score.value <= 1.0


@given(CALLS.filter(lambda calls: any(name != "final_answer" and not bad for name, _, _, bad in calls)))
def test_a_duplicate_never_raises_the_score(calls: list[tuple[str, object, str, bool]]) -> None:
    """Repeating the last successful call at the end, result and all, makes no score better."""
    last = next(one for one in reversed(calls) if one[0] != "final_answer" and not one[3])
    before, after = score_of(*run_spans(calls)).value, score_of(*run_spans([*calls, last])).value
    assert before is not None
    assert after is not None
    assert after <= before


@given(CALLS, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(
    calls: list[tuple[str, object, str, bool]], random: object, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = run_spans(calls)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    assert score_of(*spans) == score_of(*more)


@given(CALLS)
def test_counting_near_duplicates_never_raises_the_score(calls: list[tuple[str, object, str, bool]]) -> None:
    """What is counted on top is subtracted, and the score stays in its bounds."""
    run = run_of(agent(1), *run_spans(calls))
    some, more = Redundancy()(run).value, Redundancy(near_duplicates="count")(run).value
    assert (some is None) == (more is None)
    assert some is None or more is None or 0.0 < more <= some
