"""VoltAgent's own spans: agents, loops, tools, what was written to the memory."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import voltagent
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
    LLMFields,
    Memo,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import EMPTY, RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.making import span as at_place
from tests.recordings_io import made

SCOPE = "@voltagent/core"
OWN = Scope(SCOPE, "1.0.0", EMPTY)
KEYS = (
    "span.type", "entity.type", "entity.name", "subagent.name", "input", "output", "tool.name", "tool.call.id",
    "llm.operation", "llm.tools", "memory.operation", "agent.stateSnapshot", "usage.prompt_tokens",
)  # fmt: skip
WORDS = ("agent", "tool", "memory", "write", "message", "role", "assistant", "parts", "type", "tool-f", "tools", "name")


def span(kind: object = None, **attributes: object) -> RawSpan:
    """A span of VoltAgent's, of a type or, without one, of an agent."""
    told = {"entity.type": "agent"} if kind is None else {"entity.type": "agent", "span.type": kind}
    return made("x", scope=SCOPE, attributes={**told, **attributes})


def written(*parts: object, role: str = "assistant") -> RawSpan:
    """The span of a message that is written to the memory."""
    message = {"userId": "u", "message": {"id": "m", "role": role, "parts": parts}}
    return span("memory", **{"memory.operation": "write", "input": json.dumps(message)})


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (None, "agent"),
        ("llm", "workflow"),
        ("tool", "tool"),
        ("retriever", "retrieval"),
        ("embedding", "embedding"),
        ("guardrail", "guardrail"),
        ("scorer", "evaluation"),
        ("workflow-step", "workflow"),
        ("memory", "other"),
        ("middleware", "other"),
        (7, "other"),
    ],
)
def test_kinds(found: object, kind: str) -> None:
    """The type tells what a span is; without one it is the agent's own."""
    assert kind == conventions.classify(span(found))[1]


def test_kinds_told_by_more_than_the_type() -> None:
    """A workflow's own span, what was written to the memory, and what happens inside the search for tools."""
    assert "workflow" == voltagent.kind(made(scope=SCOPE, attributes={"entity.type": "workflow"}))
    assert "other" == voltagent.kind(made(scope=SCOPE))
    assert "workflow" == voltagent.kind(written())
    assert "other" == voltagent.kind(span("tool", **{"tool.search.name": "searchTools"}))


def test_tools() -> None:
    """Name, arguments, result and id stand on the tool's span."""
    one = span("tool", **{"tool.name": "add", "tool.call.id": "c1", "input": '{"a":1}', "output": "2"})
    assert ToolFields("add", '{"a":1}', "2", "c1") == voltagent.tool(one, Memo())


def test_agents() -> None:
    """An agent that another one called bears the caller's name in `entity.name`; a workflow is no agent."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "text": "How many?"}]}])
    told = {"entity.name": "manager", "input": asked, "output": '{"answer": "Two."}'}
    assert AgentFields("manager", "How many?", '{"answer": "Two."}') == voltagent.agent(span(**told), Memo())
    assert "helper" == voltagent.agent_name(span(**told, **{"subagent.name": "helper"}))
    flow = made(scope=SCOPE, attributes={**told, "entity.type": "workflow"})
    assert AgentFields(None, "How many?", "Two.") == voltagent.agent(flow, Memo())
    assert AgentFields() == voltagent.agent(span("llm", **told), Memo())
    assert voltagent.agent_name(span("llm", **told)) is None


def test_usage() -> None:
    """An agent holds the sum of its own calls; a loop's usage is that of its last call, a title's that of its only."""
    held = {f"usage.{key}": n for n, key in enumerate(("prompt_tokens", "completion_tokens", "cached_tokens"), 5)}
    sums = {**held, "usage.reasoning_tokens": 1, "usage.cost": 0.5, "ai.model.name": "m"}
    assert LLMFields("m", None, 5, 6, 7, None, 1, 0.5, whole=True, own=True) == voltagent.llm(span(**sums), Memo())
    last = {"llm.usage.prompt_tokens": 3, "llm.usage.completion_tokens": 2, "llm.model": "m"}
    loop = span("llm", **last, **{"llm.operation": "streamText"})
    assert LLMFields("m", whole=True) == voltagent.llm(loop, Memo())
    title = span("llm", **last, **{"llm.operation": "generateTitle"})
    assert LLMFields("m", None, 3, 2, whole=True, own=True) == voltagent.llm(title, Memo())


def test_tokens_of_agents_below_others_are_added() -> None:
    """No agent's sum holds what another one used, so those of all agents are the run's."""
    agent = {"entity.type": "agent"}
    tree = [
        at_place(1, end=99, scope=OWN, attributes={**agent, "usage.prompt_tokens": 30}),
        at_place(2, parent=1, end=90, scope=OWN, attributes={**agent, "span.type": "tool", "tool.name": "delegate"}),
        at_place(3, parent=2, end=80, scope=OWN, attributes={**agent, "usage.prompt_tokens": 12}),
    ]
    (run,) = build_trace("0" * 32, tree).runs
    assert (42, ()) == (run.tokens.input, run.llm_calls)


def test_what_was_written_to_the_memory() -> None:
    """A call and its result are one part; tools without a type of their own have their name beside it."""
    parts = [
        {"type": "step-start"},
        {"type": "tool-f", "toolCallId": "c1", "state": "output-available", "input": {"a": 1}, "output": 2},
        {"type": "dynamic-tool", "toolName": "g", "toolCallId": "c2", "state": "output-error", "errorText": "no"},
        {"type": "tool-h", "toolCallId": "c3", "state": "input-available", "input": {}},
        {"type": "text", "text": "Two."},
    ]
    (message,) = voltagent.output(written(*parts), Memo())
    expected = [
        Part("other"),
        Part("tool_call", id="c1", name="f", value={"a": 1}),
        Part("tool_result", id="c1", name="f", value=2),
        Part("tool_call", id="c2", name="g"),
        Part("tool_result", id="c2", name="g", value="no"),
        Part("tool_call", id="c3", name="h", value={}),
        Part("text", "Two."),
    ]
    assert expected == list(message.parts)
    assert Messages(None, (message,)) == voltagent.messages(written(*parts), Memo())
    assert Messages() == voltagent.messages(written(*parts, role="user"), Memo())
    assert voltagent.output(span("memory", **{"memory.operation": "read"}), Memo()) is None


def test_retrieval() -> None:
    """A retriever returns one text, a list of documents where it was made to, or nothing."""
    found = {"input": "pigs", "output": "Pigs fly."}
    expected = RetrievalFields("pigs", (Document(content="Pigs fly."),))
    assert expected == voltagent.retrieval(span("retriever", **found), Memo())
    listed = {**found, "output": '[{"id": "d1", "text": "Pigs fly."}]'}
    assert "d1" == voltagent.retrieval(span("retriever", **listed), Memo()).documents[0].id
    assert () == voltagent.retrieval(span("retriever", **{**found, "output": "null"}), Memo()).documents
    assert RetrievalFields() == voltagent.retrieval(span("retriever"), Memo())


def test_definitions() -> None:
    """What a loop offered by name; an agent's own tools with descriptions, without Zod's parameters."""
    names = voltagent.definitions(span("llm", **{"llm.tools": "add,sub"}), Memo())
    assert (ToolDefinition("add"), ToolDefinition("sub")) == names
    tool = {"name": "add", "description": "Adds.", "parameters": {"def": {"type": "object"}}}
    state = span(**{"agent.stateSnapshot": json.dumps({"tools": [tool]})})
    assert (ToolDefinition("add", "Adds."),) == voltagent.definitions(state, Memo())
    assert voltagent.definitions(span(), Memo()) is None


def test_context_and_switch() -> None:
    """The conversation is the session; other dialects' switches say nothing here."""
    said = span(**{"conversation.id": "s", "user.id": "u"})
    assert ContextFields("s", "u") == voltagent.context(said, Memo())
    assert voltagent.CONVENTION.content_switch == conventions.content_switch(
        span("tool", **{"tool.name": "add"}), some=False
    )


@given(spans(voltagent.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(voltagent.CONVENTION, one)
