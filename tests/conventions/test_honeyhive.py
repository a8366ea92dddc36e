"""HoneyHive's spans of wrapped functions: values taken apart, and types that nobody gave."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import honeyhive
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "honeyhive.140129296663040"
TYPED = "honeyhive_metadata.event_type"
IN, OUT = "honeyhive_inputs", "honeyhive_outputs.result"
KEYS = ("honeyhive_event_type", TYPED, f"{IN}.a", f"{IN}.a.b", f"{OUT}.0", f"{OUT}.0.role", OUT, "honeyhive_event_name")
WORDS = ("tool", "model", "chain", "assistant", '[{"role": "user", "content": "Q"}]')


def span(kind: object, **attributes: object) -> RawSpan:
    """A function that was wrapped with a type."""
    return made("app.add", scope=SCOPE, attributes={"honeyhive_event_type": kind, TYPED: kind, **attributes})


@pytest.mark.parametrize(
    ("found", "kind"),
    [("model", "llm"), ("tool", "tool"), ("chain", "workflow"), ("session", "workflow"), (7, "other")],
)
def test_kinds(found: object, kind: str) -> None:
    """The type tells what was wrapped."""
    assert kind == conventions.classify(span(found))[1]


def test_types_that_nobody_gave() -> None:
    """A span without a type is said to be a tool: so are steps, what failed once more, and others' spans."""
    given = {"honeyhive_event_type": "tool"}
    assert "workflow" == conventions.classify(made(scope=SCOPE, attributes={**given, f"{IN}.q": "Q"}))[1]
    assert "other" == conventions.classify(made("add_error", scope=SCOPE, attributes=given))[1]
    again = made("add_error", scope=SCOPE, attributes={**given, "honeyhive_error": "it broke"})
    assert "setup" == conventions.classify(again)[1]
    chat = {**given, "gen_ai.operation.name": "chat"}
    assert "llm" == conventions.classify(made(scope="openai", attributes=chat))[1]


def test_tools() -> None:
    """A tool has the name that it was given or that of its function; lists and mappings are put together."""
    told = {f"{IN}.a": 1, f"{IN}.b.c": "x", f"{OUT}.0": 1, f"{OUT}.1.y": 2}
    expected = ToolFields("add", {"a": 1, "b": {"c": "x"}}, [1, {"y": 2}])
    assert expected == honeyhive.tool(span("tool", **told), Memo())
    named = span("tool", honeyhive_event_name="search.docs", **{OUT: "r"})
    assert ToolFields("search.docs", None, "r") == honeyhive.tool(named, Memo())


def test_values_that_contradict_each_other() -> None:
    """A name that is both a value and the beginning of others keeps the value."""
    assert {"a": 1} == honeyhive.tool(span("tool", **{f"{IN}.a": 1, f"{IN}.a.b": 2}), Memo()).arguments


def test_model_calls() -> None:
    """Messages among what was given, the message that was returned, and what the app told of the model."""
    call = {"id": "c1", "function.name": "add", "function.arguments": '{"a": 1}', "type": "function"}
    returned = {f"{OUT}.role": "assistant", **{f"{OUT}.tool_calls.0.{key}": value for key, value in call.items()}}
    given = {f"{IN}.model": "m", f"{IN}.msgs": json.dumps([{"role": "user", "content": "Q"}])}
    counted = {"honeyhive_metadata.prompt_tokens": 5, "honeyhive_config.model": "m"}
    one = span("model", **returned, **given, **counted)
    got = (Message("assistant", (Part("tool_call", id="c1", name="add", value={"a": 1}),)),)
    assert Messages((Message("user", (Part("text", "Q"),)),), got) == honeyhive.messages(one, Memo())
    assert LLMFields("m", None, 5) == honeyhive.llm(one, Memo())
    assert Messages(None, None) == honeyhive.messages(span("chain", **returned), Memo())
    assert honeyhive.output(span("chain", **returned), Memo()) is None


def test_steps_and_context() -> None:
    """Question and answer of a step; the session and the user."""
    one = span("chain", **{f"{IN}.q": "Q", OUT: "A", "honeyhive.session_id": "s", "honeyhive_user_id": "u"})
    assert AgentFields(None, "Q", "A") == honeyhive.agent(one, Memo())
    assert ContextFields("s", "u") == honeyhive.context(one, Memo())
    assert honeyhive.CONVENTION.content_switch == conventions.content_switch(one, some=False)


@given(spans(honeyhive.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(honeyhive.CONVENTION, one)
