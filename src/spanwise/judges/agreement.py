"""How far a judge can be trusted: by what rules know, by asking again, and by people's labels.

Cohen's kappa is the agreement beyond chance, (observed - expected) / (1 - expected): 1 is full agreement, 0 what chance
would give. Its standard error is the one of large samples, sqrt(observed (1 - observed) / n) / (1 - expected). The
weighted form counts how far two numbers lie apart, squared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Trust: TypeAlias = Literal["TRUSTWORTHY", "NEEDS CALIBRATION", "UNRELIABLE"]
_RANKS: Sequence[Trust] = ("TRUSTWORTHY", "NEEDS CALIBRATION", "UNRELIABLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of how many; no value where there are none."""

    count: int = 0
    of: int = 0

    @property
    def value(self) -> float | None:
        """The share."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Agreement of two raters beyond chance; None where all ratings are one and the same, of which chance says all."""

    value: float | None
    n: int
    observed: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> Kappa:
    """Cohen's kappa of two raters, with an interval of 95 %."""
    n = len(pairs)
    if not n:
        return Kappa(value=None, n=0)
    ours, theirs = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum(one == other for one, other in pairs) / n
    expected = sum(ours[kind] * theirs[kind] for kind in ours) / n**2
    if expected >= 1.0:
        return Kappa(value=None, n=n, observed=observed, expected=expected)
    value = (observed - expected) / (1 - expected)
    error = 1.96 * math.sqrt(observed * (1 - observed) / n) / (1 - expected)
    return Kappa(
        value=value,
        n=n,
        observed=observed,
        expected=expected,
        low=max(value - error, -1.0),
        high=min(value + error, 1.0),
    )


def weighted_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa with squared weights: numbers that lie close together disagree less."""
    n = len(pairs)
    if not n:
        return None
    ours, theirs = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    apart = sum((one - other) ** 2 for one, other in pairs) / n
    by_chance = sum(a * b * (one - other) ** 2 for one, a in ours.items() for other, b in theirs.items()) / n**2
    return None if not by_chance else 1 - apart / by_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run in an audit: the judge's numbers, one for each time it was asked, and what others say of the run.

    `passes` says of each number whether it passes; `rules` is what the deterministic checks say, and `label` what a
    person says, as whether it passes and, where the person gave one, as a number of the scale.
    """

    trace_id: str
    run_id: str
    numbers: tuple[int | None, ...]
    passes: tuple[bool | None, ...]
    rules: bool | None = None
    label: bool | None = None
    label_number: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Past the first number of a pair a judge needs calibration, past the second it is unreliable.

    Args:
        flips: The share of runs for which a second answer is on the other side of passing.
        disagreement: The share of the runs that rules decide for which the judge is on the other side.
        kappa: Agreement with people's labels, at least.
        errors: The share of runs without a verdict.
        labels: How many labelled runs it takes to trust a judge.
    """

    flips: tuple[float, float] = (0.05, 0.20)
    disagreement: tuple[float, float] = (0.10, 0.30)
    kappa: tuple[float, float] = (0.60, 0.40)
    errors: tuple[float, float] = (0.05, 0.30)
    labels: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What an audit found, and what that makes of the judge."""

    runs: int
    trust: Trust
    reasons: tuple[str, ...]
    errors: Share
    abstained: Share
    disagreement: Share
    flips: Share
    moves: Share
    kappa: Kappa
    weighted_kappa: float | None
    opposed: tuple[Judged, ...] = field(default=())


def findings(runs: Sequence[Judged], limits: Limits) -> Findings:
    """What its answers say about a judge. Without enough labels none is trusted: nobody knows what is right."""
    answered = [run for run in runs if run.numbers and not run.error]
    firsts = [(run, first) for run in answered if (first := run.passes[0]) is not None]
    ruled = [(run, first) for run, first in firsts if run.rules is not None]
    again = [run for run in answered if len(run.numbers) > 1]
    numbered = [
        (number, run.label_number)
        for run in answered
        if (number := run.numbers[0]) is not None and run.label_number is not None
    ]
    opposed = tuple(run for run, first in ruled if first != run.rules)
    measured = Findings(
        runs=len(runs),
        trust="TRUSTWORTHY",
        reasons=(),
        errors=Share(count=sum(bool(run.error) for run in runs), of=len(runs)),
        abstained=Share(count=len(answered) - len(firsts), of=len(answered)),
        disagreement=Share(count=len(opposed), of=len(ruled)),
        flips=Share(count=sum(len(set(run.passes)) > 1 for run in again), of=len(again)),
        moves=Share(count=sum(len(set(run.numbers)) > 1 for run in again), of=len(again)),
        kappa=kappa([(first, run.label) for run, first in firsts if run.label is not None]),
        weighted_kappa=weighted_kappa(numbered),
        opposed=opposed,
    )
    return _judged(measured, limits)


def _judged(found: Findings, limits: Limits) -> Findings:
    said: list[tuple[Trust, str]] = []
    shares = (
        (found.errors, limits.errors, "of the runs got no verdict"),
        (found.flips, limits.flips, "of the verdicts flip when it is asked again"),
        (found.disagreement, limits.disagreement, "of its verdicts contradict deterministic checks"),
    )
    for share, (good, bad), words in shares:
        if share.value is not None and share.value > good:
            trust: Trust = "UNRELIABLE" if share.value > bad else "NEEDS CALIBRATION"
            said.append(
                (trust, f"{share.count} of {share.of} ({share.value:.0%}) {words}; at most {good:.0%} is trusted")
            )
    if not found.flips.of:
        said.append(("NEEDS CALIBRATION", "it was not asked again, so nobody knows whether it says the same twice"))
    said += _labelled(found, limits)
    worst = _RANKS[max((_RANKS.index(trust) for trust, _ in said), default=0)]
    return Findings(
        runs=found.runs,
        trust=worst,
        reasons=tuple(text for _, text in said),
        errors=found.errors,
        abstained=found.abstained,
        disagreement=found.disagreement,
        flips=found.flips,
        moves=found.moves,
        kappa=found.kappa,
        weighted_kappa=found.weighted_kappa,
        opposed=found.opposed,
    )


def _labelled(found: Findings, limits: Limits) -> list[tuple[Trust, str]]:
    good, bad = limits.kappa
    agreed = found.kappa
    said: list[tuple[Trust, str]] = []
    if agreed.n < limits.labels:
        said.append(("NEEDS CALIBRATION", f"{agreed.n} of its verdicts have a hand label; {limits.labels} are needed"))
    elif agreed.value is None:
        said.append(("NEEDS CALIBRATION", "all hand labels and verdicts are the same, of which kappa says nothing"))
    if agreed.value is not None and agreed.n >= limits.labels and agreed.value < good:
        trust: Trust = "UNRELIABLE" if agreed.value < bad else "NEEDS CALIBRATION"
        said.append(
            (trust, f"kappa against {agreed.n} hand labels is {agreed.value:.2f}; at least {good:.2f} is trusted")
        )
    return said
