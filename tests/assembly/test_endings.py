"""How runs ended that have no answer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from spanwise.assembly import endings
from spanwise.model.raw import RawSpan, Scope
from tests.making import agent, asks, chat, run_of, says, span, tool, user

ASKING = chat(2, parent=1, sent=[user("Q")], got=[asks(("c1", "search", {}))])


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (ASKING, "The run ended on a request for tools: no answer followed."),
        (chat(2, parent=1, sent=[user("Q")], got=[says("")]), "The last model call answered without a word."),
        (chat(2, parent=1, sent=[user("Q")], got=[says("A")]), ""),
        (chat(2, parent=1, sent=[user("Q")], got=[asks(("c1", "final_result", None))]), ""),
    ],
)
def test_what_the_last_model_call_tells(last: RawSpan, said: str) -> None:
    """A run may have ended on a request, or without a word."""
    assert said == endings.unanswered(run_of(agent(1), last))


def test_a_failed_last_model_call() -> None:
    """What failed was not answered."""
    last = chat(2, parent=1, sent=[user("Q")])
    last.status_code = 2
    assert "The last model call failed: no answer followed." == endings.unanswered(run_of(agent(1), last))


def test_a_guardrail_that_tripped() -> None:
    """A run that a guardrail stopped before any model was asked lacks nothing that a setting would record."""
    scope = Scope("openinference.instrumentation.openai_agents", "", {})
    kind = "openinference.span.kind"
    named = {kind: "AGENT", "graph.node.id": "helper"}

    def stopped(message: str) -> dict[str, tuple[str, str]]:
        turn = span(5, parent=1, name="turn", attributes={kind: "CHAIN"}, status=2, message=message, scope=scope)
        run = run_of(span(1, name="helper", attributes=named, end=100, scope=scope), turn)
        return {one.field: (one.why, one.switch) for one in run.missing}

    found = stopped("Guardrail tripwire triggered: {'guardrail': 'gin'}")
    assert {"query", "answer", "llm_calls", "tokens"} == found.keys()
    reasons = {why.split(":")[0].rstrip(".") for why, _ in found.values()}
    assert {"A guardrail stopped the run before a model was asked"} == reasons
    assert {""} == {switch for _, switch in found.values()}
    in_javascript = 'Error in agent run: {"error":"InputGuardrailTripwireTriggered: Input guardrail triggered: {}"}'
    assert found == stopped(in_javascript)
    assert "" not in {switch for _, switch in stopped("Connection lost").values()}


@pytest.mark.parametrize(
    "scope", ["openinference.instrumentation.openai_agents", "opentelemetry.x", "logfire.openai_agents"]
)
def test_an_answer_that_a_guardrail_blocked(scope: str) -> None:
    """What a model said is no answer where an output guardrail tripped, but for a guarded agent that a tool asked."""
    told: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    where = Scope(scope, "", {})
    message = "Guardrail tripwire triggered: {'guardrail': 'gin'}"

    def guarded(number: int, parent: int) -> list[RawSpan]:
        one = span(number, parent=parent, attributes=told, status=2, message=message, scope=where, end=100)
        return [one, chat(number + 1, parent=number, sent=[user("Q")], got=[says("A")])]

    run = run_of(agent(1), *guarded(2, 1))
    assert None is run.answer
    found = {one.field: (one.why, one.switch) for one in run.missing}
    assert ("A guardrail stopped the run: what the model answered was given to nobody.", "") == found["answer"]
    asked = [tool(2, parent=1, name="ask_helper"), *guarded(3, 2)]
    assert "B" == run_of(agent(1), *asked, chat(9, parent=1, sent=[user("Q")], got=[says("B")], start=200)).answer


def test_nobody_asked_a_model() -> None:
    """OpenLLMetry leaves a span for each model call of the SDK, and none for a guardrail: what a run lacks is told."""
    named = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "helper", "gen_ai.operation.name": "invoke_agent"}
    scope = Scope("opentelemetry.instrumentation.openai_agents", "", {})
    run = run_of(span(1, name="helper.agent", attributes=named, scope=scope))
    assert {""} == {one.switch for one in run.missing}
    assert "No model was asked, as where a guardrail stops the run before." in {one.why for one in run.missing}


def test_a_guardrail_that_leaves_no_trace() -> None:
    """Where model calls never have spans, a run without any call may as well have been stopped: that is said."""
    scope = Scope("opentelemetry.instrumentation.genai.openai_agents", "", {})
    bare = run_of(replace(agent(1), scope=scope))
    assert endings.may_be_unasked(bare)
    whys = {one.field: one.why for one in bare.missing}
    assert all("A run that a guardrail stops" in whys[field] for field in ("query", "answer", "llm_calls"))
    for run in (run_of(replace(agent(1), scope=scope), tool(2, parent=1)), run_of(agent(1))):
        assert not endings.may_be_unasked(run)
        assert not any("A run that a guardrail stops" in one.why for one in run.missing)
