"""The evaluators of the classic profile, and what they make together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.catalog import CLASSIC, PROFILES, default_evaluators
from spanwise.evaluators import classic
from spanwise.model.ports import Evaluator
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from spanwise.model.span import TIMES
from spanwise.model.trace import Run
from spanwise.run import evaluate
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, chat, run_of, says, span, span_id, tool, user


def scores_of(run: Run) -> dict[str, Score]:
    """Every score of the profile, by name."""
    found = evaluate(run, default_evaluators("classic"), overall=PROFILES["classic"].overall).scores
    return {score.name: score for score in found}


def profile() -> Evaluator:
    """All of the profile as one evaluator."""
    return lambda run: list(scores_of(run).values())


def one(make: Callable[[], Evaluator], run: Run) -> Score:
    """The first score of an evaluator."""
    said = make()(run)
    return said if isinstance(said, Score) else said[0]


@pytest.mark.parametrize("case", cases_of("classic"), ids=told)
def test_conformance(case: Case) -> None:
    """The profile says of a case's run what the case expects, to the digit."""
    check(case, profile)


def test_the_table_is_long_enough() -> None:
    """There are at least thirty worked cases, and every score of the profile has some."""
    cases = cases_of("classic")
    assert 30 <= len(cases)
    names = {case["expect"]["name"] for case in cases}
    assert {*CLASSIC, "overall", "recovery_errors", "latency_tool_ms"} == names


def test_weights() -> None:
    """The five weights make 1."""
    assert {
        "tool_selection": 0.25,
        "tool_sequence": 0.15,
        "efficiency": 0.2,
        "latency": 0.2,
        "retrieval_relevance": 0.2,
    } == (dict(classic.WEIGHTS))


def test_a_run_in_full() -> None:
    """Scores, reasons, evidence, issues and advice of a run that did several things wrong."""
    run = run_of(
        agent(1),
        chat(2, parent=1, sent=[user("Find the news")], got=[says("Here.")]),
        tool(20, parent=1, name="web_search", arguments={"q": "x"}, result="r"),
        tool(40, parent=1, name="web_search", arguments={"q": "x"}, failed=True),
    )
    found = scores_of(run)
    assert {
        "tool_selection": 0.5,
        "tool_sequence": 0.8,
        "redundancy": 1.0,
        "efficiency": 0.85,
        "recovery": 0.0,
        "recovery_errors": 1.0,
        "latency": 1.0,
        "latency_ms": 0.001,
        "latency_tool_ms": 1e-05,
        "retrieval_relevance": None,
        "overall": 0.815,
    } == {name: None if score.value is None else round(score.value, 9) for name, score in found.items()}
    selection = found["tool_selection"]
    assert "1 of 2 expected tools were called (retrieve_relevant_documents, web_search)." == selection.reason
    assert (
        "Say in the description of retrieve_relevant_documents which questions it is for.",
    ) == selection.recommendations
    assert ("1 immediate repeat in 2 calls.", (Evidence(span_id=span_id(40), quote='{"q":"x"}'),)) == (
        found["tool_sequence"].reason,
        found["tool_sequence"].evidence,
    )
    assert ("web_search failed, and no tool call succeeded afterwards.",) == found["recovery"].issues
    assert "(by rule)" in found["overall"].reason


def test_nothing_known_of_the_run() -> None:
    """Of spans of no dialect nothing is said, not even where the arithmetic says 1.0; the reason names a switch."""
    found = scores_of(run_of(span(1)))
    assert {"not_measurable"} == {score.status for score in found.values()}
    assert all("Instrument" in score.reason for name, score in found.items() if name != "overall")


def test_without_a_root_or_an_end() -> None:
    """A run that never ended, or that records no times, or no time between them, has no latency."""
    open_ = agent(1)
    open_.end_ns = 0
    backwards = agent(1)
    backwards.start_ns, backwards.end_ns = 7, 6
    at_once = agent(1)
    at_once.end_ns = at_once.start_ns
    untimed = agent(1)
    untimed.attributes = {**untimed.attributes, TIMES: "none"}
    assert [
        "The run's own span never ended.",
        "The run's own span ends before it begins.",
        "The run's spans begin and end at the same time.",
        "A transcript records no times. Score the spans of the run.",
    ] == [one(classic.Latency, run_of(root)).reason for root in (open_, backwards, at_once, untimed)]
    assert "scored" == one(classic.Latency, run_of(chat(1, parent=None))).status


def test_a_run_over_the_target() -> None:
    """A run beyond five seconds is an issue itself."""
    root = agent(1)
    root.end_ns = root.start_ns + 5_100_000_000
    assert ("The run took 5100 ms, the target is 5000 ms.",) == one(classic.Latency, run_of(root)).issues


def test_arguments_that_are_missing() -> None:
    """Calls whose arguments are not recorded cannot be told apart; a single one repeats nothing."""
    one_, two = (tool(at, parent=1, arguments=None, result="r") for at in (10, 30))
    bare = run_of(agent(1), one_, two)
    assert ["not_measurable"] * 2 == [one(make, bare).status for make in (classic.Efficiency, classic.Redundancy)]
    lone = run_of(agent(1), one_, tool(50, parent=1, name="other", arguments={}))
    assert [1.0, 0.0] == [one(make, lone).value for make in (classic.Efficiency, classic.Redundancy)]


def test_masked_arguments_repeat_nothing() -> None:
    """A call whose arguments are not whole is no repeat of one whose are."""
    masked = tool(10, parent=1, arguments="[REDACTED]")
    run = run_of(
        agent(1),
        masked,
        tool(30, parent=1, name="b", arguments={"q": 1}),
        tool(50, parent=1, name="b", arguments={"q": 1}),
    )
    assert 1.0 == one(classic.Redundancy, run).value


CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.booleans()), max_size=12)


def spans_of(calls: list[tuple[str, int, bool]]) -> list[RawSpan]:
    """An agent with these calls below it."""
    tools = [
        tool(10 * at, parent=1, name=name, arguments={"n": n}, result=None if bad else "r", failed=bad)
        for at, (name, n, bad) in enumerate(calls, start=1)
    ]
    return [agent(1), chat(2, parent=1, sent=[user("list them")], got=[says("A")]), *tools]


@given(CALLS)
def test_bounded(calls: list[tuple[str, int, bool]]) -> None:
    """Every score without a unit lies in [0, 1]."""
    found = scores_of(run_of(*spans_of(calls)))
    assert all(score.unit or score.value is None or 0.0 <= score.value <= 1.0 for score in found.values())


@given(CALLS, st.randoms(use_true_random=False), st.lists(st.integers(2, 900), max_size=4))
def test_order_of_arrival_and_other_spans(
    calls: list[tuple[str, int, bool]], random: object, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change a score."""
    spans = spans_of(calls)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    assert scores_of(run_of(*spans)) == scores_of(run_of(*more))


@given(CALLS, st.sampled_from("ab"))
def test_a_repeat_never_helps(calls: list[tuple[str, int, bool]], name: str) -> None:
    """One more call with the arguments of an earlier one never raises efficiency, and is counted."""
    before = [(name, 0, False), *calls]
    less, more = (scores_of(run_of(*spans_of(some))) for some in (before, [*before, (name, 0, False)]))
    assert (more["efficiency"].value or 0.0) <= (less["efficiency"].value or 0.0)
    assert (less["redundancy"].value or 0.0) + 1 == more["redundancy"].value
