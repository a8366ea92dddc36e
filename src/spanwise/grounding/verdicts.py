"""What becomes of a claim: supported, contradicted, or neither, with the passage that speaks for or against it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from spanwise.grounding.codes import Codes
from spanwise.grounding.comparisons import compared
from spanwise.grounding.dates import Date, weekday_of
from spanwise.grounding.derive import calculates, derived, elapsed
from spanwise.grounding.features import Match, Read, digits_of, matching
from spanwise.grounding.index import Index, even
from spanwise.grounding.labels import misassigned, mislabelled
from spanwise.grounding.linear import Weights, score_of
from spanwise.grounding.passages import Passage, Passages, ranking
from spanwise.grounding.quantities import Fact, Quantity, relation, satisfies
from spanwise.grounding.roles import misplaced, turned
from spanwise.grounding.rows import Counts, beside
from spanwise.grounding.steps import Steps, finish
from spanwise.grounding.swaps import Swap, respelt, swapped
from spanwise.grounding.words import Word, text_of

Verdict: TypeAlias = Literal["supported", "unsupported", "contradicted", "not_checkable"]

_ALIKE = 0.5
"""From this share of a claim's words on a passage speaks of the same."""
_BESIDE, _CLOSE = 40, 12
"""So many signs before and behind a number say what it counts; the closer ones count more."""
_FOUND = 0.33
"""A claim all of whose numbers, dates and codes are found needs at least this share of its words beside them."""
_DATED = 0.7
"""The same for a claim that names another date: many things happened on other days."""
_DOUBT = 0.6
"""What the score of an unsupported claim is multiplied by."""
_SCALE = 1e-4
"""Numbers that are further apart than that do not say how much of one thing there is."""
_SURE = 0.7
"""From this score on a claim may hold a name that stands nowhere, if another one does."""
_HOLDING = 4
"""In so many further blocks a number is looked at that stands in them."""
_OTHERS = 40
"""So many other numbers of one passage are compared with the claim's."""
_RANKED = 60
"""So many passages, those with most of the claim's words first, are gone through for other numbers than the claim's."""
_STEP, _GONE, _FEW, _SHARED = 4, 12, 25, 60  # so many are compared or gone through in one step
_CALCULATED = 12
"""Of so many passages, those with most of the claim's words first, numbers are taken to calculate with."""
_SMALL = 16_000
"""Evidence of up to so many bytes is gone through for a number from end to end."""
# Where there is a limit, `up to 12` is another one than 8.
_LIMIT = re.compile(r"\b(?:max|min|limit|cap|maximum|minimum|limits|limited|up to|at most|at least)\b", re.IGNORECASE)


class Finding(NamedTuple):
    """A verdict, why, and the passage behind it, with a place in it that matters."""

    verdict: Verdict
    reason: str = ""
    passage: Passage | None = None
    at: int | None = None


class Other(NamedTuple):
    """A number or date in the place of the claim's: in which passage, and how close that is to the claim."""

    passage: Passage
    fact: Fact
    near: float
    alike: bool


class Told(NamedTuple):
    """A verdict, how sure, and the passage behind it, with a place in it that matters."""

    verdict: Verdict
    score: float
    reason: str
    passage: Passage | None
    at: int | None
    match: Match


@dataclass(slots=True)
class Judge:
    """Judges claims by one index of evidence."""

    index: Index
    weights: Weights
    near: Sequence[Quantity] = ()
    """Numbers of the claims before, and of the question: what a claim may calculate with."""
    passages: Passages = field(init=False)
    _codes: Codes = field(init=False)
    _counts: Counts = field(init=False)

    def __post_init__(self) -> None:
        self.passages = Passages(self.index)
        self._codes = Codes(self.index)
        self._counts = Counts(self.index)

    def judge(self, claim: Read) -> Told:
        """The verdict on a claim."""
        return finish(self.steps(claim))

    def steps(self, claim: Read) -> Steps[Told]:
        """The same in steps."""
        found = yield from matching(claim, self.index)
        said, claim = claim, found.claim
        score = score_of(found.values, self.weights)
        context, many = claim.context, len(claim.context) or 1
        passages = yield from self.passages.of(self._chosen(claim, found))
        ranked = yield from ranking(passages, lambda met: len(context & met))
        best = ranked[0] if ranked else None
        told = yield from self._told(claim, found, score, ranked, lambda one: len(context & one.found) / many)
        self.near = [*self.near, *(fact for fact in claim.facts if isinstance(fact, Quantity))][-8:]
        score = _within(told.verdict, score, self.weights.threshold)
        passage = told.passage or best
        at = self._middle(passage, found) if told.at is None and passage is not None else told.at
        reason = told.reason
        if not reason and passage is not None and claim is not said:
            reason = respelt(said, claim, passage, self.passages)
        return Told(told.verdict, score, reason, passage, at, found)

    def _middle(self, passage: Passage, found: Match) -> int | None:
        """Where in a passage the best window has its middle, if it has it there."""
        for window in found.windows[:1]:
            middle = (window.start + window.end) // 2
            if window.text == passage.text and passage.start <= middle < passage.end:
                raw = self.index.raws[window.text]
                return len(text_of(raw[passage.start : even(raw, middle)]))
        return None

    def _chosen(self, claim: Read, found: Match) -> Iterable[int]:
        """The blocks whose passages are compared with a claim."""
        if not claim.facts:
            return found.blocks
        if self.index.size <= _SMALL:
            return range(len(self.index.blocks))
        return [*found.blocks, *self._numbered(claim)]

    def _numbered(self, claim: Read) -> list[int]:
        """The first blocks in which a number of the claim stands digit by digit."""
        out: list[int] = []
        for fact in claim.facts:
            digits = digits_of(fact, claim)
            if digits:
                out += islice(self.index.holding(digits), _HOLDING)
        return out

    def _told(
        self, claim: Read, found: Match, score: float, ranked: list[Passage], share: Callable[[Passage], float]
    ) -> Steps[Finding]:
        absent = yield from self._codes.absent(claim)
        if absent:
            return Finding("unsupported", f"{absent} stands nowhere in the evidence", ranked[0] if ranked else None)
        other = (yield from mislabelled(claim, ranked[:_RANKED])) or (
            yield from misassigned(claim, ranked[:_RANKED], self.passages)
        )
        if other is not None:
            passage, label = other
            return Finding("contradicted", f"the claim says {label.said}, the evidence {label.seen}", passage, label.at)
        finding, held = yield from self._facts(claim, ranked, share)
        if finding is not None:
            return finding
        best = held or (ranked[0] if ranked else None)
        swap = (yield from swapped(claim, best, self.passages, share(best))) if best is not None else None
        if swap is not None and (yield from self._unique(claim, ranked, share, swap)):
            return Finding("contradicted", swap.reason, best, swap.at)
        other = (
            (yield from compared(claim, ranked[:_RANKED], self.passages))
            or (yield from turned(claim, ranked, self.passages))
            or (yield from misplaced(claim, ranked[:_RANKED]))
        )
        if other is not None:
            return Finding("contradicted", *other)
        alone = _alone(claim, found, self._weekdays(claim, held))
        if alone and (score < _SURE or best is None or not (claim.names | claim.first) & best.found):
            return Finding("unsupported", f"{alone} stands nowhere in the evidence", best)
        enough = held is not None and not alone and (claim.bare or share(held) >= _FOUND)
        if score >= self.weights.threshold or enough:
            return Finding("supported", "", held)
        return Finding("unsupported", "", best)

    def _weekdays(self, claim: Read, held: Passage | None) -> set[str]:
        """The weekdays of the claim's dates, as the passage that holds them has them."""
        seen = self.passages.facts(held) if held is not None else ()
        return {
            weekday_of(one)
            for one in seen
            if isinstance(one, Date) and any(relation(fact, one) == "same" for fact in claim.facts)
        }

    def _unique(self, claim: Read, ranked: list[Passage], share: Callable[[Passage], float], swap: Swap) -> Steps[bool]:
        """No other passage says what the claim says without that difference."""
        for one in ranked[:12]:
            if swap.slot in one.found and share(one) >= 0.99:
                if self.passages.negated(one, claim.slots) == claim.negated:
                    return False
                yield
        return True

    def _facts(
        self, claim: Read, ranked: list[Passage], share: Callable[[Passage], float]
    ) -> Steps[tuple[Finding | None, Passage | None]]:
        """The verdict where a number or date is not held, else the passage that holds them."""
        held: Passage | None = None
        for fact in claim.facts:
            same, other = yield from self._compared(fact, claim, ranked, share)
            alike = _ALIKE if isinstance(fact, Quantity) else _DATED
            against = other if other is not None and other.alike and share(other.passage) >= alike else None
            if same is not None:
                if (
                    other
                    and other.alike
                    and (yield from self._is_others(claim, fact, (same, other.passage), share(other.passage)))
                ):
                    return self._against(claim, fact, (other.passage, other.fact)), None
                row = yield from beside(claim, fact, same, ranked, self.passages)
                if row is not None:
                    return self._against(claim, fact, row), None
                if held is None or share(same) > share(held):
                    held = same
                continue
            if (yield from self._derived(fact, claim, ranked)):
                held = held or self._numbered_first(ranked)
                continue
            if against and satisfies(against.fact, fact) and not _LIMIT.search(against.passage.said):
                held = held or against.passage
                continue
            if against and (calculates(against.passage.said) or not calculates(claim.text)):
                return self._against(claim, fact, (against.passage, against.fact)), None
            said = claim.text[fact.start : fact.end].strip()
            closest = other.passage if other else ranked[0] if ranked else None
            return Finding("unsupported", f"{said} stands nowhere in the evidence", closest), None
        return None, held

    def _numbered_first(self, ranked: list[Passage]) -> Passage | None:
        """The best of the passages that a number was calculated from: one that holds any number."""
        best = ranked[0] if ranked else None
        return next((one for one in ranked[:_CALCULATED] if self.passages.facts(one)), best)

    def _compared(
        self, fact: Fact, claim: Read, ranked: list[Passage], share: Callable[[Passage], float]
    ) -> Steps[tuple[Passage | None, Other | None]]:
        """The best passage that says the same, and the best that says another thing in its place."""
        same: Passage | None = None
        other: Other | None = None
        digits = digits_of(fact, claim) or frozenset({-1})
        for number, passage in enumerate(ranked):
            if number >= _RANKED and not digits <= passage.found:
                continue
            apart: list[Fact] = []
            if number % _GONE == _GONE - 1:
                yield
            for count, seen in enumerate((yield from self.passages.read(passage))):
                if count % _FEW == _FEW - 1:
                    yield
                kin = relation(fact, seen)
                if kin == "same":
                    same = same or passage
                elif kin in {"unit", "differs"} and not self._of_others(seen, fact, claim):
                    apart.append(seen)
            if share(passage) and apart:
                closest = yield from self._closest(fact, apart[:_OTHERS], claim, passage)
                near = share(passage) + closest.near if closest else 0.0
                if closest is not None and (other is None or near > other.near):
                    other = closest._replace(near=near)
        return same, other

    def _closest(self, fact: Fact, apart: list[Fact], claim: Read, passage: Passage) -> Steps[Other | None]:
        """The number of a passage that stands most in the place of the claim's."""
        shared = 0.5 * (yield from self._shared(fact, claim, passage))
        best: Other | None = None
        about = self._about(fact, claim, _BESIDE), self._about(fact, claim, _CLOSE)
        for count, seen in enumerate(apart):
            if count % _STEP == _STEP - 1:
                yield
            near = self._beside(fact, seen, about, passage)
            if near and (best is None or shared + near > best.near):
                measured = isinstance(seen, Quantity) and bool(seen.unit)
                best = Other(passage, seen, shared + near, near >= 0.5 or measured)
        return best

    def _shared(self, fact: Fact, claim: Read, passage: Passage) -> Steps[int]:
        """How many of the claim's other numbers and dates the passage holds."""
        there = self.passages.facts(passage)
        many = 0
        for one in claim.facts:
            if one is not fact:
                for first in range(0, len(there), _SHARED):
                    if any(relation(one, seen) == "same" for seen in there[first : first + _SHARED]):
                        many += 1
                        break
                    yield
        return many

    def _beside(self, fact: Fact, seen: Fact, about: tuple[set[int], set[int]], passage: Passage) -> float:
        """How alike two numbers are in what they count and in size; 0 for numbers of different things."""
        alike = self._around(seen, about[0], passage, _BESIDE)
        close = self._around(seen, about[1], passage, _CLOSE) / 2
        if not isinstance(fact, Quantity) or not isinstance(seen, Quantity):
            return 0.5 + alike + close
        if not alike and not (fact.unit and fact.unit == seen.unit):
            return 0.0
        small, large = sorted((abs(fact.value), abs(seen.value)))
        if small < large * _SCALE:
            return 0.0
        size = 1.5 if large and small / large > 0.8 else 0.5 if large and small / large > 0.4 else 0.0
        return alike + close + size + 0.01

    def _of_others(self, seen: Fact, fact: Fact, claim: Read) -> bool:
        """Another number of the claim is the one that was seen."""
        return any(relation(one, seen) == "same" for one in claim.facts if one is not fact)

    def _about(self, fact: Fact, claim: Read, reach: int) -> set[int]:
        """The claim's words around its number."""
        return {
            slot
            for word, slot in zip(claim.words, claim.slots, strict=True)
            if slot in claim.context and fact.start - reach <= word.end and word.start <= fact.end + reach
        }

    def _around(self, seen: Fact, here: set[int], passage: Passage, reach: int) -> float:
        """The share of some words that stand around a number, too."""
        if not here:
            return 0.0
        words = self.passages.words(passage)
        first = bisect_left(words, seen.start - reach, key=_end_of)
        there: set[int] = set()
        for word in islice(words, first, None):
            if word.start > seen.end + reach:
                break
            there.update(self.index.sought.of(word.text))
        return len(here & there) / len(here)

    def _is_others(self, claim: Read, fact: Fact, places: tuple[Passage, Passage], share: float) -> Steps[bool]:
        """The number stands beside another name than the claim's, which stands beside another number."""
        same, other = places
        lacking = (claim.names | claim.first) - same.found
        mine, theirs = same.found & claim.context, other.found & claim.context
        speaks = share >= _ALIKE or (yield from self._shared(fact, claim, other)) > 0
        return bool(lacking & other.found) and mine < theirs and speaks and self._names_another(same)

    def _names_another(self, passage: Passage) -> bool:
        """The passage holds a name that is not sought; a bare result holds none."""
        of = self.index.sought.of
        return any(passage.said[word.start].isupper() and not of(word.text) for word in self.passages.words(passage))

    def _against(self, claim: Read, fact: Fact, other: tuple[Passage, Fact]) -> Finding:
        passage, seen = other
        said = claim.text[fact.start : fact.end].strip()
        there = passage.said[seen.start : seen.end].strip()
        reason = f"the claim says {said}, the evidence {there}"
        return Finding("contradicted", reason, passage, seen.start)

    def _derived(self, fact: Fact, claim: Read, ranked: list[Passage]) -> Steps[str]:
        if not isinstance(fact, Quantity):
            return ""
        near = [one for one in claim.facts if isinstance(one, Quantity) and one is not fact]
        top = ranked[:_CALCULATED]
        seen: list[Quantity] = []
        for passage in top:
            facts = yield from self.passages.read(passage)
            yield
            if how := elapsed(fact, claim.text, facts):
                return how
            seen += [one for one in facts if isinstance(one, Quantity)]
        in_order = sorted(top, key=lambda one: (one.text, one.start))
        yield
        how = yield from derived(fact, claim.text, [*self.near, *near], seen, self.passages.columns(in_order))
        return how or self._counts.of(fact, claim, top)


def _within(verdict: Verdict, score: float, threshold: float) -> float:
    """The score, lowered by what the verdict found."""
    if verdict == "supported":
        return score if score >= threshold else threshold + (1 - threshold) * score / 2
    return threshold * score / 2 if verdict == "contradicted" else _DOUBT * score


def _end_of(word: Word) -> int:
    return word.end


def _alone(claim: Read, found: Match, days: Collection[str]) -> str:
    """A name of the claim that stands nowhere, the weekdays of its dates aside."""
    for word, slot in zip(claim.words, claim.slots, strict=True):
        if slot in claim.names | claim.first and slot not in found.found and word.text not in days:
            return claim.text[word.start : word.end]
    return ""
