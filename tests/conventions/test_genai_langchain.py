"""LangChain's agents under OpenTelemetry's instrumentation: typed outputs, whose calls leave nothing else."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions._genai_scopes import LANGCHAIN
from spanwise.model.raw import Scope
from spanwise.model.trace import Run
from tests.making import asks, chat, run_of, says, span, user

SCOPE = Scope(LANGCHAIN, "", {})
CITY = {"name": "Paris", "population": 2100000}
ASKED = {"type": "tool_call", "id": "c2", "name": "City", "arguments": CITY}
WRONG = {"type": "tool_call", "id": "c1", "name": "City", "arguments": {"name": "Paris"}}
REFUSED = "Error: Failed to parse structured output for tool 'City': Field required. Please fix your mistakes."


def run(*said: dict[str, object], status: int = 0, **more: object) -> Run:
    """A run of an agent whose model, and which itself, ended with these words."""
    got = json.dumps([{"role": "assistant", "parts": said}])
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "gen_ai.output.messages": got}
    first = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [WRONG]}]),
    }
    told = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": REFUSED}]}]
    last = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "assistant", "parts": [WRONG]}, *told]),
        "gen_ai.output.messages": got,
    }
    return run_of(
        span(1, name="invoke_agent helper", attributes={**named, **more}, end=100, status=status, scope=SCOPE),
        span(5, parent=1, name="chat x", attributes=first, end=15, scope=SCOPE),
        span(20, parent=1, name="chat x", attributes=last, end=40, scope=SCOPE),
    )


def test_a_typed_output() -> None:
    """A run that ended in a request, and could not wait for anybody, gave its output by it; one before was refused."""
    found = run(ASKED)
    assert [("City", "error", True, REFUSED), ("City", "ok", True, CITY)] == [
        (call.name, call.status, call.control, call.result) for call in found.tool_calls
    ]
    assert json.dumps(CITY, separators=(",", ":")) == found.answer
    assert () == found.missing or {"answer", "results"}.isdisjoint(one.field for one in found.missing)


@pytest.mark.parametrize(
    ("said", "status", "more"),
    [
        ((ASKED,), 0, {"gen_ai.conversation.id": "thread-1"}),
        ((ASKED,), 2, {}),
        ((ASKED, {**ASKED, "id": "c3"}), 0, {}),
    ],
)
def test_what_may_be_a_call_that_waits(said: tuple[dict[str, object], ...], status: int, more: dict[str, str]) -> None:
    """A run that may wait for an approval, that failed, or that asked for several tools has no known answer."""
    found = run(*said, status=status, **more)
    assert {"unknown"} == {call.status for call in found.tool_calls[1:]}
    assert found.answer is None


ANSWER = "Paris has 2.1 million."
AS_JSON = json.dumps(CITY, separators=(",", ":"))


def asked_again(sent: list[dict[str, object]], got: dict[str, object], *, scope: Scope = SCOPE) -> Run:
    """A run that ended with words, and a model that was asked once more behind them."""
    told = {"gen_ai.output.messages": json.dumps([says(ANSWER)])}
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", **told}
    return run_of(
        span(1, name="invoke_agent helper", attributes=named, end=100, scope=scope),
        chat(5, parent=1, sent=[user("?")], got=[says(ANSWER)]),
        chat(20, parent=1, sent=sent, got=[got]),
    )


@pytest.mark.parametrize("got", [says(AS_JSON), asks(("c1", "City", CITY))])
def test_an_answer_put_in_form(got: dict[str, object]) -> None:
    """`create_react_agent(response_format=...)` has the agent's last words put into an object, which is the answer."""
    made = asked_again([user("?"), says(ANSWER)], got)
    assert AS_JSON == made.answer
    assert [] == [call for call in made.tool_calls if not call.control or call.status != "ok" or call.result != CITY]
    assert () == made.missing or {"tokens"} == {one.field for one in made.missing}


@pytest.mark.parametrize(
    ("sent", "got", "scope"),
    [
        ([user("?"), says(ANSWER), user("Is that safe?")], says(AS_JSON), SCOPE),
        ([user("?"), says("Let me see.")], says(AS_JSON), SCOPE),
        ([user("?"), says(ANSWER)], says("Safe."), SCOPE),
        ([user("?"), says(ANSWER)], says(AS_JSON), Scope("other", "", {})),
    ],
)
def test_another_question_behind_the_answer(
    sent: list[dict[str, object]], got: dict[str, object], scope: Scope
) -> None:
    """Whatever else a model is asked or says behind the answer does not take its place."""
    assert ANSWER == asked_again(sent, got, scope=scope).answer
