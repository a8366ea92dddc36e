"""The tracer of `langchain-azure-ai`, whose scope has whatever name the app gives it."""

from __future__ import annotations

import json

from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import azure_langchain
from spanwise.model.content import Document, Memo, RetrievalFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "langgraph__azure__parallel"
QUERY = "gen_ai.retriever.query"
KEYS = (QUERY, "gen_ai.retriever.results", "gen_ai.tool.type", "gen_ai.operation.name")
WORDS = ("retriever", "execute_tool", "metadata", "content", "score", "id")


def retriever(query: str, found: object) -> RawSpan:
    """The run of a retriever."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "retriever", QUERY: query}
    results = {"gen_ai.tool.type": "retriever", "gen_ai.retriever.results": json.dumps(found)}
    return made(scope="my-app", attributes={**attributes, **results})


def test_retrievers_are_no_tools() -> None:
    """What the spans call a tool named `retriever` is a retrieval, with query, documents and scores."""
    one = retriever("France", [{"metadata": {"id": "d1", "score": 0.9, "title": "t"}, "content": "c"}])
    index, kind = conventions.classify(one)
    assert "retrieval" == kind
    assert RetrievalFields("France", (Document("d1", 0.9, "c", ("t",)),)) == conventions.retrieval(one, Memo(), index)


def test_content_switched_off() -> None:
    """A mask is no query; ids and scores of documents stay."""
    found = azure_langchain.retrieval(retriever("[redacted]", [{"metadata": {"id": "d1"}}]), Memo())
    assert RetrievalFields(None, (Document("d1"),)) == found
    assert RetrievalFields() == azure_langchain.retrieval(made(), Memo())


def test_tools_stay_tools() -> None:
    """A tool of the app that says of itself what it looked up is no retriever."""
    assert azure_langchain.kind(made(attributes={QUERY: "x", "gen_ai.tool.type": "function"})) is None


def test_masked_question() -> None:
    """With content switched off neither question nor answer is `[redacted]`: they are said to be removed."""
    masked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "[redacted]"}]}])
    told = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "[redacted]"}]}])
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "a",
        "gen_ai.input.messages": masked,
        "gen_ai.output.messages": told,
    }
    (run,) = build_trace("t" * 32, [made("invoke_agent a", attributes=attributes)]).runs
    assert (None, None) == (run.query, run.answer)


def test_recorded_result() -> None:
    """A result is what the tool returned, not the message around it."""
    one = next(
        found for found in recorded(RECORDING) if found.name == "execute_tool calculator" and not found.status_message
    )
    said = conventions.tool(one, Memo(), conventions.classify(one)[0])
    assert ("6840000.0", "call_000004") == (said.result, said.call_id)


@given(spans(azure_langchain.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(azure_langchain.CONVENTION, one)
