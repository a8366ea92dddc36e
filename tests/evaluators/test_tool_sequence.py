"""Did the agent call its tools in the right order?"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.tool_sequence import MODES, ToolSequence
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from spanwise.rules import anti_patterns_of
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, chat, run_of, says, span, span_id, tool

ALL_MODES = sorted({(words, mode) for words, modes in MODES.items() for mode in modes})


def call(at: int, name: str, *, failed: bool = False, start: int | None = None, end: int | None = None) -> RawSpan:
    """The call at a place in the run; 10 long, unless said otherwise."""
    begun = 10 * at if start is None else start
    result = None if failed else "r"
    return tool(10 * at, parent=1, name=name, arguments={"n": at}, result=result, failed=failed, start=begun, end=end)


def calls(names: str) -> list[RawSpan]:
    """One call after another, each tool one letter."""
    return [call(at, name) for at, name in enumerate(names, start=1)]


def score_of(*spans: RawSpan, **parameters: Any) -> Score:
    """The score of a run of these spans below one agent."""
    return ToolSequence(**parameters)(run_of(agent(1), *spans))


def made(**parameters: Any) -> ToolSequence:
    """The evaluator of a case, whose anti-patterns are told as in a file."""
    if "anti_patterns" in parameters:
        parameters["anti_patterns"] = anti_patterns_of(list(parameters["anti_patterns"]), "anti_patterns")
    return ToolSequence(**parameters)


@pytest.mark.parametrize("case", cases_of("tool_sequence"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says what the case expects."""
    check(case, made)


def test_a_whole_score() -> None:
    """What is missing, surplus, out of order or an anti-pattern is told, with the calls' spans."""
    spans = [call(1, "b"), call(2, "x"), call(3, "a"), call(4, "c", failed=True), call(5, "a")]
    score = score_of(*spans, expected=("a", "b", "c"), anti_patterns=(AntiPattern(kind="more_than", tool="a", n=1),))
    assert pytest.approx(2 * 1 / (4 + 3) - 0.1) == score.value
    assert (
        Score(
            name="tool_sequence",
            value=score.value,
            reason="in_order: 1 of 4 calls match 3 expected; precision 0.25, recall 0.33, F1 0.29. "
            "Anti-patterns: 1 found, 0.10 taken off.",
            evidence=(
                Evidence(span_id=span_id(20), quote='{"n": 2}'),
                Evidence(span_id=span_id(50), quote='{"n": 5}'),
                Evidence(span_id=span_id(10), quote='{"n": 1}'),
            ),
            issues=(
                "c was expected; every call of it failed.",
                "x was called and is not expected.",
                "a was expected once and called 2 times.",
                "b was called before a; expected a, b, c.",
                "a was called 2 times, more than 1.",
            ),
            recommendations=(
                "Make c work, or its error say what a valid call looks like.",
                "Say in the instructions that a comes before b.",
            ),
        )
        == score
    )


def test_a_long_expectation_is_cut() -> None:
    """An issue shows the first names only; a tool that is missing leaves the others their places."""
    score = score_of(*calls("badefghi"), expected=tuple("abcdefghij"))
    assert "b was called before a; expected a, b, c, d, e, f, g, h and 2 more." == score.issues[-1]
    assert ("c was expected and never called.", "j was expected and never called.") == score.issues[:2]


def test_a_repeat_that_is_missing() -> None:
    """A place that names a tool once more than it was called is missing, the last one; the others are in order."""
    score = score_of(*calls("ab"), expected=tuple("aba"))
    assert (0.8, ("a was expected 2 times and called once.",)) == (score.value, score.issues)
    assert ("Say in the instructions when a is to be called.",) == score.recommendations


def test_partial_traces() -> None:
    """Where calls may have gone unseen, having seen none says nothing."""
    run = run_of(agent(1, parent=99), chat(2, parent=1, got=[says("A")]))
    score = ToolSequence(expected=())(run)
    assert "not_measurable" == score.status
    assert score.reason.startswith("Which tools were called cannot be told: The trace is partial")


def test_anti_patterns_alone() -> None:
    """They need a call that succeeded."""
    patterns = (AntiPattern(kind="repeat"),)
    no_call = score_of(chat(2, parent=1, got=[says("A")]), anti_patterns=patterns)
    assert ("not_applicable", "The run called no tool.") == (no_call.status, no_call.reason)
    failed = score_of(call(1, "a", failed=True), anti_patterns=patterns)
    assert ("not_applicable", "No tool call succeeded in which anti-patterns could be found.") == (
        failed.status,
        failed.reason,
    )
    assert 1.0 == score_of(call(1, "a"), anti_patterns=patterns).value
    unseen = ToolSequence(anti_patterns=patterns)(run_of(span(1)))
    assert "not_measurable" == unseen.status


def test_side_effects_configured() -> None:
    """What is configured decides which tools have side effects."""
    spans = calls("xay")
    assert 1.0 == score_of(*spans, expected=("y", "x"), mode="exact", effects_only=True, effect_tools=()).value
    assert (
        1.0
        == score_of(*spans, expected=("x", "b", "y"), mode="exact", effects_only=True, effect_tools=("x", "y")).value
    )
    repeat = (AntiPattern(kind="repeat"),)
    assert 0.9 == score_of(*calls("xax"), anti_patterns=repeat, effects_only=True, effect_tools=("x",)).value


def test_calls_of_one_answer_in_a_transcript() -> None:
    """A transcript has no times: what one answer asked for ran side by side, what two asked for did not."""
    asked = [chat(at, parent=1, got=[says("A")]) for at in (5, 25)]
    for one in asked:
        one.end_ns = one.start_ns
    spans = [*asked, *(call(at, name, start=10 * at, end=10 * at) for at, name in enumerate("bacd", start=1))]
    run = run_of(agent(1, **{"spanwise.times": "none"}), *spans)
    assert not run.timed
    assert 1.0 == ToolSequence(expected=tuple("abdc"), mode="exact")(run).value
    assert 1.0 == ToolSequence(expected=tuple("bacd"), mode="exact")(run).value
    assert 0.75 == ToolSequence(expected=tuple("acbd"))(run).value


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"expected": "ab"}, "tool_sequence: expected: read 'ab'"),
        ({"effect_tools": ["a"]}, "tool_sequence: effect_tools"),
        ({"vocabulary": "ragas"}, "vocabulary: read 'ragas', expected one of spanwise, langchain, agentci"),
        ({"expected": (), "mode": "loose"}, "mode: read 'loose', expected one of exact, strict, in_order"),
        ({"expected": (), "vocabulary": "agentci"}, "mode: read 'in_order', expected one of strict, unordered, subset"),
        ({"anti_patterns": ({"kind": "repeat"},)}, "expected a tuple of AntiPattern"),
    ],
)
def test_parameters_that_contradict_themselves(parameters: dict[str, Any], words: str) -> None:
    """Parameters that cannot be meant are refused before any run is looked at."""
    with pytest.raises(ModelError, match=words):
        ToolSequence(**parameters)


def test_time_for_many_calls() -> None:
    """10,000 calls against 10,000 expected, all of them side by side with their neighbours, take less than a second."""
    names = [f"tool_{n * 7919 % 13}" for n in range(10_000)]
    spans = [tool(n + 2, parent=1, name=name, start=20 * n, end=20 * n + 50) for n, name in enumerate(names)]
    run = run_of(agent(1), *spans)
    assert 10_000 == len(run.work)
    for mode in ("in_order", "edit"):
        begun = time.process_time()
        ToolSequence(expected=tuple(reversed(names)), mode=mode)(run)
        assert time.process_time() - begun < 1.0


# Laws

NAMES = st.sampled_from(["a", "b", "create_c", "final_answer"])
CALLS = st.lists(st.tuples(NAMES, st.booleans(), st.integers(0, 60), st.integers(0, 25)), max_size=8)
EXPECTED = st.lists(st.sampled_from(["a", "b", "create_c"]), max_size=5).map(tuple)
SAYS = chat(5, parent=1, got=[says("A")])


def run_spans(told_: list[tuple[str, bool, int, int]]) -> list[RawSpan]:
    """A run of calls that may overlap."""
    return [
        SAYS,
        *(
            call(at, name, failed=bad, start=10 + begun, end=10 + begun + long)
            for at, (name, bad, begun, long) in enumerate(told_, start=1)
        ),
    ]


@given(CALLS, EXPECTED, st.sampled_from(ALL_MODES), st.booleans())
def test_bounded(
    told_: list[tuple[str, bool, int, int]], expected: tuple[str, ...], how: tuple[str, str], effects: bool
) -> None:
    """A complete run whose model's answers are recorded always has a score, in [0, 1]; below 1 it says why."""
    parameters = {"vocabulary": how[0], "mode": how[1], "effects_only": effects, "expected": expected}
    score = score_of(*run_spans(told_), **parameters)
    assert score.value is not None
    assert 0.0 <= score.value <= 1.0
    assert (score.value == 1.0) == (not score.issues)


@given(EXPECTED)
def test_what_was_expected_scores_1(expected: tuple[str, ...]) -> None:
    """The expected calls in the expected order are right in every mode."""
    spans = [SAYS, *(call(at, name) for at, name in enumerate(expected, start=1))]
    for vocabulary, mode in ALL_MODES:
        assert 1.0 == score_of(*spans, expected=expected, mode=mode, vocabulary=vocabulary).value


@given(st.permutations(["a", "b", "create_c", "d"]))
def test_side_by_side_in_any_order(names: list[str]) -> None:
    """Calls that all ran at the same time are in the expected order, whichever began first."""
    spans = [call(at, name, start=100 + at, end=200 - at) for at, name in enumerate(names, start=1)]
    assert 1.0 == score_of(*spans, expected=("a", "b", "create_c", "d"), mode="exact").value


@given(CALLS, EXPECTED)
def test_one_more_wrong_call_never_helps(told_: list[tuple[str, bool, int, int]], expected: tuple[str, ...]) -> None:
    """A call of a tool that is not expected, at the end, makes no score in order better."""
    for mode in ("in_order", "any_order", "exact", "subset", "unordered"):
        before = score_of(*run_spans(told_), expected=expected, mode=mode).value
        after = score_of(*run_spans([*told_, ("x", False, 100, 5)]), expected=expected, mode=mode).value
        assert before is not None
        assert after is not None
        assert after <= before


@given(CALLS, EXPECTED, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(
    told_: list[tuple[str, bool, int, int]], expected: tuple[str, ...], random: Any, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = run_spans(told_)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    patterns = (AntiPattern(kind="repeat"), AntiPattern(kind="before", first="a", then="b"))
    assert score_of(*spans, expected=expected, anti_patterns=patterns) == score_of(
        *more, expected=expected, anti_patterns=patterns
    )


def test_every_mode_of_the_peers_is_known() -> None:
    """LangChain's agentevals and AgentCI have the same four words; ours has six meanings and two more words."""
    four = {"strict", "unordered", "subset", "superset"}
    assert four == set(MODES["langchain"]) == set(MODES["agentci"])
    assert four | {"exact", "in_order", "any_order", "edit"} == set(MODES["spanwise"])
    assert json.loads(json.dumps(MODES)) == MODES
