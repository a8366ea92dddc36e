"""Words exchanged: a name for another one, a word for its opposite, a negation more or less."""

from __future__ import annotations

from typing import NamedTuple

from spanwise.grounding.features import Read
from spanwise.grounding.passages import Passage, Passages
from spanwise.grounding.steps import Steps
from spanwise.grounding.words import STOP, Word, forms_of, negations

_COPULAS = frozenset("is are was were".split())
_NEAR = 8
"""Within so many words of `is` the first telling one is looked for."""
_ALIKE, _NEARLY, _NEGATED = 0.65, 0.6, 0.75
_PAIRS = """\
increase decrease|increased decreased|increases decreases|rise fall|rose fell|rises falls|rising falling|
grew shrank|grow shrink|gain loss|gained lost|gains losses|profit loss|up down|higher lower|high low|
highest lowest|more less|more fewer|most least|most fewest|above below|over under|larger smaller|
largest smallest|bigger smaller|biggest smallest|longer shorter|longest shortest|older younger|
oldest youngest|newer older|newest oldest|faster slower|fastest slowest|better worse|best worst|
before after|earlier later|earliest latest|first last|open closed|opens closes|opened closed|
enabled disabled|enable disable|allowed prohibited|allowed forbidden|allows prohibits|allows forbids|
permitted prohibited|approved rejected|approved denied|accepted rejected|granted denied|passed failed|
succeeded failed|success failure|successful unsuccessful|successfully unsuccessfully|available unavailable|
online offline|active inactive|valid invalid|legal illegal|possible impossible|included excluded|
includes excludes|include exclude|required optional|mandatory optional|won lost|win lose|wins loses|
cheaper dearer|cheapest dearest|north south|northern southern|east west|eastern western|left right|
true false|yes no|hot cold|warmer colder|buy sell|bought sold|import export|imports exports|start end|
starts ends|started ended|begin end|began ended|public private|male female|maximum minimum|max min|
refundable nonrefundable|safe unsafe|even odd|positive negative|complete incomplete|correct incorrect|
accurate inaccurate|connected disconnected|eligible ineligible|sufficient insufficient|visible invisible|
secure insecure|relevant irrelevant|empty full|present absent|
majority minority|
january february march april may june july august september october november december|
monday tuesday wednesday thursday friday saturday sunday|morning afternoon evening night|
daily weekly monthly quarterly yearly annually|
red green blue yellow black white orange purple brown grey gray pink|kilometers miles meters feet|
kilometres miles metres feet|dollars euros pounds yen|celsius fahrenheit|million billion thousand trillion|
hours minutes seconds days weeks months years|grams kilograms pounds ounces tonnes"""


def _opposites() -> dict[str, frozenset[str]]:
    out: dict[str, set[str]] = {}
    for row in _PAIRS.split("|"):
        group = row.split()
        for word in group:
            out.setdefault(word, set()).update(other for other in group if other != word)
    return {word: frozenset(others) for word, others in out.items()}


OPPOSITES = _opposites()
"""Words that cannot stand for one another, by each of them."""


def opposites_of(word: str) -> frozenset[str]:
    """Words that say the opposite of one."""
    found = OPPOSITES.get(word, frozenset())
    if word.startswith("un") and len(word) > 5:
        return found | {word[2:]}
    return found | {"un" + word} if len(word) > 3 else found


class Swap(NamedTuple):
    """What was exchanged: why that contradicts, the claim's slot, and where the other word stands in the passage."""

    reason: str
    slot: int
    at: int


def swapped(claim: Read, passage: Passage, passages: Passages, share: float) -> Steps[Swap | None]:
    """What makes a passage say something else than a claim that has nearly all words in common with it."""
    many = len(claim.content)
    if many < 2:
        return None
    words = passages.words(passage)
    lacking = [
        (at, word)
        for at, (word, slot) in enumerate(zip(claim.words, claim.slots, strict=True))
        if slot in claim.weights
        and slot not in passage.found
        and not any(fact.start <= word.start < fact.end for fact in claim.facts)  # those were found, in any unit
    ]
    yield
    close = share >= _NEARLY or len(claim.content - passage.found) == 1
    opposite = _opposed(claim, words, lacking) if close else None
    if opposite is not None:
        return opposite
    if share < _ALIKE:
        return None
    yield
    turned = claim.negated != passages.negated(passage, claim.slots)
    named = None if turned else _renamed(claim, passage, words, lacking)
    if named is not None:
        return named
    yield
    if turned and share >= _NEGATED and not _doubly(claim, passage, passages):
        at = words[(negations(words) or [0])[0]].start
        return Swap(
            "the evidence says that it is so" if claim.negated else "the evidence says that it is not so", -1, at
        )
    return None


def respelt(said: Read, claim: Read, passage: Passage, passages: Passages) -> str:
    """How a passage spells the first name that the claim, as it was said, spells in another way."""
    for word, own, near in zip(said.words, said.slots, claim.slots, strict=True):
        for there in passages.words(passage) if own != near else ():
            if passages.means(there, near):
                seen = passage.said[there.start : there.end]
                return f"the claim spells {said.text[word.start : word.end]} what the evidence spells {seen}"
    return ""


def _doubly(claim: Read, passage: Passage, passages: Passages) -> bool:
    """One of the two uses an opposite word together with its negation."""
    mine = {word.text for word in claim.words}
    theirs = {word.text for word in passages.words(passage)}
    return any(not opposites_of(word).isdisjoint(theirs - mine) for word in mine - theirs)


def _opposed(claim: Read, words: list[Word], lacking: list[tuple[int, Word]]) -> Swap | None:
    mine = {word.text for word in claim.words}
    if bool(negations(claim.words)) != bool(negations(words)):
        return None
    theirs = {word.text for word in words} - mine
    for _, word in lacking:
        for form in (word.text, *forms_of(word.text)):
            others = opposites_of(form) & theirs
            for there in words if others else ():
                if there.text in others:
                    slot = claim.slots[claim.words.index(word)]
                    return Swap(f"the claim says {word.text}, the evidence {there.text}", slot, there.start)
    return None


def _renamed(claim: Read, passage: Passage, words: list[Word], lacking: list[tuple[int, Word]]) -> Swap | None:
    """A name of the claim that lacks in the passage, where another one stands in its place."""
    content = [one for one in lacking if claim.slots[one[0]] in claim.content]
    names = [(at, word) for at, word in content if claim.slots[at] in claim.names | claim.first]
    if not names or len(names) < len(content) or len(names) > max(2, len(claim.content) // 3):
        return None
    mine = {word.text for word in claim.words}
    for at, word in names:
        for there in [*_beside(claim, at, words), *_inverted(claim, at, words)]:
            if (
                there.text not in mine
                and there.text not in STOP
                and passage.said[there.start].isupper()
                and not there.text.isdecimal()
            ):
                mine_, theirs = claim.text[word.start : word.end], passage.said[there.start : there.end]
                return Swap(f"the claim says {mine_}, the evidence {theirs}", claim.slots[at], there.start)
    return None


def _beside(claim: Read, at: int, words: list[Word]) -> list[Word]:
    """The words of the passage that stand where the claim's word stands: before or behind the same neighbour."""
    texts = [word.text for word in words]
    known = set(texts)
    out: list[Word] = []
    for step in (1, -1):
        near = range(at + step, at + step * 5, step)
        place = next((one for one in near if 0 <= one < len(claim.words) and _holds(claim.words[one], known)), None)
        if place is None:
            continue
        said = claim.words[place].text
        for number, text in enumerate(texts):
            if text == said:
                steps = sorted({1, 2, abs(place - at)})
                out += [words[one] for k in steps if 0 <= (one := number - k * step) < len(words)]
    return out


def _inverted(claim: Read, at: int, words: list[Word]) -> list[Word]:
    """The words that stand on the other side of `is`: `the capital is Oslo` against `Bergen is the capital`."""
    mine = {word.text for word in claim.words}
    out: list[Word] = []
    for step in (1, -1):  # where `is` stands beside the claim's word; beside the passage's it stands the other way
        copula = at + step
        if not 0 <= copula < len(claim.words) or claim.words[copula].text not in _COPULAS:
            continue
        for number, word in enumerate(words):
            there = number + step
            if word.text in _COPULAS and 0 <= there < len(words):
                rest = (
                    words[max(number - _NEAR, 0) : number][::-1] if step > 0 else words[number + 1 : number + 1 + _NEAR]
                )
                telling = next((one.text for one in rest if one.text not in STOP), "")
                if telling in mine:
                    out.append(words[there])
    return out


def _holds(word: Word, known: set[str]) -> bool:
    return word.text in known and word.text not in STOP
