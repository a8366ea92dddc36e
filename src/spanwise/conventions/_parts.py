"""Spans of agents and workflows that are only ever part of a run: steps, turns, the nodes of a graph.

A run that crashed or was killed may never export its own span. What hung below it then stands side by side under one
parent that nobody saw, as ten runs under one request do: only that they are parts tells them from those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from spanwise.conventions._smolagents import SCOPE as SMOLAGENTS
from spanwise.model.raw import RawSpan

STAFF = frozenset({"_Group_Tool_Executor", "chat_manager"})
"""Who takes part in the chat of a group of AG2's to run the tools of the others and to say whose turn it is."""
_STEPS = frozenset({"agent_step", "execute_event_loop_cycle"})
OPENAI_AGENTS = ("openinference.instrumentation.openai_agents", "@arizeai/openinference-instrumentation-openai-agents")
_AGNO = "openinference.instrumentation.agno"
_TRACED = ("weave.openai_agents", "opentelemetry.instrumentation.genai.openai_agents")
"""Where the agents of OpenAI's library stand below the trace's span, as they do there."""
_STEP = re.compile(r"Step \d+")
_WORKFLOW_STEPS = (
    "init_run",
    "setup_agent",
    "run_agent_step",
    "parse_agent_output",
    "call_tool",
    "aggregate_tool_results",
)
_LLAMA_STEPS = tuple(f"{kind}.{step}" for kind in ("Agent", "AgentWorkflow") for step in _WORKFLOW_STEPS)
_NODE = "langgraph_node"
_STEP_TOLD = re.compile(r'"langgraph_step": ?(\d+)')
_NESTED = re.compile(r'"langgraph_checkpoint_ns": ?"[^"|]*\|')
_IN_TOOLS = re.compile(r'"langgraph_checkpoint_ns": ?"tools:[^"|]*\|')
_NODES = ("model", "tools")
"""What LangChain's agents call the nodes of their graphs."""
_NODE_KEYS = tuple(
    f"{prefix}.{_NODE}"
    for prefix in ("langfuse.observation.metadata", "langsmith.metadata", "traceloop.association.properties")
)
_CALLED = ("opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.llamaindex")
"""Where what has a parent in the framework is a task, whatever stands around the framework."""


def _takes_turns(span: RawSpan) -> bool:
    """Before AG2 1.0 who takes part in a chat has a span for each reply, which tells what was said."""
    attributes = span.attributes
    named = attributes.get("gen_ai.agent.name") in STAFF
    return attributes.get("ag2.span.type") == "agent" and (named or "gen_ai.output.messages" in attributes)


def _is_invoked(span: RawSpan) -> bool:
    if "weave.openai_agents.turn.agent_name" in span.attributes:
        return True
    return span.attributes.get("gen_ai.operation.name") == "invoke_agent"


def is_sent(span: RawSpan) -> bool:
    """Whether an agent works for another one, who answers in the end."""
    return "agent.parent.id" in span.attributes or (
        "graph.node.parent_id" in span.attributes and span.scope.name == _AGNO
    )


def is_in_tool(span: RawSpan) -> bool:
    """Whether a graph of LangGraph's runs in the node of another one in which that runs its tools."""
    metadata = span.attributes.get("metadata")
    if isinstance(metadata, str):
        return _IN_TOOLS.search(metadata) is not None
    places = (span.attributes.get(key.replace(_NODE, "langgraph_checkpoint_ns")) for key in _NODE_KEYS)
    return any(isinstance(place, str) and place.startswith("tools:") and "|" in place for place in places)


_TOLD: Mapping[str, Callable[[RawSpan], bool]] = {
    **dict.fromkeys(_TRACED, _is_invoked),
    "openlit.instrumentation.langgraph": _is_invoked,  # its graphs are workflows, its nodes are called agents
    "opentelemetry.instrumentation.ag2": _takes_turns,
    _AGNO: is_sent,
    "openinference.instrumentation.crewai": lambda span: span.name.endswith("._execute_core"),
    "openinference.instrumentation.crewai._event_listener": lambda span: "task_id" in span.attributes,
    "langwatch": lambda span: span.name in _NODES and span.attributes.get("langwatch.span.type") == "chain",
    "@voltagent/core": lambda span: "span.type" in span.attributes or "agent.parent.id" in span.attributes,
}
"""How other scopes tell what stands below another agent, a crew, a chat or a graph."""


def is_nested(span: RawSpan) -> bool:
    """Whether a part tells that its run lies within another one's, or that it is not the first part of its run.

    A graph of LangGraph's that runs in another one's node has a name with that node's in front, and steps are counted.
    """
    if is_sent(span) or is_inner(span):
        return True
    get = span.attributes.get
    metadata = get("metadata")
    if isinstance(metadata, str) and (step := _STEP_TOLD.search(metadata)) is not None:
        return int(step[1]) > 1 or _NESTED.search(metadata) is not None
    for key in _NODE_KEYS:
        if key in span.attributes:
            step, place = get(key.replace(_NODE, "langgraph_step")), get(key.replace(_NODE, "langgraph_checkpoint_ns"))
            return str(step) not in {"None", "0", "1"} or "|" in str(place)
    return False


def shares_trace(span: RawSpan) -> bool:
    """Whether what its scope records of a run stands below one span, however many agents take part."""
    return span.scope.name in OPENAI_AGENTS or span.scope.name in _TRACED


def is_inner(span: RawSpan) -> bool:
    """Whether a part is one of another part: a call within a step, a chain within a node."""
    if span.scope.name in _CALLED:
        return "Agent" not in span.name and _NODE_KEYS[-1] not in span.attributes
    metadata = span.attributes.get("metadata")
    if not isinstance(metadata, str) or f'"{_NODE}"' not in metadata:
        return False
    return not any(f'"{_NODE}":{space}"{span.name}"' in metadata for space in ("", " "))


def is_part(span: RawSpan) -> bool:
    """Whether a span of an agent or workflow is only a part of one, whose own span stands above it."""
    get, scope = span.attributes.get, span.scope.name
    if get("gen_ai.operation.name") in _STEPS or span.name.endswith(_LLAMA_STEPS):
        return True
    if scope == SMOLAGENTS:
        return _STEP.fullmatch(span.name) is not None
    if scope in OPENAI_AGENTS:  # between an agent and what the app does there is always a trace's span
        return span.name == "turn" or "graph.node.id" in span.attributes
    if scope in _CALLED and (get("traceloop.span.kind") == "task" or get("gen_ai.operation.name") == "execute_task"):
        return True
    told = _TOLD.get(scope)
    if told is not None:
        return told(span)
    metadata = get("metadata")
    return (isinstance(metadata, str) and f'"{_NODE}"' in metadata) or any(key in span.attributes for key in _NODE_KEYS)
