"""Vector databases by OpenLLMetry's instrumentations: what a query found stands in the span's events.

Of what was asked no more is recorded than how many texts there were. A distance is no score: the nearest has the least.
"""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.conventions._convention import Convention
from spanwise.conventions._values import first_number, first_text, mapping_of, names_of
from spanwise.model.content import Document, Memo, RetrievalFields
from spanwise.model.raw import RawEvent, RawSpan
from spanwise.model.span import Kind

_RESULTS = ("db.query.result", "db.search.result")


def _found(span: RawSpan) -> Iterable[RawEvent]:
    return (event for event in span.events if event.name in _RESULTS and f"{event.name}.id" in event.attributes)


def kind(span: RawSpan) -> Kind | None:
    """A retrieval, where it is recorded what was found; whether another span asked or wrote is not told apart."""
    return "retrieval" if any(_found(span)) else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """The documents, with their ids, scores and texts as far as the database gives them."""
    out: list[Document] = []
    for event in _found(span):
        told, name = event.attributes, event.name
        fields = mapping_of(memo.json(told.get(f"{name}.metadata"))) or {}
        out.append(
            Document(
                first_text(told, f"{name}.id"),
                first_number(told, f"{name}.score"),
                first_text(told, f"{name}.document") or first_text(fields, "text", "content"),
                names_of(fields),
            )
        )
    return RetrievalFields(None, tuple(out) or None)


CONVENTION = Convention(
    name="vector_db",
    title="Vector databases through OpenLLMetry",
    scopes=tuple(f"opentelemetry.instrumentation.{name}" for name in ("chromadb", "marqo", "milvus", "pinecone")),
    kind=kind,
    retrieval=retrieval,
)
