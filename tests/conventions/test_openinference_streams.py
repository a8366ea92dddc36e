"""Parallel calls of streams, which OpenInference's OpenAI client in JavaScript strings together."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import _openinference_streams
from spanwise.model.content import Memo, Message, Part
from spanwise.model.raw import RawSpan
from tests.recordings_io import made

JS = "@arizeai/openinference-instrumentation-openai"
CALL = "llm.output_messages.0.message.tool_calls.0.tool_call."


def streamed(
    call_id: str, name: str, arguments: str, *, scope: str = JS, tools: tuple[str, ...] = ("add", "find")
) -> RawSpan:
    """The span of a streamed answer with one call."""
    offered = {
        f"llm.tools.{at}.tool.json_schema": json.dumps({"type": "function", "function": {"name": one}})
        for at, one in enumerate(tools)
    }
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Wait.",
        f"{CALL}id": call_id,
        f"{CALL}function.name": name,
        f"{CALL}function.arguments": arguments,
        **offered,
    }
    return made("OpenAI Chat Completions", scope=scope, attributes=attributes)


def test_calls_that_are_strung_together() -> None:
    """Each gets its id, its name and its arguments back, wherever the answer is asked for."""
    span = streamed("call_1call_2call_3", "addfindadd", '{"a":1}{"q":"}{"}{}')
    calls = (
        Part("tool_call", "", "call_1", "add", {"a": 1}),
        Part("tool_call", "", "call_2", "find", {"q": "}{"}),
        Part("tool_call", "", "call_3", "add", {}),
    )
    answer = (Message("assistant", (Part("text", "Wait."), *calls)),)
    dialect, _ = conventions.classify(span)
    assert answer == _openinference_streams.output(span, Memo()) == _openinference_streams.messages(span, Memo()).output
    assert list(calls) == conventions.requests(span, Memo(), dialect)
    assert None is conventions.call_ids(span, dialect)


def test_calls_of_which_the_first_alone_is_named() -> None:
    """BeeAI gives the calls of a stream the name and the id of the first: which they were is not told."""
    span = streamed("call_1", "add", '{"a":1}{"q":"x"}', scope="openinference.instrumentation.beeai")
    dialect, _ = conventions.classify(span)
    assert conventions.requests(span, Memo(), dialect) is conventions.call_ids(span, dialect) is None
    single = streamed("call_1", "add", '{"a":1}', scope="openinference.instrumentation.beeai")
    assert [Part("tool_call", "", "call_1", "add", {"a": 1})] == conventions.requests(single, Memo(), dialect)


def test_ids_that_cannot_be_told_apart() -> None:
    """Ids of different lengths, of different kinds or the same one twice are none."""
    for ids in ("call_1call_22", "call_1bali_2", "call_1call_1", ""):
        (message,) = _openinference_streams.output(streamed(ids, "addfind", '{"a":1}{"b":2}'), Memo()) or ()
        assert [None, None] == [part.id for part in message.parts if part.type == "tool_call"]


@pytest.mark.parametrize(
    ("name", "arguments", "tools"),
    [
        ("addfound", '{"a":1}{"b":2}', ("add", "find")),
        ("addadd", '{"a":1}{"b":2}', ()),
        ("aaa", '{"a":1}{"b":2}', ("a", "aa")),
        ("addadd", '{"a":1}{"b":', ("add",)),
        ("a" * 20, '{"a":1}' * 20, ("a", "aa", "aaa", "")),
    ],
)
def test_calls_that_cannot_be_told_apart(name: str, arguments: str, tools: tuple[str, ...]) -> None:
    """Names that can be read in no way, or in several, and pieces of arguments: what was asked for is not told."""
    span = streamed("call_1call_2", name, arguments, tools=tools)
    assert None is _openinference_streams.output(span, Memo())


def test_answers_that_need_no_care() -> None:
    """A call of its own, odd arguments and other instrumentations' spans stay as they are."""
    for span in (
        streamed("call_1", "add", '{"a":1}'),
        streamed("call_1", "add", "{'a':1}"),
        streamed("call_1", "addfind", '{"a":1}{"b":2}', scope="other"),
    ):
        (message,) = _openinference_streams.output(span, Memo()) or ()
        assert 1 == len([part for part in message.parts if part.type == "tool_call"])
    assert None is _openinference_streams.output(made(scope=JS), Memo())
