"""Did control pass between the agents as it should?"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.assembly.facts import SpanFacts
from spanwise.errors import ModelError
from spanwise.evaluators.handoffs import Handoffs
from spanwise.model.calls import Handoff, Told
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from spanwise.model.span import Span
from spanwise.model.trace import Run
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, asks, chat, returns, run_of, says, span, span_id, tool, user


def passed(number: int, source: str | None, target: str | None, *, parent: int = 1) -> RawSpan:
    """The span of a hand-off."""
    attributes: dict[str, object] = {"gen_ai.operation.name": "handoff"}
    if source is not None:
        attributes["gen_ai.handoff.from_agent"] = source
    if target is not None:
        attributes["gen_ai.handoff.to_agent"] = target
    return span(number, parent=parent, name="handoff", attributes=attributes)


def score_of(*spans: RawSpan, **parameters: object) -> Score:
    """The score of a run of these spans below one agent."""
    return Handoffs(**parameters)(run_of(agent(1), *spans))


@pytest.mark.parametrize("case", cases_of("handoffs"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says of each case what the case expects."""
    check(case, Handoffs)


def test_a_whole_result() -> None:
    """Ping-pong is told with who, its span and what to do."""
    score = score_of(chat(2, parent=1), passed(10, "a", "b"), chat(20, parent=1), passed(30, "b", "a"))
    assert (
        Score(
            name="handoffs",
            value=0.5,
            reason="1 of 2 hand-offs went straight back to where control came from.",
            evidence=(Evidence(span_id=span_id(30), quote="b -> a"),),
            issues=("b handed straight back to a, without a call of a tool or a retrieval.",),
            recommendations=("Tell a what b is for, or let b finish.",),
        )
        == score
    )


def test_expected_with_ping_pong() -> None:
    """With an expectation ping-pong is an issue and does not change the value; each pair is advised on once."""
    spans = [chat(2, parent=1)]
    spans += [passed(10 * n + 10, *(("a", "b") if n % 2 == 0 else ("b", "a"))) for n in range(6)]
    score = score_of(*spans, expected=("b", "a", "b", "a", "b", "a"))
    assert (1.0, 5, 2) == (score.value, len(score.issues), len(score.recommendations))


def test_sources_that_are_not_recorded() -> None:
    """Who hands over is whom control was handed to before; the first source stays unknown."""
    spans = (chat(2, parent=1), passed(10, "a", "b", parent=99), passed(20, None, "c", parent=99))
    assert 1.0 == score_of(*spans, expected=("a -> b", "b -> c")).value
    first = (chat(2, parent=1), passed(10, None, "b", parent=99), passed(20, None, "c", parent=99))
    assert (1.0, 1.0) == (score_of(*first, expected=("b", "c")).value, score_of(*first, expected=("b", "b -> c")).value)


def test_what_may_be_an_expected_one() -> None:
    """A hand-off that is not recorded whole and may be a missing one makes the value unknown, else it is extra."""
    unknown = (chat(2, parent=1), passed(10, None, "b", parent=99))
    score = score_of(*unknown, expected=("a -> b",))
    assert ("not_measurable", None) == (score.status, score.value)
    assert "an agent that is not named -> b may be an expected one" in score.reason
    assert 0.0 == score_of(*unknown, expected=("a -> c",)).value
    targetless = Handoff(source="a", target=None, span=1, span_id="x")
    run = run_of(agent(1), chat(2, parent=1))
    run.__dict__["handoffs"] = (targetless,)
    assert "not_measurable" == Handoffs(expected=("b",))(run).status
    assert "not_measurable" == Handoffs(expected=("a -> b",))(run).status
    assert 0.0 == Handoffs(expected=("c -> b",))(run).value
    assert (1.0, ()) == (Handoffs(max_depth=0)(run).value, Handoffs(max_depth=0)(run).issues)


def test_targets_take_known_sources_first() -> None:
    """An expectation of a target leaves the hand-off of unknown source to the pair that it may be."""
    spans = (chat(2, parent=1), passed(10, None, "b", parent=99), passed(20, "y", "b", parent=99))
    assert "not_measurable" == score_of(*spans, expected=("b", "x -> b")).status
    assert 1.0 == score_of(*spans, expected=("b", "y -> b")).value
    assert 0.5 == score_of(*spans, expected=("z", "y -> b")).value


def test_hand_offs_known_from_messages() -> None:
    """Hand-offs that left no span are placed by the calls that asked for them."""
    to_b = [asks(("c1", "transfer_to_b", {}))]
    back = [asks(("c2", "transfer_to_helper", {}))]
    inner = agent(50, parent=1, name="b")
    run = run_of(
        agent(1),
        chat(2, parent=1, got=to_b),
        inner,
        chat(60, parent=50, sent=[*to_b, returns(("c1", "ok"))], got=back),
        chat(90, parent=1, sent=[*back, returns(("c2", "ok"))]),
    )
    assert [("helper", "b", -1), ("b", "helper", -1)] == [(one.source, one.target, one.span) for one in run.handoffs]
    assert 0.5 == Handoffs()(run).value


def test_repeated_work() -> None:
    """What another agent had asked is told once per tool and pair of agents; an agent without a name is none."""
    first, second = agent(100, parent=1, name="a"), agent(200, parent=1, name="b")
    nameless = span(220, parent=200, attributes={"gen_ai.operation.name": "invoke_agent"})
    rows = [tool(110 + n, parent=100, arguments={"q": 1}, result=1) for n in range(2)]
    rows += [tool(210 + n, parent=200, arguments={"q": 1}, result=1) for n in range(2)]
    rows.append(tool(230, parent=220, arguments={"q": 1}, result=1))
    score = score_of(first, second, nameless, *rows, passed(190, "a", "b"))
    said = "b called search with arguments that a had called it with, 3 times"
    assert (f"{said}: what was known did not come with the control.",) == score.issues
    loose = [tool(n, parent=None, arguments={"q": 1}, result=1) for n in (10, 20)]
    assert () == Handoffs()(run_of(*loose, passed(30, "a", "b", parent=99))).issues


def lost_spans(told: str, result: object = "INV-70045") -> list[RawSpan]:
    """Agent `a` finds something, hands over to `b`, and `b` is told something."""
    return [
        agent(100, parent=1, name="a"),
        chat(105, parent=100),
        tool(110, parent=100, arguments={"customer": "c-88231"}, result=result),
        passed(150, "a", "b"),
        agent(200, parent=1, name="b"),
        chat(210, parent=200, sent=[user(told)]),
    ]


def asking(*spans: RawSpan, **parameters: object) -> Score:
    """The score of a run in which the user asked something."""
    question = {"gen_ai.input.messages": json.dumps([user("Why was I charged twice?")])}
    return Handoffs(**parameters)(run_of(agent(1, **question), *spans))


def test_lost_context() -> None:
    """Context that was lost is an issue with what was told and what had been found; the value stays."""
    score = asking(*lost_spans("Please help."))
    assert (
        Score(
            name="handoffs",
            value=1.0,
            reason="0 of 1 hand-offs went straight back to where control came from.",
            evidence=(
                Evidence(span_id=span_id(210), quote="Please help."),
                Evidence(span_id=span_id(110), quote='"INV-70045"'),
            ),
            issues=(
                (
                    "b was told nothing of the user's question, nor of what a had found with search: "
                    "the context did not come with the control."
                ),
            ),
            recommendations=("Let b see the conversation so far, or tell it what a found.",),
        )
        == score
    )
    expected = asking(*lost_spans("Please help."), expected=("b",))
    assert (1.0, score.evidence, score.issues) == (expected.value, expected.evidence, expected.issues)


class Listening(SpanFacts):
    """Facts that count how often what a model was told is read."""

    told_of = 0

    def told(self, run: Run, group: Sequence[Span], /) -> Told | None:
        """What a model was told in one call."""
        self.told_of += 1
        return super().told(run, group)


def test_structural_scores_read_no_messages() -> None:
    """Hand-offs between agents that found nothing are judged without what their models were told or said."""
    run = run_of(agent(1), *lost_spans("Please help.", result=None))
    run.trace.facts = facts = Listening()
    assert 1.0 == Handoffs()(run).value
    assert (0, False) == (facts.told_of, "said" in run.__dict__)
    found = run_of(agent(1), *lost_spans("Please help."))
    found.__dict__["query"], found.trace.facts = "Why was I charged twice?", facts
    assert 1 == len(Handoffs()(found).issues)
    assert (1, False) == (facts.told_of, "said" in found.__dict__)


def test_control_that_comes_from_elsewhere() -> None:
    """A source that control is not known to have reached begins a way of its own."""
    spans = (chat(2, parent=1), passed(10, "a", "b"), passed(20, "x", "y"), passed(30, "y", "z"))
    assert () == score_of(*spans, max_depth=2).issues
    assert ("Control went 2 agents deep (x -> y -> z); at most 1 is allowed.",) == score_of(*spans, max_depth=1).issues
    long = [passed(10 + n, f"a{n}", f"a{n + 1}") for n in range(9)]
    assert "(a0 -> a1 -> a2 -> a3 -> a4 -> ...)" in score_of(*long, max_depth=1).issues[0]


def test_names_of_signs() -> None:
    """Names without letters are told apart too."""
    assert [1.0, 0.0] == [score_of(passed(10, "!", "?"), expected=(one,)).value for one in ("?", "!")]


def test_hand_offs_that_went_unseen() -> None:
    """In a partial trace, or where no tool calls are recorded, an expected hand-off may have happened."""
    spans = (agent(1), chat(2, parent=1, got=[says("x")]), chat(30, parent=99, got=[says("x")]))
    partial = Handoffs(expected=("b",))(run_of(*spans))
    assert ("not_measurable", "The trace is partial: parent unseen of 1 span.") == (partial.status, partial.reason)
    silent = score_of(chat(2, parent=1), expected=("b",))
    assert "not_measurable" == silent.status
    assert "No tool call is recorded" in silent.reason
    assert "not_applicable" == score_of(chat(2, parent=1)).status


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect tell no hand-off."""
    score = Handoffs(expected=("b",))(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


@pytest.mark.parametrize("expected", ["", "->", "a ->", "-> b", "a -> b -> c", 3, ("a", "b", "c"), ("a", 3), (3, "b")])
def test_expectations_are_checked(expected: object) -> None:
    """What names no hand-off is refused."""
    with pytest.raises(ModelError, match=r"handoffs: expected names .*; give a target such as"):
        Handoffs(expected=(expected,))


@pytest.mark.parametrize("depth", [-1, 1.5, True, "2"])
def test_depths_are_checked(depth: object) -> None:
    """A depth is a whole number."""
    with pytest.raises(ModelError, match=r"handoffs: max_depth is .*; give a whole number"):
        Handoffs(max_depth=depth)


# Laws

ROUTES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.booleans()), max_size=8)
EXPECTED = st.lists(st.one_of(st.sampled_from("abc"), st.sampled_from(["a->b", "b->a", "b->c"])), max_size=6).map(tuple)


def spans_of(rows: list[tuple[str, str, bool]]) -> list[RawSpan]:
    """Hand-offs, each followed by a model call, and by a tool's call where it is said so."""
    made = [chat(2, parent=1, got=[says("x")])]
    for at, (source, target, works) in enumerate(rows):
        made += [passed(100 * at + 100, source, target), chat(100 * at + 110, parent=1)]
        if works:
            made.append(tool(100 * at + 120, parent=1, arguments={"n": at}))
    return made


@given(ROUTES, st.none() | EXPECTED)
def test_bounded(rows: list[tuple[str, str, bool]], expected: tuple[str, ...] | None) -> None:
    """A score lies in [0, 1], and is there as soon as there is a hand-off or an expectation."""
    score = score_of(*spans_of(rows), expected=expected)
    assert score.status == ("scored" if rows or expected is not None else "not_applicable")
    assert score.value is None or 0.0 <= score.value <= 1.0


@given(ROUTES.filter(bool))
def test_what_happened_meets_itself(rows: list[tuple[str, str, bool]]) -> None:
    """A run meets the expectation of its own hand-offs, by pairs and by targets, in any order; one more is missed."""
    pairs = tuple((source, target) for source, target, _ in reversed(rows))
    targets = tuple(target for _, target, _ in rows)
    assert (1.0, 1.0) == tuple(score_of(*spans_of(rows), expected=one).value for one in (pairs, targets))
    more = score_of(*spans_of(rows), expected=(*pairs, "d")).value
    assert more is not None
    assert more < 1.0


@given(ROUTES.filter(bool), st.integers(0, 7))
def test_work_never_lowers_it(rows: list[tuple[str, str, bool]], which: int) -> None:
    """An agent that does something before it hands over is never worse off."""
    busy = [(source, target, works or at == which) for at, (source, target, works) in enumerate(rows)]
    before, after = score_of(*spans_of(rows)).value, score_of(*spans_of(busy)).value
    assert before is not None
    assert after is not None
    assert before <= after


@given(st.lists(st.sampled_from(["Please", "help", "him", "INV-70045", "charged", "c-88231", "\u5929"]), max_size=4))
def test_more_words_never_add_a_finding(told_: list[str]) -> None:
    """What is told besides takes a finding away or leaves it, and never changes the value."""
    few, more = asking(*lost_spans("Please help.")), asking(*lost_spans(" ".join(["Please help.", *told_])))
    assert (few.value, 1) == (more.value, len(few.issues))
    context = {"INV-70045", "charged", "c-88231", "\u5929"}.intersection(told_)
    assert (0 if context else 1) == len(more.issues)


@given(ROUTES, st.randoms(use_true_random=False), st.lists(st.integers(1, 900), max_size=5))
def test_order_of_arrival_and_other_spans(
    rows: list[tuple[str, str, bool]], shuffler: random.Random, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = spans_of(rows)
    more = [*spans, *(span(5000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    shuffler.shuffle(more)
    assert score_of(*spans) == score_of(*more)
