"""The answer to one question: does this evidence support this claim?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.grounding.chatter import why_not
from spanwise.grounding.features import NAMES, read
from spanwise.grounding.index import Index, Sought
from spanwise.grounding.linear import Weights, shipped
from spanwise.grounding.passages import trimmed
from spanwise.grounding.verdicts import Judge, Told, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How far some evidence bears out a claim.

    `score` lies in [0, 1] and orders claims: the higher, the better supported. `verdict` says what follows from it and
    from the numbers, dates, names and negations in it. `quote` is the passage that speaks for the claim, or against it,
    or that comes closest, verbatim: from `start` to `end` of `evidence[index]`; where there is none, `index` is -1.
    `parts` are the features behind the score, by name.
    """

    score: float
    verdict: Verdict
    reason: str = ""
    quote: str = ""
    index: int = -1
    start: int = 0
    end: int = 0
    parts: Mapping[str, float] = field(default_factory=dict[str, float])


def check(claim: str, evidence: str | Sequence[str]) -> Support:
    """Whether the evidence supports a claim, contradicts it, or neither.

    Texts that follow one another are read as one: a list of sentences is the page that they were taken from. JSON is
    read as data. A claim that claims nothing (a question, a greeting, a guess) is `not_checkable`; it has a score
    nonetheless. For a whole answer use `spanwise ground`, which takes it apart.
    """
    return check_by(claim, evidence, shipped())


def check_by(claim: str, evidence: str | Sequence[str], weights: Weights) -> Support:
    """The same by other weights than those of the package."""
    texts = [evidence] if isinstance(evidence, str) else list(evidence)
    sought = Sought()
    one = read(claim, sought)
    index = Index(sought)
    for _ in index.add("\n".join(texts)):
        pass
    told = Judge(index, weights).judge(one)
    why = why_not(claim)
    verdict: Verdict = "not_checkable" if why else told.verdict
    return _support(told, verdict, why or told.reason, index, texts)


def _support(told: Told, verdict: Verdict, reason: str, index: Index, texts: Sequence[str]) -> Support:
    parts: dict[str, float] = dict(zip(NAMES, told.match.values, strict=True))
    passage = told.passage
    if passage is None or not passage.found:
        return Support(score=told.score, verdict=verdict, reason=reason, parts=parts)
    first, last = trimmed(passage, around=told.at)
    begun = index.place(0, passage.start)
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    at = min(bisect_right(starts, begun + first) - 1, len(texts) - 1)
    start, end = begun + first - starts[at], min(begun + last - starts[at], len(texts[at]))
    return Support(
        score=told.score,
        verdict=verdict,
        reason=reason,
        quote=texts[at][start:end],
        index=at,
        start=start,
        end=end,
        parts=parts,
    )
