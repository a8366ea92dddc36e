"""`Status: delivered` against `"status": "shipped"`: values under the same name, and numbers under the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.passages import Passage, Passages
from spanwise.grounding.quantities import Quantity, relation
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import words_of

_LABEL = re.compile(r"\s*([A-Za-z][\w -]{1,40}):\s+(\S[^:;]{0,80}?)[\s.]*$")
_VALUE = re.compile(r"[\"']?([A-Za-z][\w -]{1,40})[\"']?\s{0,3}[:=]\s{0,3}[\"']?([^\"'{}\[\],:;=\n|]{1,80})")
_ASSIGNED = re.compile(r"([\w.-]{2,60})[\"'`]?\s{0,3}[:=]\s{0,3}[\"']?$")
_NAMED = re.compile(r"`([A-Za-z_][\w.-]{1,60})`|\b([A-Za-z]\w*_\w+)\b")

_FEW = 40
"""So many numbers are gone through in one step."""


class Pair(NamedTuple):
    """A value under a name, as words; as it is recorded, and where it begins."""

    name: list[str]
    words: list[str]
    value: str
    at: int


class Labelled(NamedTuple):
    """What stands under a claim's name instead of what the claim says, and where in the passage."""

    said: str
    seen: str
    at: int


def mislabelled(claim: Read, passages: list[Passage]) -> Steps[tuple[Passage, Labelled] | None]:
    """The passage where something else stands under the claim's name; None where any says the same, or none has it."""
    met = _LABEL.match(claim.text)
    if met is None or any(fact.start >= met.start(2) for fact in claim.facts):
        return None
    name, value = _words(met[1]), set(_words(met[2]))
    found: tuple[Passage, Labelled] | None = None
    for passage in passages:
        for other in pairs_of(passage.said):
            if other.name == name:
                if not value.isdisjoint(other.words):
                    return None
                found = found or (passage, Labelled(met[2], other.value, other.at))
        yield
    return found


def misassigned(claim: Read, passages: list[Passage], read: Passages) -> Steps[tuple[Passage, Labelled] | None]:
    """The passage where another number stands under an identifier of the claim; None where any says the same."""
    numbers = [fact for fact in claim.facts if isinstance(fact, Quantity)]
    met = _NAMED.search(claim.text)
    if met is None or len(numbers) != 1:
        return None
    name, said = (met[1] or met[2]).lower(), numbers[0]
    found: tuple[Passage, Labelled] | None = None
    for passage in passages:
        yield
        for count, seen in enumerate((yield from read.read(passage))):
            if count % _FEW == _FEW - 1:
                yield
            key = _ASSIGNED.search(passage.said, max(0, seen.start - 70), seen.start)
            if key is None or key[1].lower() != name:
                continue
            if relation(said, seen) == "same":
                return None
            there = passage.said[seen.start : seen.end].strip()
            shown = Labelled(claim.text[said.start : said.end].strip(), there, seen.start)
            found = found or (passage, shown)
    return found


def pairs_of(text: str) -> Iterator[Pair]:
    """What stands under names in a text: of `a: b`, `a=b` and `"a": "b"`."""
    for met in _VALUE.finditer(text):
        words = _words(met[2])
        if words:
            yield Pair(_words(met[1]), words, met[2].strip(), met.start(2))


def _words(text: str) -> list[str]:
    return [word.text for word in words_of(text)]
