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


def test_an_answer_that_nobody_knows() -> None:
    """Who says only that nobody knows admits it too; who goes on with a claim does not."""
    empty = found(10, "q", [])
    assert "not_applicable" == score_of(empty, answer="Hello. Nobody knows where Homer was born.").status
    assert 0.0 == score_of(empty, answer="Nobody knows exactly, but Homer was born in Thebes.").value


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


@pytest.mark.parametrize("expected", ["doc-1", ("",), (" ",), (3,), 7])
def test_expectations_are_checked(expected: object) -> None:
    """Expected documents are a list of texts, none of them empty."""
    with pytest.raises(ModelError, match=r"retrieval_relevance: expected is .*; give a list of ids, titles"):
        RetrievalRelevance(expected=expected)


def test_measures_are_checked() -> None:
    """A measure is one of those that there are."""
    with pytest.raises(ModelError, match="retrieval_relevance: measure is 'mrr'; give recall, f1, ndcg"):
        RetrievalRelevance(measure="mrr")


def test_expected_documents_of_a_failed_retrieval() -> None:
    """A retrieval that failed found nothing; that it did look for something is known."""
    score = score_of(found(10, "refund", None, failed=True), expected=("a",))
    assert (0.0, (Evidence(span_id=span_id(10), quote="refund"),)) == (score.value, score.evidence)


def test_expected_documents_of_a_partial_trace() -> None:
    """What is missing in a partial trace may be in what was lost; what was found there was found."""
    root = agent(1)
    lost = span(30, parent=29, name="lost")
    run = run_of(root, found(10, "q", [{"id": "a"}]), lost)
    assert not run.completeness.complete
    assert ["scored", "not_measurable"] == [RetrievalRelevance(expected=(one,))(run).status for one in "ab"]
    nothing = RetrievalRelevance(expected=("a",))(run_of(root, lost))
    assert ("not_measurable", True) == (nothing.status, "cannot be told: The trace is partial" in nothing.reason)


@pytest.mark.parametrize(
    ("expected", "pauses", "status"),
    [((), 0, "not_applicable"), (("a",), 2, "scored"), (("two words",), 2, "not_measurable")],
)
def test_steps_against_expected_documents(expected: tuple[str, ...], pauses: int, status: str) -> None:
    """There is a pause after each document that is read; the score is the last thing that is said."""
    run = run_of(agent(1), found(10, "q", [{"id": "a"}, {"id": "b"}]))
    *steps, score = RetrievalRelevance(expected=expected).steps(run)
    assert ([None] * pauses, status) == (steps, score.status if score else None)


def test_many_missing_documents() -> None:
    """Ten missing documents are named, the others counted."""
    score = score_of(found(10, "q", [{"id": "x"}]), expected=tuple(f"doc-{n}" for n in range(12)))
    assert 11 == len(score.issues)
    assert "2 more of the expected documents were not retrieved." == score.issues[-1]
    assert "Missing: doc-0, doc-1, doc-2 and 9 more." in score.reason


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


EXPECTED = st.lists(st.sampled_from(["a", "b", "c", "d", "refund policy"]), min_size=1, max_size=5)
IDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6)
LISTS = st.lists(IDS, min_size=1, max_size=4)
MEASURES = st.sampled_from(["recall", "f1", "ndcg"])


def against(expected: list[str], lists: list[list[str]], measure: str) -> Score:
    """The score of retrievals of documents with ids and texts against expected ones."""
    rows = [
        found(20 * n, "q", [{"id": one, "content": f"text {one}"} for one in ids]) for n, ids in enumerate(lists, 1)
    ]
    return score_of(*rows, expected=tuple(expected), measure=measure)


@given(EXPECTED, LISTS, MEASURES)
def test_against_expected_bounded(expected: list[str], lists: list[list[str]], measure: str) -> None:
    """Whatever is expected and found, the value lies in [0, 1]: 0 only if nothing of it was found."""
    value = against(expected, lists, measure).value
    assert value is not None
    assert 0.0 <= value <= 1.0
    assert (value > 0.0) == bool(set(expected) & {one for ids in lists for one in ids})


@given(EXPECTED, LISTS, MEASURES, st.randoms(use_true_random=False))
def test_order_of_what_is_expected(
    expected: list[str], lists: list[list[str]], measure: str, by: random.Random
) -> None:
    """Neither the order of expectations nor that of retrievals counts, and without ranks neither that of documents."""
    shuffled = [by.sample(expected, len(expected)), *by.sample(lists, len(lists))]
    if measure != "ndcg":
        shuffled = [by.sample(one, len(one)) for one in shuffled]
    assert against(expected, lists, measure).value == pytest.approx(against(shuffled[0], shuffled[1:], measure).value)


@given(EXPECTED, LISTS, IDS)
def test_another_retrieval_never_lowers_recall(expected: list[str], lists: list[list[str]], more: list[str]) -> None:
    """To look once more takes nothing away."""
    before, after = (against(expected, rows, "recall").value for rows in (lists, [*lists, more]))
    assert before is not None
    assert after is not None
    assert before <= after


@given(EXPECTED, MEASURES)
def test_what_was_expected_and_nothing_else(expected: list[str], measure: str) -> None:
    """To find what was expected, and only that, is a whole success by every measure."""
    ids = list(dict.fromkeys(expected))
    assert pytest.approx(1.0) == against(expected, [ids], measure).value
