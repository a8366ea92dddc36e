"""The bars on labelled claims, each claim scored by weights that were fitted without it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from spanwise.grounding.linear import shipped

pytestmark = pytest.mark.once

BARS: Mapping[str, float] = {"begin_wow_dev": 0.955, "begin_topicalchat_dev": 0.935, "wice_claim_dev": 0.78}


@cache
def fitting(root: Path) -> ModuleType:
    """The script that fits the weights."""
    spec = importlib.util.spec_from_file_location("fit_grounding", root / "scripts" / "fit_grounding.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for its names
    spec.loader.exec_module(module)
    return module


def test_auroc(shared: Path, root: Path) -> None:
    """`check` tells supported claims from others, cross-validated and by weights of the other sets alone."""
    fit = fitting(root)
    sets = fit.sets_of(shared / "grounding")
    assert set(BARS) == set(sets)
    for found in (fit.cross_validated(sets, seeds=1), fit.left_out(sets)):
        assert {} == {name: value for name, value in found.items() if value < BARS[name]}


def test_the_shipped_weights_are_those_of_the_script(shared: Path, root: Path) -> None:
    """Fitting again gives the weights in the package."""
    fit = fitting(root)
    sets = fit.sets_of(shared / "grounding")
    made, held = fit.fit(list(sets.values())), shipped()
    assert made.features == held.features
    assert made.bias == held.bias
    assert fit.threshold(sets, made) == held.threshold
    assert tuple(sets) == held.data


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [([0.9, 0.1], [True, False], 1.0), ([0.1, 0.9], [True, False], 0.0), ([0.5, 0.5], [True, False], 0.5)],
)
def test_what_is_measured(root: Path, scores: list[float], labels: list[bool], expected: float) -> None:
    """AUROC is how often a supported claim stands above another; ties count half."""
    assert expected == fitting(root).auroc(scores, labels)
