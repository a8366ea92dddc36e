"""What `import spanwise` gives."""

from __future__ import annotations

import pytest

import spanwise
from spanwise.catalog import EVALUATORS, PROFILES
from spanwise.errors import ModelError, SpecError
from spanwise.evaluators.overall import Overall
from spanwise.evaluators.redundancy import Redundancy
from spanwise.model.score import Score
from spanwise.model.trace import Run
from tests.making import agent, chat, says, span, tool, trace_of, user


def calls(run: Run, /) -> Score:
    """How many tools the run called."""
    return Score(name="calls", value=float(len(run.tool_calls)), unit="calls")


def test_scores_of_a_trace() -> None:
    """A trace that is built already is scored by every built-in."""
    trace = trace_of(agent(1), chat(2, parent=1, sent=[user("Q")], got=[says("A")]), tool(20, parent=1, arguments={}))
    (result,) = spanwise.score([trace])
    assert ("Q", "A") == (result.run.query, result.run.answer)
    assert [*EVALUATORS, "overall"] == [score.evaluator for score in result.scores if score.name != "latency_ms"]
    assert {"redundancy": 1.0, "loops": 1.0, "overall": 1.0} == {
        score.name: score.value for score in result.scores if score.name in {"redundancy", "loops", "overall"}
    }


def test_a_profile() -> None:
    """A profile decides what is asked and how it is weighed; so may an overall score of one's own."""
    trace = trace_of(agent(1), tool(20, parent=1, arguments={}))
    (result,) = spanwise.score([trace], profile="classic")
    assert [*PROFILES["classic"].evaluators] == list(dict.fromkeys(one.evaluator for one in result.scores[:-1]))
    assert "overall" == result.scores[-1].name
    mine = Overall(weights={"calls": 1.0}, known=("calls",))
    (own,) = spanwise.score([trace], evaluators={"calls": calls}, overall=mine)
    assert ["calls", "overall"] == [score.name for score in own.scores]


def test_profiles_that_are_not_there() -> None:
    """A profile that is not known, or stands beside evaluators, is refused."""
    with pytest.raises(ModelError, match="There is no profile 'odd'; known: default, classic"):
        spanwise.score([], profile="odd")
    with pytest.raises(ModelError, match="Both evaluators and the profile 'classic' are given"):
        spanwise.score([], profile="classic", evaluators={})


@pytest.mark.parametrize("odd", [3, "redundancy", Redundancy, lambda: None])
def test_what_is_no_evaluator(odd: object) -> None:
    """A value that cannot be called on a run, such as a class in place of its instance, is refused by its name."""
    with pytest.raises(ModelError, match=r"'mine' is no evaluator, .*; expected a value that is called on a run"):
        spanwise.score([], evaluators={"mine": odd})


def test_a_list_of_evaluators() -> None:
    """Names stand for built-ins with their defaults, values have their own names, a second one of a name a number."""
    trace = trace_of(agent(1), tool(20, parent=1, arguments={}))
    (result,) = spanwise.score([trace], evaluators=["loops", calls, Redundancy(), Redundancy(near_duplicates="off")])
    assert ["loops", "calls", "redundancy", "redundancy_2"] == [score.name for score in result.scores]


def test_lists_that_are_none() -> None:
    """A name that no evaluator has, and a name in the place of a list, are refused."""
    with pytest.raises(ModelError, match="evaluators: unknown evaluator 'odd'; known: tool_selection, "):
        spanwise.score([], evaluators=["odd"])
    with pytest.raises(SpecError, match=r"read 'loops', expected a list of names and evaluators: \['loops'\]"):
        spanwise.score([], evaluators="loops")


def test_evaluators_of_ones_own() -> None:
    """Every run of every trace is asked what the caller wants to know."""
    two = trace_of(span(1, end=9000), agent(2, parent=1), tool(3, parent=2), agent(5000, parent=1))
    results = spanwise.score([two, trace_of(agent(1))], evaluators={"calls": calls})
    assert [1.0, 0.0, 0.0] == [score.value for result in results for score in result.scores]


def test_revisions_are_passed_on() -> None:
    """The scores of a trace's second revision say so."""
    trace = trace_of(agent(1))
    trace.revision = 2
    (result,) = spanwise.score([trace], evaluators={"calls": calls})
    assert (2, 2) == (result.revision, result.scores[0].revision)


def test_nothing_to_score() -> None:
    """No traces have no scores."""
    assert [] == spanwise.score([])


def test_names_that_are_not_there() -> None:
    """A name that the package does not have is an error that names it."""
    with pytest.raises(AttributeError, match="module 'spanwise' has no attribute 'scores'"):
        _ = spanwise.scores
