"""Which of the offered tools a query speaks of: the words that they share, rare ones counting more."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from spanwise.model.content import ToolDefinition

_WORDS = re.compile(r"[^\W\d_]{2,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTERS = {code: chr(code).lower() if chr(code).isalpha() else " " for code in range(128)}
_CASES = {code: "A" if chr(code).isupper() else "a" if chr(code).islower() else " " for code in range(128)}
_QUERY, _DESCRIPTION = 10_000, 2_000
_STOP = frozenset(
    """about all also an and another answer any are as ask at be because been before being between both but by
    call can cannot could do does each etc few find first for from get give given has have here how if in input
    into is it its itself just last like make many may me more most much must my need never no not of on one
    only or other our out please question rather return returns run same should since so some something such
    task tell than that the their them then there these they thing this through time to too tool type until up
    us use used user using very via want was way we well were what when where whether which while who why will
    with within without would you your""".split()
)


class Catalogue(NamedTuple):
    """The words of offered tools: `forms` has them as a query may spell them, `holders` the places of their tools."""

    names: Sequence[str]
    widths: Sequence[int]
    """How many words each tool has."""
    forms: Mapping[str, str]
    holders: Mapping[str, Sequence[int]]

    def met(self, query: str) -> Collection[str]:
        """The words of any tool that a query has too."""
        return {self.forms[form] for form in self.forms.keys() & _spelt(query[:_QUERY])}

    def fits(self, met: Collection[str]) -> dict[str, tuple[float, tuple[str, ...]]]:
        """For each tool how well it fits the query that has these words, and by which of them."""
        shared: list[list[str]] = [[] for _ in self.names]
        for word in sorted(met):
            for at in self.holders[word]:
                shared[at].append(word)
        weights = {word: math.log1p(len(self.names) / len(self.holders[word])) for word in met}
        found = [(math.fsum(weights[word] for word in words), tuple(words)) for words in shared]
        return dict(zip(self.names, found, strict=True))


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, without those that say little; a plural is its singular."""
    singular = {_singular(word) for word in _spelt(text) if len(word) > 1 and word not in _STOP}
    return frozenset(singular - _STOP)


def _spelt(text: str) -> Collection[str]:
    """The words of a text in lower case as they are spelt, single letters at times among them."""
    if not text.isascii():
        return {word.lower() for word in _WORDS.findall(_HUMP.sub(" ", text))}
    if "aA" in text.translate(_CASES):
        text = _HUMP.sub(" ", text)
    return set(text.translate(_LETTERS).split())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def catalogue_of(tools: Sequence[ToolDefinition]) -> Catalogue:
    """The words of some tools; an app offers the same ones in run after run."""
    return _catalogue(tuple([(tool.name, tool.description[:_DESCRIPTION]) for tool in tools]))


@lru_cache(maxsize=4096)
def _words_of_tool(name: str, description: str) -> frozenset[str]:
    return words_of(f"{name} {description}")


@lru_cache(maxsize=32)
def _catalogue(told: tuple[tuple[str, str], ...]) -> Catalogue:
    words = [_words_of_tool(name, description) for name, description in told]
    holders: dict[str, list[int]] = {}
    for at, held in enumerate(words):
        for word in held:
            holders.setdefault(word, []).append(at)
    spelt = ((word + ending, word) for word in holders for ending in ("", "s"))
    forms = {form: word for form, word in spelt if form not in _STOP and _singular(form) == word}
    return Catalogue([name for name, _ in told], [len(held) for held in words], forms, holders)
