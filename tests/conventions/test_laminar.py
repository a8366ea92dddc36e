"""Laminar: observed functions, and model calls with the provider's messages under GenAI's names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import laminar
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KIND = "lmnr.span.type"


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({KIND: "DEFAULT"}, "workflow"),
        ({KIND: "LLM"}, "llm"),
        ({KIND: "TOOL"}, "tool"),
        ({KIND: "EVALUATOR"}, "evaluation"),
        ({KIND: "PIPELINE"}, "other"),
    ],
)
def test_kinds(attributes: dict[str, object], kind: str) -> None:
    """The type tells the kind."""
    index, found = conventions.classify(made(scope="lmnr.tracer", attributes=attributes))
    assert ("laminar", kind) == (conventions.CONVENTIONS[index].name, found)


def test_operations_are_more_exact() -> None:
    """What a framework's own span says of its operation stands above the type of any span; no type, no kind."""
    attributes = {KIND: "DEFAULT", "gen_ai.operation.name": "invoke_agent"}
    assert "agent" == laminar.kind(made(attributes=attributes))
    assert laminar.kind(made(attributes={KIND: 7})) is None


def test_tools() -> None:
    """A tool is its function."""
    attributes = {KIND: "TOOL", "lmnr.span.input": '{"a": 1}', "lmnr.span.output": "2"}
    assert ToolFields("add", {"a": 1}, 2) == laminar.tool(made("add", attributes=attributes), Memo())
    assert ToolFields("add") == laminar.tool(made("add", attributes={KIND: "TOOL"}), Memo())


def test_models() -> None:
    """Messages are the provider's: a list of messages in, a list of choices out."""
    call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}, "type": "function"}
    choice = {"finish_reason": "tool_calls", "index": 0, "message": {"role": "assistant", "tool_calls": [call]}}
    attributes = {
        KIND: "LLM",
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": "add one"}]),
        "gen_ai.output.messages": json.dumps([choice]),
        "gen_ai.response.model": "m-1",
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 2,
    }
    span = made(attributes=attributes)
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    )
    assert expected == laminar.messages(span, Memo())
    index, _ = conventions.classify(span)
    assert LLMFields("m-1", None, 9, 2) == conventions.llm(span, Memo(), index)
    assert Messages() == laminar.messages(made(attributes={KIND: "LLM"}), Memo())


def test_functions() -> None:
    """Question and answer are what the function was called with and what it returned, unless it failed."""
    attributes = {KIND: "DEFAULT", "lmnr.span.input": '{"question": "add one"}', "lmnr.span.output": '"Two."'}
    assert AgentFields(None, "add one", "Two.") == laminar.agent(made(attributes=attributes), Memo())
    assert AgentFields(None, "add one") == laminar.agent(made(attributes=attributes, status=2), Memo())


def test_context() -> None:
    """Session and user are associated with each span."""
    attributes = {"lmnr.association.properties.session_id": "s1", "lmnr.association.properties.user_id": "u1"}
    assert ContextFields("s1", "u1") == laminar.context(made(attributes=attributes), Memo())


KEYS = (KIND, "lmnr.span.input", "lmnr.span.output", "gen_ai.input.messages", "gen_ai.output.messages")
WORDS = ("message", "role", "content", "tool_calls", "function", "question", "LLM", "TOOL", "finish_reason")


@given(spans(laminar.CONVENTION, keys=KEYS, words=WORDS))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(laminar.CONVENTION, span) == 5
