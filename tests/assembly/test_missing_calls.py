"""Runs whose tools leave no spans, and of which nothing tells what they called."""

from __future__ import annotations

import json

from spanwise.model.raw import Scope
from tests.making import run_of, span


def test_a_crew_that_failed() -> None:
    """OpenLLMetry records what was said in a crew that ended well only: else nobody knows of the calls of its tools."""
    scope = Scope("opentelemetry.instrumentation.crewai.instrumentation", "", {})
    roles = {"traceloop.span.kind": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    offered = json.dumps([{"name": "search", "description": "Searches."}])
    for tools, missing in ((offered, True), ("[]", False)):
        run = run_of(span(1, attributes={**roles, "crewai.agent.tools": tools}, scope=scope, status=2))
        assert missing is ("tool_calls" in {one.field for one in run.missing})


def test_an_agent_of_haystacks_that_failed() -> None:
    """OpenInference writes what Haystack's agent said and did on the agent's span, when it has ended well."""
    scope = Scope("openinference.instrumentation.haystack", "", {})
    for status, missing in ((2, True), (0, False)):
        ran = {"openinference.span.kind": "CHAIN"}
        run = run_of(span(1, name="Agent.run", attributes=ran, scope=scope, status=status))
        assert missing is ("tool_calls" in {one.field for one in run.missing})
