"""The built-ins by name."""

from __future__ import annotations

import pytest

from spanwise.catalog import EVALUATORS, PROFILES, default_evaluators
from spanwise.evaluators.overall import is_known
from spanwise.model.ports import Evaluator
from spanwise.run import evaluate
from tests.making import agent, run_of


def test_every_built_in_with_its_defaults() -> None:
    """The default evaluators are all built-ins, in the order of the table, ready to be called."""
    chosen = default_evaluators()
    assert list(EVALUATORS) == list(chosen)
    assert all(isinstance(one, Evaluator) for one in chosen.values())


def test_names_are_those_of_the_scores() -> None:
    """A built-in's first score bears the built-in's name, a further one has it in front."""
    scores = evaluate(run_of(agent(1)), default_evaluators()).scores
    assert list(EVALUATORS) == list(dict.fromkeys(score.evaluator for score in scores))
    assert [] == [name for name in EVALUATORS if name not in {score.name for score in scores}]
    assert [] == [one for one in scores if one.name != one.evaluator and not one.name.startswith(f"{one.evaluator}_")]


def test_defaults_are_made_anew() -> None:
    """Two calls share nothing that a user could change for the other."""
    one = default_evaluators()
    one.clear()
    assert list(EVALUATORS) == list(default_evaluators())


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles(profile: str) -> None:
    """Each profile's evaluators fit, give scores with their names in front, and its weights are those of scores."""
    held = PROFILES[profile]
    made = default_evaluators(profile)
    assert list(held.evaluators) == list(made)
    result = evaluate(run_of(agent(1)), made, overall=held.overall)
    assert [] == [score for score in result.scores if not score.name.startswith(score.evaluator)]
    assert "overall" == result.scores[-1].name
    assert all(is_known(name, held.evaluators) for name in held.overall.weights)
