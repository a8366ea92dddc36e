"""Taken together, how well did the run go?"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from types import MappingProxyType

from spanwise.errors import ModelError
from spanwise.model.score import Score, not_applicable, not_measurable

DEFAULT: Mapping[str, float] = MappingProxyType(
    {
        "grounding": 0.20,
        "tool_selection": 0.20,
        "tool_sequence": 0.10,
        "tool_arguments": 0.10,
        "redundancy": 0.10,
        "latency": 0.10,
        "efficiency": 0.05,
        "loops": 0.05,
        "recovery": 0.05,
        "retrieval_relevance": 0.05,
    }
)
"""How much each score weighs where nothing else is said."""
LEAST_SCORED = 0.5
_TELLING = 3
_TINY = 1e-9
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """Weighted mean of the scores without a unit, the weights of those that do not apply shared among the others.

    It is called on the scores of a run, not on the run. A score that could not be measured, or whose evaluator broke,
    counts as weight that is not scored; with less than half of the weight scored there is no overall score.

    Args:
        weights: How much each score weighs, by its name; what is not named weighs nothing.
        without: For some scores the value that counts where there is none (not applicable or not measurable), or
            exactly 0.
        known: Names that may be weighed beside those of the default weights, and those with a name in front.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: DEFAULT)
    without: Mapping[str, float] = field(default_factory=dict[str, float])
    known: InitVar[Collection[str]] = ()

    def __post_init__(self, known: Collection[str]) -> None:
        for name, weight in self.weights.items():
            if not is_weight(weight):
                raise ModelError(f"The weight of {name!r} is {weight!r}; expected a finite number of at least 0.")
            if not is_known(name, known):
                listed = ", ".join(dict.fromkeys((*known, *DEFAULT)))
                raise ModelError(f"The weight of {name!r} belongs to no score; known: {listed}.")
        for name, value in self.without.items():
            if name not in self.weights or not 0.0 <= value <= 1.0:
                raise ModelError(f"{name!r} counts {value!r} without a value; expected a weighed score and 0 to 1.")
        if not any(self.weights.values()):
            raise ModelError("All weights are 0; expected at least one that is greater.")

    def __call__(self, scores: Sequence[Score], /) -> Score:
        scored: list[tuple[float, float, Score]] = []
        lacking: list[tuple[float, Score]] = []
        order = {name: at for at, name in enumerate(self.weights)}
        weighed = [score for score in scores if self.weights.get(score.name) and not score.unit]
        for score in sorted(weighed, key=lambda one: (order[one.name], one.status, one.value or 0.0, one.reason)):
            weight, value = self.weights[score.name], self._value_of(score)
            if value is not None:
                scored.append((weight, value, score))
            elif score.status != "not_applicable":
                lacking.append((weight, score))
        return _score(scored, lacking)

    def _value_of(self, score: Score) -> float | None:
        if score.status != "error" and not score.value:
            return self.without.get(score.name, score.value)
        return score.value


def is_weight(value: float) -> bool:
    """The number can be a weight: finite and not negative."""
    return math.isfinite(value) and value >= 0


def is_known(name: str, known: Collection[str]) -> bool:
    """The name is that of a score that can be weighed: an evaluator's, or one with an evaluator's in front."""
    return name in DEFAULT or any(name == one or name.startswith(f"{one}_") for one in known)


def _score(scored: Sequence[tuple[float, float, Score]], lacking: Sequence[tuple[float, Score]]) -> Score:
    there = math.fsum(weight for weight, _, _ in scored)
    whole = math.fsum((there, *(weight for weight, _ in lacking)))
    if not whole:
        return not_applicable("overall", "No score that has a weight applies to this run.")
    share = there / whole
    if share < LEAST_SCORED - _TINY:
        return not_measurable("overall", f"Only {share:.0%} of the weight is scored. {_lacking(lacking)}")
    value = math.fsum(weight * value for weight, value, _ in scored) / there
    terms = " + ".join(
        f"{weight / there:.2f} x {value:.2f} {score.name}{'' if value == score.value else ' (by rule)'}"
        for weight, value, score in scored
    )
    tail = f"; {_lacking(lacking)}" if lacking else "."
    lost = sorted(
        ((weight / there * (1.0 - value), value, score.name) for weight, value, score in scored if value < 1.0),
        key=lambda one: (-one[0], one[2]),
    )
    return Score(
        name="overall",
        # Weights such as 0.1 are not what they seem: 0.75 alone would become 0.7500000000000001.
        value=round(value, _DIGITS),
        reason=f"{share:.0%} of the weight is scored: {terms}{tail}",
        issues=tuple(f"{name} at {value:.2f} takes {loss:.2f} off overall." for loss, value, name in lost[:_TELLING]),
    )


def _lacking(lacking: Sequence[tuple[float, Score]]) -> str:
    """What is missing, and why as far as a reason says which data stood in the way."""
    said = [
        f"{score.name} is not measurable ({score.reason.rstrip('.')})"
        if score.status == "not_measurable"
        else f"the evaluator of {score.name} broke"
        for _, score in lacking
    ]
    return f"Missing: {'; '.join(said)}."
