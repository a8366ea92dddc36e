"""OpenAI's and Anthropic's clients behind Logfire: both versions of the format, streams, both of OpenAI's APIs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions import logfire_llm as dialect
from spanwise.conventions import messages as read_messages
from spanwise.model.content import LLMFields, Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

OPENAI = "logfire.openai"
ANTHROPIC = "logfire.anthropic"
CHAT = "Chat Completion with {request_data[model]!r}"
STREAM = "streaming response from {request_data[model]!r} took {duration:.2f}s"
RESPONSES = "Responses API with {gen_ai.request.model!r}"
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def span(name: str = CHAT, *, scope: str = OPENAI, status: int = 0, **attributes: object) -> RawSpan:
    """A span of this dialect; structured values become JSON text, as Logfire writes them."""
    fields = {
        key.replace("__", "."): json.dumps(value) if isinstance(value, dict | list) else value
        for key, value in attributes.items()
    }
    return made(name, scope=scope, attributes=fields, status=status)


@pytest.mark.parametrize(
    ("attributes", "name", "kind"),
    [
        ({"response_data": "{}"}, CHAT, "llm"),
        ({"gen_ai.operation.name": "chat", "gen_ai.response.id": "r1"}, CHAT, "llm"),
        ({"gen_ai.usage.output_tokens": 3}, "Completion with {request_data[model]!r}", "llm"),
        ({"gen_ai.output.messages": "[]"}, RESPONSES, "llm"),
        ({"response_data": "{}"}, "Message with {request_data[model]!r}", "llm"),
        ({"gen_ai.operation.name": "chat", "gen_ai.response.model": "m"}, CHAT, "other"),
        ({"gen_ai.operation.name": "chat"}, STREAM, "llm"),
        ({}, STREAM, "llm"),
        ({}, "Embedding Creation with {request_data[model]!r}", "embedding"),
        ({"gen_ai.operation.name": "image_generation"}, "Image Generation with {request_data[model]!r}", None),
        ({"logfire.span_type": "pending_span", "response_data": "{}"}, CHAT, "other"),
    ],
)
def test_kinds(attributes: dict[str, object], name: str, kind: str | None) -> None:
    """A stream is told by its log, not by the span of its request, which knows no answer."""
    found = [
        dialect.kind(made(name, scope=OPENAI, attributes=attributes)),
        dialect.kind(made("renamed", scope=OPENAI, attributes={**attributes, "logfire.msg_template": name})),
    ]
    assert [kind, kind] == found


def test_a_failed_request_is_a_model_call() -> None:
    """A call that failed has no answer and is a call all the same."""
    assert "llm" == dialect.kind(span(status=2, gen_ai__operation__name="chat"))


def test_usage() -> None:
    """The provider's own usage fills what is not counted under the names of GenAI."""
    expected = LLMFields(input_tokens=100, output_tokens=7, cache_read_tokens=64, reasoning_tokens=2)
    assert [expected, expected, LLMFields()] == [
        dialect.llm(one, Memo())
        for one in (span(response_data={"usage": USAGE}), span(gen_ai__usage__raw=USAGE), span())
    ]


def test_usage_of_anthropic() -> None:
    """Anthropic counts cached tokens beside the input."""
    usage = {
        "input_tokens": 10,
        "output_tokens": 6,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 5,
    }
    expected = LLMFields(input_tokens=45, output_tokens=6, cache_read_tokens=30, cache_write_tokens=5)
    assert expected == dialect.llm(span(scope=ANTHROPIC, gen_ai__usage__raw=usage), Memo())


def test_chat_of_version_1() -> None:
    """Request and answer as they were sent."""
    request = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "add one"}],
        "tools": [ADD],
    }
    answer = {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}, "usage": USAGE}
    one = span(request_data=request, response_data=answer)
    assert Messages(
        (Message("system", (Part("text", "Be brief."),)), Message("user", (Part("text", "add one"),))),
        (Message("assistant", (Part("tool_call", "", "call_1", "add", {"a": 1}),)),),
    ) == dialect.messages(one, Memo())
    assert (ToolDefinition("add", "", {"type": "object"}),) == dialect.definitions(one, Memo())


def test_completion_and_stream_of_version_1() -> None:
    """A prompt is what the user said; a stream's answer may be text alone."""
    prompt = span(request_data={"prompt": "Capital of France?"}, response_data={"text": " Paris"})
    stream = span(STREAM, request_data={"prompt": "Hi"}, response_data={"combined_chunk_content": "Hello"})
    assert [
        Messages(
            (Message("user", (Part("text", "Capital of France?"),)),),
            (Message("assistant", (Part("text", " Paris"),)),),
        ),
        Messages((Message("user", (Part("text", "Hi"),)),), (Message("assistant", (Part("text", "Hello"),)),)),
    ] == [dialect.messages(one, Memo()) for one in (prompt, stream)]


def test_anthropic_of_version_1() -> None:
    """Anthropic's system prompt stands beside the messages, and Logfire wraps the arguments of a call."""
    call = {"id": "tu_1", "function": {"name": "add", "arguments": '{"input":{"a":1}}'}}
    request = {"system": "Be brief.", "messages": [{"role": "user", "content": "add one"}]}
    one = span(
        "Message with {request_data[model]!r}",
        scope=ANTHROPIC,
        request_data=request,
        response_data={"message": {"role": "assistant", "content": "Adding.", "tool_calls": [call]}},
    )
    assert Messages(
        (Message("system", (Part("text", "Be brief."),)), Message("user", (Part("text", "add one"),))),
        (Message("assistant", (Part("text", "Adding."), Part("tool_call", "", "tu_1", "add", {"a": 1}))),),
    ) == dialect.messages(one, Memo())


def test_an_argument_called_input_is_kept() -> None:
    """OpenAI's calls are not wrapped: a tool may have an argument of that name."""
    call = {"id": "call_1", "function": {"name": "add", "arguments": '{"input":{"a":1}}'}}
    got = dialect.output(span(response_data={"message": {"tool_calls": [call]}}), Memo())
    assert (Message("assistant", (Part("tool_call", "", "call_1", "add", {"input": {"a": 1}}),)),) == got


def test_responses_of_version_1() -> None:
    """One list of events holds both sides: what the assistant says at its end is the answer."""
    events = [
        {"event.name": "gen_ai.system.message", "role": "system", "content": "Be brief."},
        {"event.name": "gen_ai.user.message", "role": "user", "content": "add one"},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [CALL]},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "call_1", "name": "add", "content": "2"},
        {"event.name": "gen_ai.unknown", "role": "assistant", "content": "reasoning\n\nSee JSON for details"},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "Two."},
    ]
    found = dialect.messages(span(RESPONSES, request_data={"model": "m"}, events=events), Memo())
    assert found.input is not None
    assert ["system", "user", "assistant", "tool"] == [message.role for message in found.input]
    assert (Message("assistant", (Part("text", "Two."),)),) == found.output


def test_version_2() -> None:
    """Version 2 is read by the generic dialect."""
    told = [{"role": "user", "parts": [{"type": "text", "content": "add one"}]}]
    one = span(request_data={"model": "m"}, gen_ai__input__messages=told, gen_ai__tool__definitions=[ADD])
    assert Messages() == dialect.messages(one, Memo())
    assert Messages((Message("user", (Part("text", "add one"),)),)) == read_messages(one, Memo(), -1)
    assert (ToolDefinition("add", "", {"type": "object"}),) == dialect.definitions(one, Memo())


KEYS = (
    "request_data", "response_data", "events", "gen_ai.operation.name", "gen_ai.usage.raw", "gen_ai.response.id",
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions", "logfire.msg_template",
)  # fmt: skip
WORDS = (
    "messages", "message", "role", "content", "tool_calls", "function", "arguments", "input", "usage", "prompt",
    "system", "tools", "text", "prompt_tokens", "prompt_tokens_details", "input_tokens", "cached_tokens",
    "event.name", "assistant",
)  # fmt: skip


@given(spans(dialect.CONVENTION, keys=KEYS, words=WORDS, names=(CHAT, STREAM, RESPONSES)))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(dialect.CONVENTION, span) == 5
