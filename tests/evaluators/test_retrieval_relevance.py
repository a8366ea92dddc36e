"""Did the retrievals find what they were asked for?"""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import ModelError
from spanwise.evaluators.retrieval_relevance import ADMISSIONS, RetrievalRelevance
from spanwise.model.raw import RawSpan
from spanwise.model.score import Evidence, Score
from tests.evaluators.conformance import Case, cases_of, check, told
from tests.making import agent, run_of, says, span, span_id, user


def found(
    number: int, query: str | None, documents: object, *, failed: bool = False, start: int | None = None
) -> RawSpan:
    """The span of a retrieval."""
    attributes: dict[str, object] = {"gen_ai.operation.name": "retrieval"}
    if query is not None:
        attributes["gen_ai.retrieval.query.text"] = query
    if documents is not None:
        attributes["gen_ai.retrieval.documents"] = json.dumps(documents)
    return span(
        number, parent=1, name="retrieval", attributes=attributes, status=2 if failed else 0, start=start
    )  # fmt: skip


def texts(*contents: str) -> list[dict[str, object]]:
    """Documents of these texts."""
    return [{"content": one} for one in contents]


def score_of(*spans: RawSpan, answer: str | None = None, failed: bool = False, **parameters: object) -> Score:
    """The score of a run of these spans below one agent."""
    more = {} if answer is None else {"gen_ai.output.messages": json.dumps([says(answer)])}
    root = agent(1, **{"gen_ai.input.messages": json.dumps([user("q")]), **more})
    root.status_code = 2 if failed else 0
    return RetrievalRelevance(**parameters)(run_of(root, *spans))


@pytest.mark.parametrize("case", cases_of("retrieval_relevance"), ids=told)
def test_conformance(case: Case) -> None:
    """The evaluator says of each case what the case expects."""
    check(case, RetrievalRelevance)


def test_a_whole_result() -> None:
    """Recorded scores, words and an ignored empty retrieval side by side; each is told."""
    score = score_of(
        found(10, "refunds", [{"id": "a", "score": 0.6, "content": "Shipping"}, {"id": "b", "score": 0.1}]),
        found(20, "opening hours", texts("Opening hours!")),
        found(30, "pets", []),
        found(40, "off", None),
        found(50, "broken", None, failed=True),
        answer="Pets are welcome.",
    )
    assert (
        Score(
            name="retrieval_relevance",
            value=1.6 / 3,
            reason="3 retrievals judged: 1 by recorded scores, 1 by the words of query and documents, 1 empty and "
            "answered nonetheless. 2 left out: failed, empty with cause, or not recorded whole.",
            evidence=(Evidence(span_id=span_id(10), quote="Shipping"), Evidence(span_id=span_id(30), quote="pets")),
            issues=(
                "The best document for 'refunds' has a score of 0.60: document a",
                "Nothing was found for 'pets', yet the answer does not say so: Pets are welcome.",
            ),
            recommendations=(
                "See whether the library holds what was asked for; if so, reword the query or mend the index.",
                "Tell the agent to say that it found nothing, or to search again with other words.",
            ),
        )
        == score
    )


def test_a_word_in_a_long_document() -> None:
    """A long document that mentions a word once counts less than a short one, and more when it repeats the word."""
    long = "refund " + "word " * 59
    short = texts("a b", "c d")
    once, often = (
        score_of(found(10, "refund", texts(one)), found(20, "a", short)).value for one in (long, long + "refund " * 3)
    )
    assert once is not None
    assert often is not None
    assert 0.5 < once < often <= 1.0


def test_identical_words() -> None:
    """A document that is the query itself matches wholly, however short the others are."""
    query = "What is the refund policy of the shop"
    assert 1.0 == score_of(found(10, query, texts("a b", query, "c"))).value


def test_a_query_of_small_words() -> None:
    """Where a query has no other words its small ones count."""
    assert [1.0, 0.0] == [score_of(found(10, "to be or not", texts(one))).value for one in ("not to be or", "bee")]


def test_what_has_no_words() -> None:
    """A query without words or not recorded, and texts that were removed, match nothing: they are left out."""
    for query, document in (("?!", "a"), (None, "a"), ("[REDACTED]", "a"), ("a", "[REDACTED]"), ("a", "")):
        assert "not_measurable" == score_of(found(10, query, texts(document))).status
    assert [0.0, 0.0] == [score_of(found(10, "a b", texts(one))).value for one in ("?!", "  ")]
    low = score_of(found(10, None, [{"score": 0.5}]))
    assert ("The best document for a query that is not recorded has a score of 0.50.",) == low.issues


def test_all_failed() -> None:
    """Retrievals that failed found nothing to judge."""
    score = score_of(found(10, "q", None, failed=True))
    assert ("not_applicable", "Every retrieval failed, so there is no document to judge.") == (
        score.status,
        score.reason,
    )


def test_a_run_that_failed() -> None:
    """A run that ended in a failure gave no confident answer."""
    assert "not_applicable" == score_of(found(10, "q", []), failed=True).status


def test_empty_at_the_same_time() -> None:
    """A retrieval that began before the empty one was over is no second try."""
    side_by_side = (found(10, "a", [], start=10), found(11, "b", [{"score": 1.0}], start=11))
    assert 0.5 == score_of(*side_by_side, answer="Sure.").value


@pytest.mark.parametrize("phrase", ADMISSIONS)
def test_admissions(phrase: str) -> None:
    """Each phrase is found in an answer, whatever its case and line breaks."""
    assert phrase == phrase.casefold()
    written = str.maketrans({"'": "\N{RIGHT SINGLE QUOTATION MARK}", " ": "\n"})
    answer = f"Sorry: {phrase.strip().capitalize()} here".translate(written)
    assert "not_applicable" == score_of(found(10, "q", []), answer=answer).status


def test_nothing_known_of_the_run() -> None:
    """Spans of no dialect tell no retrieval."""
    score = RetrievalRelevance()(run_of(span(1)))
    assert "not_measurable" == score.status
    assert "Instrument the framework" in score.reason


@pytest.mark.parametrize("minimum", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_minima_are_checked(minimum: object) -> None:
    """A minimum is a share."""
    with pytest.raises(ModelError, match=r"retrieval_relevance: minimum is .*; give a number from 0 to 1"):
        RetrievalRelevance(minimum=minimum)


@pytest.mark.parametrize("admissions", ["text", None, ("",), (" ",), (3,)])
def test_phrases_are_checked(admissions: object) -> None:
    """Phrases are a list of texts: an empty one would be found in every answer."""
    with pytest.raises(ModelError, match=r"retrieval_relevance: admissions are .*; give a list of phrases"):
        RetrievalRelevance(admissions=admissions)


# Laws

WORDS = st.sampled_from(["refund", "policy", "shop", "hours", "the", "of", "Straße"])
TEXT = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({}, optional={"content": TEXT, "score": st.floats(0, 1), "id": st.just("d")}), max_size=4
)
RETRIEVALS = st.lists(st.tuples(TEXT, st.none() | DOCUMENTS, st.booleans()), min_size=1, max_size=5)


def spans_of(rows: list[tuple[str, object, bool]]) -> list[RawSpan]:
    """Retrievals one after the other."""
    return [found(20 * n, query, documents, failed=bad) for n, (query, documents, bad) in enumerate(rows, start=1)]


@given(RETRIEVALS, st.none() | TEXT)
def test_bounded(rows: list[tuple[str, object, bool]], answer: str | None) -> None:
    """A score lies in [0, 1]."""
    value = score_of(*spans_of(rows), answer=answer).value
    assert value is None or 0.0 <= value <= 1.0


@given(TEXT, st.lists(TEXT, max_size=4))
def test_the_query_among_the_documents(query: str, others: list[str]) -> None:
    """Among any documents, one that is the query's own words matches wholly."""
    assert 1.0 == score_of(found(10, query, texts(*others, query))).value


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0, 1))
def test_another_document_never_lowers_it(scores: list[float], more: float) -> None:
    """The best document speaks for a retrieval: one more makes it no worse."""
    before = score_of(found(10, "q", [{"score": one} for one in scores])).value
    after = score_of(found(10, "q", [{"score": one} for one in (more, *scores)])).value
    assert before == max(scores)
    assert after == max(more, *scores)


@given(RETRIEVALS, st.randoms(use_true_random=False), st.lists(st.integers(1, 90), max_size=5))
def test_order_of_arrival_and_other_spans(
    rows: list[tuple[str, object, bool]], shuffler: random.Random, others: list[int]
) -> None:
    """Neither the order in which spans arrive nor spans that are no work of the agent change the score."""
    spans = spans_of(rows)
    more = [*spans, *(span(1000 + n, parent=1, start=at, end=at) for n, at in enumerate(others))]
    shuffler.shuffle(more)
    assert score_of(*spans, answer="Yes.") == score_of(*more, answer="Yes.")
