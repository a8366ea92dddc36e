"""Recording an agent that no library instruments: `with record.run("support", query=question) as run: ...`.

What is recorded are spans of OpenTelemetry's GenAI conventions, made with the app's own tracer provider. Without an
OpenTelemetry SDK everything here does nothing, at little cost. Nothing here raises, and what the app's own code raises
is recorded and passed on.
"""

from __future__ import annotations

from spanwise.record.decorators import Outcome, agent, llm, retrieval, tool
from spanwise.record.handles import LLMCall, Response, Retrieval, Run, Step, Text, ToolCall, current, current_run, here
from spanwise.record.spans import ABANDONED, SCOPE, UNENDED, Attributes, configure

__all__ = [
    "ABANDONED",
    "SCOPE",
    "UNENDED",
    "LLMCall",
    "Outcome",
    "Response",
    "Retrieval",
    "Run",
    "Step",
    "Text",
    "ToolCall",
    "agent",
    "configure",
    "current",
    "current_run",
    "llm",
    "retrieval",
    "run",
    "tool",
]


def run(
    name: str,
    *,
    query: object = None,
    provider: str | None = None,
    conversation_id: str | None = None,
    tools: object = None,
    attributes: Attributes | None = None,
) -> Run:
    """Begin the run of an agent, below the current span if there is one.

    Used as `with record.run(...) as run:` it is the current span inside and ends with the block; else it ends with
    `run.end(...)`, wherever that is called.

    Args:
        name: The agent's name.
        query: What it is asked: text, or the messages so far.
        provider: Who serves its model, such as `openai`.
        conversation_id: The conversation that this is a turn of.
        tools: The definitions of the tools that it may call.
        attributes: More attributes for the span.
    """
    return here().start_agent(
        name,
        query=query,
        provider=provider,
        conversation_id=conversation_id,
        tools=tools,
        attributes=attributes,
    )
