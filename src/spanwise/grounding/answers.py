"""A whole answer, judged claim by claim against a pool of evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spanwise.grounding.claims import MOST, Claim, claims_of
from spanwise.grounding.features import Read, read
from spanwise.grounding.index import Index, Sought
from spanwise.grounding.linear import shipped
from spanwise.grounding.passages import trimmed
from spanwise.grounding.pool import SOURCES, Kind, Pool
from spanwise.grounding.quantities import Quantity, facts_in
from spanwise.grounding.verdicts import Judge, Verdict

_BLOCKS = 4
"""So many blocks of evidence are read in one step."""


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
    *_, last = steps(answer, pool)
    assert isinstance(last, Verdicts)
    return last


def steps(answer: str, pool: Pool) -> Iterator[Verdicts | None]:
    """The verdicts on an answer, last; before them a None after each step of the work.

    What an agent was told in its instructions does not mix with what it found: a claim that its findings neither
    support nor contradict is judged by the instructions alone.
    """
    claims = claims_of(answer)
    more, claims = len(claims) > MOST, claims[:MOST]
    sought = Sought()
    reads = [read(claim.sought, sought) if claim.checkable else None for claim in claims]
    courts = _courts(pool, sought) if any(reads) else []
    out: list[Judged] = []
    for claim, one in zip(claims, reads, strict=True):
        judged = _aside(claim)
        for court in courts if one is not None else ():
            if not court.ready:
                yield from court.prepare()
            said = court.judge(claim, one) if one is not None else judged
            judged = said if court is courts[0] or said.verdict == "supported" else judged
            yield None
            if judged.verdict != "unsupported":
                break
        out.append(judged)
    yield Verdicts(claims=tuple(out), more=more)


def _courts(pool: Pool, sought: Sought) -> list[_Court]:
    """One for what was found; where there is that, one for the instructions apart."""
    told = [at for at, piece in enumerate(pool.pieces) if piece.kind == "context"]
    rest = [at for at, piece in enumerate(pool.pieces) if piece.kind != "context"]
    asked = [fact for piece in pool.pieces if piece.kind == "query" for fact in facts_in(piece.text[:2_000])]
    near = [fact for fact in asked if isinstance(fact, Quantity)]
    if told and any(pool.pieces[at].kind in SOURCES for at in rest):
        return [_Court(pool, sought, rest, near), _Court(pool, sought, told, near)]
    return [_Court(pool, sought, range(len(pool.pieces)), near)]


class _Court:
    """Some pieces of evidence, and the judge by them."""

    def __init__(self, pool: Pool, sought: Sought, numbers: Sequence[int], near: Sequence[Quantity]) -> None:
        self.ready = False
        self._pool = pool
        self._numbers = numbers
        self._index = Index(sought)
        self._judge = Judge(self._index, shipped(), near)

    def prepare(self) -> Iterator[None]:
        """Read the evidence, in steps."""
        self.ready = True
        for number in self._numbers:
            for block, _ in enumerate(self._index.add(self._pool.pieces[number].text)):
                if block % _BLOCKS == _BLOCKS - 1:
                    yield None
            yield None

    def judge(self, claim: Claim, one: Read) -> Judged:
        """The verdict on a claim."""
        told = self._judge.judge(one)
        judged = replace(_aside(claim), verdict=told.verdict, score=told.score, reason=told.reason)
        passage = told.passage
        if passage is None or not (passage.found or told.verdict == "supported"):
            return judged
        first, last = trimmed(passage, around=told.at)
        begun = self._index.place(passage.text, passage.start)
        return _placed(judged, (begun + first, begun + last), self._numbers[passage.text], self._pool)


def _placed(one: Judged, place: tuple[int, int], number: int, pool: Pool) -> Judged:
    """A judged claim with the evidence behind it."""
    first, last = place
    piece = pool.pieces[number]
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
