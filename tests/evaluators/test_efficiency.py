"""Was every tool call of use?"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.efficiency import Efficiency
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators import conformance
from tests.making import agent, chat, run_of, says, span, span_id, tool


@pytest.mark.parametrize("case", conformance.cases_of("efficiency"), ids=conformance.told)
def test_conformance(case: conformance.Case) -> None:
    """The evaluator says of each case what the case expects."""
    conformance.check(case, Efficiency)


def call(at: int, name: str, arguments: object, *, result: object = "r", failed: bool = False) -> RawSpan:
    """The call at a place in the run."""
    given = None if failed else result
    return tool(10 * at, parent=1, name=name, arguments=arguments, result=given, failed=failed, start=10 * at)


def score_of(*spans: RawSpan, answer: str = "done", **parameters: Any) -> Score:
    """The score of a run of these spans below one agent."""
    said = {"gen_ai.output.messages": json.dumps([says(answer)])}
    return Efficiency(**parameters)(run_of(agent(1, **said), *spans))


def test_whole() -> None:
    """Each call that was of no use is an issue with its span; only what was not read brings advice."""
    score = score_of(
        call(1, "search", {"q": "a"}, result="Thermowell"),
        call(2, "search", {"q": "a"}, result="Thermowell"),
        call(3, "weather", {"city": "Rome"}, result="thunderstorm"),
        call(4, "convert", {"x": 1}, failed=True),
        answer="A thermowell.",
    )
    assert (
        Score(
            name="efficiency",
            value=0.25,
            reason="1 of 4 tool calls were of use. Results found again: 1 in the answer, 0 in a later call.",
            evidence=(
                Evidence(span_id=span_id(20), quote='{"q":"a"}'),
                Evidence(span_id=span_id(30), quote='"thunderstorm"'),
                Evidence(span_id=span_id(40), quote="it broke"),
            ),
            issues=(
                'search ({"q":"a"}) repeats an earlier call.',
                (
                    'Nothing of what weather ({"city":"Rome"}) returned'
                    " is found in a later argument, in a message or in the answer."
                ),
                'convert ({"x":1}) failed, and never succeeded afterwards.',
            ),
            recommendations=("Leave out weather where its result is not needed, or let the answer say what it found.",),
        )
        == score
    )


def test_a_repeat_that_fails() -> None:
    """A repeat that failed is told as the failure it is, and counts once."""
    score = score_of(call(1, "search", {"q": "a"}), call(2, "search", {"q": "a"}, failed=True))
    assert (0.5, 1) == (score.value, len(score.issues))
    assert 'search ({"q":"a"}) failed, and never succeeded afterwards.' == score.issues[0]


def test_a_failure_without_words() -> None:
    """A failed call that says nothing is shown by its span alone."""
    spans = call(1, "search", None, failed=True), call(2, "read", {"n": 1}, result="ok")
    score = score_of(*spans)
    assert ("search failed, and never succeeded afterwards.",) == score.issues


def test_a_run_that_failed() -> None:
    """Without an answer nobody can tell what a result would have been used for."""
    broken = agent(1)
    broken.status_code = 2
    score = Efficiency()(run_of(broken, call(1, "search", {"q": "a"}, result="Thermowell")))
    assert ("not_measurable", True) == (score.status, score.reason.endswith("The run failed before it gave an answer."))


def test_writes_and_failures_need_no_reading() -> None:
    """Where no call's result has to be read, unrecorded content is no matter."""
    run = run_of(agent(1), call(1, "send_mail", {"to": "ann"}), call(2, "search", {}, failed=True))
    assert 0.5 == Efficiency()(run).value


def test_step_bands() -> None:
    """The band that the number of calls falls in gives the factor, the last one all above it."""
    for calls, factor in ((1, 1.0), (2, 0.5), (3, 0.25), (9, 0.25)):
        spans = [call(n, "ping", {"n": n}, result="ok") for n in range(1, calls + 1)]
        score = score_of(*spans, step_bands=((1, 1), (2, 0.5), (3, 0.25)))
        assert factor == score.value
        assert (factor == 1.0) != (f"{calls} calls: times {factor:g}." in score.reason)


@pytest.mark.parametrize(
    "given",
    [
        (),
        3,
        ((3, 1.0, 2),),
        ((3,),),
        ("ab",),
        ((3, 1.5),),
        ((3, True),),
        ((True, 1.0),),
        ((-1, 1.0),),
        ((3, 1.0), (3, 0.5)),
        ((2.5, 1.0),),
        ((3, float("nan")),),
    ],
)
def test_refused(given: Any) -> None:
    """Bands are pairs that go up, of a whole number and a factor."""
    with pytest.raises(ModelError, match="efficiency: step_bands: read"):
        Efficiency(step_bands=given)


def test_bands_from_a_file() -> None:
    """Lists do as well as tuples."""
    read: Any = [[3, 1], [5, 0.5]]
    assert ((3, 1.0), (5, 0.5)) == Efficiency(step_bands=read).step_bands


# Laws

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["search", "read", "book_seat", "final_answer"]),
        st.sampled_from([{"q": "alphabet"}, {"q": "betatron"}, {}]),
        st.sampled_from(["alphabet", "betatron", "ok", 4711]),
        st.booleans(),
    ),
    max_size=8,
)
Told = list[tuple[str, object, object, bool]]


def run_spans(calls: Told) -> list[RawSpan]:
    """A run of calls, in their order."""
    return [call(n, name, args, result=said, failed=bad) for n, (name, args, said, bad) in enumerate(calls, start=1)]


@given(CALLS, st.sampled_from(["none", "4711 alphabet"]))
def test_bounded(calls: Told, answer: str) -> None:
    """A score lies in [0, 1]; a run without work has none."""
    score = score_of(*run_spans(calls), answer=answer)
    assert score.status == ("scored" if any(name != "final_answer" for name, *_ in calls) else "not_applicable")
    assert score.value is None or 0.0 <= score.value <= 1.0


@given(CALLS.filter(lambda calls: any(name == "search" and not bad for name, _, _, bad in calls)))
def test_a_duplicate_never_raises_the_score(calls: Told) -> None:
    """Repeating the last successful search at the end, result and all, makes no score better."""
    last = next(one for one in reversed(calls) if one[0] == "search" and not one[3])
    tail = [*calls[: len(calls) - calls[::-1].index(last)], last]
    before, after = score_of(*run_spans(tail[:-1])).value, score_of(*run_spans(tail)).value
    assert before is not None
    assert after is not None
    assert after <= before


@given(CALLS.filter(bool), st.lists(st.sampled_from(["alphabet", "betatron", "nothing"]), min_size=1, max_size=3))
def test_messages_never_lower_the_score(calls: Told, messages: list[str]) -> None:
    """Whatever the model says behind its calls, none of them is of less use."""
    spoken = [chat(200 + 20 * at, parent=1, got=[says(text)]) for at, text in enumerate(messages)]
    before, after = score_of(*run_spans(calls)).value, score_of(*run_spans(calls), *spoken).value
    assert (before is None) == (after is None)
    assert (before or 0.0) <= (after or 0.0)


@given(CALLS, st.integers(0, 2**32), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(calls: Told, seed: int, others: list[int]) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = [*run_spans(calls), chat(45, parent=1, got=[says("alphabet")])]
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    random.Random(seed).shuffle(more)
    assert score_of(*spans) == score_of(*more)
