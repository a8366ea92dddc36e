"""traceAI's spans: OpenInference's under other names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import traceai
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KIND = "gen_ai.span.kind"
CALL = "0.message.tool_calls.0.tool_call."
KEYS = (
    KIND, "gen_ai.tool.name", "gen_ai.tool.parameters", "input.value", "output.value", "gen_ai.agent.name",
    "gen_ai.input.messages.0.message.role", "gen_ai.input.messages.0.message.content", "gen_ai.request.parameters",
    f"gen_ai.output.messages.{CALL}function.name", "gen_ai.usage.input_tokens.cache_read", "metadata", "session.id",
)  # fmt: skip
WORDS = ("LLM", "TOOL", "AGENT", "RETRIEVER", "user", "search", "messages", "content")


def span(kind: str, *, of: str = "openai", name: str = "span", **attributes: object) -> RawSpan:
    """A span of one of traceAI's instrumentations; a double underscore stands for a dot."""
    own = {key.replace("__", "."): value for key, value in attributes.items()}
    return made(name, scope=f"traceai_{of}", attributes={KIND: kind, **own})


@pytest.mark.parametrize(
    ("said", "kind"), [("LLM", "llm"), ("TOOL", "tool"), ("AGENT", "agent"), ("CHAIN", "workflow")]
)
def test_kinds(said: str, kind: str) -> None:
    """The kind is that of OpenInference; of other scopes a span that has GenAI's operation is another dialect's."""
    assert kind == conventions.classify(span(said))[1] == traceai.kind(span(said))
    other = made(scope="app", attributes={KIND: said, "gen_ai.operation.name": "chat"})
    assert None is traceai.kind(other)
    assert kind == traceai.kind(made(scope="app", attributes={KIND: said}))


def test_model_calls() -> None:
    """Flattened messages and requests are read, tokens are GenAI's, cached ones and thoughts have their own names."""
    one = span("LLM", gen_ai__usage__input_tokens=9, gen_ai__usage__output_tokens=5, gen_ai__request__model="m")
    one.attributes |= {
        "gen_ai.usage.input_tokens.cache_read": 4,
        "gen_ai.usage.output_tokens.reasoning": 3,
        "gen_ai.input.messages.0.message.role": "user",
        "gen_ai.input.messages.0.message.content": "?",
        "gen_ai.output.messages.0.message.role": "assistant",
        f"gen_ai.output.messages.{CALL}id": "c1",
        f"gen_ai.output.messages.{CALL}function.name": "search",
        f"gen_ai.output.messages.{CALL}function.arguments": '{"q": "a"}',
        "gen_ai.tool.definitions.0.tool.json_schema": json.dumps({"function": {"name": "search"}}),
    }
    dialect, _ = conventions.classify(one)
    assert [("c1", "search", {"q": "a"})] == [
        (part.id, part.name, part.value) for part in conventions.requests(one, Memo(), dialect) or ()
    ]
    assert ["c1"] == conventions.call_ids(one, dialect)
    assert ["?"] == [message.text for message in conventions.messages(one, Memo(), dialect).input or ()]
    assert ["search"] == [tool.name for tool in conventions.definitions(one, Memo(), dialect) or ()]
    used = conventions.llm(one, Memo(), dialect)
    assert ("m", 9, 5, 4, 3) == (
        used.model, used.input_tokens, used.output_tokens, used.cache_read_tokens, used.reasoning_tokens
    )  # fmt: skip


def test_answers_of_langchain() -> None:
    """LangChain's flattened answer lacks the calls that the recorded response holds."""
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "search", "args": {"q": "a"}}]}
    one = span("LLM", of="langchain", output__value=json.dumps({"messages": [message]}))
    one.attributes["gen_ai.output.messages.0.message.role"] = "assistant"
    dialect, _ = conventions.classify(one)
    assert ["c1"] == [part.id for part in conventions.requests(one, Memo(), dialect) or ()]


def test_tools_and_agents() -> None:
    """A tool's arguments and result, and an agent's name, are where OpenInference has them."""
    tool = span("TOOL", gen_ai__tool__name="search", input__value='{"q": "a"}', output__value="found")
    read = conventions.tool(tool, Memo(), conventions.classify(tool)[0])
    assert ("search", '{"q": "a"}', "found") == (read.name, read.arguments, read.result)
    one = span("AGENT", of="openai_agents", graph__node__id="triage", session__id="s1")
    assert "triage" == conventions.agent_name(one, Memo(), conventions.classify(one)[0])
    assert "s1" == conventions.context(one, Memo()).session_id


@given(spans(traceai.CONVENTION, keys=KEYS, words=WORDS))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert read_all(traceai.CONVENTION, span) > 0
