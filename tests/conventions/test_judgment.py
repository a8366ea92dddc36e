"""Judgment's spans of observed functions and wrapped clients."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import judgment
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

IN, OUT, USED = "judgment.input", "judgment.output", "judgment.usage."
KEYS = ("judgment.span_kind", IN, OUT, "gen_ai.prompt", "gen_ai.completion", f"{USED}metadata", "judgment.session_id")
WORDS = ("tool", "llm", "agent", "messages", "input", "tools", '[{"role": "user", "content": "Q"}]')


def span(kind: object, name: str = "search", **attributes: object) -> RawSpan:
    """An observed function or a model call."""
    return made(name, scope="judgeval", attributes={"judgment.span_kind": kind, **attributes})


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("agent", "agent"),
        ("tool", "tool"),
        ("llm", "llm"),
        ("retriever", "retrieval"),
        ("span", "workflow"),
        ("generator", "workflow"),
        ("generator_item", "setup"),
        (7, "other"),
    ],
)
def test_kinds(found: object, kind: str) -> None:
    """The kind that the app gave; what a function yields is no run of its own."""
    assert kind == conventions.classify(span(found))[1]


def test_tools() -> None:
    """A function's name, its arguments by theirs, and what it returned; blocks of text are their text."""
    one = span("tool", **{IN: '{"query":"Q"}', OUT: "[1]"})
    assert ToolFields("search", {"query": "Q"}, [1]) == judgment.tool(one, Memo())
    blocks = span("tool", **{IN: "{}", OUT: '[{"type":"text","text":"found"}]'})
    assert "found" == judgment.tool(blocks, Memo()).result
    assert judgment.tool(span("tool", **{OUT: "<generator>"}), Memo()).result is None


def test_chat() -> None:
    """What a client was called with and its response, with the tools that it was offered."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "Q"}'}}
    tools = [{"type": "function", "function": {"name": "search", "description": "Look."}}]
    one = span(
        "llm",
        **{
            "gen_ai.prompt": json.dumps({"messages": [{"role": "user", "content": "Q"}], "tools": tools}),
            "gen_ai.completion": json.dumps({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}),
        },
    )
    got = Message("assistant", (Part("tool_call", id="c1", name="search", value={"query": "Q"}),))
    assert Messages((Message("user", (Part("text", "Q"),)),), (got,)) == judgment.messages(one, Memo())
    (offered,) = judgment.definitions(one, Memo()) or ()
    assert "search" == offered.name
    assert judgment.definitions(span("llm"), Memo()) is None


def test_responses() -> None:
    """Instructions stand beside the input, which may be a bare text; a stream has the text of its answer alone."""
    one = span(
        "llm",
        **{"gen_ai.prompt": json.dumps({"input": "Q", "instructions": "Be brief."}), "gen_ai.completion": "A"},
    )
    said = judgment.messages(one, Memo())
    assert ["system", "user"] == [message.role for message in said.input or ()]
    assert (Message("assistant", (Part("text", "A"),)),) == said.output
    assert not conventions.tells_requests(one, conventions.classify(one)[0])


def test_claude() -> None:
    """The messages of a conversation are the input of a function that calls a model."""
    block = {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "Q"}}
    one = span(
        "llm",
        **{
            IN: json.dumps([{"role": "user", "content": "Q"}]),
            OUT: json.dumps([{"role": "assistant", "content": [block]}]),
        },
    )
    ((asked,),) = (message.parts for message in judgment.output(one, Memo()) or ())
    assert ("tool_call", "t1", "search") == (asked.type, asked.id, asked.name)
    assert "Q" == (judgment.messages(one, Memo()).input or ())[0].parts[0].text
    assert judgment.output(span("tool", **{OUT: "A"}), Memo()) is None


def test_usage() -> None:
    """What came from the cache or went into it is counted apart, and is part of the input."""
    told = {"judgment.llm.model": "m", f"{USED}non_cached_input_tokens": 5, f"{USED}output_tokens": 2}
    cached = {
        f"{USED}cache_read_input_tokens": 3,
        f"{USED}cache_creation_input_tokens": 1,
        f"{USED}total_cost_usd": 0.5,
    }
    details = {f"{USED}metadata": '{"completion_tokens_details": {"reasoning_tokens": 1}}'}
    said = judgment.llm(span("llm", **told, **cached, **details), Memo())
    assert LLMFields("m", None, 9, 2, 3, 1, 1, 0.5) == said
    assert LLMFields("m", None, 5, 2) == judgment.llm(span("llm", **told), Memo())


def test_agents_and_context() -> None:
    """An agent's question and answer; the session, and the user or else the customer."""
    one = span("agent", "helper", **{IN: '{"question":"Q"}', OUT: "A", "judgment.session_id": "s"})
    assert AgentFields("helper", "Q", "A") == judgment.agent(one, Memo())
    assert judgment.agent(span("span", **{IN: '{"q":"Q"}'}), Memo()).name is None
    assert ContextFields("s") == judgment.context(one, Memo())
    assert "c" == judgment.context(span("span", **{"judgment.customer_id": "c"}), Memo()).user_id


def test_retrievals() -> None:
    """Query and documents of a function that was observed as a retriever."""
    found = judgment.retrieval(span("retriever", **{IN: '{"query":"Q"}', OUT: '[{"id":"d","score":0.5}]'}), Memo())
    assert ("Q", [("d", 0.5)]) == (found.query, [(one.id, one.score) for one in found.documents or ()])
    empty = judgment.retrieval(span("retriever"), Memo())
    assert (None, None) == (empty.query, empty.documents)


@given(spans(judgment.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(judgment.CONVENTION, one)
