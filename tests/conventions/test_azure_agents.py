"""Azure AI Agents: requests of its API, and the events of runs that were streamed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import azure_agents
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Messages, ModelCall, Part
from spanwise.model.raw import RawEvent, RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import run_of
from tests.making import span as at_place
from tests.recordings_io import made

KEYS = ("gen_ai.thread.id", "gen_ai.operation.name", "gen_ai.thread.run.status", "gen_ai.usage.input_tokens")
WORDS = ("process_thread_run", "start_thread_run", "queued", "completed", "list_messages")
Told = tuple[str, dict[str, object]]


def span(operation: object, *events: Told, **attributes: object) -> RawSpan:
    """A request of a thread, with what events tell."""
    told = {"gen_ai.thread.id": "t", "gen_ai.operation.name": operation, **attributes}
    return made(attributes=told, events=[(name, fields) for name, fields in events])


def event(role: str, content: object, **more: object) -> Told:
    """What was said."""
    return f"gen_ai.{role}.message", {"gen_ai.event.content": json.dumps(content), **more}


ASKED = event("user", {"content": "Q", "role": "user"})
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
COUNTED = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
RAN = event("assistant", {"tool_calls": [CALL]}, **COUNTED)
RETURNED = event("tool", {"content": "2", "id": "c1"})
ANSWERED = event("assistant", {"content": {"text": {"value": "A"}}, "role": "assistant"}, **COUNTED)


@pytest.mark.parametrize(
    ("operation", "status", "kind"),
    [
        ("process_thread_run", "completed", "agent"),
        ("start_thread_run", "completed", "agent"),
        ("start_thread_run", "queued", "other"),
        ("get_thread_run", "completed", "other"),
        ("create_agent", "", "setup"),
        (7, "", "other"),
    ],
)
def test_kinds(operation: object, status: str, kind: str) -> None:
    """A run is one whose end was seen; other requests are nobody's step."""
    assert kind == conventions.classify(span(operation, **{"gen_ai.thread.run.status": status}))[1]


def test_streamed_runs() -> None:
    """Events tell calls, results and the answer, and the tokens of each step."""
    one = span("process_thread_run", RETURNED, RAN, ANSWERED, **{"gen_ai.response.model": "m"})
    said = azure_agents.messages(one, Memo()).output or ()
    assert [
        Part("tool_result", id="c1", value=2),
        Part("tool_call", id="c1", name="add", value={"a": 1}),
        Part("text", "A"),
    ] == [part for message in said for part in message.parts]
    assert AgentFields(None, None, "A") == azure_agents.agent(one, Memo())
    step = LLMFields("m", None, 9, 2)
    assert [step, step] == [call.usage for call in azure_agents.model_calls(one, Memo())]
    assert ModelCall(step, 1).end_ns == azure_agents.model_calls(one, Memo())[0].end_ns
    assert Messages() == azure_agents.messages(span("get_thread_run"), Memo())


def test_messages_of_a_thread() -> None:
    """A message that was sent asks; those that are listed may be earlier questions."""
    assert AgentFields(None, "Q") == azure_agents.agent(span("create_message", ASKED), Memo())
    assert AgentFields() == azure_agents.agent(span("list_messages", ASKED), Memo())
    assert AgentFields(None, None, "A") == azure_agents.agent(span("list_messages", ANSWERED), Memo())


def request(at: int, operation: str, *events: Told, **more: object) -> RawSpan:
    """A request of the app's, at its place."""
    told = {"gen_ai.thread.id": "t", "gen_ai.operation.name": operation, **more}
    found = tuple(RawEvent(name, at, fields) for name, fields in events)
    return at_place(at, parent=1, attributes=told, events=found)


def test_what_stands_beside_a_run() -> None:
    """The latest message that was sent to its thread before, and of what was listed later the message of the run."""
    earlier = event("assistant", {"content": {"text": {"value": "Old"}}}, **{"gen_ai.thread.run.id": "r0"})
    own = event("assistant", {"content": {"text": {"value": "A"}}}, **{"gen_ai.thread.run.id": "r1"})
    ended = {"gen_ai.thread.run.status": "completed", "gen_ai.thread.run.id": "r1", "gen_ai.usage.input_tokens": 9}
    run = run_of(
        at_place(1, end=99),
        request(2, "create_message", event("user", {"content": "Old?", "role": "user"})),
        request(20, "create_message", ASKED),
        request(40, "start_thread_run", **ended),
        request(60, "list_messages", earlier),
        request(80, "list_messages", own),
    )
    assert ("Q", "A", 9) == (run.query, run.answer, run.tokens and run.tokens.input)
    assert "The agent ran in the service" in str(run.lacks("tool_calls"))


def test_a_run_whose_state_is_asked_for() -> None:
    """Such a run has no span: the trace is one, also where an agent is set up in it; no client would tell its calls."""
    own = event("assistant", {"content": {"text": {"value": "A"}}}, **{"gen_ai.thread.run.id": "r1"})
    state = {"gen_ai.thread.run.status": "queued", "gen_ai.thread.run.id": "r1"}
    setting_up = at_place(2, parent=1, attributes={"gen_ai.operation.name": "create_agent"})
    spans_ = [at_place(1, end=99), setting_up]
    assert () == build_trace("t", spans_).runs
    asked = request(20, "create_message", ASKED)
    run = run_of(*spans_, asked, request(40, "start_thread_run", **state), request(80, "list_messages", own))
    assert (None, "Q", "A") == (run.root_span, run.query, run.answer)
    assert {"llm_calls", "tool_calls", "tokens"} == {one.field for one in run.missing if "runs.stream" in one.switch}


def test_context_and_switch() -> None:
    """The thread is the session."""
    assert ContextFields("t") == azure_agents.context(span("process_thread_run"), Memo())
    assert "AZURE_TRACING" in conventions.content_switch(span("process_thread_run"), some=False)


def test_usage() -> None:
    """A run counts the tokens of all its steps; the API's name is no provider."""
    one = span("process_thread_run", **COUNTED, **{"gen_ai.system": "az.ai.agents"})
    assert LLMFields(None, None, 9, 2) == azure_agents.llm(one, Memo())


@given(spans(azure_agents.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(azure_agents.CONVENTION, one)
