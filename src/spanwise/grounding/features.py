"""What a claim and the evidence have in common, as a few numbers that each mean something by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from spanwise.grounding.index import Index, Sought, Window, weight_of
from spanwise.grounding.quantities import Fact, facts_in, finding, relation
from spanwise.grounding.steps import Steps, finish
from spanwise.grounding.words import DENYING, FAILS, SPEAKERS, STARTERS, STOP, Word, is_unspaced, negations, words_of

NAMES: tuple[str, ...] = (
    "window", "pool", "gap", "numbers_apart", "names_absent", "negation_apart", "speakers", "opinion",
    "question", "chat",
)  # fmt: skip
"""The features, in the order of their weights."""

_LONG = 4_000
_FACTS = 24
_WORDS = 10
"""So many words of a claim are unfolded into their forms in one step."""
_SMALL_WORD = 0.35
_BLOCKS = 4
_CHAT = frozenset(
    "yes yeah yep yup no nope oh wow haha lol well hey hi hello really sure ok okay true agreed cool".split()
)
_OPINION = frozenset(
    """agree amazing awesome believe bet cool crazy definitely fan favorite favourite feel funny glad great guess haha
    hope imagine interesting like lol love maybe nice sound sounds sure surprised think wish wonder wow""".split()
)
_QUESTION = re.compile(r"[?\uff1f]")
_CONCEALED = frozenset("t s d m ll re ve".split())


# Where these stand all nouns are capitalised.
_GERMAN = frozenset(
    "der die das dem den des ein eine einen einem einer und ist sind nicht von mit wurde werden".split()
)
# What any answer may call itself.
_ANSWER = frozenset(
    "answer result results total value output number final amount sum count together combined average".split()
)
_COMMON = ("ing", "tion", "sion", "ment", "ness", "ity", "ery", "ance", "ence", "ers", "ly", "ed")


class Read(NamedTuple):
    """A claim, read: its words with their slots, what they weigh, its names and its numbers and dates."""

    text: str
    words: tuple[Word, ...]
    slots: tuple[int, ...]
    weights: Mapping[int, float]
    content: frozenset[int]
    context: frozenset[int]
    """What the claim is about: its content without the parts of numbers and dates."""
    names: frozenset[int]
    first: frozenset[int]
    """The first word, where it looks like a name."""
    facts: tuple[Fact, ...]
    bare: bool
    """The claim says nothing but numbers, dates, and that they are the answer."""
    near: Mapping[int, int]
    """The slots of the near spellings of its names, by the name's own."""

    @property
    def negated(self) -> bool:
        """The claim says that something is not so; a `no` or `not` in front of it all is an answer."""
        said = self.words[2:] if self.words[:1] and self.words[0].text in {"no", "not"} else self.words
        return bool(negations(said))


def read(text: str, sought: Sought) -> Read:
    """Read a claim; its words are sought from now on."""
    return finish(reading(text, sought))


def reading(text: str, sought: Sought) -> Steps[Read]:
    """The same in steps."""
    text = text[:_LONG]
    words = tuple(words_of(text))
    facts = tuple(facts_in(text)[:_FACTS])
    yield
    taken: list[int] = []
    for at, word in enumerate(words):
        taken.append(sought.slot(word.text))
        if at % _WORDS == _WORDS - 1:
            yield
    slots = tuple(taken)
    weights: dict[int, float] = {}
    content: set[int] = set()
    names: set[int] = set()
    german = any(word.text in _GERMAN for word in words)
    inside = {at for at, word in enumerate(words) for fact in facts if fact.start <= word.start < fact.end}
    for at, (word, slot) in enumerate(zip(words, slots, strict=True)):
        if word.text in _CONCEALED:
            continue
        small = word.text in STOP or _denies(words, at)
        weights[slot] = _SMALL_WORD if small else 1.0
        if not small:
            content.add(slot)
            if (
                at
                and at not in inside
                and text[word.start].isupper()
                and not _begins(text, word)
                and not is_unspaced(word.text)
            ):
                names.add(slot)
    for (one, first), (two, second) in zip(
        zip(words, slots, strict=True), zip(words[1:], slots[1:], strict=True), strict=False
    ):
        if first in content and second in content and text[one.end : two.start] in {" ", "-"}:
            sought.also(one.text + two.text, first, second)
    yield
    first = (
        frozenset(slots[:1]) & content
        if words and not german and 0 not in inside and _may_name(text, words[0])
        else frozenset[int]()
    )
    named = {slot for word, slot in zip(words, slots, strict=True) if word.text in _ANSWER}
    context = content - {slots[at] for at in inside}
    near = yield from _nearly(words, slots, names | first, sought)
    return Read(
        text,
        words,
        slots,
        weights,
        frozenset(content),
        frozenset(context),
        frozenset(names),
        first,
        facts,
        context <= named,
        near,
    )


def _nearly(words: Sequence[Word], slots: Sequence[int], names: Set[int], sought: Sought) -> Steps[dict[int, int]]:
    """The slots of the near spellings of some names, by the name's own."""
    near: dict[int, int] = {}
    for word, slot in zip(words, slots, strict=True):
        if slot in names and slot not in near:
            spelt = sought.near(word.text)
            yield
            if spelt is not None:
                near[slot] = spelt
    return near


def as_spelt(claim: Read, held: frozenset[int]) -> Read:
    """The claim as the evidence spells its names: those that stand nowhere, while a near spelling of theirs does."""
    spelt = {slot: near for slot, near in claim.near.items() if slot not in held and near in held}
    if not spelt:
        return claim

    def of(slots: frozenset[int]) -> frozenset[int]:
        return frozenset(spelt.get(slot, slot) for slot in slots)

    return claim._replace(
        slots=tuple(spelt.get(slot, slot) for slot in claim.slots),
        weights={spelt.get(slot, slot): weight for slot, weight in claim.weights.items()},
        content=of(claim.content),
        context=of(claim.context),
        names=of(claim.names),
        first=of(claim.first),
    )


def _denies(words: Sequence[Word], at: int) -> bool:
    """The word is a part of a negation: `no longer`, `failed to`, a sign that says so."""
    text = words[at].text
    if text == "longer":
        return at > 0 and words[at - 1].text == "no"
    following = words[at + 1].text if at + 1 < len(words) else ""
    if (text == "won" and following == "t") or (text in FAILS and following == "to"):
        return True
    return not DENYING.isdisjoint(text)


def _begins(text: str, word: Word) -> bool:
    """The word begins a sentence within the claim."""
    return text[: word.start].rstrip(" \"'(")[-1:] in {".", "!", "?", ":"}


def _may_name(text: str, word: Word) -> bool:
    """A sentence's first word that looks like a name; common nouns are told by how they end."""
    plain = word.text.endswith(_COMMON) or word.text in STARTERS or word.text in _CHAT
    return text[word.start].isupper() and len(word.text) > 2 and not plain


def digits_of(fact: Fact, claim: Read) -> frozenset[int]:
    """The groups of digits in a number or date, as slots."""
    return frozenset(
        slot
        for word, slot in zip(claim.words, claim.slots, strict=True)
        if fact.start <= word.start < fact.end and word.text.isdecimal()
    )


class Match(NamedTuple):
    """What was found of a claim, as the evidence spells its names: features, blocks, windows by worth, and slots."""

    claim: Read
    values: tuple[float, ...]
    blocks: tuple[int, ...]
    windows: tuple[Window, ...]
    found: frozenset[int]


def match(claim: Read, index: Index) -> Match:
    """Find a claim in the evidence."""
    return finish(matching(claim, index))


def matching(claim: Read, index: Index) -> Steps[Match]:
    """The same in steps."""
    held = index.held()
    claim = as_spelt(claim, held)
    worth = weight_of(claim.weights)
    blocks = yield from index.best(claim.content, _BLOCKS)
    if not claim.content:  # small words are looked for in the first blocks only
        blocks = list(range(min(len(index.blocks), _BLOCKS)))
    windows = yield from index.windows(blocks)
    windows.sort(key=lambda one: -worth(one.found))
    yield
    numbers_apart = yield from _numbers_apart(claim, index, windows[:2])
    found = windows[0].found if windows else frozenset[int]()
    share = worth(found) / (math.fsum(claim.weights.values()) or 1.0)
    said = [word.text for word in claim.words]
    length = max(len(said), 1)
    values = (
        share,
        len(claim.content & held) / len(claim.content) if claim.content else share,
        math.log1p(_gap(claim, found)),
        numbers_apart,
        len(claim.names - held) / len(claim.names) if claim.names else 0.0,
        float(claim.negated and bool(windows) and not _negated(index, windows[0])),
        sum(word in SPEAKERS for word in said) / length,
        sum(word in _OPINION for word in said) / length,
        float(bool(_QUESTION.search(claim.text))),
        float(bool(said) and said[0] in _CHAT),
    )
    return Match(claim, values, tuple(blocks), tuple(windows), held)


def _gap(claim: Read, found: frozenset[int]) -> int:
    """How many of the claim's words in a row the window does not hold, at most."""
    most = row = 0
    for slot in claim.slots:
        row = 0 if slot in found else row + 1
        most = max(most, row)
    return most


def _negated(index: Index, window: Window) -> bool:
    return bool(negations(words_of(index.said(window.text, window.start, window.end))))


def _numbers_apart(claim: Read, index: Index, windows: Sequence[Window]) -> Steps[float]:
    """The share of the claim's numbers and dates that the best windows do not hold."""
    if not claim.facts:
        return 0.0
    seen: list[Fact] = []
    for one in windows:
        seen += yield from finding(index.said(one.text, one.start, one.end))
        yield
    apart = 0
    for fact in claim.facts:
        apart += not any(relation(fact, other) == "same" for other in seen)
        yield
    return apart / len(claim.facts)
