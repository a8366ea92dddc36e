"""What a retriever or a reranker was asked, and the documents that it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from spanwise.conventions._messages import items
from spanwise.conventions._openinference_messages import entries
from spanwise.conventions._values import first_number, first_text, mapping_of, names_of
from spanwise.model.content import Document, Memo, RetrievalFields
from spanwise.model.raw import Attributes, RawSpan

IDS = ("id", "doc_id", "document_id", "_id")
# A distance is no score: it falls as relevance rises.
SCORES = ("score", "relevance_score", "similarity_score")
QUERIES = ("query", "query_str", "question", "text", "input", "q", "str_or_query_bundle", "query_bundle", "kwargs")


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever's or a reranker's span."""
    attributes = span.attributes
    asked = first_text(attributes, "reranker.query") or _query(memo.json(attributes.get("input.value")), memo, 0)
    found = _documents(attributes, "retrieval.documents.", memo)
    if found is None:
        found = _documents(attributes, "reranker.output_documents.", memo)
    if found is None:
        found = _returned(memo.json(attributes.get("output.value")), memo)
    elif any(document.id is None for document in found):  # LangChain's documents have one, but no attribute for it
        _identify(found, _returned(memo.json(attributes.get("output.value")), memo) or ())
    return RetrievalFields(asked, found)


def _query(value: object, memo: Memo, depth: int) -> str | None:
    if isinstance(value, str):
        return value or None
    fields = mapping_of(value)
    if fields is None or depth > 4:
        return None
    for key in QUERIES:
        found = _query(fields.get(key), memo, depth + 1)
        if found is not None:
            return found
    texts = [item for item in fields.values() if isinstance(item, str)]
    return texts[0] if len(texts) == 1 == len(fields) else None


def _documents(attributes: Attributes, prefix: str, memo: Memo) -> tuple[Document, ...] | None:
    found: dict[int, dict[str, object]] = {}
    for at, rest, value in entries(attributes, prefix, memo):
        found.setdefault(at, {})[rest.removeprefix("document.")] = value
    if found:
        return tuple(_document(found[at], memo) for at in sorted(found))
    whole = items(memo.json(attributes.get(prefix[:-1])))
    return () if whole is not None and not whole else None


def _returned(value: object, memo: Memo) -> tuple[Document, ...] | None:
    """The documents that a retriever returned, where none has attributes of its own."""
    fields = mapping_of(value)
    listed = items(fields.get("documents") if fields is not None else value)
    if listed is None or any(not isinstance(item, Mapping) for item in listed):
        return None
    return tuple(_document(cast("Mapping[str, object]", item), memo) for item in listed)


def _identify(found: Sequence[Document], returned: Sequence[Document]) -> None:
    """Give documents the ids under which they were returned, where these are the same ones in the same order."""
    if [document.content for document in found] == [document.content for document in returned]:
        for document, same in zip(found, returned, strict=True):
            document.id = document.id or same.id


def _document(fields: Mapping[str, object], memo: Memo) -> Document:
    """A document; its id and score from its metadata where it has none of its own, as LangChain's have."""
    metadata = mapping_of(memo.json(fields.get("metadata"))) or {}
    score = first_number(fields, *SCORES)
    return Document(
        first_text(fields, *IDS) or first_text(metadata, *IDS),
        first_number(metadata, *SCORES) if score is None else score,
        first_text(fields, "content", "page_content", "pageContent", "text"),
        names_of(fields, metadata),
    )
