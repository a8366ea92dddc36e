"""Runs whose tools leave no spans, and of which nothing tells what they called."""

from __future__ import annotations

import json

from spanwise.model.calls import Tokens
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
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


def test_requests_of_openais_agents_in_openllmetrys_first_releases() -> None:
    """Each span is a request to the model; the tools that it was offered are no calls, nor known those it asked for."""
    scope = Scope("opentelemetry.instrumentation.openai_agents", "0.41.0", {})
    sent = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "How many?", "gen_ai.usage.prompt_tokens": 44}
    own = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "helper", "openai.agent.reset_tool_choice": True}
    offered = {"traceloop.span.kind": "tool", "gen_ai.completion.tool.name": "search"}
    offer = span(9, parent=2, attributes={**offered, "gen_ai.completion.tool.type": "FunctionTool"}, scope=scope)

    def ran(*got: dict[str, object]) -> Run:
        requests = [span(n, parent=1, attributes={**own, **sent, **one}, scope=scope) for n, one in enumerate(got, 2)]
        return run_of(span(1, attributes={"traceloop.span.kind": "workflow"}, scope=scope), offer, *requests)

    asks: dict[str, object] = {"gen_ai.completion.types": ["message", "function_call"]}
    asks["gen_ai.completion.contents"] = ["Let me see."]
    says: dict[str, object] = {"gen_ai.completion.types": ["message"], "gen_ai.completion.contents": ["Three."]}
    run = ran(asks, says)
    assert ("How many?", "Three.", ()) == (run.query, run.answer, run.tool_calls)
    assert (["helper"], 2, Tokens(88, None)) == ([one.name for one in run.agents], len(run.llm_calls), run.tokens)
    (found,) = run.missing
    assert ("tool_calls", True) == (found.field, found.switch.endswith("0.46 or newer."))
    assert ("Three.", ()) == (ran(says).answer, ran(says).missing)
    assert "The run ended on a request for tools: no answer followed." in [one.why for one in ran(asks).missing]
