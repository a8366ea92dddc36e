"""Did the retrievals find what they were asked for?

A retriever that records scores in [0, 1] is believed. Where it records none, the words of the query are looked for in
the documents, in the manner of BM25: words that few of the run's documents hold weigh up to twice as much as those that
all hold, a word that a long document mentions once counts less than one that it repeats, and the best document speaks
for the retrieval. A document that holds the query's words and is not longer than usual has a match of 1.

Where it is known which documents were to be found, neither counts: the value is how many of them were.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from spanwise.errors import ModelError
from spanwise.grounding.chatter import says_unknown
from spanwise.grounding.claims import claims_in
from spanwise.model.calls import Retrieval
from spanwise.model.content import Document, is_redacted
from spanwise.model.expectation import unseen
from spanwise.model.expected_documents import Found, found_of, listed
from spanwise.model.ports import outcome
from spanwise.model.score import Evidence, Score, not_applicable, not_measurable
from spanwise.model.trace import Run
from spanwise.stats import mean
from spanwise.text import excerpt, words

_NAME = "retrieval_relevance"
_MEASURES = ("recall", "f1", "ndcg")
_MOST = 10
_K1, _B = 1.2, 0.75
_REWORD = "See whether the library holds what was asked for; if so, reword the query or mend the index."
_ADMIT = "Tell the agent to say that it found nothing, or to search again with other words."

STOP_WORDS = frozenset(
    """a about all am an and any are as at be been being but by can could did do does for from had has have
    having he her him his how i if in into is it its itself may me might my no nor not of off on onto or our
    out over please shall she should so some such t than that the their them then there these they this those
    to too under up us was we were what when where which while who whom whose why will with would you your s d
    ll m re ve der die das den dem des ein eine einen einer eines und oder ist sind war waren wie was wer wo
    wann warum in im am an auf aus bei mit nach von vom zu zum zur für über le la les un une des du de et ou
    est sont qui que quoi où quand comment pourquoi dans sur pour avec par au aux el los las una unos unas y o
    es son qué quién cuándo cómo dónde en del al con por para""".split()
)
"""Words that say nothing of what is looked for, in English, German, French and Spanish."""

ADMISSIONS = (
    "could not find", "couldn't find", "cannot find", "can't find", "did not find", "didn't find", "not able to find",
    "unable to find", "unable to locate", "could not locate", "couldn't locate", "found no ", "found nothing",
    "nothing found", "nothing was found", "no results", "no result ", "no relevant", "no matching", "no documents",
    "no document ", "no information", "no record", "no data", "not find any", "no such", "don't have information",
    "do not have information", "don't have any information", "do not have any information", "don't have enough",
    "do not have enough", "not enough information", "insufficient information", "i don't know", "i do not know",
    "don't have access", "do not have access", "cannot answer", "can't answer", "unable to answer", "not available",
    "does not appear in", "doesn't appear in", "not mentioned", "nicht gefunden", "nichts gefunden", "nicht finden",
    "keine informationen", "keine ergebnisse", "weiss ich nicht", "weiss es nicht", "pas trouvé", "rien trouvé",
    "aucun résultat", "aucune information", "je ne sais pas", "no encontré", "no pude encontrar", "no he encontrado",
    "no hay información", "sin resultados", "no lo sé", "niemand weiss", "personne ne sait", "nadie sabe",
)  # fmt: skip
"""Phrases by which an answer says that it found nothing, letter case folded and apostrophes plain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRelevance:
    """The mean over the retrievals of the best document's recorded score, or of its lexical match with the query.

    A best document below `minimum` is an issue. An empty retrieval counts 0 if the answer does not say so and nothing
    found later explains it; if it does, it counts neither way, and neither does a retrieval that failed. `admissions`
    are further phrases by which answers say that nothing was found.

    With `expected`, ids, titles, addresses or texts of documents, the value is the share of these that the run
    retrieved, or by `measure` F1 or NDCG against them, and none of the above counts.
    """

    minimum: float = 0.7
    admissions: tuple[str, ...] = ()
    expected: tuple[str, ...] | None = None
    measure: Literal["recall", "f1", "ndcg"] = "recall"

    def __post_init__(self) -> None:
        if not _is_share(self.minimum):
            raise ModelError(f"retrieval_relevance: minimum is {self.minimum!r}; give a number from 0 to 1.")
        if not _are_phrases(self.admissions):
            raise ModelError(
                f"retrieval_relevance: admissions are {self.admissions!r}; give a list of phrases, none of them empty."
            )
        if self.expected is not None and not _are_phrases(self.expected):
            raise ModelError(
                f"retrieval_relevance: expected is {self.expected!r}; give a list of ids, titles, addresses or texts, "
                "none of them empty."
            )
        if self.measure not in _MEASURES:
            raise ModelError(f"retrieval_relevance: measure is {self.measure!r}; give {', '.join(_MEASURES)}.")

    def __call__(self, run: Run, /) -> Score:
        return outcome(self.steps(run))

    def steps(self, run: Run, /) -> Iterator[Score | None]:
        """The score, last, with a pause after each retrieval whose documents are read."""
        if self.expected is not None:
            yield from self._against(run, self.expected)
            return
        if not run.retrievals:
            yield _nothing(run)
            return
        worked = [one for one in run.retrievals if not one.failed]
        outside = next((one for one in worked if _outside(one)), None)
        if outside is not None:
            yield not_measurable(_NAME, _why_outside(outside))
            return
        found = [one for one in worked if one.documents]
        empty = [one for one in worked if one.documents is not None and not one.documents]
        unfounded, unclear = self._without_ground(run, empty)
        best = yield from _judged(found)
        values = [one.value for one in best] + [0.0] * len(unfounded)
        if not values:
            yield _unjudged(run, worked, empty, unclear)
            return
        low = [one for one in best if one.value < self.minimum]
        evidence: list[Evidence] = []
        issues: list[str] = []
        for one in low:
            evidence.append(Evidence(span_id=one.retrieval.span_id, quote=excerpt(one.document.content)))
            issues.append(_issue(one))
            yield None
        skipped = len(run.retrievals) - len(values)
        yield Score(
            name=_NAME,
            value=min(mean(values), 1.0),
            reason=_reason(best, len(unfounded), skipped),
            evidence=(
                *evidence,
                *(Evidence(span_id=one.span_id, quote=excerpt(one.query)) for one in unfounded),
            ),
            issues=(*issues, *(_issue_of_empty(one, run) for one in unfounded)),
            recommendations=((_REWORD,) if low else ()) + ((_ADMIT,) if unfounded else ()),
        )

    def _against(self, run: Run, expected: Sequence[str]) -> Iterator[Score | None]:
        """How many of the expected documents were found."""
        if not expected:
            yield not_applicable(_NAME, "No document was expected.")
            return
        worked = [one for one in run.retrievals if not one.failed]
        found = yield from found_of(expected, worked)
        why = _unsure(run, found, self.measure)
        if why:
            yield not_measurable(_NAME, why)
            return
        looked = run.retrievals[:_MOST] if found.missing else ()
        yield Score(
            name=_NAME,
            value={"recall": found.recall, "f1": found.f1, "ndcg": found.ndcg}[self.measure],
            reason=found.told,
            evidence=tuple(Evidence(span_id=one.span_id, quote=excerpt(one.query)) for one in looked),
            issues=found.issues,
            recommendations=(_REWORD,) if found.missing else (),
        )

    def _without_ground(self, run: Run, empty: Sequence[Retrieval]) -> tuple[list[Retrieval], list[Retrieval]]:
        """The empty retrievals that the answer ignores, and those of which that is not known."""
        if not empty:
            return [], []
        around = _around(run)
        later = [one.start_ns for one in run.retrievals if one.documents and not one.failed]
        later += [call.start_ns for call in run.work if call.status == "ok" and call.span not in around]
        latest = max(later, default=-1)
        alone = [one for one in empty if latest < one.end_ns]
        if run.answer is None:  # a run that ended in a failure answered nothing
            return [], alone if run.lacks("answer") is not None else []
        said = " ".join(run.answer.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()) + " "
        phrases = (*ADMISSIONS, *(" ".join(one.casefold().split()) for one in self.admissions))
        admitted = any(phrase in said for phrase in phrases) or any(
            says_unknown(one.text) for one in claims_in(run.answer)
        )
        return ([], []) if admitted else (alone, [])


def _unsure(run: Run, found: Found, measure: str) -> str:
    """Why it is not known what was found of the expected documents; empty where it is."""
    if not run.retrievals:
        why = unseen(run)
        tools = listed([call.name for call in run.work if not call.failed])
        if tools and not why:
            why = f"no retrieval left a span, and {tools} may have retrieved. Instrument the retriever."
        return f"Whether the expected documents were retrieved cannot be told: {why}" if why else ""
    if not found.missing and measure != "f1":
        return ""
    if not run.completeness.complete:
        return f"The trace is partial: {'; '.join(run.completeness.reasons)}."
    if not found.unknown and not (found.unread and measure == "f1"):
        return ""
    why = "Some are recorded without an id, a title or a text to know them by."
    if found.unread:
        why = str(run.lacks("documents") or "")
    of = f"{listed(found.unknown)} was" if found.unknown else "other documents were"
    return f"Whether {of} retrieved cannot be told: {why}"


class _Best(NamedTuple):
    """A retrieval, its value, the document that speaks for it, and whether the value is a recorded score."""

    retrieval: Retrieval
    value: float
    document: Document
    recorded: bool


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def _are_phrases(value: object) -> bool:
    """Whether this is a list of phrases; text alone is none, its letters are no phrases."""
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(one, str) and one.strip() for one in cast("Sequence[object]", value))


def _around(run: Run) -> Collection[int]:
    """The spans that hold a retrieval: a tool that only retrieves found what the retrieval found."""
    spans = run.trace.spans
    out: set[int] = set()
    for one in run.retrievals:
        at = spans[one.span].holder
        while at >= 0 and at not in out:
            out.add(at)
            at = spans[at].holder
    return out


def _nothing(run: Run) -> Score:
    unseen = str(run.lacks("spans") or "")
    if unseen:
        return not_measurable(_NAME, unseen)
    return not_applicable(_NAME, "The run retrieved nothing.")


def _outside(one: Retrieval) -> bool:
    return any(document.score is not None and not 0.0 <= document.score <= 1.0 for document in one.documents or ())


def _why_outside(one: Retrieval) -> str:
    score = next(d.score for d in one.documents or () if d.score is not None and not 0.0 <= d.score <= 1.0)
    return (
        f"The retriever records scores outside [0, 1], such as {score:.6g} for {_asked(one)}: distances and "
        "unnormalised scores have no known best. Have it record similarities from 0 to 1."
    )


def _asked(one: Retrieval) -> str:
    return f"'{excerpt(one.query, limit=80)}'" if one.query else "a query that is not recorded"


def _judged(found: Sequence[Retrieval]) -> Generator[None, None, list[_Best]]:
    """The retrievals whose documents tell how well they fit, by a recorded score, else by their words."""
    out: list[_Best] = []
    library: _Library | None = None
    for one in found:
        yield None
        documents = one.documents or ()
        scored = [document for document in documents if document.score is not None]
        if scored:
            best = max(scored, key=lambda document: document.score or 0.0)
            out.append(_Best(one, best.score or 0.0, best, recorded=True))
            continue
        query = words(one.query) if one.query and not is_redacted(one.query) else []
        library = library or (yield from _Library.of(found))
        texts = [document for document in documents if document.content in library.held]
        if texts and query:
            matches = [library.match(query, document.content or "") for document in texts]
            at = max(range(len(texts)), key=matches.__getitem__)
            out.append(_Best(one, matches[at], texts[at], recorded=False))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Library:
    """What a run's documents, each text counted once, hold of the words that were looked for.

    `held` has the length of each text and how often it holds each of those words. A word that every text holds weighs
    1, one that a single text of many holds, or none, up to 2.
    """

    held: Mapping[str, tuple[int, Mapping[str, int]]]
    weights: Mapping[str, float]
    usual: float

    @classmethod
    def of(cls, retrievals: Sequence[Retrieval]) -> Generator[None, None, _Library]:
        """The documents of these retrievals, as far as their texts are recorded."""
        sought = {word for one in retrievals for word in words(one.query or "")}
        held: dict[str, tuple[int, Mapping[str, int]]] = {}
        holding = dict.fromkeys(sought, 0)
        for text in (document.content for one in retrievals for document in one.documents or ()):
            if text and text not in held and not is_redacted(text):
                all_words = words(text)
                found = Counter(filter(sought.__contains__, all_words))
                held[text] = len(all_words), found
                for word in found:
                    holding[word] += 1
                yield None
        many = len(held) + 1
        weights = {
            word: 1.0 + math.log(many / (max(times, 1) + 1)) / math.log(many) if held else 1.0
            for word, times in holding.items()
        }
        return cls(held=held, weights=weights, usual=mean([length for length, _ in held.values()]) if held else 0.0)

    def match(self, query: Sequence[str], text: str) -> float:
        """The weighted share of the query's words that the text holds, in [0, 1]."""
        length, held = self.held[text]
        spread = _K1 * (1.0 - _B + _B * max(length / max(self.usual, len(query)), 1.0))
        got = total = 0.0
        distinct = set(query)
        for word in sorted(distinct - STOP_WORDS or distinct):  # in one order: sums of floats depend on it
            weight = self.weights[word]
            total += weight
            times = held.get(word)
            if times:
                got += weight * min(1.0, times * (_K1 + 1.0) / (times + spread))
        return min(got / total, 1.0)


def _unjudged(run: Run, worked: Sequence[Retrieval], empty: Sequence[Retrieval], unclear: Sequence[Retrieval]) -> Score:
    """Nothing to take a mean of: because there is none, or because it is not recorded."""
    if unclear:
        why = str(run.lacks("answer") or "The answer is not recorded.")
        said = f"A retrieval found nothing, and whether the answer says so cannot be told: {why}"
        return not_measurable(_NAME, said)
    if not worked:
        return not_applicable(_NAME, "Every retrieval failed, so there is no document to judge.")
    if len(empty) == len(worked):
        return not_applicable(_NAME, "Nothing was found, and the answer says so or rests on something else.")
    why = str(run.lacks("documents") or "")
    said = why or "The documents are recorded without scores, and their texts or the query are not recorded."
    return not_measurable(_NAME, said)


def _reason(best: Sequence[_Best], unfounded: int, skipped: int) -> str:
    recorded = sum(one.recorded for one in best)
    parts = [
        f"{count} {what}"
        for count, what in (
            (recorded, "by recorded scores"),
            (len(best) - recorded, "by the words of query and documents"),
            (unfounded, "empty and answered nonetheless"),
        )
        if count
    ]
    total = len(best) + unfounded
    said = f"{total} retrieval{'s' if total > 1 else ''} judged: {', '.join(parts)}."
    return said + (f" {skipped} left out: failed, empty with cause, or not recorded whole." if skipped else "")


def _issue(best: _Best) -> str:
    how = f"has a score of {best.value:.2f}" if best.recorded else f"matches {best.value:.0%} of its words"
    document = best.document
    what = f"document {document.id}" if document.id else excerpt(document.content, limit=60)
    return f"The best document for {_asked(best.retrieval)} {how}" + (f": {what}" if what else ".")


def _issue_of_empty(one: Retrieval, run: Run) -> str:
    return f"Nothing was found for {_asked(one)}, yet the answer does not say so: {excerpt(run.answer, limit=80)}"
