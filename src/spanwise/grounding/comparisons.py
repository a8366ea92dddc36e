"""`A is longer than B` against the length of A and that of B."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.passages import Passage, Passages
from spanwise.grounding.quantities import Quantity
from spanwise.grounding.steps import Steps
from spanwise.grounding.units import MONEY

_MORE = "more longer higher larger bigger greater taller heavier deeper wider costlier dearer pricier".split()
_LESS = "less fewer shorter lower smaller lighter shallower narrower cheaper".split()
_THAN = re.compile(rf"\b({'|'.join([*_MORE, *_LESS])})\b[^.;,]{{0,40}}?\bthan\b", re.IGNORECASE)
_LENGTH: Collection[str] = frozenset({"length"})
_MEASURES: Mapping[str, Collection[str]] = {
    "longer": {"length", "time"}, "shorter": {"length", "time"}, "taller": _LENGTH, "deeper": _LENGTH, "wider": _LENGTH,
    "shallower": _LENGTH, "narrower": _LENGTH, "heavier": {"mass"}, "lighter": {"mass"}, "cheaper": MONEY,
    "costlier": MONEY, "dearer": MONEY, "pricier": MONEY,
}  # fmt: skip


class Against(NamedTuple):
    """Why a comparison is not so, the passage that says it, and where in it."""

    reason: str
    passage: Passage
    at: int


def compared(claim: Read, passages: Sequence[Passage], read: Passages) -> Steps[Against | None]:
    """What speaks against the direction of a comparison, where both sides have one number of a kind."""
    met = _THAN.search(claim.text)
    if met is None:
        return None
    first, second = _names(claim, 0, met.start()), _names(claim, met.end(), len(claim.text))
    sides = (first - second, second - first)
    if not all(sides):
        return None
    one = _about(sides[0], sides[1], passages)
    two = _about(sides[1], sides[0], passages)
    if one is None or two is None:
        return None
    yield
    mine, others = (yield from _numbers(one, read)), (yield from _numbers(two, read))
    word = met[1].lower()
    about = claim.context - claim.names - claim.first
    said = bool(about & one.found & two.found)
    for unit, number in mine.items():
        other = others.get(unit)
        if other is None or not (unit in _MEASURES.get(word, ()) or (said and word not in _MEASURES)):
            continue
        apart = number.value * number.factor - other.value * other.factor
        if (apart < 0) if word in _MORE else (apart > 0):
            shown = (_shown(number, one), _shown(other, two))
            return Against(f"the claim says {word}, the evidence {shown[0]} and {shown[1]}", one, number.start)
    return None


def _names(claim: Read, start: int, end: int) -> frozenset[int]:
    """The names in a part of a claim."""
    named = claim.names | claim.first
    return frozenset(
        slot for word, slot in zip(claim.words, claim.slots, strict=True) if slot in named and start <= word.start < end
    )


def _about(names: frozenset[int], others: frozenset[int], passages: Sequence[Passage]) -> Passage | None:
    """The first passage with some names and none of others."""
    return next((one for one in passages if names <= one.found and not others & one.found), None)


def _numbers(passage: Passage, read: Passages) -> Steps[dict[str, Quantity]]:
    """The numbers of a passage by their unit, those of which there is one."""
    found: dict[str, list[Quantity]] = {}
    for fact in (yield from read.read(passage)):
        if isinstance(fact, Quantity):
            found.setdefault(fact.unit, []).append(fact)
    return {unit: those[0] for unit, those in found.items() if len(those) == 1}


def _shown(number: Quantity, passage: Passage) -> str:
    return passage.said[number.start : number.end].strip()
