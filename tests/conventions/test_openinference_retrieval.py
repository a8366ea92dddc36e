"""Queries and documents of OpenInference's retrievers and rerankers."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import openinference
from spanwise.model.content import Document, Memo, RetrievalFields
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

DOCUMENTS = (
    Document(
        "doc-fr-1",
        0.91,
        "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
        ("France demographics",),
    ),
    Document("doc-fr-2", 0.64, "Paris, the capital of France, has about 2.1 million inhabitants.", ("Paris",)),
    Document("doc-fr-3", 0.22, "France produces more than 1,000 kinds of cheese.", ("French cheese",)),
)
ADDRESSED = tuple(Document(one.id, one.score, one.content, (*one.names, f"kb://{one.id}")) for one in DOCUMENTS)


def read(**attributes: object) -> RetrievalFields:
    """What a retrieval span made by hand says; a double underscore stands for a dot."""
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return openinference.retrieval(made(attributes=dotted), Memo())


@pytest.mark.parametrize(
    ("recording", "name", "documents"),
    [
        ("langgraph__openinference", "kb_retriever", ADDRESSED),
        ("llama-index__openinference", "KB.retrieve", DOCUMENTS),
        ("llama-index__openinference", "KB._retrieve", None),
    ],
)
def test_recordings(recording: str, name: str, documents: tuple[Document, ...] | None) -> None:
    """Ids and scores come from the metadata where the documents have none; printed documents are none."""
    span = next(span for span in recorded(recording) if span.name == name)
    assert RetrievalFields("population of France 2024", documents) == openinference.retrieval(span, Memo())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("words", "words"),
        ({"query": "words", "top_k": 3}, "words"),
        ({"q": {"query_str": "words", "embedding": None}}, "words"),
        ({"args": [], "kwargs": {"query": "words"}}, "words"),
        ({"about": "words"}, "words"),
        ({"a": "x", "b": "y"}, None),
        ({"query": {"query": {"query": {"query": {"query": {"query": "deep"}}}}}}, None),
        ("", None),
        ([1], None),
    ],
)
def test_queries(value: object, expected: str | None) -> None:
    """The query is the input, or stands in it under one of the usual names."""
    assert expected == read(input__value=value if isinstance(value, str) else json.dumps(value)).query


def test_scores() -> None:
    """A document's own score goes before its metadata's, and a distance is no score."""
    metadata = json.dumps({"relevance_score": "0.5", "doc_id": 7, "distance": 0.1})
    found = read(
        retrieval__documents__1__document__metadata=metadata,
        retrieval__documents__0__document__score=0,
        retrieval__documents__0__document__metadata=metadata,
        retrieval__documents__2__document__metadata='{"distance": 0.1}',
    )
    assert (Document("7", 0, None), Document("7", 0.5, None), Document()) == found.documents


def test_names() -> None:
    """A document is also known by its title, its address and its file, its own or those in its metadata."""
    metadata = json.dumps({"source": "a.pdf", "title": "A", "path": " ", "url": 7})
    found = read(
        retrieval__documents__0__document__id="1",
        retrieval__documents__0__document__metadata=metadata,
        retrieval__documents__0__document__title="A",
    )
    assert (Document("1", names=("A", "a.pdf")),) == found.documents


def test_other_places() -> None:
    """Rerankers, structured values and plain outputs hold documents too; none found is not none recorded."""
    reranked = read(reranker__query="words", reranker__output_documents__0__document__id="a", input__value="other")
    assert RetrievalFields("words", (Document("a"),)) == reranked
    structured = read(retrieval__documents=[{"document": {"id": "a", "score": 0.5, "content": "x"}}])
    assert (Document("a", 0.5, "x"),) == structured.documents
    page = {"page_content": "x", "metadata": {"score": 0.5}, "id": "a"}
    assert (Document("a", 0.5, "x"),) == read(output__value=json.dumps({"documents": [page]})).documents
    assert (Document("a", 0.5, "x"),) == read(output__value=json.dumps([page])).documents
    assert () == read(retrieval__documents=[]).documents
    assert () == read(output__value="[]").documents
    assert None is read(output__value='["printed"]').documents
    assert None is read(output__value='{"a": 1}').documents
    assert None is read().documents


def test_ids_of_returned_documents() -> None:
    """LangChain's documents have ids that no attribute holds: they stand in what was returned, in the same order."""
    flat = {"retrieval__documents__0__document__content": "a", "retrieval__documents__1__document__content": "b"}
    returned = [{"id": "d1", "page_content": "a"}, {"id": "d2", "pageContent": "b"}]
    found = read(**flat, output__value=json.dumps({"documents": returned})).documents or ()
    assert ["d1", "d2"] == [document.id for document in found]
    found = read(**flat, output__value=json.dumps({"documents": returned[::-1]})).documents or ()
    assert [None, None] == [document.id for document in found]
    found = read(**flat, retrieval__documents__0__document__id="x", output__value=json.dumps(returned)).documents or ()
    assert ["x", "d2"] == [document.id for document in found]
