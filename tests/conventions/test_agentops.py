"""AgentOps: decorated functions, and requests for tools that are no executions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import agentops
from spanwise.model.content import AgentFields, Memo, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import run_of
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

KIND = "agentops.span.kind"


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("question.session", "session", "workflow"),
        ("helper.agent", "agent", "agent"),
        ("step.task", "task", "workflow"),
        ("add.tool", "tool", "tool"),
        ("tool_call.add", "AgentOpsSpanKindValues.TOOL", "other"),
        ("request", "AgentOpsSpanKindValues.LLM", "llm"),
        ("odd", "http", "other"),
    ],
)
def test_kinds(name: str, said: str, kind: str) -> None:
    """The kind is as the span says, be it an enum's printed member; a request for a tool is none."""
    span = made(name, attributes={KIND: said, "tool.name": "add"})
    index, found = conventions.classify(span)
    assert ("agentops", kind) == (conventions.CONVENTIONS[index].name, found)
    assert agentops.kind(made(name, attributes={KIND: 7})) is None


def test_tools() -> None:
    """The call of the decorated function is unwrapped."""
    attributes = {
        KIND: "tool",
        "operation.name": "add",
        "agentops.tool.input": json.dumps({"args": [], "kwargs": {"a": 1}}),
        "agentops.tool.output": "2",
    }
    assert ToolFields("add", {"a": 1}, "2") == agentops.tool(made("add.tool", attributes=attributes), Memo())
    assert ToolFields("add") == agentops.tool(made("add.tool", attributes={KIND: "tool"}), Memo())
    framework = {KIND: "tool", "tool.name": "add", "tool.parameters": '{"a": 1}', "tool.result": "2"}
    assert ToolFields("add", '{"a": 1}', "2") == agentops.tool(made("x", attributes=framework), Memo())


@pytest.mark.parametrize("entity", ["entity", "task", "agent", "operation", "workflow"])
def test_agents(entity: str) -> None:
    """Question and answer are what the function was called with and what it returned, unless it failed."""
    attributes = {
        KIND: "agent",
        "operation.name": "helper",
        f"agentops.{entity}.input": json.dumps({"args": ["add one"], "kwargs": {}}),
        f"agentops.{entity}.output": "Two.",
    }
    assert AgentFields("helper", "add one", "Two.") == agentops.agent(made(attributes=attributes), Memo())
    assert AgentFields("helper", "add one") == agentops.agent(made(attributes=attributes, status=2), Memo())
    assert AgentFields() == agentops.agent(made(attributes={KIND: "task", "operation.name": "step"}), Memo())


def test_requests() -> None:
    """A model's request is told by a span of its own; a tool's span and a nameless one are none."""
    attributes = {KIND: "AgentOpsSpanKindValues.TOOL", "tool.parameters": '{"a": 1}', "tool.call.id": "c1"}
    asked = Part("tool_call", id="c1", name="add", value={"a": 1})
    assert asked == agentops.requested(made("tool_call.add", attributes=attributes), Memo())
    assert agentops.requested(made("tool_call.", attributes=attributes), Memo()) is None
    assert agentops.requested(made("add.tool", attributes=attributes), Memo()) is None


def test_ids_of_the_calls() -> None:
    """Tools' spans have no ids of calls, the requests have; tools that are not decorated are known by the requests."""
    whole = recorded("openai-client__agentops")
    ids = ["call_000001", "call_000002", "call_000004", "call_000005"]
    assert ids == [call.call_id for call in run_of(*whole).tool_calls]
    bare = run_of(*(span for span in whole if not span.name.endswith(".tool"))).tool_calls
    assert ids == [call.call_id for call in bare]
    assert ["ok", "error", "ok", "ok"] == [call.status for call in bare]


KEYS = (
    KIND, "tool.call.id",
    "operation.name", "agent.name", "tool.name", "tool.parameters", "agentops.tool.input", "agentops.tool.output",
    "agentops.entity.input", "agentops.task.output",
)  # fmt: skip
WORDS = ("args", "kwargs", "tool", "agent", "query", "answer", "AgentOpsSpanKindValues.TOOL")


@given(spans(agentops.CONVENTION, keys=KEYS, words=WORDS, names=("add.tool", "tool_call.add")))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(agentops.CONVENTION, span) == 2
    agentops.requested(span, Memo())
