"""`Status: delivered` against `"status": "shipped"`: values under the same name."""

from __future__ import annotations

import re
from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.passages import Passage
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import words_of

_LABEL = re.compile(r"\s*([A-Za-z][\w -]{1,40}):\s+(\S[^:;]{0,80}?)[\s.]*$")
_VALUE = re.compile(r"[\"']?([A-Za-z][\w -]{1,40})[\"']?\s{0,3}[:=]\s{0,3}[\"']?([^\"'{}\[\],:=\n|]{1,80})")


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
        for other in _VALUE.finditer(passage.said):
            if _words(other[1]) == name and (there := _words(other[2])):
                if not value.isdisjoint(there):
                    return None
                found = found or (passage, Labelled(met[2], other[2].strip(), other.start(2)))
        yield
    return found


def _words(text: str) -> list[str]:
    return [word.text for word in words_of(text)]
