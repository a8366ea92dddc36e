"""What was decided about each part of a run, merged into one score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spanwise.judges.chunks import Part
from spanwise.judges.replies import Verdict
from spanwise.judges.scales import Scale
from spanwise.model.score import Evidence, Score, not_measurable

Merge: TypeAlias = Literal["worst", "median"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about one part: a number or None, how the votes fell, and a verdict that says so."""

    number: int | None
    verdict: Verdict
    part: Part
    votes: str = ""


def merged(decisions: Sequence[Decision], how: Merge) -> Decision:
    """The decision that stands for all parts, the worst or the (lower) median; parts that show nothing do not count."""
    known = sorted(
        (one for one in decisions if one.number is not None), key=lambda one: (one.number or 0, one.part.number)
    )
    if not known:
        return decisions[0]
    return known[0] if how == "worst" else known[(len(known) - 1) // 2]


def score_of(name: str, decided: Decision, scale: Scale, *, version: str = "1", config_hash: str = "") -> Score:
    """The score of a decision; where nobody could tell, not measurable."""
    verdict, number = decided.verdict, decided.number
    notes = [decided.votes] if decided.votes else []
    if decided.part.of > 1:
        notes.append(f"part {decided.part.number} of {decided.part.of}")
    if decided.part.pruned:
        notes.append("the run was shortened to its failing paths")
    noted = f" ({'; '.join(notes)})" if notes else ""
    if number is None:
        return not_measurable(name, f"the judge cannot tell: {verdict.reasons}{noted}")
    word = scale.word(number)
    return Score(
        name=name,
        value=scale.value(number),
        label=scale.label(number),
        reason=f"{number} of {scale.low}-{scale.high}, {word}: {verdict.reasons}{noted}",
        evidence=tuple(dict.fromkeys(_usable(verdict.evidence))),
        issues=(f"{word}: {verdict.reasons}",) if word == "fail" else (),
        version=version,
        config_hash=config_hash,
    )


def _usable(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    return [one for one in evidence if one.quote]
