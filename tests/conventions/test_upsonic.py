"""Upsonic's own spans: envelopes around results, and failures that are said to be none."""

from __future__ import annotations

import json

from hypothesis import given

from spanwise import conventions
from spanwise.conventions import upsonic
from spanwise.model.content import AgentFields, Memo, Message, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

OUT = "langfuse.observation.output"
KEYS = ("upsonic.tool.name", "langfuse.observation.input", OUT, "upsonic.tool.success", "gen_ai.input.messages")
WORDS = ("func", "{'func': 1}", "tool_call_response", "parts", "role", "response")


def call(output: object = None, **more: object) -> RawSpan:
    """A tool's span; what it returned is printed, and that as JSON."""
    told = {} if output is None else {OUT: json.dumps(str(output))}
    attributes = {"upsonic.tool.name": "add", "upsonic.tool.call_id": "c1", "upsonic.tool.success": True, **more}
    return made("tool.execute", scope="upsonic", attributes={**attributes, **told})


def test_kinds() -> None:
    """Its spans by their names; a model call says itself what it is."""
    names = ("agent.run", "tool.execute", "pipeline.step.model", "chat m")
    chat = {"gen_ai.operation.name": "chat"}
    found = [conventions.classify(made(name, scope="upsonic", attributes=chat))[1] for name in names]
    assert ["agent", "tool", "other", "llm"] == found


def test_tools() -> None:
    """What a tool returned is taken out of its envelope."""
    one = call({"func": {"sum": 3}}, **{"langfuse.observation.input": '{"a": 1}'})
    assert ToolFields("add", {"a": 1}, {"sum": 3}, "c1") == upsonic.tool(one, Memo())
    cut = upsonic.tool(call("{'func': 'a long te"), Memo())
    assert (None, False) == (cut.result, cut.failed)


def test_failures() -> None:
    """What was raised stands without an envelope, whatever else is said; without content nobody can tell."""
    raised = upsonic.tool(call("no such number"), Memo())
    assert (True, "no such number") == (raised.failed, raised.message)
    assert upsonic.tool(call(**{"upsonic.tool.success": False}), Memo()).failed
    assert upsonic.tool(call(), Memo()).uncertain


def test_messages() -> None:
    """The results that a model was told are taken out of their envelopes as well."""
    parts = [
        {"type": "tool_call_response", "id": f"c{at}", "response": got} for at, got in enumerate(({"func": 3}, "no"))
    ]
    told = [{"role": "user", "parts": [{"type": "text", "content": "Q"}]}, {"role": "user", "parts": parts}]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(told)}
    said = upsonic.messages(made("chat m", scope="upsonic", attributes=chat), Memo())
    asked, told_back = said.input or ()
    assert Message("user", (Part("text", "Q"),)) == asked
    assert [(3, False), ("no", True)] == [(part.value, part.error) for part in told_back.parts]
    assert upsonic.messages(made("chat m", scope="upsonic"), Memo()).input is None


def test_agents() -> None:
    """The agent, its task, and what came of it."""
    told = {"upsonic.agent.name": "helper", "upsonic.input": "Q", "upsonic.output": "A"}
    assert AgentFields("helper", "Q", "A") == upsonic.agent(made("agent.run", scope="upsonic", attributes=told), Memo())


@given(spans(upsonic.CONVENTION, keys=KEYS, words=WORDS, names=("tool.execute", "agent.run")))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(upsonic.CONVENTION, one)
