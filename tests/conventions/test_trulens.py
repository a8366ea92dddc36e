"""TruLens's spans, of decorated functions and of LangGraph's nodes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import trulens
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
    LLMFields,
    Memo,
    RetrievalFields,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KEYS = (
    "ai.observability.span_type", "ai.observability.call.kwargs.input", "ai.observability.call.return",
    "ai.observability.record_root.input", "ai.observability.record_root.output", "gen_ai.tool.name",
    "ai.observability.retrieval.retrieved_contexts", "ai.observability.mcp.tool_name", "ai.observability.cost.model",
    "ai.observability.cost.num_prompt_tokens", "ai.observability.conversation_id",
)  # fmt: skip
WORDS = ("SpanType.TOOL", "retrieval", "name", "args", "id", "content", "ToolMessage(content='x', status='error')")
QUERY = "How many people lived in France in 2024?"


def span(kind: object, **attributes: object) -> RawSpan:
    """A span of TruLens's, its own attributes without their prefix."""
    own = {f"ai.observability.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return made("app.Rag.f", scope="trulens", attributes={"ai.observability.span_type": kind, **own})


def node(*calls: dict[str, object], told: str) -> RawSpan:
    """LangGraph's node of tools: a span that is named after itself and not after the tool."""
    one = span("SpanType.TOOL", call__kwargs__input=json.dumps(calls), call__return=told)
    one.attributes["gen_ai.tool.name"] = "langgraph.prebuilt.tool_node.ToolNode.invoke"
    return one


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("SpanType.RECORD_ROOT", "workflow"),
        ("SpanType.GRAPH_NODE", "workflow"),
        ("SpanType.AGENT", "agent"),
        ("SpanType.GENERATION", "llm"),
        ("SpanType.TOOL", "tool"),
        ("SpanType.MCP", "tool"),
        ("retrieval", "retrieval"),
        ("reranking", "rerank"),
        ("SpanType.EVAL_ROOT", "evaluation"),
        ("unknown", "other"),
        (7, None),
    ],
)
def test_kinds(found: object, kind: str | None) -> None:
    """The type tells what a span is, printed or as its value."""
    assert kind == trulens.kind(span(found))


def test_a_decorated_tool() -> None:
    """The function's own name, what it was called with by the parameters' names, and what it returned."""
    one = span("SpanType.TOOL", call__kwargs__expression="2 * 3", call__return=6.0)
    one.attributes["gen_ai.tool.name"] = "app.Rag.calculator"
    found = conventions.tool(one, Memo(), conventions.classify(one)[0])
    assert ToolFields("calculator", {"expression": "2 * 3"}, 6.0) == found
    assert ToolFields("f") == trulens.tool(span("SpanType.TOOL"), Memo())


@pytest.mark.parametrize(("status", "failed"), [("", False), (", status='error'", True)])
def test_a_call_in_a_node_of_tools(status: str, failed: bool) -> None:
    """Name and arguments stand in what the node was given, the result and its failure in the printed message."""
    told = f"{{'messages': [ToolMessage(content='6.0', name='calculator', tool_call_id='c1'{status})]}}"
    one = node({"name": "calculator", "args": {"expression": "2 * 3"}, "id": "c1"}, told=told)
    found = trulens.tool(one, Memo())
    assert ("calculator", {"expression": "2 * 3"}, "c1") == (found.name, found.arguments, found.call_id)
    assert ("6.0", failed) == (str(found.result), found.failed)
    assert trulens.several(one, Memo()) is None


def test_a_call_whose_result_is_no_printed_message() -> None:
    """What a node of tools returned otherwise is taken as it stands."""
    one = node({"name": "f", "args": {}, "id": "c1"}, told="done")
    assert ToolFields("f", {}, "done", "c1") == trulens.tool(one, Memo())


def test_several_calls_in_one_node() -> None:
    """A node that was given two calls is two calls, and no result is given to the wrong one."""
    calls = [{"name": name, "args": {"a": name}, "id": name} for name in "fg"]
    found = trulens.several(node(*calls, told="{'messages': []}"), Memo())
    assert (ToolFields("f", {"a": "f"}, None, "f"), ToolFields("g", {"a": "g"}, None, "g")) == found


@pytest.mark.parametrize("given", [QUERY, str({"role": "user", "content": QUERY}), json.dumps({"query": QUERY})])
def test_the_question_of_a_record(given: str) -> None:
    """A question as text, as a printed message, or as a mapping; an app's name is no agent's."""
    one = span("SpanType.RECORD_ROOT", record_root__input=given, record_root__output="68.4 million", app_name="app")
    assert AgentFields(None, QUERY, "68.4 million") == trulens.agent(one, Memo())
    assert AgentFields("helper") == trulens.agent(span("SpanType.AGENT", workflow__agent_name="helper"), Memo())


@pytest.mark.parametrize("contexts", [("a", "b"), '["a", "b"]'])
def test_retrievals(contexts: object) -> None:
    """Documents are texts, and nothing else is known of them."""
    one = span("SpanType.RETRIEVAL", retrieval__query_text="q", retrieval__retrieved_contexts=contexts)
    documents = (Document(None, None, "a"), Document(None, None, "b"))
    assert RetrievalFields("q", documents) == trulens.retrieval(one, Memo())
    assert RetrievalFields() == trulens.retrieval(span("SpanType.RETRIEVAL"), Memo())


def test_usage_and_session() -> None:
    """GenAI's attributes first, TruLens's own in their place; the conversation is the session."""
    own = {"cost__model": "m", "cost__num_prompt_tokens": 3, "cost__num_completion_tokens": 2}
    one = span("SpanType.GENERATION", **own, conversation_id="c")
    assert LLMFields("m", None, 3, 2) == trulens.llm(one, Memo())
    one.attributes.update({"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 5})
    assert LLMFields("m", None, 7, 5) == trulens.llm(one, Memo())
    assert ContextFields("c") == trulens.context(one, Memo())


@given(spans(trulens.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(trulens.CONVENTION, one)
