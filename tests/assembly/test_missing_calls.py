"""Runs whose tools leave no spans, and of which nothing tells what they called."""

from __future__ import annotations

import json

from spanwise.model.calls import Tokens
from spanwise.model.raw import RawSpan, Scope
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


def test_tokens_of_agnos_agents() -> None:
    """Agno's agents count their own tokens: those of an agent inside a tool are added; a team's are not recorded."""
    scope = Scope("opentelemetry.instrumentation.agno", "", {})

    def ran(number: int, parent: int | None, attributes: dict[str, object]) -> RawSpan:
        return span(number, parent=parent, end=number + 100, attributes=attributes, scope=scope)

    agents = {"traceloop.span.kind": "agent", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 1}
    inner = [ran(2, 1, {"traceloop.span.kind": "tool"}), ran(3, 2, agents)]
    assert Tokens(6, 2) == run_of(ran(1, None, agents), *inner).tokens
    run = run_of(ran(1, None, {"traceloop.span.kind": "workflow", "agno.team.name": "crew"}), *inner)
    (found,) = (one for one in run.missing if one.field == "tokens")
    assert (None, "OpenLLMetry does not count what a team of Agno's used by itself.") == (run.tokens, found.why)
