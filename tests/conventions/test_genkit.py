"""Genkit's own spans."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions import genkit
from spanwise.model.content import (
    AgentFields,
    Document,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "genkit__builtin"
QUERY = "How many people lived in France in 2024, and what is 10% of that?"
KEYS = ("genkit:type", "genkit:metadata:subtype", "genkit:name", "genkit:input", "genkit:output")
WORDS = (
    "action", "util", "model", "tool", "generate", "messages", "message", "role", "content", "text", "toolRequest",
    "toolResponse", "usage", "raw", "candidates", "documents", "query", "metadata", "tools",
)  # fmt: skip


def span(subtype: object, *, given: object = None, got: object = None, name: object = "x", **more: object) -> RawSpan:
    """A span of an action."""
    attributes = {"genkit:type": "action", "genkit:metadata:subtype": subtype, "genkit:name": name, **more}
    if given is not None:
        attributes["genkit:input"] = json.dumps(given)
    if got is not None:
        attributes["genkit:output"] = json.dumps(got)
    return made("x", scope="genkit-tracer", attributes=attributes)


def named(name: str, at: int = 0) -> RawSpan:
    """A recorded span by its name."""
    return [one for one in recorded(RECORDING) if one.name == name][at]


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"genkit:type": "action", "genkit:metadata:subtype": "flow"}, "workflow"),
        ({"genkit:type": "action", "genkit:metadata:subtype": "agent"}, "agent"),
        ({"genkit:type": "action", "genkit:metadata:subtype": "model"}, "llm"),
        ({"genkit:type": "action", "genkit:metadata:subtype": "tool.v2"}, "tool"),
        ({"genkit:type": "action", "genkit:metadata:subtype": "retriever"}, "retrieval"),
        ({"genkit:type": "action", "genkit:metadata:subtype": "indexer"}, "other"),
        ({"genkit:type": "util", "genkit:name": "generate"}, "workflow"),
        ({"genkit:type": "util", "genkit:name": "resolve"}, "other"),
        ({"genkit:type": "flowStep"}, "workflow"),
        ({"genkit:type": "promptTemplate"}, "other"),
        ({"genkit:type": 7}, "other"),
    ],
)
def test_kinds(attributes: dict[str, object], kind: str) -> None:
    """The subtype tells, else the type; what a model is called by is the utility `generate`."""
    assert kind == genkit.kind(made("x", scope="genkit-tracer", attributes=attributes))


def test_a_tool() -> None:
    """A tool's span has its name, what it was given and what it returned."""
    called = genkit.tool(named("calculator"), Memo())
    assert ("calculator", '{"expression":"68.4 million * 0.1"}') == (called.name, called.arguments)
    assert ToolFields("x") == genkit.tool(span("tool"), Memo())


def test_a_model() -> None:
    """The model that the provider says answered, else the one that was asked; tokens of a call, not of a turn."""
    called = genkit.llm(named("standin/gpt-4o-mini"), Memo())
    assert ("gpt-4o-mini-2024-07-18", "standin", 163, 52) == (
        called.model,
        called.provider,
        called.input_tokens,
        called.output_tokens,
    )
    used = {"inputTokens": 9, "outputTokens": 2, "thoughtsTokens": 1, "cachedContentTokens": 4}
    other = span("model", got={"usage": used}, name="vertexai/publishers/google/gemini")
    assert LLMFields("gemini", "vertexai", 9, 2, 4, None, 1) == genkit.llm(other, Memo())
    beside = span("model", got={"usage": {**used, "totalTokens": 12}}, name="googleai/gemini")
    assert LLMFields("gemini", "googleai", 9, 3, 4, None, 1) == genkit.llm(beside, Memo())
    within = span("model", got={"usage": {**used, "totalTokens": 11}}, name="openai/gpt")
    assert LLMFields("gpt", "openai", 9, 2, 4, None, 1) == genkit.llm(within, Memo())
    details = {"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 1}}
    other = span(
        "model", got={"usage": {"inputTokens": 9, "outputTokens": 2}, "raw": {"usage": details}}, name="acme/m"
    )
    assert LLMFields("m", "acme", 9, 2, 3, None, 1) == genkit.llm(other, Memo())
    assert LLMFields("echo") == genkit.llm(span("model", name="echo"), Memo())
    assert LLMFields() == genkit.llm(span("model", name=None), Memo()) == genkit.llm(named("generate"), Memo())


def test_what_a_model_was_sent() -> None:
    """Messages, with the calls that the model asked for and their results under the same ids."""
    sent, got = (
        getattr(genkit.messages(named("standin/gpt-4o-mini", 1), Memo()), side) for side in ("input", "output")
    )
    assert ["system", "user", "assistant", "tool"] == [message.role for message in sent]
    query = {"query": "population of France 2024"}
    assert (Part("tool_call", id="call_000292", name="search_docs", value=query),) == sent[2].parts
    (result,) = sent[3].parts
    assert ("tool_result", "call_000292", "search_docs") == (result.type, result.id, result.name)
    assert ["calculator"] == [part.name for message in got for part in message.parts]


def test_other_parts_and_older_answers() -> None:
    """Reasoning is none of the answer's text, media is neither, data is; models used to answer with candidates."""
    content = [{"reasoning": "hm"}, {"text": "yes"}, {"media": {"url": "u"}}, 7, {"data": {"a": 1}}]
    parts = (Part("reasoning", "hm"), Part("text", "yes"), Part("other"), Part("text", '{"a":1}'))
    older = span("model", got={"candidates": [{"message": {"role": "model", "content": content}}]})
    assert (Message("assistant", parts),) == genkit.output(older, Memo())
    assert None is genkit.output(span("model", got={"candidates": []}), Memo())
    assert Messages() == genkit.messages(span("model"), Memo())


def test_texts_of_a_stream() -> None:
    """What was streamed stands in pieces in what it came to: they are one text, with nothing between them."""
    said = [{"text": "France had 68"}, {"text": ".4 million"}, {"reasoning": "hm"}, {"text": "!"}]
    (message,) = genkit.output(span("model", got={"message": {"role": "model", "content": said}}), Memo()) or ()
    assert (Part("text", "France had 68.4 million"), Part("reasoning", "hm"), Part("text", "!")) == message.parts


def test_flows_and_agents() -> None:
    """A flow has a question and an answer but no agent's name; so has what it generates."""
    flow, generated = (genkit.agent(named(name), Memo()) for name in ("research_flow", "generate"))
    assert (None, QUERY) == (flow.name, flow.query)
    assert (flow.query, flow.answer) == (generated.query, generated.answer)
    assert AgentFields("x", "hi", "ho") == genkit.agent(span("agent", given="hi", got="ho"), Memo())


def test_retrievals() -> None:
    """A retriever was given a document or a text, and found documents, with a score where they have one."""
    found = [{"content": [{"text": "a"}, {"media": {}}], "metadata": {"id": "d", "score": 0.5}}, {"content": []}]
    searched = span("retriever", given={"query": {"content": [{"text": "q"}]}}, got={"documents": found})
    documents = (Document("d", 0.5, "a"), Document())
    assert RetrievalFields("q", documents) == genkit.retrieval(searched, Memo())
    assert RetrievalFields("q") == genkit.retrieval(span("retriever", given={"query": "q"}), Memo())


def test_tools_offered() -> None:
    """A model's request holds the tools; a turn's names them by their keys, which are no names."""
    offered = genkit.definitions(named("standin/gpt-4o-mini"), Memo())
    assert ["search_docs", "calculator"] == [tool.name for tool in offered]
    assert "query" in str(offered[0].schema)
    assert None is genkit.definitions(named("generate"), Memo())


@given(spans(genkit.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(genkit.CONVENTION, one)


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ('{"output": [1]}', [1]),
        ('{"output": null, "content": []}', "null"),
        ('{"output": 1, "other": 2}', '{"output": 1, "other": 2}'),
        ('{"content": []}', '{"content": []}'),
    ],
)
def test_tools_of_the_second_kind(returned: str, result: object) -> None:
    """Their value stands beside the parts of what they say; every tool in Go is one of them."""
    attributes = {"genkit:name": "find", "genkit:metadata:subtype": "tool.v2", "genkit:output": returned}
    assert result == genkit.tool(made("find", scope="genkit-tracer", attributes=attributes), Memo()).result
