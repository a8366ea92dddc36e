"""Spring AI's observations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import spring_ai
from spanwise.model.content import ContextFields, LLMFields, Memo, Message, Messages, Part, RetrievalFields
from spanwise.model.raw import RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.making import span as at_place
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "spring-ai__micrometer"
SCOPE = "org.springframework.boot"
OF_BOOT = Scope(SCOPE, "3.5.16", {})
KEYS = (
    "spring.ai.kind", "spring.ai.tool.call.result", "spring.ai.tool.call.arguments", "spring.ai.tool.definition.name",
    "spring.ai.tool.definition.schema", "spring.ai.model.request.tool.names", "gen_ai.operation.name",
    "gen_ai.prompt", "gen_ai.completion", "gen_ai.response.model", "db.vector.query.content",
)  # fmt: skip
WORDS = ("chat", "tool_call", "chat_client", "vector_store", "none", '["a", "b"]', "embedding", "framework")


def span(**attributes: object) -> RawSpan:
    """A span of Spring's, with dots for the double underscores."""
    found = {name.replace("__", "."): value for name, value in attributes.items()}
    return made("x", scope=SCOPE, attributes=found)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"spring.ai.kind": "chat_client", "gen_ai.operation.name": "framework"}, "workflow"),
        ({"spring.ai.kind": "tool_call", "gen_ai.operation.name": "execute_tool"}, "tool"),
        ({"spring.ai.kind": "advisor", "gen_ai.operation.name": "framework"}, "other"),
        ({"spring.ai.kind": "vector_store", "db.operation.name": "query"}, "retrieval"),
        ({"spring.ai.kind": "vector_store", "db.operation.name": "add"}, "setup"),
        ({"spring.ai.kind": "new"}, "other"),
        ({"gen_ai.operation.name": "chat"}, "llm"),
        ({"gen_ai.operation.name": "embedding"}, "embedding"),
        ({"gen_ai.operation.name": "image"}, "other"),
        ({"gen_ai.operation.name": 7}, None),
        ({"method": "POST"}, None),
    ],
)
def test_kinds(attributes: dict[str, object], kind: str | None) -> None:
    """Spring's own kind tells, else the operation; other spans of the same scope are not of this dialect."""
    assert kind == spring_ai.kind(made("x", scope=SCOPE, attributes=attributes))


def test_the_scope_is_not_needed() -> None:
    """Whichever tracer Micrometer's bridge was given, Spring's own attributes tell."""
    one = made("x", scope="app", attributes={"spring.ai.kind": "tool_call"})
    assert ("spring_ai", "tool") == (conventions.CONVENTIONS[conventions.classify(one)[0]].name, spring_ai.kind(one))


def test_a_tool_that_returned_a_value() -> None:
    """What a tool returned is JSON; a text is taken out of its quotes."""
    called = spring_ai.tool(
        span(
            spring__ai__tool__definition__name="t",
            spring__ai__tool__call__arguments='{"a":1}',
            spring__ai__tool__call__result='"Error: no"',
            spring__ai__tool__call__id="c",
        ),
        Memo(),
    )
    assert ("t", '{"a":1}', "Error: no", "c") == (called.name, called.arguments, called.result, called.call_id)
    assert not called.uncertain
    assert "[1]" == spring_ai.tool(span(spring__ai__tool__call__result="[1]"), Memo()).result


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("Cannot reach the index", "error"),
        ("index offline", "unknown"),
        ('"index offline"', "ok"),
        ('"Error: index offline"', "error"),
        (None, "unknown"),
        ("3", "ok"),
    ],
)
def test_a_tool_that_raised(result: str | None, status: str) -> None:
    """A bare text is no value that a tool returned: an error if it reads like one, else nobody knows."""
    attributes = {"spring.ai.kind": "tool_call", "spring.ai.tool.definition.name": "t"}
    more = {} if result is None else {"spring.ai.tool.call.result": result}
    client = at_place(1, scope=OF_BOOT, attributes={"spring.ai.kind": "chat_client"})
    tool = at_place(2, parent=1, scope=OF_BOOT, attributes={**attributes, **more})
    (run,) = build_trace("t", [client, tool]).runs
    assert [("t", status)] == [(call.name, call.status) for call in run.tool_calls]
    message = result if result and status == "error" and result[0] != '"' else None
    assert message in (None, *(call.error.message for call in run.tool_calls if call.error))


def test_a_model() -> None:
    """`none` is no model, and a stream that was counted as nothing was not counted."""
    whole = span(gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__response__model="none")
    assert LLMFields("m", whole=True) == spring_ai.llm(whole, Memo())
    nothing = {"gen_ai__request__model": "none", "gen_ai__response__model": "none"}
    assert LLMFields(whole=True) == spring_ai.llm(span(**nothing), Memo())
    streamed = span(gen_ai__usage__input_tokens="0", gen_ai__usage__output_tokens="0", gen_ai__system="openai")
    assert LLMFields(provider="openai", whole=True) == spring_ai.llm(streamed, Memo())
    assert LLMFields() == spring_ai.llm(span(spring__ai__kind="chat_client", gen_ai__system="spring_ai"), Memo())


def test_texts_of_an_apps_own_filter() -> None:
    """The last text of a prompt is the question; quotes and line breaks inside texts are not escaped."""
    said = spring_ai.messages(
        span(gen_ai__prompt='["Be\nkind", "Why "so"?", "null", ""]', gen_ai__completion='["Yes"]'), Memo()
    )
    assert (
        Messages((Message("user", (Part("text", 'Why "so"?'),)),), (Message("assistant", (Part("text", "Yes"),)),))
        == said
    )
    listed = span(gen_ai__prompt=json.dumps(["a", "b"]), gen_ai__completion="[]")
    assert Messages((Message("user", (Part("text", "b"),)),)) == spring_ai.messages(listed, Memo())
    assert Messages() == spring_ai.messages(span(gen_ai__prompt="a", gen_ai__completion=7), Memo())


def test_a_vector_store() -> None:
    """What was looked for is recorded, what was found is not."""
    searched = span(spring__ai__kind="vector_store", db__operation__name="query", db__vector__query__content="q")
    assert RetrievalFields("q") == spring_ai.retrieval(searched, Memo())


def test_a_conversation() -> None:
    """The conversation that the app's memory goes by is the session."""
    assert ContextFields("s") == spring_ai.context(span(spring__ai__chat__client__conversation__id="s"), Memo())


def test_tools_offered() -> None:
    """A model's span names the tools that it was offered, a tool's own span describes it."""
    by_name = {one.name: one for one in recorded(RECORDING)}
    offered = spring_ai.definitions(by_name["chat gpt-4o-mini"], Memo())
    assert ["calculator", "search_docs"] == [tool.name for tool in offered or ()]
    described = spring_ai.definitions(by_name["tool_call calculator"], Memo())
    assert described is not None
    (ran,) = described
    assert ("calculator", "Evaluate an arithmetic expression.") == (ran.name, ran.description)
    assert "expression" in str(ran.schema)
    assert None is spring_ai.definitions(span(), Memo())


@given(spans(spring_ai.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(spring_ai.CONVENTION, one)
