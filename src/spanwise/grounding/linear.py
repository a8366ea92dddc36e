"""The linear layer: how much each feature weighs, as fitted on labelled claims, in a file that people can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from spanwise.grounding.features import NAMES


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted layer. Each feature is centred by its mean and divided by its spread before it is weighed."""

    fitted: str
    """When."""
    data: tuple[str, ...]
    """On which labelled sets."""
    bias: float
    threshold: float
    """From which score on a claim of words alone counts as supported."""
    features: dict[str, Feature]


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """How one feature is read and weighed."""

    mean: float
    spread: float
    weight: float


@cache
def shipped() -> Weights:
    """The weights of the package."""
    read = msgspec.json.decode(files("spanwise.grounding").joinpath("weights.json").read_bytes(), type=Weights)
    if tuple(read.features) != NAMES:
        raise ValueError(f"weights.json holds {tuple(read.features)}, the features are {NAMES}")
    return read


def score_of(values: Sequence[float], weights: Weights) -> float:
    """The calibrated score of a claim, in [0, 1]."""
    terms = [
        one.weight * (value - one.mean) / one.spread
        for one, value in zip(weights.features.values(), values, strict=True)
    ]
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, weights.bias + math.fsum(terms)))))
