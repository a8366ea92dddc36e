"""Which of the offered tools a query speaks of: the words that they share, rare ones counting more."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from spanwise.model.content import ToolDefinition

_WORDS = re.compile(r"[^\W\d_]{2,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_QUERY, _DESCRIPTION = 10_000, 2_000
_STOP = frozenset(
    """an and any are as ask at be but by call can could do does each for from get give given has have how if in input
    into is it its like make me my need no not of on one only or our out please return returns run should so some tell
    than that the their them then there these they this to tool up us use used user using via want was we were what
    when where which who why will with would you your""".split()
)


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, without those that say little; a plural is its singular."""
    found = (word.lower() for word in _WORDS.findall(_HUMP.sub(" ", text)))
    return frozenset(_singular(word) for word in found if word not in _STOP)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


@lru_cache(maxsize=4096)
def _words_of_tool(name: str, description: str) -> frozenset[str]:
    return words_of(f"{name} {description}")


def fits(query: str, tools: Sequence[ToolDefinition]) -> dict[str, tuple[float, tuple[str, ...]]]:
    """For each tool how well it fits a query, and by which words: the more tools have a word, the less it weighs."""
    asked = words_of(query[:_QUERY])
    told = [(tool.name, _words_of_tool(tool.name, tool.description[:_DESCRIPTION]) & asked) for tool in tools]
    holders = Counter(word for _, shared in told for word in shared)
    weights = {word: math.log1p(len(tools) / count) for word, count in holders.items()}
    return {name: (math.fsum(weights[word] for word in shared), tuple(sorted(shared))) for name, shared in told}
