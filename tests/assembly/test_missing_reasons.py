"""Reasons why something is missing, of which content that is off is only one."""

from __future__ import annotations

from spanwise.model.calls import Missing
from spanwise.model.raw import Scope
from tests.assembly.test_missing import GENAI
from tests.making import agent, chat, run_of, says, span, tool, user
from tests.recordings_io import remade


def test_nothing_was_asked() -> None:
    """A run that instructions alone began was asked nothing; where they are not recorded, that cannot be told."""
    system = {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}
    (found,) = (one for one in run_of(agent(1), chat(2, parent=1, sent=[system])).missing if one.field == "query")
    assert Missing(field="query", why="The run was asked nothing: none of its messages is a user's.") == found
    bare = {"role": "system", "parts": [{"type": "text"}]}
    (found,) = (one for one in run_of(agent(1), chat(2, parent=1, sent=[bare])).missing if one.field == "query")
    assert GENAI in found.switch


def test_attributes_beyond_the_limit() -> None:
    """Where a model call lost its answer and its tokens to the limit of attributes, that limit is named."""
    told, lost = chat(2, parent=1, got=[says("A")], tokens=(1, 1)), chat(5, parent=1, sent=[user("Q")])
    run = run_of(agent(1), told, remade(lost, dropped=3))
    found = {one.field: one.switch for one in run.missing}
    assert {"answer", "tokens", "tool_calls"} == found.keys()
    assert all("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in switch for switch in found.values())


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
    assert "" not in {switch for _, switch in stopped("Connection lost").values()}


def test_one_result_among_others() -> None:
    """Where results are recorded of other calls of an instrumentation, the setting for them is on."""
    told = tool(20, parent=1, arguments={"q": 1}, result="r")
    silent = tool(40, parent=1, name="boom", arguments={"q": 2})
    (lacking,) = [one for one in run_of(agent(1), told, silent).missing if one.field == "results"]
    assert ("Results are not recorded for 1 tool call (boom).", "") == (lacking.why, lacking.switch)
    (lacking,) = [one for one in run_of(agent(1), silent).missing if one.field == "results"]
    assert lacking.switch
