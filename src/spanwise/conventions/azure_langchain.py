"""Retrievals of `langchain-azure-ai`'s tracer, which writes GenAI's attributes and says that a retriever is a tool.

Its tracer has the name that the app gives it, so that no scope tells it: the query of a retriever does, which is there
even where content is not to be recorded. The rest of its spans is read as GenAI's.
"""

from __future__ import annotations

from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import AZURE_LANGCHAIN
from spanwise.conventions._payloads import documents
from spanwise.conventions._values import first_text
from spanwise.model.content import Memo, RetrievalFields, is_mask
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_QUERY = "gen_ai.retriever.query"


def kind(span: RawSpan) -> Kind | None:
    """A retriever's run."""
    return "retrieval" if span.attributes.get("gen_ai.tool.type") == "retriever" else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents; nothing is recorded of documents where none was found."""
    query = first_text(span.attributes, _QUERY)
    found = documents(span.attributes.get("gen_ai.retriever.results"), memo)
    return RetrievalFields(None if query is None or is_mask(query) else query, found)


CONVENTION = Convention(
    name="azure_langchain",
    title="LangChain on Azure",
    keys=(_QUERY,),
    kind=kind,
    retrieval=retrieval,
    content_switch=AZURE_LANGCHAIN,
)
