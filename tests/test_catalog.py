"""The built-ins by name."""

from __future__ import annotations

from spanwise.catalog import EVALUATORS, default_evaluators
from spanwise.model.ports import Evaluator
from spanwise.run import evaluate
from tests.making import agent, run_of


def test_every_built_in_with_its_defaults() -> None:
    """The default evaluators are all built-ins, in the order of the table, ready to be called."""
    chosen = default_evaluators()
    assert list(EVALUATORS) == list(chosen)
    assert all(isinstance(one, Evaluator) for one in chosen.values())


def test_names_are_those_of_the_scores() -> None:
    """A built-in's score bears the built-in's name."""
    scores = evaluate(run_of(agent(1)), default_evaluators()).scores
    assert [(name, name) for name in EVALUATORS] == [(score.name, score.evaluator) for score in scores]


def test_defaults_are_made_anew() -> None:
    """Two calls share nothing that a user could change for the other."""
    one = default_evaluators()
    one.clear()
    assert list(EVALUATORS) == list(default_evaluators())
