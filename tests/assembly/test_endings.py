"""How runs ended that have no answer."""

from __future__ import annotations

import pytest

from spanwise.assembly import endings
from spanwise.model.raw import RawSpan, Scope
from tests.making import agent, asks, chat, run_of, says, span, user

ASKING = chat(2, parent=1, sent=[user("Q")], got=[asks(("c1", "search", {}))])


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (ASKING, "The run ended on a request for tools: no answer followed."),
        (chat(2, parent=1, sent=[user("Q")], got=[says("")]), "The last model call answered without a word."),
        (chat(2, parent=1, sent=[user("Q")], got=[says("A")]), ""),
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
