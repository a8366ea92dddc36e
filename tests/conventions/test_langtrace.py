"""Langtrace's instrumentations of OpenAI's client and of LangChain."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import _genai_scopes, langtrace
from spanwise.model.content import Memo
from spanwise.model.raw import RawEvent, RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

LANGCHAIN = "langtrace_python_sdk.instrumentation.langchain_core.instrumentation"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
KEYS = (
    "gen_ai.operation.name", "gen_ai.request.tools", "gen_ai.request.stream", "gen_ai.usage.cached_tokens",
    "langchain.inputs", "langchain.outputs", "langchain.metadata", "gen_ai.completion",
)  # fmt: skip
WORDS = ("role", "content", "type", "ai", "human", "tools", "function", "name", "response_metadata", "model_name")


def client(answer: object, **attributes: object) -> RawSpan:
    """A span of OpenAI's client and what the model answered."""
    one = made("create", scope=_genai_scopes.LANGTRACE, attributes={"gen_ai.operation.name": "chat", **attributes})
    told = {"gen_ai.completion": json.dumps([{"role": "assistant", "content": answer}])}
    one.events = (RawEvent("gen_ai.content.completion", 1, told),)
    return one


def model(**attributes: object) -> RawSpan:
    """A span of LangChain's chat model."""
    own = {f"langchain.{key}": json.dumps(value) for key, value in attributes.items()}
    return made("BaseChatModel.invoke", scope=LANGCHAIN, attributes=own)


@pytest.mark.parametrize(
    ("operation", "kind"),
    [("chat", "llm"), ("openai.responses.create", "llm"), ("embed", None), (7, None)],
)
def test_kinds_of_the_client(operation: object, kind: str | None) -> None:
    """The operation is a method's name in the Responses API; what else there is, is GenAI's to tell."""
    assert kind == langtrace.kind(client("", **{"gen_ai.operation.name": operation}))


def test_kinds_of_langchain() -> None:
    """Of the methods of a chat model that call each other the outermost is the call."""
    assert "llm" == langtrace.kind(model())
    assert langtrace.kind(made("BaseChatModel.generate", scope=LANGCHAIN)) is None


def test_calls_of_the_client() -> None:
    """Calls stand in the content of the answer, cached tokens and tools in attributes of Langtrace's own."""
    own = {"gen_ai.usage.cached_tokens": 64, "gen_ai.request.tools": (json.dumps(TOOLS),)}
    one, memo = client([CALL], **own), Memo()
    dialect = conventions.classify(one)[0]
    assert [("f", {"a": 1})] == [(part.name, part.value) for part in conventions.requests(one, memo, dialect) or ()]
    assert 64 == conventions.llm(one, memo, dialect).cache_read_tokens
    assert ["f"] == [tool.name for tool in conventions.definitions(one, memo, dialect) or ()]
    listed = client("", **{"gen_ai.request.tools": json.dumps(TOOLS)})
    assert ["f"] == [tool.name for tool in langtrace.definitions(listed, memo) or ()]


def test_what_was_swallowed_is_not_said() -> None:
    """A stream's text may be the arguments of calls, and an empty answer may have asked for tools: neither is told."""
    memo = Memo()
    streamed = client('{"a": 1}', **{"gen_ai.request.stream": True, "gen_ai.request.tools": "[]"})
    for one in (streamed, client("", **{"gen_ai.operation.name": "openai.responses.create"})):
        dialect = conventions.classify(one)[0]
        assert conventions.output(one, memo, dialect) is None
        assert conventions.requests(one, memo, dialect) is None
        assert "another library" in conventions.content_switch(one, some=False)
    plain = client("Paris", **{"gen_ai.request.stream": True})
    (said,) = conventions.output(plain, memo, conventions.classify(plain)[0]) or ()
    assert "Paris" == said.text


def test_langchain_messages() -> None:
    """What a chat model was sent and answered, with the model that answered and the tools it was offered."""
    answer = {
        "type": "ai",
        "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1"}],
        "response_metadata": {"model_name": "m-2024"},
    }
    one = model(inputs=[[{"type": "human", "content": "How many?"}]], outputs=answer, metadata={"tools": TOOLS})
    memo = Memo()
    said = langtrace.messages(one, memo)
    assert ["How many?"] == [message.text for message in said.input or ()]
    assert ["f"] == [part.name for message in said.output or () for part in message.parts]
    assert "m-2024" == langtrace.llm(one, memo).model
    assert ["f"] == [tool.name for tool in langtrace.definitions(one, memo) or ()]
    assert langtrace.output(model(outputs=None), memo) is None


@given(spans(langtrace.CONVENTION, keys=KEYS, words=WORDS, events=("gen_ai.content.completion",)))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(langtrace.CONVENTION, one)
