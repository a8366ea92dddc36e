"""Did the agent pick the right tools?"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.model.expectation import Rule
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from spanwise.rules import rules_of
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, asks, chat, run_of, says, span, span_id, tool, user

SEARCH = {"name": "search", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}


def call(at: int, name: str, arguments: object = None, *, failed: bool = False) -> RawSpan:
    """The call at a place in the run."""
    given_ = {"q": "a"} if arguments is None else arguments
    result = None if failed else "r"
    return tool(10 * at, parent=1, name=name, arguments=given_, result=result, failed=failed, start=10 * at)


def offering(*tools: object, **more: object) -> RawSpan:
    """The agent's span, with the tools that its model was offered."""
    return agent(1, **{"gen_ai.tool.definitions": json.dumps(tools)}, **more)


def score_of(*spans: RawSpan, **parameters: Any) -> Score:
    """The score of a run of these spans below one agent."""
    return ToolSelection(**parameters)(run_of(agent(1), *spans))


def thawed(value: object) -> object:
    """Tuples as the lists that a file holds."""
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple) else value


def made(**parameters: Any) -> ToolSelection:
    """The evaluator of a case, whose rules are told as in a file."""
    if "rules" in parameters:
        parameters["rules"] = rules_of(thawed(parameters["rules"]), "rules")
    return ToolSelection(**parameters)


@pytest.mark.parametrize("case", cases_of("tool_selection"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says what the case expects."""
    check(case, made)


def test_a_whole_score() -> None:
    """What is missing, what failed and what is surplus is told, with the calls' spans and what to do about it."""
    spans = [call(1, "search"), call(2, "lookup", failed=True), call(3, "browse"), call(4, "browse")]
    assert Score(
        name="tool_selection",
        value=2 * 1 / (3 + 3),
        reason="1 of 3 expected tools called (as given); precision 0.33, recall 0.33.",
        evidence=(Evidence(span_id=span_id(20), quote="it broke"), Evidence(span_id=span_id(30), quote='{"q": "a"}')),
        issues=(
            "lookup was expected; every call of it failed.",
            "write was expected and never called.",
            "browse was called 2 times and is not expected.",
        ),
        recommendations=(
            "Make lookup work, or its error say what a valid call looks like.",
            "Say in the description of write, or in the instructions, when to call it.",
            "Say in the description of browse what it is not for, or do not offer it.",
        ),
    ) == score_of(*spans, expected=("search", "lookup", "write"))


def test_a_wrong_tool_that_failed() -> None:
    """A tool that only failed costs precision once, however often it was tried."""
    score = score_of(
        call(1, "search"),
        *(call(n, "x", failed=True) for n in (2, 3, 4)),
        call(5, "y", failed=True),
        expected=("search",),
    )
    assert (0.5, ("x failed whenever it was called, and is not expected.",) * 1) == (score.value, score.issues[:1])
    assert [span_id(20), span_id(50)] == [item.span_id for item in score.evidence]


def test_an_outcome_that_is_not_recorded() -> None:
    """A call of which nobody knows how it ended is no failure."""
    open_ = call(1, "search")
    open_.end_ns = 0
    run = run_of(agent(1), open_)
    assert ["unknown"] == [one.status for one in run.tool_calls]
    assert 1.0 == ToolSelection(expected=("search",))(run).value


def test_side_effects_by_configuration_and_annotation() -> None:
    """What is configured decides, else what the definitions say, else names."""
    hinted = offering({"name": "get_report", "annotations": {"readOnlyHint": False}}, {"name": "create_view"})
    run = run_of(hinted, call(1, "get_report"), call(2, "create_view"))
    parameters: dict[str, Any] = {"expected": ("create_view",), "effects_only": True}
    assert pytest.approx(2 / 3) == ToolSelection(**parameters)(run).value
    assert 1.0 == ToolSelection(**parameters, effect_tools=("create_view",))(run).value
    assert 1.0 == ToolSelection(**parameters, effect_tools=())(run).value


def test_side_effects_without_an_expectation() -> None:
    """Only calls and invented names with side effects are judged; where there are none there is nothing to judge."""
    asked = chat(60, parent=1, got=[asks(("c1", "send_letter", {}), ("c2", "look_up", {}))])
    run = run_of(offering(SEARCH, {"name": "create_order"}), call(1, "search"), call(2, "create_order"), asked)
    assert ["ok", "ok", "not_run", "not_run"] == [one.status for one in run.tool_calls]
    score = ToolSelection(effects_only=True)(run)
    assert (0.5, 1) == (score.value, len(score.issues))
    assert "send_letter" in score.issues[0]
    nothing = ToolSelection(effects_only=True)(run_of(offering(SEARCH), call(1, "search")))
    assert ("not_applicable", "The run called no tool with side effects.") == (nothing.status, nothing.reason)


def test_what_cannot_be_told() -> None:
    """Spans of no dialect, partial traces and agents without model spans cannot say that nothing was called."""
    for spans, words in (
        ([span(1)], "Instrument the framework"),
        ([agent(1)], "No model call left a span."),
        ([agent(1), chat(2, parent=1)], "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        ([agent(1, parent=99), chat(2, parent=1, got=[says("A")])], "The trace is partial: "),
    ):
        for expected in ((), ("search",)):
            score = ToolSelection(expected=expected)(run_of(*spans))
            assert "not_measurable" == score.status
            assert score.reason.startswith("Whether the agent called any tool cannot be told: ")
            assert words in score.reason


def test_a_tool_layer_that_is_seen() -> None:
    """A call that only steers, or one that never ran, shows that calls would have been seen."""
    steering = [call(1, "final_answer")]
    assert (0.0, "scored") == (score_of(*steering, expected=("search",)).value, score_of(*steering, expected=()).status)
    invented = [chat(2, parent=1, got=[asks(("c1", "serch", {}))]), chat(40, parent=1, sent=[user("go on")])]
    score = ToolSelection(expected=())(run_of(offering(SEARCH), *invented))
    assert (1.0, ("The model asked for serch, which never ran.",)) == (score.value, score.issues)


def test_rules_need_a_query() -> None:
    """Rules cannot be asked about a query that is not recorded; the reason names the switch."""
    rules = (Rule(name="r", words=("weather",), expected=("get_weather",)),)
    score = score_of(call(1, "search"), rules=rules)
    assert "not_measurable" == score.status
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in score.reason
    assert 0.0 == score_of(call(1, "search"), rules=rules, forbidden=("search",)).value


def test_a_rule_meets_what_is_forbidden() -> None:
    """A tool that is forbidden for all runs is not expected of this one."""
    rules = (Rule(name="r", words=("weather",), expected=("get_weather", "search")),)
    asked = agent(1, **{"gen_ai.input.messages": json.dumps([user("weather?")])})
    run = run_of(asked, call(1, "get_weather"))
    assert 1.0 == ToolSelection(rules=rules, forbidden=("search",))(run).value
    only_type = (Rule(name="t", words=("weather",)),)
    assert "not_applicable" == ToolSelection(rules=only_type)(run).status


def test_an_unknown_name_that_ran() -> None:
    """A tool that ran without having been offered is told as what it is."""
    score = ToolSelection()(run_of(offering(SEARCH), call(1, "search"), call(2, "fetch"), call(3, "gone", failed=True)))
    assert pytest.approx(1 / 3) == score.value
    assert (
        "fetch ran, but is not among the tools that were offered (search).",
        "The model asked for gone, which is not among the tools that were offered (search).",
    ) == score.issues
    assert (
        "Record the definition of fetch, or find out why it could run without having been offered.",
        "Offer a tool for what the model wanted of gone, or name the tools there are in the instructions.",
    ) == score.recommendations


def test_a_name_that_models_cannot_say() -> None:
    """CrewAI offers a tool under its name in small letters with underscores: a call of that is one of the tool."""
    score = ToolSelection()(run_of(offering({"name": "Search the docs"}), call(1, "search_the_docs")))
    assert (1.0, ()) == (score.value, score.issues)


def test_only_the_schema_of_the_output_is_offered() -> None:
    """Where only tools are recorded by which the run gave its output, nobody knows which others it was offered."""
    run = run_of(offering({"name": "final_answer"}), call(1, "search"), call(2, "final_answer"))
    assert "not_applicable" == ToolSelection()(run).status


def test_many_tools_offered() -> None:
    """The list of offered tools is cut; an empty one is called so."""
    many = ToolSelection()(run_of(offering(*({"name": f"t{n}"} for n in range(9))), call(1, "x", failed=True)))
    assert "(t0, t1, t2, t3, t4, t5, ...)" in many.issues[0]
    none = ToolSelection()(run_of(agent(1, **{"gen_ai.tool.definitions": "[]"}), call(1, "x", failed=True)))
    assert none.status in {"scored", "not_applicable"}


def test_invalid_arguments() -> None:
    """Each call that breaks its schema is told, with the place; the same arguments are checked once."""
    bad = [call(n, "search", {"q": 1}) for n in (1, 2)]
    object_ = call(3, "search")
    object_.attributes = {**object_.attributes, "gen_ai.tool.call.arguments": {"q": 2}}
    score = ToolSelection()(run_of(offering(SEARCH), *bad, object_, call(4, "search")))
    assert 0.25 == score.value
    assert (
        "search was called with arguments that break its schema: arguments.q: expected string, found integer.",
    ) * 3 == (score.issues)
    assert ("Make the schema and the description of search agree, with an example of valid arguments.",) == (
        score.recommendations
    )


def test_arguments_that_are_not_recorded() -> None:
    """Then the name is judged alone, and the reason says so; so it is where no schema is recorded."""
    bare = tool(10, parent=1, name="search")
    score = ToolSelection()(run_of(offering(SEARCH), bare, call(2, "search")))
    assert (
        1.0,
        "Valid by name and arguments, of the tools that were offered: 2 of 2 calls (arguments of 1 not recorded).",
    ) == (score.value, score.reason)
    score = ToolSelection()(run_of(offering({"name": "search"}), bare))
    assert (1.0, "Valid by name, of the tools that were offered: 1 of 1 call.") == (score.value, score.reason)


def test_requests_that_never_ran() -> None:
    """They are named whatever else is known."""
    refused = [
        chat(60, parent=1, got=[asks(("c1", "search", {"q": "z"}))]),
        chat(90, parent=1, sent=[user("go on")], got=[says("A")]),
    ]
    said = ("The model asked for search, which never ran.",)
    run = run_of(agent(1), call(1, "search"), call(2, "lookup"), *refused)
    assert said == ToolSelection()(run).issues
    assert (1.0, said) == (ToolSelection(forbidden=("x",))(run).value, ToolSelection(forbidden=("x",))(run).issues)


def test_a_name_that_was_made_up_in_other_letters() -> None:
    """A model that asks for `Search` where `search` is offered has made up a tool, unless the framework ran it."""
    asked = chat(60, parent=1, got=[asks(("c1", "Search", {"q": "z"}))])
    told = chat(90, parent=1, sent=[user("go on")], got=[says("A")])
    run = run_of(offering(SEARCH), call(1, "search"), asked, told)
    assert [("search", "ok"), ("Search", "not_run")] == [(one.name, one.status) for one in run.tool_calls]
    assert 0.5 == ToolSelection()(run).value
    assert 1.0 == ToolSelection()(run_of(offering(SEARCH), call(1, "Search"))).value


def test_lexical_fit() -> None:
    """A tool that was not called is named only if it fits clearly better, by more than one word."""
    weather = {"name": "get_weather", "description": "The weather forecast for a city."}
    query = {"gen_ai.input.messages": json.dumps([user("What is the weather forecast?")])}
    other = call(1, "search")
    hint = (
        "get_weather was not called, though it shares more words with the query (forecast, weather) than what was.",
    )
    assert hint == ToolSelection()(run_of(offering(SEARCH, weather, **query), other)).issues
    assert () == ToolSelection()(run_of(offering(SEARCH, weather), other)).issues
    one = {"gen_ai.input.messages": json.dumps([user("weather?")])}
    assert () == ToolSelection()(run_of(offering(SEARCH, weather, **one), other)).issues
    apart = [{"name": "get_weather"}, {"name": "get_forecast"}, {"name": "get_sea_level"}]
    assert () == ToolSelection()(run_of(offering(SEARCH, *apart, **query), other)).issues
    near = {"name": "search", "description": "Searches for a weather forecast."}
    assert () == ToolSelection()(run_of(offering(near, weather, **query), other)).issues
    assert () == ToolSelection()(run_of(offering(SEARCH, weather, **query), other, call(2, "get_weather"))).issues


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"expected": "search"}, "tool_selection: expected: read 'search', expected a tuple of names of tools"),
        ({"expected": ("a", "")}, "expected a tuple of names"),
        ({"forbidden": ["a"]}, "tool_selection: forbidden"),
        ({"effect_tools": "a"}, "tool_selection: effect_tools"),
        ({"rules": ("weather",)}, "expected a tuple of Rule"),
        ({"expected": ("a", "b"), "forbidden": ("b",)}, "b both expected and forbidden"),
    ],
)
def test_parameters_that_contradict_themselves(parameters: dict[str, Any], words: str) -> None:
    """Parameters that cannot be meant are refused before any run is looked at."""
    with pytest.raises(ModelError, match=words.replace("(", r"\(")):
        ToolSelection(**parameters)


# Laws

NAMES = st.sampled_from(["search", "lookup", "create_order", "final_answer"])
CALLS = st.lists(st.tuples(NAMES, st.booleans()), max_size=8)
EXPECTED = st.lists(st.sampled_from(["search", "lookup", "create_order"]), max_size=4).map(tuple)
SAYS = chat(5, parent=1, got=[says("A")])


def run_spans(calls: list[tuple[str, bool]]) -> list[RawSpan]:
    """A run of calls, in their order."""
    return [SAYS, *(call(n, name, failed=bad) for n, (name, bad) in enumerate(calls, start=1))]


@given(CALLS, EXPECTED, st.booleans())
def test_bounded(calls: list[tuple[str, bool]], expected: tuple[str, ...], effects: bool) -> None:
    """A complete run whose model's answers are recorded always has a score, in [0, 1]."""
    score = score_of(*run_spans(calls), expected=expected, effects_only=effects)
    assert score.value is not None
    assert 0.0 <= score.value <= 1.0
    assert (score.value == 1.0) == (not score.issues)


@given(CALLS, EXPECTED)
def test_one_more_wrong_call_never_helps(calls: list[tuple[str, bool]], expected: tuple[str, ...]) -> None:
    """A call of a tool that is not expected makes no score better, and a failed one neither."""
    before = score_of(*run_spans(calls), expected=expected).value
    for bad in (False, True):
        after = score_of(*run_spans([*calls, ("browse", bad)]), expected=expected).value
        assert before is not None
        assert after is not None
        assert after <= before


@given(CALLS, EXPECTED)
def test_what_was_missing_always_helps(calls: list[tuple[str, bool]], expected: tuple[str, ...]) -> None:
    """Calling a tool that was expected more often than it was called makes the score better."""
    done = Counter(name for name, bad in calls if not bad)
    missing = [name for name, count in Counter(expected).items() if done[name] < count]
    if missing:
        before = score_of(*run_spans(calls), expected=expected).value or 0.0
        assert before < (score_of(*run_spans([*calls, (missing[0], False)]), expected=expected).value or 0.0)


@given(CALLS, EXPECTED, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(
    calls: list[tuple[str, bool]], expected: tuple[str, ...], random: Any, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = run_spans(calls)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.shuffle(more)
    assert score_of(*spans, expected=expected) == score_of(*more, expected=expected)
    assert score_of(*spans) == score_of(*more)
