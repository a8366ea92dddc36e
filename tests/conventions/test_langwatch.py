"""LangWatch's spans: envelopes that name their type, and what its handler of LangChain's callbacks leaves out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import langwatch
from spanwise.model.content import (
    AgentFields,
    ContextFields,
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
from tests.making import span as numbered
from tests.making import trace_of
from tests.recordings_io import made

KEYS = (
    "langwatch.span.type", "langwatch.input", "langwatch.output", "langwatch.metrics", "langwatch.params",
    "langwatch.rag_contexts", "langwatch.contexts", "langwatch.thread.id", "metadata",
)  # fmt: skip
WORDS = ("type", "value", "list", "chat_messages", "json", "text", "messages", "role", "unknown", "llm", "tool", "rag")
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def span(kind: object, name: str = "x", **told: tuple[str, object]) -> RawSpan:
    """A span of a type; what is told goes into envelopes, as a pair of the envelope's type and what it holds."""
    held = {f"langwatch.{key}": json.dumps({"type": pair[0], "value": pair[1]}) for key, pair in told.items()}
    return made(name, attributes={"langwatch.span.type": kind, **held})


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("llm", "llm"),
        ("tool", "tool"),
        ("agent", "agent"),
        ("rag", "retrieval"),
        ("guardrail", "guardrail"),
        ("evaluation", "evaluation"),
        ("span", "workflow"),
        ("chain", "workflow"),
        ("prompt", "other"),
        (7, "other"),
    ],
)
def test_kinds(found: object, kind: str) -> None:
    """The type tells what a span is."""
    assert kind == conventions.classify(span(found))[1]


def test_tools() -> None:
    """A tool is called as its span; LangChain's arguments are printed, and its results are said by someone unknown."""
    own = span("tool", "add", input=("json", {"a": 1}), output=("json", 6.5))
    assert ToolFields("add", {"a": 1}, 6.5) == langwatch.tool(own, Memo())
    said = ("chat_messages", [{"role": "unknown", "content": "6.5"}])
    assert ToolFields("add", {"a": 1}, "6.5") == langwatch.tool(
        span("tool", "add", input=("text", "{'a': 1}"), output=said), Memo()
    )
    assert ToolFields("add") == langwatch.tool(span("tool", "add"), Memo())


def test_model_calls() -> None:
    """Messages, what was counted, and the tools that were offered."""
    asked, called = {"role": "user", "content": "Q"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}
    one = span("llm", input=("chat_messages", [asked]), output=("chat_messages", [called]))
    counted = {"prompt_tokens": 5, "completion_tokens": 2, "reasoning_tokens": 1, "cost": 0.5}
    offered = {"tools": [{"type": "function", "function": {"name": "add"}}]}
    one.attributes = {
        **one.attributes, "langwatch.metrics": json.dumps(counted), "langwatch.params": json.dumps(offered)
    }  # fmt: skip
    assert LLMFields(None, None, 5, 2, None, None, 1, 0.5) == langwatch.llm(one, Memo())
    got = (Message("assistant", (Part("tool_call", id="c1", name="add", value={"a": 1}),)),)
    assert Messages((Message("user", (Part("text", "Q"),)),), got) == langwatch.messages(one, Memo())
    assert ["add"] == [tool.name for tool in langwatch.definitions(one, Memo()) or ()]


def test_completions() -> None:
    """A prompt and its completion are texts; several candidates are a list of messages."""
    one = span("llm", input=("text", "Q"), output=("text", "A"))
    got = (Message("assistant", (Part("text", "A"),)),)
    assert Messages((Message("user", (Part("text", "Q"),)),), got) == langwatch.messages(one, Memo())
    said = {"type": "chat_messages", "value": [{"role": "assistant", "content": "A"}]}
    assert got * 2 == langwatch.output(span("llm", output=("list", [said, said])), Memo())


def test_requests_that_were_left_out() -> None:
    """LangChain's answers are their text alone: an empty one is none, for it may ask for tools."""
    silent = span("llm", output=("chat_messages", [{"role": "assistant", "content": ""}]))
    assert langwatch.output(silent, Memo()) is None
    assert Messages(None, None) == langwatch.messages(span("chain", output=("text", "A")), Memo())


def test_states() -> None:
    """The messages of a graph's state have the speakers that their fields show; they tell what models asked for."""
    state: list[dict[str, object]] = [
        {"content": "Q", "id": "m1"},
        {"content": "", "response_metadata": {}, "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "c1"}]},
        {"content": "2", "tool_call_id": "c1"},
        {"content": "A", "response_metadata": {}, "usage_metadata": {}},
    ]
    one = span("chain", input=("json", {"messages": [["user", "Q"]]}), output=("json", {"messages": state}))
    assert AgentFields(None, "Q", "A") == langwatch.agent(one, Memo())
    found = langwatch.record(one, Memo()) or ()
    assert ["user", "assistant", "tool", "assistant"] == [message.role for message in found]
    assert ["c1"] == [part.id for message in found for part in message.parts if part.type == "tool_call"]
    assert langwatch.record(span("chain"), Memo()) is None


def test_agents() -> None:
    """An agent is called as its span; other spans name none."""
    said = {"input": ("json", {"q": "How many?"}), "output": ("text", "Two.")}
    assert AgentFields("helper", "How many?", "Two.") == langwatch.agent(span("agent", "helper", **said), Memo())
    assert AgentFields(None, "How many?", "Two.") == langwatch.agent(span("span", "helper", **said), Memo())


@pytest.mark.parametrize("key", ["langwatch.rag_contexts", "langwatch.contexts"])
def test_retrieval(key: str) -> None:
    """Documents stand among the contexts, whose name differs by language, else in what was returned."""
    one = span("rag", input=("json", {"q": "pigs"}), output=("json", ["Pigs fly."]))
    assert RetrievalFields("pigs", (Document(content="Pigs fly."),)) == langwatch.retrieval(one, Memo())
    one.attributes = {**one.attributes, key: '[{"document_id": "d1", "content": "Pigs fly."}]'}
    assert RetrievalFields("pigs", (Document("d1", content="Pigs fly."),)) == langwatch.retrieval(one, Memo())


def test_context_and_switch() -> None:
    """Python's SDK writes thread and user among the metadata, JavaScript's as attributes."""
    said = {"metadata": '{"thread_id": "s", "user_id": "u", "labels": ["a"]}'}
    key = {"langwatch.span.type": "span"}
    assert ContextFields("s", "u", None, ("a",)) == langwatch.context(made(attributes={**key, **said}), Memo())
    named = {**key, "langwatch.thread.id": "s", "langwatch.user.id": "u"}
    assert ContextFields("s", "u") == langwatch.context(made(attributes=named), Memo())
    assert langwatch.CONVENTION.content_switch == conventions.content_switch(span("tool"), some=False)


@given(spans(langwatch.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(langwatch.CONVENTION, one)


def test_a_trace_that_nobody_opened() -> None:
    """A span outside of any trace leaves a root that is empty and stands alone: that is no run."""
    told: dict[str, object] = {"langwatch.span.type": "span", "langwatch.origin": "application", "metadata": "null"}
    assert () == trace_of(numbered(1, name="span", attributes=told)).runs
    asked = numbered(2, parent=1, attributes={"langwatch.span.type": "llm"})
    assert 1 == len(trace_of(numbered(1, name="span", attributes=told), asked).runs)
    assert 1 == len(trace_of(numbered(1, name="f", attributes={**told, "langwatch.output": "{}"})).runs)
