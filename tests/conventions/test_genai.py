"""OpenTelemetry's GenAI conventions: the generic dialect, and the last fallback of every other."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import _genai
from spanwise.conventions._genai import KINDS, first_user_text, last_answer_text
from spanwise.model.content import (
    ContextFields,
    Document,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawEvent, RawSpan
from spanwise.model.trace import SpanError
from tests.conventions.robustness import read_all, spans
from tests.making import asks, returns, says, span, user

USAGE = "gen_ai.usage."


def made(*events: RawEvent, **attributes: object) -> RawSpan:
    """A span of these attributes, `__` for a dot."""
    return span(1, events=events, attributes={key.replace("__", "."): value for key, value in attributes.items()})


def of(attributes: dict[str, object], *events: RawEvent) -> RawSpan:
    """A span of these attributes."""
    return span(1, events=events, attributes=attributes)


# What it is


@pytest.mark.parametrize("operation", KINDS)
def test_kinds(operation: str) -> None:
    """The operation tells the kind, and the span is of the generic dialect where no other claims it."""
    one = made(gen_ai__operation__name=operation)
    assert KINDS[operation] == _genai.kind(one)
    assert (len(conventions.CONVENTIONS) - 1, KINDS[operation]) == conventions.classify(one)


def test_a_tools_name_makes_a_tool() -> None:
    """A span that names a tool is one though its operation is not known; else an unknown operation is no kind."""
    assert ["tool", "tool", None, None] == [
        _genai.kind(one)
        for one in (
            made(gen_ai__tool__name="x"),
            made(gen_ai__tool__name="x", gen_ai__operation__name="poke"),
            made(gen_ai__operation__name="poke"),
            made(gen_ai__operation__name=["chat"]),
        )
    ]
    assert (conventions.UNKNOWN, "other") == conventions.classify(made(gen_ai__operation__name="poke"))


# Tools


def test_a_tools_fields() -> None:
    """Name, arguments, result and id are as recorded."""
    one = made(
        gen_ai__tool__name="search",
        gen_ai__tool__call__arguments='{"q": 1}',
        gen_ai__tool__call__result="r",
        gen_ai__tool__call__id="c1",
    )
    assert ToolFields("search", '{"q": 1}', "r", "c1") == _genai.tool(one, Memo())


@pytest.mark.parametrize("call_id", ["<not specified>", "unknown", 7, None])
def test_ids_that_are_none(call_id: object) -> None:
    """What stands where there is no id is none."""
    assert None is _genai.tool(of({"gen_ai.tool.call.id": call_id}), Memo()).call_id


@pytest.mark.parametrize("mark", [{"gen_ai.tool.status": "error"}, {"gen_ai.task.status": "failure"}])
def test_failures_marked_by_attribute(mark: dict[str, object]) -> None:
    """Vendors' own marks of a failure count."""
    assert _genai.tool(of(mark), Memo()).failed


def test_a_tools_content_in_events() -> None:
    """What the attributes lack is read from events, but not from one that reports an exception."""
    details = {"gen_ai.tool.call.arguments": {"q": 1}, "gen_ai.tool.call.result": "r"}
    told = RawEvent("gen_ai.client.operation.exception", 1, {"gen_ai.tool.call.arguments": "wrong"})
    one = of({"gen_ai.tool.name": 7, "gen_ai.tool.call.result": "own"}, told, RawEvent("details", 2, details))
    assert ToolFields(None, {"q": 1}, "own") == _genai.tool(one, Memo())
    assert ToolFields(None, {"q": 1}, "r") == _genai.tool(
        of({}, RawEvent("x", 1, {}), RawEvent("y", 2, details)), Memo()
    )


# Model calls


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({USAGE + "input_tokens": 5, USAGE + "output_tokens": 2}, LLMFields(input_tokens=5, output_tokens=2)),
        ({USAGE + "prompt_tokens": "5", USAGE + "completion_tokens": 2.0}, LLMFields(input_tokens=5, output_tokens=2)),
        ({USAGE + "input_tokens": 5, USAGE + "prompt_tokens": 9}, LLMFields(input_tokens=5)),
        ({USAGE + "input_tokens": -5, USAGE + "output_tokens": "many"}, LLMFields()),
        ({USAGE + "cache_read.input_tokens": 1}, LLMFields(cache_read_tokens=1)),
        ({USAGE + "cache_read_input_tokens": 1}, LLMFields(cache_read_tokens=1)),
        ({USAGE + "details.cache_read_tokens": 1}, LLMFields(cache_read_tokens=1)),
        ({USAGE + "cache_write.input_tokens": 1}, LLMFields(cache_write_tokens=1)),
        ({USAGE + "cache_creation.input_tokens": 1}, LLMFields(cache_write_tokens=1)),
        ({USAGE + "cache_creation_input_tokens": 1}, LLMFields(cache_write_tokens=1)),
        ({USAGE + "reasoning.output_tokens": 1}, LLMFields(reasoning_tokens=1)),
        ({USAGE + "reasoning_tokens": 1}, LLMFields(reasoning_tokens=1)),
        ({"operation.cost": 0.5, USAGE + "cost": 1.5}, LLMFields(cost_usd=0.5)),
        ({USAGE + "cost": "1.5"}, LLMFields(cost_usd=1.5)),
        ({USAGE + "total_cost": 2}, LLMFields(cost_usd=2)),
        ({"operation.cost": math.nan}, LLMFields()),
        ({"operation.cost": -0.5}, LLMFields()),
        (
            {"gen_ai.request.model": "asked", "gen_ai.response.model": "answered", "gen_ai.provider.name": "p"},
            LLMFields("answered", "p"),
        ),
        ({"gen_ai.request.model": "asked", "gen_ai.system": "s"}, LLMFields("asked", "s")),
        ({"gen_ai.request.model": 7}, LLMFields()),
    ],
)
def test_a_model_calls_fields(attributes: dict[str, object], expected: LLMFields) -> None:
    """Newer names go before older ones; what is no count is not counted."""
    assert expected == _genai.llm(of(attributes), Memo())


def test_messages_in_attributes() -> None:
    """Messages are read from attributes, the instructions before them unless they hold a system message."""
    attributes: dict[str, object] = {
        "gen_ai.input.messages": json.dumps([user("hi")]),
        "gen_ai.output.messages": [says("so")],
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "be brief"}]),
    }
    hi, so = Message("user", (Part("text", "hi"),)), Message("assistant", (Part("text", "so"),))
    brief = Message("system", (Part("text", "be brief"),))
    assert Messages((brief, hi), (so,)) == _genai.messages(of(attributes), Memo())
    attributes["gen_ai.input.messages"] = [{"role": "system", "content": "own"}]
    assert ["own"] == [message.text for message in _genai.messages(of(attributes), Memo()).input or ()]
    attributes["gen_ai.input.messages"] = None
    assert Messages(None, (so,)) == _genai.messages(of(attributes), Memo())


def test_empty_instructions() -> None:
    """Instructions that say nothing are a message without parts, and no text."""
    one = of({"gen_ai.input.messages": [user("hi")], "gen_ai.system_instructions": 7})
    assert "hi" == first_user_text(_genai.messages(one, Memo()).input)


def test_messages_in_events() -> None:
    """Without attributes messages are read from the event that holds all, else from one event each."""
    details = RawEvent("details", 1, {"gen_ai.output.messages": [says("so")]})
    each = RawEvent("gen_ai.choice", 2, {"message": {"content": "thus"}})
    assert [["so"], ["thus"], ["own"]] == [
        [message.text for message in found]
        for one in (of({}, details, each), of({}, each), of({"gen_ai.output.messages": [says("own")]}, each))
        if (found := _genai.output(one, Memo())) == _genai.messages(one, Memo()).output and found
    ]
    assert (None, Messages()) == (_genai.output(of({}), Memo()), _genai.messages(of({}), Memo()))


def test_requests() -> None:
    """Requested calls are read from the answer's text alone; whatever is harder is left to the messages."""
    got = [says("so"), asks(("c1", "search", {"q": 1}), (None, "", {}))]
    (part,) = _genai.requests(of({"gen_ai.output.messages": json.dumps(got)}), Memo()) or ()
    assert Part("tool_call", id="c1", name="search", value={"q": 1}) == part
    nothing = [of({"gen_ai.output.messages": json.dumps([says("so")])})]
    harder = [
        of({"gen_ai.output.messages": value})
        for value in ('["tool_call"', '"tool_call"', '[{"parts": "server_tool_call"}]', [asks(("c1", "x", {}))], None)
    ]
    assert [(), *[None] * 5] == [_genai.requests(one, Memo()) for one in (*nothing, *harder)]


def test_answer_text() -> None:
    """The recorded answer is text, or it is not."""
    assert ["[]", None, None] == [
        _genai.answer_text(of({"gen_ai.output.messages": value})) for value in ("[]", [], None)
    ]


# Agents


def test_an_agents_fields() -> None:
    """An agent's or a workflow's span has its name, the last question and the answer."""
    talk = {"gen_ai.input.messages": [user("one"), says("so"), user("two")], "gen_ai.output.messages": [says("thus")]}
    found = _genai.agent(of({"gen_ai.agent.name": "a", **talk}), Memo())
    assert ("a", "two", "thus") == (found.name, found.query, found.answer)
    assert "w" == _genai.agent(of({"gen_ai.workflow.name": "w"}), Memo()).name
    assert None is _genai.agent(of({"gen_ai.agent.name": 7}), Memo()).name


def message(role: str, *parts: Part) -> Message:
    """A message of some parts."""
    return Message(role, parts)


def test_questions_and_answers() -> None:
    """Neither silence, nor a tool's result, nor a request for a tool is a question or an answer."""
    memo = Memo()
    spoken = _genai.messages_of([user("Q"), asks(("c", "x", {})), returns(("c", "r"))], memo)
    assert ("Q", None) == (first_user_text(spoken), last_answer_text(spoken))
    assert (None, None) == (first_user_text(None), last_answer_text(None))
    assert (None, None) == (first_user_text((message("assistant"),)), last_answer_text((message("assistant"),)))
    said = (message("assistant", Part("text", "A")), message("user", Part("text", "Q")), message("tool"))
    assert "A" == last_answer_text(said)


# The rest


def test_retrievals() -> None:
    """Documents have an id, a score or content; what is no document is left out, what is no list is not recorded."""
    documents = [{"id": 1, "score": "0.5"}, {"doc_id": "b", "text": "t"}, {"relevance_score": 1}, "text"]
    one = of({"gen_ai.retrieval.query.text": "q", "gen_ai.retrieval.documents": json.dumps(documents)})
    expected = (Document("1", 0.5), Document("b", None, "t"), Document(None, 1))
    assert RetrievalFields("q", expected) == _genai.retrieval(one, Memo())
    assert RetrievalFields("q", None) == _genai.retrieval(of({"gen_ai.retrieval.query": "q"}), Memo())


def test_handoffs() -> None:
    """A hand-off has a source, a target or both."""
    assert [HandoffFields("a", "b"), HandoffFields("a", None), None] == [
        _genai.handoff(of(attributes), Memo())
        for attributes in (
            {"gen_ai.transfer.source.name": "a", "gen_ai.transfer.target.name": "b"},
            {"gen_ai.handoff.from_agent": "a"},
            {},
        )
    ]


def test_definitions() -> None:
    """Definitions are read from the attribute, else from the first event that has some."""
    event = RawEvent("details", 1, {"gen_ai.tool.definitions": ["b"]})
    other = RawEvent("details", 2, {"gen_ai.tool.definitions": ["c"]})
    assert [(ToolDefinition("a"),), (ToolDefinition("b"),), None, None] == [
        _genai.definitions(one, Memo())
        for one in (
            of({"gen_ai.tool.definitions": '["a"]'}, event),
            of({}, RawEvent("x", 0, {}), event, other),
            of({}, RawEvent("x", 0, {})),
            of({}),
        )
    ]


def test_context() -> None:
    """Session, user and request have a current and an older name."""
    newer = {"gen_ai.conversation.id": "s", "user.id": "u", "request.id": "r", "session.id": "other"}
    older = {"session.id": "s", "enduser.id": "u", "http.request.id": "r"}
    assert [ContextFields("s", "u", "r")] * 2 == [_genai.context(of(each), Memo()) for each in (newer, older)]


def test_a_tool_whose_end_nobody_told() -> None:
    """A call that ended only because its run did is neither a success nor a failure."""
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
    assert [True, False] == [
        _genai.tool(of(each), Memo()).uncertain for each in ({**call, "spanwise.unended": True}, call)
    ]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (span(1, status=2, message="m", attributes={"error.type": "T"}), SpanError(type="T", message="m")),
        (span(1, status=2, attributes={"error.type": "no such city"}), SpanError(message="no such city")),
        (span(1, status=2, message="m", attributes={"error.type": "no such city"}), SpanError(message="m")),
        (
            span(
                1,
                status=2,
                message="Traceback ...",
                attributes={"error.type": "T"},
                events=[RawEvent("exception", 1, {"exception.type": "E", "exception.message": "words"})],
            ),
            SpanError(type="E", message="words"),
        ),
        (span(1, status=2, events=[RawEvent("exception", 1, {}), RawEvent("x", 2, {})]), SpanError()),
        (span(1), None),
    ],
)
def test_errors(one: RawSpan, expected: SpanError | None) -> None:
    """The exception's own words go before the status message, a sentence is no type, and a failure needs no words."""
    assert expected == _genai.error(one)


@pytest.mark.parametrize(("seconds", "ms"), [(0.5, 500.0), ("0.5", 500.0), (0, 0.0), (-1, None), (True, None)])
def test_time_to_first_chunk(seconds: object, ms: float | None) -> None:
    """Recorded seconds are read as milliseconds; what is no length of time is not read."""
    assert ms == _genai.llm(of({"gen_ai.response.time_to_first_chunk": seconds}), Memo()).ttft_ms


KEYS = [
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "gen_ai.tool.call.id", "gen_ai.tool.definitions", "gen_ai.input.messages", "gen_ai.output.messages",
    "gen_ai.system_instructions", "gen_ai.agent.name", "gen_ai.retrieval.documents", "gen_ai.retrieval.query.text",
    "gen_ai.usage.input_tokens", "gen_ai.usage.cache_write_input_tokens", "gen_ai.response.model", "operation.cost",
    "error.type", "exception.type", "session.id", "message", "content",
]  # fmt: skip
WORDS = ["role", "parts", "content", "type", "text", "tool_call", "id", "name", "arguments", "chat", "score", "user"]
EVENTS = ["gen_ai.choice", "gen_ai.user.message", "gen_ai.tool.message"]


@given(spans(_genai.CONVENTION, keys=KEYS, words=WORDS, events=EVENTS))
def test_no_reader_raises(one: RawSpan) -> None:
    """Whatever the attributes and events hold, every reader gives an answer."""
    assert read_all(_genai.CONVENTION, one) == 10
    memo = Memo()
    dialect, _ = conventions.classify(one)
    conventions.requests(one, memo, dialect)
    conventions.retrieval(one, memo, dialect)
    conventions.handoff(one, memo)
    conventions.definitions(one, memo, dialect)
    assert conventions.content_switch(one, some=False)
