"""Who did what to whom, and who is what: names that stand in one another's place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.labels import pairs_of
from spanwise.grounding.passages import Passage, Passages
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import STOP, Word

_BOTH_WAYS = frozenset(
    """and or with between versus vs met meet meets meeting married marries marry near equals equal like faced faces
    face plays play played joins joined borders bordered same similar different differs resembles alongside
    together""".split()
)
"""Where one of these stands between two names, they may change places."""
_IS = frozenset("is was are were be named called".split())
_BETWEEN, _BEHIND, _LOOKED = 4, 4, 12


class Misplaced(NamedTuple):
    """Why names stand in the wrong places, the passage that says it, and where in it."""

    reason: str
    passage: Passage
    at: int


def turned(claim: Read, passages: Sequence[Passage], read: Passages) -> Steps[Misplaced | None]:
    """The passage that says the same with two names in one another's place; None where any says what the claim says."""
    for (first, begun), (ended, second) in _sentences(claim):
        middle = [word.text for word in claim.words[begun + 1 : ended]]
        mine = claim.words[begun].text, claim.words[ended].text
        outer = claim.words[first].text, claim.words[second].text
        found: Misplaced | None = None
        named = frozenset(claim.slots[at] for at in (begun, first, ended, second))
        for passage in passages[:_LOOKED]:
            if not named <= passage.found:
                continue
            words = read.words(passage)
            texts = [word.text for word in words]
            yield
            if _at(texts, [mine[0], *middle, mine[1]]) >= 0:
                break
            at = _at(texts, [outer[1], *middle, outer[0]])
            if at >= 0 and found is None:
                last = words[at + len(middle) + 1]
                there = passage.said[words[at].start : last.end]
                reason = f"the claim says {_said(claim, first, second)}, the evidence {there}"
                found = Misplaced(reason, passage, words[at].start)
        else:
            if found is not None:
                return found
    return None


def misplaced(claim: Read, passages: Sequence[Passage]) -> Steps[Misplaced | None]:
    """`The manager is A` where A stands as the clerk and B as the manager; None where A stands as the manager, too."""
    for first, last in _groups(claim):
        roles = _role(claim, first, last)
        name = {word.text for word in claim.words[first : last + 1]}
        found: Misplaced | None = None
        if not roles:
            continue
        named = frozenset(claim.slots[first : last + 1])
        about = {slot for word, slot in zip(claim.words, claim.slots, strict=True) if word.text in roles}
        for passage in passages:
            if not named <= passage.found or about.isdisjoint(passage.found):
                continue
            yield
            pairs = list(pairs_of(passage.said))
            here = [pair for pair in pairs if set(pair.name) <= roles]
            if any(name <= set(pair.words) for pair in here):
                break
            if (
                found is None
                and here
                and any(name <= set(pair.words) and roles.isdisjoint(pair.name) for pair in pairs)
            ):
                of = next((pair for pair in here if pair.value[:1].isupper() and roles.isdisjoint(pair.words)), None)
                if of is not None:
                    found = Misplaced(
                        f"the claim says {_said(claim, first, last)}, the evidence {of.value}", passage, of.at
                    )
        else:
            if found is not None:
                return found
    return None


def _said(claim: Read, first: int, last: int) -> str:
    return claim.text[claim.words[first].start : claim.words[last].end]


def _groups(claim: Read) -> list[tuple[int, int]]:
    """The names of a claim: the places of their first and last words."""
    out: list[tuple[int, int]] = []
    for at, slot in enumerate(claim.slots):
        if slot not in claim.names and (at or slot not in claim.first):
            continue
        if out and out[-1][1] == at - 1 and claim.text[claim.words[at - 1].end : claim.words[at].start] == " ":
            out[-1] = (out[-1][0], at)
        else:
            out.append((at, at))
    return out


def _sentences(claim: Read) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of names with a few words between them that are not the same both ways."""
    groups = _groups(claim)
    for one, two in pairwise(groups):
        middle = claim.words[one[1] + 1 : two[0]]
        telling = any(_tells(word) for word in middle)
        if telling and len(middle) <= _BETWEEN and not any(word.text in _BOTH_WAYS for word in middle):
            yield one, two


def _tells(word: Word) -> bool:
    return word.text not in STOP


def _at(texts: Sequence[str], row: Sequence[str]) -> int:
    """Where some words stand one after the other; -1 where they do not."""
    many = len(row)
    return next((at for at in range(len(texts) - many + 1) if list(texts[at : at + many]) == list(row)), -1)


def _role(claim: Read, first: int, last: int) -> set[str]:
    """What a claim says that a name is: the words around it, where it says that the name is something."""
    texts = [word.text for word in claim.words]
    if first and texts[first - 1] in _IS:
        return set(texts[:first])
    if last + 1 < len(texts) and texts[last + 1] in _IS:
        return set(texts[last + 2 : last + 2 + _BEHIND])
    return set()
