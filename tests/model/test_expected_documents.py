"""Which of the documents that were to be found a run retrieved."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from spanwise.model.calls import Retrieval
from spanwise.model.content import Document
from spanwise.model.expected_documents import Found, found_of, listed


def found(expected: Sequence[str], *lists: Sequence[Document] | None) -> Found:
    """What these lists of documents have of the expected ones."""

    def whole() -> Generator[None, None, Found]:
        return (
            yield from found_of(expected, [Retrieval(documents=None if one is None else tuple(one)) for one in lists])
        )

    steps = whole()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


@pytest.mark.parametrize(
    ("expected", "document"),
    [
        ("doc-1", Document(id="doc-1")),
        (" doc-1 ", Document(id="doc-1 ")),
        ("Refund Policy", Document(id="7", names=("refund-policy",))),
        ("handbook.pdf", Document(id="7", names=("Handbook.pdf",))),
        ("shop.test/a", Document(id="https://www.shop.test/a/")),
        ("https://shop.test/a", Document(names=("http://shop.test/A",))),
        ("Straße des 17. Juni", Document(content="STRASSE des 17. Juni")),
        ("???", Document(content="???")),
        ("https", Document(names=("HTTPS",))),
    ],
)
def test_documents_are_recognised(expected: str, document: Document) -> None:
    """A document is known by its id as it is, by titles, addresses and texts as they are worded."""
    assert ((1,), (), 1) == ((one := found([expected], [document])).ranks, one.missing, one.right)


@pytest.mark.parametrize(
    ("expected", "document"),
    [
        ("doc-1", Document(id="DOC 1")),
        ("doc-1", Document(id="doc-10")),
        ("refund policy", Document(id="7", names=("refund policy of 2024",))),
        ("30 days", Document(id="7", content="returned within 30 days")),
    ],
)
def test_documents_that_are_others(expected: str, document: Document) -> None:
    """Ids are not compared by their words, and a part of a title or of a text is not the whole."""
    one = found([expected], [document])
    assert ((), (expected,), ()) == (one.ranks, one.missing, one.unknown)


@pytest.mark.parametrize(
    ("expected", "document", "known"),
    [
        ("doc-1", Document(id="a"), True),
        ("doc-1", Document(content="text"), False),
        ("doc-1", Document(names=("Title",)), True),
        ("two words", Document(id="a"), False),
        ("two words", Document(id="a", content="[REDACTED]"), False),
        ("two words", Document(id="a", content="begins [truncated]"), False),
        ("two words", Document(content="other text"), True),
        ("two words", Document(names=("Title",)), True),
        ("doc-1", Document(score=0.5), False),
    ],
)
def test_what_is_known_to_be_missing(expected: str, document: Document, *, known: bool) -> None:
    """A document is known not to be the expected one if what would tell is recorded."""
    one = found([expected], [document])
    assert ((expected,), not known) == (one.missing, bool(one.unknown))


def test_measures() -> None:
    """Two of three are found, on the ranks 1 and 3, among four documents."""
    documents = [Document(id=one) for one in ("a", "x", "x", "b", "y")]
    one = found(["a", "b", "c"], documents)
    assert ((1, 3), 4, 2, ("x", "y"), ("c",)) == (one.ranks, one.retrieved, one.right, one.others, one.missing)
    assert (2 / 3, 0.5, 4 / 7) == (one.recall, one.precision, pytest.approx(one.f1))
    assert pytest.approx((1 + 0.5) / (1 + 1 / 1.584962500721156 + 0.5)) == one.ndcg
    none = found(["a"], [])
    assert (0.0, 0.0, 0.0, 0.0, False) == (none.recall, none.precision, none.f1, none.ndcg, none.unread)


def test_documents_on_top_of_two_lists() -> None:
    """Two documents on top of two lists are no more than a whole success."""
    assert 1.0 == found(["a", "b"], [Document(id="a")], [Document(id="b")]).ndcg


def test_one_document_expected_twice() -> None:
    """What is expected by two names is found by both, and is one document."""
    one = found(["a", "Title", "a"], [Document(id="a", names=("title",))])
    assert (("a", "Title"), (1, 1), 1) == (one.expected, one.ranks, one.retrieved)


def test_documents_without_a_name() -> None:
    """Documents that tell nothing are as many as there are; those of the same text are one."""
    documents = [Document(), Document(), Document(content="same"), Document(content="same")]
    assert 3 == found(["a"], documents).retrieved


def test_retrievals_that_are_not_read() -> None:
    """Of a retrieval that does not tell its documents nothing is known."""
    assert (("b",), True) == ((one := found(["a", "b"], [Document(id="a")], None)).unknown, one.unread)


def test_names_in_a_row() -> None:
    """Three names are told, each once."""
    assert ("", "a, b", "a, b, c and 2 more") == (listed([]), listed("aab"), listed("abcde"))
