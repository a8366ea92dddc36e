"""Netra's spans of decorated functions, of what the app opens by hand, and of what its SDK instruments itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import netra
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KEYS = ("netra.span.type", "input", "output", "netra.usage", "netra.prompt", "netra.entity.error", "netra.session_id")
WORDS = ("TOOL", "AGENT", "GENERATION", "role", "content", "cost_in_usd", '[{"role": "tool", "content": "x"}]')


def span(kind: object, name: str = "search", **attributes: object) -> RawSpan:
    """A span of Netra's own."""
    return made(name, scope=name, attributes={"netra.span.type": kind, **attributes})


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("AGENT", "agent"),
        ("TOOL", "tool"),
        ("GENERATION", "llm"),
        ("EMBEDDING", "embedding"),
        ("SPAN", "workflow"),
        ("USAGE", "other"),
        (7, "other"),
    ],
)
def test_kinds(found: object, kind: str) -> None:
    """The type tells what was decorated."""
    assert kind == conventions.classify(span(found))[1]


def test_tools() -> None:
    """Each argument is a text, whatever it was: numbers, truths and JSON are read as such, words stay words."""
    told = {"city": "Paris", "days": "2", "near": "True", "with": "None", "tags": '["a"]', "code": "007"}
    one = span("TOOL", input=json.dumps(told), output='{"sky": "clear"}')
    expected = {"city": "Paris", "days": 2, "near": True, "with": None, "tags": ["a"], "code": "007"}
    assert ToolFields("search", expected, {"sky": "clear"}) == netra.tool(one, Memo())
    assert ToolFields("search") == netra.tool(span("TOOL", input="", output=""), Memo())


def test_tools_of_instrumentations() -> None:
    """A tool may have a name of its own, an id, messages for its arguments and its result, and a mark of failure."""
    given_, got = ([{"role": role, "content": said}] for role, said in (("assistant", {"q": 1}), ("tool", "broken")))
    named = {"gen_ai.tool.name": "Read", "gen_ai.tool.call.id": "t1", "tool.is_error": True}
    one = span("TOOL", input=json.dumps(given_), output=json.dumps(got), **named)
    assert ToolFields("Read", {"q": 1}, "broken", "t1", failed=True) == netra.tool(one, Memo())


def test_tools_of_agno() -> None:
    """Arguments keep their types there, and what a tool returned or raised stands in an envelope."""
    scope, session = "netra.instrumentation.agno", {"gen_ai.agent.conversation_id": "s", "gen_ai.agent.user_id": "u"}
    found = [
        made(
            "add", scope=scope, attributes={"netra.span.type": "TOOL", "input": '{"a": "1"}', "output": json.dumps(got)}
        )
        for got in ({"status": "success", "result": "[3]"}, {"status": "failure", "error": "no"}, {"status": "fine"})
    ]
    told = [netra.tool(one, Memo()) for one in found]
    assert [({"a": "1"}, [3], False), ({"a": "1"}, "no", True), ({"a": "1"}, {"status": "fine"}, False)] == [
        (one.arguments, one.result, one.failed) for one in told
    ]
    assert ContextFields("s", "u") == netra.context(span("AGENT", **session), Memo())


def test_messages_before_numbered_attributes() -> None:
    """Where messages stand as such they are read: in numbered attributes calls are texts."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    got = {"output": json.dumps([{"role": "assistant", "tool_calls": [call]}]), "gen_ai.completion.0.content": "[{}]"}
    ((part,),) = (message.parts for message in netra.output(span("GENERATION", **got), Memo()) or ())
    assert ("tool_call", "c1", "add") == (part.type, part.id, part.name)


def test_failures() -> None:
    """A decorated function that raises leaves its error beside an unset status."""
    raised = ("exception", {"exception.type": "ValueError", "exception.message": "no"})
    attributes = {"netra.span.type": "TOOL", "netra.entity.error": "no", "output": ""}
    one = made("search", attributes=attributes, events=[raised])
    assert netra.tool(one, Memo()).failed
    assert SpanError(type="ValueError", message="no") == conventions.error(one)
    assert netra.error(span("TOOL")) is None
    failed = span("AGENT", **{"netra.entity.error": "no", "output": "A"})
    assert netra.agent(failed, Memo()).answer is None


def test_agents_and_context() -> None:
    """An agent's question and answer; the session and the user also of spans of others."""
    one = span("AGENT", "helper", input='{"question": "Q"}', output="A")
    assert AgentFields("helper", "Q", "A") == netra.agent(one, Memo())
    assert netra.agent(span("SPAN", input="", output=""), Memo()) == AgentFields()
    told = {"netra.session_id": "s", "netra.user_id": "u", "llm.request.type": "chat"}
    assert ContextFields("s", "u") == conventions.context(made(attributes=told), Memo())


def test_generations() -> None:
    """What the app told of a model call, or what stands in numbered attributes."""
    told = {"netra.model": "m", "netra.llm_system": "openai", "netra.usage": '[{"units_used": 3, "cost_in_usd": 0.5}]'}
    one = span("GENERATION", **told, **{"netra.prompt": "Q", "input": "", "output": "A"})
    assert LLMFields("m", "openai", cost_usd=0.5) == netra.llm(one, Memo())
    said = Messages((Message("user", (Part("text", "Q"),)),), (Message("assistant", (Part("text", "A"),)),))
    assert said == netra.messages(one, Memo())
    numbered = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Q", "gen_ai.completion.0.content": "A"}
    assert said == netra.messages(span("GENERATION", **numbered), Memo())
    assert Messages(None, None) == netra.messages(span("TOOL"), Memo())


def test_calls_in_the_place_of_words() -> None:
    """Netra writes a request of the Responses API as a text without an id; another's such text is a text."""
    written = {"llm.request.type": "response", "gen_ai.completion.0.role": "assistant"}
    written["gen_ai.completion.0.content"] = '{"name": "search", "arguments": "{\\"query\\": \\"Q\\"}"}'
    kinds: list[str] = []
    for scope in ("netra.instrumentation.openai", "other"):
        one = made("openai.response", scope=scope, attributes=written)
        dialect, _ = conventions.classify(one)
        kinds += [part.type for message in conventions.output(one, Memo(), dialect) or () for part in message.parts]
    assert ["tool_call", "text"] == kinds


@given(spans(netra.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(netra.CONVENTION, one)
