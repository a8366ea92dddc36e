"""Spans of agents and workflows that are only ever part of a run: steps, turns, the nodes of a graph.

A run that crashed or was killed may never export its own span. What hung below it then stands side by side under one
parent that nobody saw, as ten runs under one request do: only that they are parts tells them from those.
"""

from __future__ import annotations

import re

from spanwise.conventions._smolagents import SCOPE as SMOLAGENTS
from spanwise.model.raw import RawSpan

_STEPS = frozenset({"agent_step", "execute_event_loop_cycle"})
OPENAI_AGENTS = ("openinference.instrumentation.openai_agents", "@arizeai/openinference-instrumentation-openai-agents")
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
_NODE_KEYS = tuple(
    f"{prefix}.{_NODE}"
    for prefix in ("langfuse.observation.metadata", "langsmith.metadata", "traceloop.association.properties")
)
_CALLED = ("opentelemetry.instrumentation.langchain", "opentelemetry.instrumentation.llamaindex")
"""Where what has a parent in the framework is a task, whatever stands around the framework."""


def is_inner(span: RawSpan) -> bool:
    """Whether a part is one of another part: a call within a step, a chain within a node."""
    if span.scope.name in _CALLED:
        return "Agent" not in span.name and _NODE_KEYS[-1] not in span.attributes
    metadata = span.attributes.get("metadata")
    return isinstance(metadata, str) and f'"{_NODE}"' in metadata and f'"{_NODE}": "{span.name}"' not in metadata


def is_part(span: RawSpan) -> bool:
    """Whether a span of an agent or workflow is only a part of one, whose own span stands above it."""
    get, scope = span.attributes.get, span.scope.name
    if get("gen_ai.operation.name") in _STEPS or span.name.endswith(_LLAMA_STEPS):
        return True
    if scope == SMOLAGENTS:
        return _STEP.fullmatch(span.name) is not None
    if scope in OPENAI_AGENTS:  # between an agent and what the app does there is always a trace's span
        return span.name == "turn" or "graph.node.id" in span.attributes
    if scope in _CALLED and get("traceloop.span.kind") == "task":
        return True
    metadata = get("metadata")
    return (isinstance(metadata, str) and f'"{_NODE}"' in metadata) or any(key in span.attributes for key in _NODE_KEYS)
