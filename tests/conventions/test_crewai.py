"""CrewAI's own tracing, and the totals that a crew states."""

from __future__ import annotations

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import _crewai, crewai
from spanwise.model.content import ContextFields, Document, LLMFields, Memo, Messages, Part, RetrievalFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "crewai__builtin"
USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "cached_prompt_tokens": 2, "successful_requests": 2}
ANSWERS = {"messages": [{"role": "user"}, {"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}]}
UNANSWERED = {"messages": [{"role": "system"}, {"role": "user"}]}
COUNTED = LLMFields(input_tokens=10, output_tokens=4, cache_read_tokens=2)
NOT_ITS_OWN = LLMFields(whole=True, overcounted=True)


KEYS = (
    "crewai.event_name", "gen_ai.input.messages", "gen_ai.operation.name", "crewai.memory.results", "crewai.agent.role",
)  # fmt: skip
WORDS = ("role", "tool", "assistant", "parts", "type", "text", "tool_call", "name", "arguments", "content", "messages")


def span(event: str, **attributes: object) -> RawSpan:
    """A span of CrewAI's, with the event that ended it."""
    return made("x", scope="crewai", attributes={"crewai.event_name": event, **attributes})


@pytest.mark.parametrize(
    ("event", "operation", "kind"),
    [
        ("crew_kickoff_completed", "invoke_workflow", "workflow"),
        ("task_completed", "execute_task", "workflow"),
        ("agent_execution_completed", "invoke_agent", "agent"),
        ("llm_call_completed", "chat", "llm"),
        ("tool_usage_error", "execute_tool", "tool"),
        ("tool_failure_detected", "execute_tool", "other"),
        ("method_execution_finished", "execute_method", "workflow"),
        ("agent_reasoning_completed", None, "workflow"),
        ("knowledge_retrieval_completed", None, "retrieval"),
        ("knowledge_query_completed", None, "other"),
        ("memory_query_completed", None, "retrieval"),
        ("memory_retrieval_completed", None, "other"),
        ("llm_guardrail_completed", None, "guardrail"),
        ("mcp_connection_completed", None, "setup"),
        (7, "chat", None),
    ],
)
def test_kinds(event: object, operation: str | None, kind: str | None) -> None:
    """The operation tells, else the event; the second span of a call that failed is no call."""
    attributes = {"crewai.event_name": event, "gen_ai.operation.name": operation}
    assert kind == crewai.kind(made("x", scope="crewai", attributes=attributes))


def named(name: str, at: int = 0) -> RawSpan:
    """A recorded span by its name."""
    return [one for one in recorded(RECORDING) if one.name == name][at]


def test_names_and_questions() -> None:
    """The role is the agent's name, not the hash beside; a crew's inputs are no question; a task is no session."""
    agent, crew, memo = named("execute agent"), named("execute crew"), Memo()
    dialect, _ = conventions.classify(agent)
    assert "researcher" == conventions.agent_name(agent, memo, dialect) == crewai.agent(agent, memo).name
    assert "two_agents" == crewai.agent(crew, memo).name
    assert not conventions.agent(crew, memo, dialect).query
    assert crewai.agent(agent, memo).query.startswith("How many people lived in France in 2024")
    assert ContextFields() == conventions.context(named("call llm"), memo)
    assert "chat-1" == conventions.context(span("llm_call_completed", **{"session.id": "chat-1"}), memo).session_id


def test_nothing_given() -> None:
    """A flow that was given nothing was asked nothing."""
    sent = '[{"role": "user", "parts": [{"type": "text", "content": "null"}]}]'
    flow = span("flow_finished", **{"gen_ai.operation.name": "invoke_workflow", "gen_ai.input.messages": sent})
    assert not crewai.agent(flow, Memo()).query


def test_results_by_the_place_of_their_calls() -> None:
    """Results have the ids of the calls that stand before them; calls are freed of quotes."""
    sent = crewai.messages(named("call llm", 1), Memo()).input
    query, failing = "population of France 2024", "68.4 million * 0.1"
    assert [
        Part("tool_call", id="call_000001", name="search_docs", value=f'{{"query": "{query}"}}'),
        Part("tool_call", id="call_000002", name="calculator", value=f'{{"expression": "{failing}"}}'),
    ] == list(sent[2].parts)
    told = f"Error executing tool: cannot parse expression: '{failing}'"
    assert Part("tool_result", id="call_000002", name="calculator", value=told, error=True) == sent[4].parts[0]
    assert "call_000001" == sent[3].parts[0].id


@pytest.mark.parametrize(
    "told",
    [
        '[{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "4"}]}]',
        '[{"role": "tool", "parts": [{"type": "text", "content": "4"}]}]',
    ],
)
def test_results_without_calls(told: str) -> None:
    """A result that says which call it answers, or before which none stands, is left as it is."""
    (message,) = crewai.messages(span("llm_call_completed", **{"gen_ai.input.messages": told}), Memo()).input
    assert [4] == [part.value for part in message.parts]
    assert Messages() == crewai.messages(span("llm_call_completed"), Memo())


def test_retrievals() -> None:
    """A search in the knowledge or the memory: its query, and the documents where they are listed."""
    found = span(
        "knowledge_retrieval_completed",
        **{"crewai.knowledge.query": "q", "crewai.knowledge.retrieved_knowledge": '[{"content": "a", "score": 0.5}]'},
    )
    assert RetrievalFields("q", (Document(content="a", score=0.5),)) == crewai.retrieval(found, Memo())
    searched = span("memory_query_completed", **{"crewai.memory.query": "q"})
    assert RetrievalFields("q", None) == crewai.retrieval(searched, Memo())


@pytest.mark.parametrize(
    ("tasks", "usage", "agents", "expected"),
    [
        ([ANSWERS], USAGE, [{}, {}], COUNTED),
        ([ANSWERS, ANSWERS], USAGE, [{}, {}], NOT_ITS_OWN),
        ([ANSWERS], {**USAGE, "successful_requests": 4}, [{}], NOT_ITS_OWN),
        ([{}], USAGE, [{}], COUNTED),
        ([UNANSWERED], {**USAGE, "successful_requests": 1}, [{}], COUNTED),
        ([{}], USAGE, [{}, {}], NOT_ITS_OWN),
        (None, USAGE, None, COUNTED),
        ([ANSWERS], {"prompt_tokens": 10, "completion_tokens": 4, "cached_prompt_tokens": 2}, [{}], COUNTED),
    ],
)
def test_totals_of_a_crew(tasks: object, usage: dict[str, object], agents: object, expected: LLMFields) -> None:
    """A crew's total counts where its requests are the answers in its conversations; unseen, for a lone agent only."""
    assert expected == _crewai.total(usage, tasks, agents)


@given(spans(crewai.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert 6 == read_all(crewai.CONVENTION, one)
