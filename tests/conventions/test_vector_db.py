"""Vector databases under OpenLLMetry: what was found, in events."""

from __future__ import annotations

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import vector_db
from spanwise.model.content import Document, Memo, RetrievalFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "opentelemetry.instrumentation.chromadb"
KEYS = ("db.system", "db.operation")
WORDS = ("chroma", "query", "db.query.result")


@pytest.mark.parametrize("name", ["db.query.result", "db.search.result"])
def test_what_was_found(name: str) -> None:
    """Each event is a document; a distance is no score, and a text may stand among the metadata."""
    events = [
        (name, {f"{name}.id": "d1", f"{name}.distance": "0.1", f"{name}.document": "Pigs fly."}),
        (name, {f"{name}.id": "d2", f"{name}.score": 0.5, f"{name}.metadata": '{"text": "Pigs."}'}),
        ("db.query.embeddings", {"db.query.embeddings.vector": [1.0]}),
    ]
    one = made("chroma.query", scope=SCOPE, attributes={"db.system": "chroma"}, events=events)
    assert "retrieval" == conventions.classify(one)[1]
    expected = (Document("d1", content="Pigs fly."), Document("d2", 0.5, "Pigs."))
    assert RetrievalFields(None, expected) == vector_db.retrieval(one, Memo())


def test_other_requests() -> None:
    """What wrote, or of which no result is recorded, is no step that is known."""
    added = made("chroma.add", scope=SCOPE, attributes={"db.operation": "add"})
    row = made("milvus.query", scope=SCOPE, events=[("db.query.result", {"title": "a"})])
    assert ["other", "other"] == [conventions.classify(one)[1] for one in (added, row)]
    assert RetrievalFields() == vector_db.retrieval(added, Memo())


@given(spans(vector_db.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(vector_db.CONVENTION, one)
