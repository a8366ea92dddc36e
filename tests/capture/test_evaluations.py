"""Which runs belong to an evaluation, by spans as pydantic-evals leaves them, and what the policy makes of them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import spanwise
from spanwise.capture._mark import scored_here
from spanwise.errors import SpecError
from tests.capture.app import App, make

__all__ = ["make"]

Make = Callable[..., App]


def unscored(app: App) -> dict[str, int]:
    """Why runs were not scored."""
    return app.handle.stats().unscored


def test_a_case_is_known_by_its_spans(make: Make) -> None:
    """A run below a task's span is the case's; names that are not text are left out."""
    app = make()
    evals = app.provider.get_tracer("pydantic-evals")
    with (
        evals.start_as_current_span("evaluate {name}", attributes={"name": "nightly", "dataset_name": 7}),
        evals.start_as_current_span("case: {case_name}", attributes={"case_name": "one"}),
        evals.start_as_current_span("execute {task}"),
        app.agent(),
    ):
        pass
    (result,) = app.flushed()
    who = result.run.who
    assert (("pydantic-evals",), {"pydantic_evals": {"case": "one", "experiment": "nightly"}}) == (
        who.tags,
        who.metadata,
    )


def test_spans_of_others_are_no_evaluation(make: Make) -> None:
    """Names alone say nothing: the scope has to be that of pydantic-evals."""
    app = make(in_evaluate="skip")
    with app.tracer.start_as_current_span("evaluate {name}"), app.agent("judge_output"):
        pass
    (result,) = app.flushed()
    assert ((), {}) == (result.run.who.tags, unscored(app))


@pytest.mark.parametrize("name", ["evaluator: {evaluator_name}", "report_evaluator: {evaluator_name}"])
@pytest.mark.parametrize("policy", ["tag", "skip", "score"])
def test_what_an_evaluator_runs_is_never_scored(make: Make, name: str, policy: str) -> None:
    """Whatever the agent is called, and whatever the policy is."""
    app = make(in_evaluate=policy)
    evals = app.provider.get_tracer("pydantic-evals")
    with evals.start_as_current_span("case: {case_name}"), evals.start_as_current_span(name), app.agent("mine"):
        pass
    assert ([], {"judge": 1}) == (app.flushed(), unscored(app))


def test_an_experiment_without_agents_is_no_run(make: Make) -> None:
    """The trace of a task that runs no agent is left out, unless everything is to be scored."""
    for policy, expected in (("tag", {"experiment": 1}), ("skip", {"in_evaluate": 1}), ("score", {})):
        app = make(in_evaluate=policy)
        with app.provider.get_tracer("pydantic-evals").start_as_current_span("evaluate {name}"), app.tool("search"):
            pass
        assert (len(expected), expected) == (1 - len(app.flushed()), unscored(app))


def test_who_scores_says_so(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin inside `scored_here` are counted and left out, below a span or not; those after it are scored."""
    monkeypatch.setitem(sys.modules, "pydantic_evals", spanwise)
    app = make()
    with scored_here(), app.agent("first"):
        pass
    with app.tracer.start_as_current_span("request"):
        with scored_here(), app.agent("second"), app.tool("search"):
            pass
        with app.agent("third"):
            pass
    assert [["third"], {"scored_in_evaluate": 2}] == [
        [agent.name for result in app.flushed() for agent in result.run.agents],
        unscored(app),
    ]


def test_an_unknown_policy_is_refused(make: Make) -> None:
    """The values that there are stand in the error."""
    with pytest.raises(SpecError, match="in_evaluate: read 'drop', expected 'tag', 'skip' or 'score'"):
        make(in_evaluate="drop")
