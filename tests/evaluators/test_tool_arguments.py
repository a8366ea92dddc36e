"""Were the tools called with the right arguments?"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.tool_arguments import ToolArguments
from spanwise.model.expected_call import ExpectedCall
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators import conformance
from tests.making import agent, run_of, span, span_id, tool

SEARCH = {
    "type": "function",
    "name": "search",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}


@pytest.mark.parametrize("case", conformance.cases_of("tool_arguments"), ids=conformance.told)
def test_conformance(case: conformance.Case) -> None:
    """The evaluator says of each case what the case expects."""
    conformance.check(case, ToolArguments)


def call(at: int, name: str, arguments: object, *, failed: bool = False) -> RawSpan:
    """The call at a place in the run."""
    return tool(10 * at, parent=1, name=name, arguments=arguments, result=None if failed else "r", failed=failed)


def want(tool: str, **arguments: object) -> ExpectedCall:
    """An expected call."""
    return ExpectedCall(tool=tool, arguments=arguments)


def score_of(*spans: RawSpan, **parameters: Any) -> Score:
    """The score of a run of these spans below one agent that was offered a search."""
    offered = {"gen_ai.tool.definitions": json.dumps([SEARCH])}
    return ToolArguments(**parameters)(run_of(agent(1, **offered), *spans))


def test_whole() -> None:
    """What differs, what is missing and what is too much is told by call; the evidence are the calls that were made."""
    score = score_of(
        call(1, "search", {"q": "b", "lang": "en", "page": {"size": 5}}),
        call(2, "search", {"q": "x"}),
        call(3, "pay", {}, failed=True),
        call(4, "pay", {}, failed=True),
        expected=(want("search", q="a", page={"size": 5, "at": 1}), want("pay", amount=3)),
    )
    assert (
        Score(
            name="tool_arguments",
            value=0.25 / 3,
            reason="0 of 2 expected calls were made as expected, 1 with other arguments, 1 not made, 1 too many: "
            "credit 0.25 of 3.",
            evidence=(
                Evidence(span_id=span_id(10), quote='{"q":"b","lang":"en","page":{"size":5}}'),
                Evidence(span_id=span_id(20), quote='{"q":"x"}'),
            ),
            issues=(
                (
                    'search was called with other arguments: lang = "en" not expected; page.at missing, 1 expected; '
                    'q = "b" instead of "a".'
                ),
                'pay was expected with {"amount":3} and only failed (2 times).',
                'search was called with {"q":"x"}, once more than expected.',
            ),
            recommendations=("Say in the description of search what page.at is to be, with an example.",),
        )
        == score
    )


def test_many_differences() -> None:
    """Four differences of a call are told, the others counted."""
    score = score_of(
        call(1, "t", {f"a{n}": n for n in range(7)}), expected=(want("t", **{f"a{n}": -n for n in range(7)}),)
    )
    assert score.issues[0].endswith("a4 = 4 instead of -4; 2 more.")


def test_arguments_that_are_text() -> None:
    """Arguments without names are compared as they are."""
    score = score_of(call(1, "run", "ls -l"), expected=(want("run", cmd="ls"),))
    assert ('run was called with other arguments: arguments = "ls -l" not expected; cmd missing, "ls" expected.',) == (
        score.issues
    )


def test_values_of_other_kinds() -> None:
    """What is neither text nor number is shown as JSON."""
    score = score_of(call(1, "t", {"a": True, "b": []}), expected=(want("t", a=None, b=[]),))
    assert (0.5, ("t was called with other arguments: a = true instead of null.",)) == (score.value, score.issues)


def test_matched_in_order() -> None:
    """The reason says where calls were matched in order."""
    spans = [call(n, "t", {"n": -n}) for n in range(1, 202)]
    score = score_of(*spans, expected=tuple(want("t", n=n) for n in range(1, 202)))
    assert score.reason.endswith(" Calls of a tool beyond 200 that differ were matched in order.")


def test_none_expected_and_arguments_not_recorded() -> None:
    """A call that was not expected is one whatever its arguments."""
    score = score_of(call(1, "search", None), expected=())
    assert (0.0, ("search was called with arguments that are not recorded where no call was expected.",)) == (
        score.value,
        score.issues,
    )


def test_a_control_call_that_is_expected() -> None:
    """A call that ends the run counts where it is expected."""
    spans = call(1, "final_answer", {"answer": "x"})
    assert 1.0 == score_of(spans, expected=(want("final_answer", answer="x"),)).value


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect cannot say whether there were calls."""
    for parameters in ({}, {"expected": ()}, {"expected": (want("search"),)}):
        score = ToolArguments(**parameters)(run_of(span(1)))
        assert ("not_measurable", True) == (score.status, "Instrument the framework" in score.reason)


def test_effects() -> None:
    """Which tools have side effects can be said; without expectation only their calls are judged by schema."""
    spans = [call(1, "search", {"q": 3}), call(2, "lookup", {})]
    both = (want("search", q="a"), want("lookup"))
    assert 1.0 == score_of(*spans, expected=both, effects_only=True, effect_tools=("lookup",)).value
    assert 0.0 == score_of(*spans, expected=(), effects_only=True, effect_tools=("lookup",)).value
    assert 0.0 == score_of(*spans, effects_only=True, effect_tools=("search",)).value
    assert "not_applicable" == score_of(*spans, effects_only=True).status


def test_by_schema_without_arguments() -> None:
    """Calls without recorded arguments are left out; if all are, nothing can be told."""
    score = score_of(call(1, "search", {"q": "a"}), call(2, "search", None))
    assert (1.0, True) == (score.value, score.reason.endswith("1 without recorded arguments left out."))
    score = score_of(call(2, "search", None))
    assert ("not_measurable", True) == (score.status, "Whether arguments fit cannot be told: " in score.reason)


def test_by_schema_whole() -> None:
    """Each call that breaks its schema is shown with what breaks it."""
    assert Score(
        name="tool_arguments",
        value=0.5,
        reason="1 of 2 tool calls fit the schema of their tool.",
        evidence=(Evidence(span_id=span_id(20), quote='{"q":3}'),),
        issues=("search was called against its schema: arguments.q: expected string, found integer.",),
        recommendations=(
            "Show the model a valid call of search in the tool's description, or turn on strict tool schemas.",
        ),
    ) == score_of(call(1, "search", {"q": "a"}), call(2, "search", {"q": 3}))


@pytest.mark.parametrize(
    "given",
    [
        {"expected": "search"},
        {"expected": ({"name": "search"},)},
        {"match": "equal"},
        {"overrides": {"search": "equal"}},
        {"overrides": ["search"]},
        {"paths": "a.b"},
        {"paths": ("",)},
        {"ignore": ["a"]},
        {"defaults": {"search": 3}},
        {"defaults": 3},
        {"tolerance": -0.1},
        {"tolerance": 1},
        {"tolerance": float("nan")},
        {"tolerance": True},
        {"tolerance": "0.1"},
        {"effect_tools": "search"},
    ],
)
def test_refused(given: dict[str, Any]) -> None:
    """A parameter that cannot be meant is refused with what was read and what is expected."""
    with pytest.raises(ModelError, match=r"tool_arguments: .*read .*expected"):
        ToolArguments(**given)


# Laws

ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 2, "x", {"y": 1}]), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["search", "read"]), ARGUMENTS, st.booleans()), max_size=6)
EXPECTED = st.lists(st.builds(ExpectedCall, tool=st.sampled_from(["search", "read"]), arguments=ARGUMENTS), max_size=5)
Told = list[tuple[str, dict[str, object], bool]]


def run_spans(calls: Told) -> list[RawSpan]:
    """A run of calls, in their order."""
    return [call(n, name, args, failed=bad) for n, (name, args, bad) in enumerate(calls, start=1)]


@given(CALLS.filter(bool), EXPECTED, st.sampled_from(["exact", "subset", "superset", "ignore"]))
def test_bounded(calls: Told, expected: list[ExpectedCall], match: str) -> None:
    """A score lies in [0, 1], with and without expectation."""
    for parameters in ({"expected": tuple(expected), "match": match}, {}):
        score = score_of(*run_spans(calls), **parameters)
        assert score.status == "scored" or not parameters
        assert score.value is None or 0.0 <= score.value <= 1.0


@given(CALLS.filter(bool))
def test_the_calls_themselves(calls: Told) -> None:
    """A run scores 1 against the calls that succeeded in it, in any order."""
    done = [want(name, **args) for name, args, bad in calls if not bad]
    assert 1.0 == score_of(*run_spans(calls), expected=tuple(reversed(done))).value


@given(CALLS.filter(bool), EXPECTED, ARGUMENTS)
def test_a_failed_attempt_changes_nothing(
    calls: Told, expected: list[ExpectedCall], arguments: dict[str, object]
) -> None:
    """One more call that fails makes no score better or worse."""
    more: Told = [*calls, ("search", arguments, True)]
    before, after = (score_of(*run_spans(told), expected=tuple(expected)).value for told in (calls, more))
    assert before == after


@given(CALLS.filter(bool), EXPECTED, st.integers(0, 2**32), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(
    calls: Told, expected: list[ExpectedCall], seed: int, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = run_spans(calls)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.Random(seed).shuffle(more)
    assert score_of(*spans, expected=tuple(expected)) == score_of(*more, expected=tuple(expected))
