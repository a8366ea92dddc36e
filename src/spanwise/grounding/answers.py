"""A whole answer, or all messages of a run, judged claim by claim against a pool of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from spanwise.grounding.claims import MOST, Claim, claims_in
from spanwise.grounding.features import Read, reading
from spanwise.grounding.index import Index, Sought
from spanwise.grounding.linear import shipped
from spanwise.grounding.passages import trimmed
from spanwise.grounding.pool import SOURCES, Kind, Pool
from spanwise.grounding.quantities import Quantity, facts_in
from spanwise.grounding.steps import Steps, finish
from spanwise.grounding.verdicts import Judge, Verdict

ALL = 1_000
"""So many claims of all messages are judged, those of the last ones if there are more."""
_ASKED = 2_000


class Message(NamedTuple):
    """A text that was said, by which span, and when: it may rest on what had been seen by then; None is on all."""

    text: str
    span_id: str = ""
    at_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A claim of an answer, and the evidence for or against it.

    `start` and `end` say where the claim stands in the answer, `first` and `last` where `quote` stands in the text of
    the evidence; `kind` and `span_id` say what recorded that, and `piece` is its number in the pool, -1 for none.
    """

    claim: str
    start: int
    end: int
    verdict: Verdict
    score: float
    reason: str = ""
    quote: str = ""
    first: int = 0
    last: int = 0
    piece: int = -1
    kind: Kind | None = None
    span_id: str = ""
    message: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What became of an answer's claims."""

    claims: tuple[Judged, ...]
    more: bool = False
    """The answer holds more claims than were judged."""

    def of(self, verdict: Verdict) -> list[Judged]:
        """The claims with a verdict."""
        return [one for one in self.claims if one.verdict == verdict]

    @property
    def value(self) -> float | None:
        """S / (s + u + 2c) over supported, unsupported and contradicted claims; None without any."""
        good, open_, bad = (len(self.of(one)) for one in ("supported", "unsupported", "contradicted"))
        total = good + open_ + 2 * bad
        return good / total if total else None


def judge(answer: str, pool: Pool) -> Verdicts:
    """The verdicts on an answer."""
    return judge_all([Message(answer)], pool)


def judge_all(messages: Sequence[Message], pool: Pool) -> Verdicts:
    """The verdicts on some messages, each judged by what had been seen before it."""
    return finish(judging(messages, pool))


def judging(messages: Sequence[Message], pool: Pool) -> Steps[Verdicts]:
    """The verdicts on all claims of some messages, which follow one another in time, in steps.

    What an agent was told in its instructions does not mix with what it found: a claim that its findings neither
    support nor contradict is judged by the instructions alone.
    """
    taken, more = yield from _taken(messages)
    sought = Sought()
    reads: list[list[Read | None]] = []
    for claims in taken:
        reads.append([])
        for claim in claims:
            one = (yield from reading(claim.sought, sought)) if claim.checkable else None
            reads[-1].append(one)
    evidence = _Evidence(pool, sought)
    out: list[Judged] = []
    for number, (message, claims) in enumerate(zip(messages, taken, strict=True)):
        courts = evidence.before(message.at_ns) if any(reads[number]) else ()
        for court in courts:
            court.open()
        for claim, one in zip(claims, reads[number], strict=True):
            judged = _aside(claim) if one is None else (yield from _judged(claim, one, courts))
            out.append(replace(judged, message=number) if number else judged)
    yield from evidence.forget()
    return Verdicts(claims=tuple(out), more=more)


def _taken(messages: Sequence[Message]) -> Steps[tuple[list[list[Claim]], bool]]:
    """The claims of each message, from the last one back as many as are judged, and whether there are more."""
    out: list[list[Claim]] = []
    left, more = ALL, False
    for message in reversed(messages):
        claims: list[Claim] = []
        for claim in claims_in(message.text) if left else ():
            claims.append(claim)
            yield
        most = min(left, MOST)
        more = more or not left or len(claims) > most
        out.append(claims[:most])
        left -= len(out[-1])
    return out[::-1], more


def _judged(claim: Claim, one: Read, courts: Sequence[_Court]) -> Steps[Judged]:
    """The verdict of the first court that has one; the others are asked where it leaves the claim open."""
    judged = _aside(claim)
    for court in courts:
        yield from court.prepare()
        said = yield from court.judge(claim, one)
        judged = said if court is courts[0] or said.verdict == "supported" else judged
        yield
        if judged.verdict != "unsupported":
            break
    return judged


class _Evidence:
    """The evidence as it grows in time: one court for what was found; where there is that, one for instructions."""

    def __init__(self, pool: Pool, sought: Sought) -> None:
        self._pool = pool
        self._sought = sought
        self._seen = 0
        self._told: list[int] = []
        self._rest: list[int] = []
        self._found = False
        self._courts: list[_Court] = []
        asked = [facts_in(piece.text[:_ASKED]) for piece in pool.pieces if piece.kind == "query"]
        self._near = [fact for facts in asked for fact in facts if isinstance(fact, Quantity)]

    def before(self, at_ns: int | None) -> Sequence[_Court]:
        """The courts by what had been seen at a time."""
        pieces = self._pool.pieces[self._seen :]
        fresh = list(pieces if at_ns is None else takewhile(lambda piece: piece.at_ns <= at_ns, pieces))
        apart = bool(self._told and self._found)
        for at, piece in enumerate(fresh, start=self._seen):
            (self._told if piece.kind == "context" else self._rest).append(at)
            self._found = self._found or piece.kind in SOURCES
        self._seen += len(fresh)
        if self._told and self._found:
            rows = [self._rest, self._told]
        else:
            rows = [sorted([*self._told, *self._rest])]
        if not self._courts or apart != bool(self._told and self._found):
            self._courts = [_Court(self._pool, self._sought, self._near) for _ in rows]
        for court, row in zip(self._courts, rows, strict=True):
            court.numbers = list(row)
        return self._courts

    def forget(self) -> Steps[None]:
        """Let go of what was read, in steps."""
        for court in self._courts:
            yield from court.forget()


class _Court:
    """Some pieces of evidence, and the judge by them."""

    def __init__(self, pool: Pool, sought: Sought, near: Sequence[Quantity]) -> None:
        self.numbers: list[int] = []
        self._pool = pool
        self._near = near
        self._index = Index(sought)
        self._judge = Judge(self._index, shipped(), near)

    def open(self) -> None:
        """Another message is judged: what the ones before it calculated with is no part of it."""
        self._judge.near = self._near

    def prepare(self) -> Steps[None]:
        """Read what of the evidence was not read yet, in steps."""
        for number in self.numbers[len(self._index.texts) :]:
            piece = self._pool.pieces[number]
            yield from self._index.add(piece.heading + piece.text)

    def forget(self) -> Steps[None]:
        """Let go of what was read, in steps."""
        yield from self._judge.passages.forget()
        yield from self._index.forget()

    def judge(self, claim: Claim, one: Read) -> Steps[Judged]:
        """The verdict on a claim."""
        told = yield from self._judge.steps(one)
        judged = replace(_aside(claim), verdict=told.verdict, score=told.score, reason=told.reason)
        passage = told.passage
        if passage is None or not (passage.found or told.verdict == "supported"):
            return judged
        first, last = trimmed(passage, around=told.at)
        begun = self._index.place(passage.text, passage.start)
        number = self.numbers[passage.text]
        if told.verdict == "supported" and not self._pool.pieces[number].is_about(claim.text):
            return replace(judged, verdict="unsupported", score=0.0)
        return _placed(judged, (begun + first, begun + last), number, self._pool)


def _placed(one: Judged, place: tuple[int, int], number: int, pool: Pool) -> Judged:
    """A judged claim with the evidence behind it."""
    piece = pool.pieces[number]
    first, last = (max(at - len(piece.heading), 0) for at in place)
    if piece.heading and first >= last:
        first, last = 0, len(piece.text)
    return replace(
        one,
        quote=piece.text[first:last],
        first=first,
        last=last,
        piece=number,
        kind=piece.kind,
        span_id=piece.span_id,
    )


def _aside(claim: Claim) -> Judged:
    return Judged(
        claim=claim.text, start=claim.start, end=claim.end, verdict="not_checkable", score=0.0, reason=claim.why
    )
