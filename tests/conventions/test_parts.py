"""Which spans of agents and workflows are only ever part of a run."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions._parts import is_part
from tests.recordings_io import made

OPENAI_AGENTS = "openinference.instrumentation.openai_agents"
AG2 = "opentelemetry.instrumentation.ag2"
LANGCHAIN = "opentelemetry.instrumentation.langchain"


@pytest.mark.parametrize(
    ("name", "scope", "attributes", "expected"),
    [
        ("cycle", "strands.telemetry.tracer", {"gen_ai.operation.name": "execute_event_loop_cycle"}, True),
        ("step 1", "gen_ai", {"gen_ai.operation.name": "agent_step"}, True),
        ("invoke_agent x", "", {"gen_ai.operation.name": "invoke_agent"}, False),
        ("Step 1", "openinference.instrumentation.smolagents", {}, True),
        ("helper.run", "openinference.instrumentation.smolagents", {}, False),
        ("Step 1", "my-app", {}, False),
        ("turn", OPENAI_AGENTS, {}, True),
        ("research_agent", OPENAI_AGENTS, {"graph.node.id": "research_agent"}, True),
        ("Agent workflow", OPENAI_AGENTS, {}, False),
        ("BaseWorkflowAgent.call_tool", "openinference.instrumentation.llama_index", {}, True),
        ("FunctionAgent.run", "openinference.instrumentation.llama_index", {}, False),
        ("model", "openinference.instrumentation.langchain", {"metadata": json.dumps({"langgraph_node": "m"})}, True),
        ("chain", "openinference.instrumentation.langchain", {"metadata": json.dumps({"user": "u"})}, False),
        ("model", "langfuse-sdk", {"langfuse.observation.metadata.langgraph_node": '"model"'}, True),
        ("RunnableSequence.task", LANGCHAIN, {"traceloop.span.kind": "task"}, True),
        ("RunnableSequence.workflow", LANGCHAIN, {"traceloop.span.kind": "workflow"}, False),
        ("invoke_agent a", AG2, {"ag2.span.type": "agent", "gen_ai.output.messages": "[]"}, True),
        ("invoke_agent a", AG2, {"ag2.span.type": "agent", "gen_ai.agent.name": "chat_manager"}, True),
        ("invoke_agent a", AG2, {"ag2.span.type": "agent", "gen_ai.agent.name": "a"}, False),
        ("a.run", "openinference.instrumentation.agno", {"graph.node.parent_id": "1"}, True),
        ("a.run", "openinference.instrumentation.agno", {"graph.node.id": "1"}, False),
        ("a._execute_core", "openinference.instrumentation.crewai", {}, True),
        ("crew.kickoff", "openinference.instrumentation.crewai", {}, False),
        ("invoke_agent model", "openlit.instrumentation.langgraph", {"gen_ai.operation.name": "invoke_agent"}, True),
        ("invoke_workflow g", "openlit.instrumentation.langgraph", {"gen_ai.operation.name": "invoke_workflow"}, False),
        ("a turn 1", "weave.openai_agents", {"weave.openai_agents.turn.agent_name": "a"}, True),
        ("tools", "langwatch", {"langwatch.span.type": "chain"}, True),
        ("mine", "langwatch", {"langwatch.span.type": "chain"}, False),
        ("subagent:a", "@voltagent/core", {"agent.parent.id": "b"}, True),
        ("a", "@voltagent/core", {"entity.type": "agent"}, False),
        ("mine.task", "my-app", {"traceloop.span.kind": "task"}, False),
    ],
)  # fmt: skip
def test_parts_of_runs(name: str, scope: str, attributes: dict[str, object], expected: bool) -> None:
    """Steps, turns and nodes are; agents, graphs, and what an app may run by itself are not."""
    assert expected is is_part(made(name, scope=scope, attributes=attributes))
