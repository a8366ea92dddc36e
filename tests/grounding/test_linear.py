"""The linear layer."""

from __future__ import annotations

import msgspec
import pytest

from spanwise.grounding import linear
from spanwise.grounding.features import NAMES
from spanwise.grounding.linear import score_of, shipped

GOOD = {"window", "pool"}


def test_the_weights_make_sense() -> None:
    """What is found raises the score, everything else lowers it."""
    weights = shipped()
    assert NAMES == tuple(weights.features)
    assert [] == [name for name, one in weights.features.items() if (one.weight > 0) != (name in GOOD)]
    assert 0.0 < weights.threshold < 1.0


def test_scores() -> None:
    """The score of everything found is high, of nothing low."""
    weights = shipped()
    full = [1.0 if name in GOOD else 0.0 for name in NAMES]
    assert score_of(full, weights) > 0.9
    assert score_of([0.0, 0.0, 3.0, *([1.0] * 7)], weights) < 0.01


def test_other_features_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of other features than those at hand are no weights."""
    shipped.cache_clear()
    monkeypatch.setattr(linear, "NAMES", ("other",))
    with pytest.raises(ValueError, match=r"weights\.json holds"):
        shipped()
    monkeypatch.undo()
    shipped.cache_clear()
    assert msgspec.structs.asdict(shipped())["data"]
