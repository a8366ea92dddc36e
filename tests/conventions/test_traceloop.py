"""Traceloop's instrumentations from 0.5x: LangChain, OpenAI's agents, MCP and the SDK's decorators."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import traceloop
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

LANGCHAIN = "opentelemetry.instrumentation.langchain"
OPENAI_AGENTS = "opentelemetry.instrumentation.openai_agents"
SDK = "traceloop.tracer"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
FOUND = [
    {
        "id": "doc-fr-1",
        "content": "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
        "score": 0.91,
    },
    {
        "id": "doc-fr-2",
        "content": "Paris, the capital of France, has about 2.1 million inhabitants.",
        "score": 0.64,
    },
    {"id": "doc-fr-3", "content": "France produces more than 1,000 kinds of cheese.", "score": 0.22},
]


def named(name: str, recording: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


def kinds(recording: str) -> dict[str, str | None]:
    """The kind of each span name of a recording."""
    return {span.name: traceloop.kind(span) for span in recorded(recording)}


def test_kinds_of_langchain() -> None:
    """Only `invoke_agent X` is the agent; its workflow, the graph's nodes and the middleware are workflows."""
    expected = {
        "create_agent research_agent": "setup",
        "invoke_agent research_agent": "agent",
        "research_agent.workflow": "workflow",
        "ChatOpenAI.chat": "llm",
        "execute_tool search_docs": "tool",
        "execute_tool calculator": "tool",
        "vector_db_retrieve kb_retriever": "retrieval",
        "execute_task model": "workflow",
        "execute_task tools": "workflow",
        **{f"execute_task on_err.{hook}": "workflow" for hook in ("before_agent", "before_model")},
        **{f"execute_task on_err.{hook}": "workflow" for hook in ("after_agent", "after_model")},
    }
    assert expected == kinds("langgraph__traceloop")


def test_kinds_of_wrappers() -> None:
    """CrewAI's crew and task invoke an agent, and are none; OpenAI's agents are agents below a workflow."""
    assert {
        "crewai.workflow": "workflow",
        f"{QUESTION}.task": "workflow",
        "research_agent.agent": "agent",
    } == kinds("crewai__traceloop")
    assert {
        "Agent Workflow": "workflow",
        "research_agent.agent": "agent",
        "openai.response": "llm",
        "search_docs.tool": "tool",
        "calculator.tool": "tool",
    } == kinds("openai-agents__traceloop")


def test_kinds_of_other_operations_and_roles() -> None:
    """Operations of Traceloop's own count before roles; an operation that nobody knows leaves the word to the role."""
    told: list[tuple[object, object, str | None]] = [
        ("rerank", "task", "rerank"),
        ("handoff", "handoff", "handoff"),
        ("goto", None, None),
        ("speech", "agent", "agent"),
        (None, "workflow", "workflow"),
        (None, "task", "workflow"),
        (None, "agent", "agent"),
        (None, "tool", "tool"),
        (None, "handoff", "handoff"),
        (None, "session", "other"),
        (None, "server", "other"),
        (None, "of the app's own", None),
        (["chat"], ["tool"], None),
    ]
    found = [
        traceloop.kind(made(attributes={"gen_ai.operation.name": operation, "traceloop.span.kind": role}))
        for operation, role, _ in told
    ]
    assert [kind for _, _, kind in told] == found


def test_agent_inside_a_tool_is_a_task_with_the_agents_name() -> None:
    """LangChain's callback sees an agent that runs inside a tool as a task; its metadata names the agent."""
    attributes = {
        "gen_ai.operation.name": "execute_task",
        "traceloop.span.kind": "task",
        "gen_ai.task.name": "research_agent",
        "traceloop.association.properties.lc_agent_name": "research_agent",
        "traceloop.entity.input": json.dumps({"inputs": {"messages": [{"role": "user", "content": QUESTION}]}}),
    }
    span = made("execute_task research_agent", scope=LANGCHAIN, attributes=attributes)
    node = made(scope=LANGCHAIN, attributes={**attributes, "gen_ai.task.name": "model"})
    assert ("agent", "workflow") == (traceloop.kind(span), traceloop.kind(node))
    assert AgentFields("research_agent", QUESTION) == traceloop.agent(span, Memo())


def test_error_that_is_no_mapping_is_left_to_genai() -> None:
    """Any other status message is read as GenAI's."""
    assert None is traceloop.error(made(scope=OPENAI_AGENTS, status=2, message="{'a': 1}"))
    assert None is traceloop.error(made(scope=OPENAI_AGENTS, status=2, message="timed out"))
    bare = made(scope=OPENAI_AGENTS, status=2, message="{'message': 'Tool not found'}")
    assert SpanError(message="Tool not found") == traceloop.error(bare)


def test_llm_is_left_to_genai() -> None:
    """A model call's usage has GenAI names."""
    span = named("ChatOpenAI.chat", "langgraph__traceloop", at=1)
    dialect, _ = conventions.classify(span)
    assert LLMFields() == traceloop.llm(span, Memo())
    expected = LLMFields("gpt-4o-mini-2024-07-18", "openai", 327, 15, 64)
    assert expected == conventions.llm(span, Memo(), dialect)


def test_messages_are_left_to_genai() -> None:
    """LangChain's messages stand in GenAI attributes, and so do the tools that the model asked for."""
    span = named("ChatOpenAI.chat", "langgraph__traceloop")
    asked = [Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})]
    assert Messages() == traceloop.messages(span, Memo())
    assert (Message("assistant", tuple(asked)),) == traceloop.output(span, Memo())
    assert asked == traceloop.requests(span, Memo())


def test_messages_of_openai_agents_have_the_ids_of_calls() -> None:
    """An earlier call that stands under its item's id gets the id that its result answers."""
    span = named("openai.response", "openai-agents__traceloop", at=2)
    sent = traceloop.messages(span, Memo()).input or ()
    ids = [part.id for message in sent for part in message.parts if part.type in {"tool_call", "tool_result"}]
    assert ["call_000003", "call_000003", "call_000006", "call_000006"] == ids


def test_calls_that_ran_at_once_keep_their_order() -> None:
    """Of several open calls the first gets the id of the first result; a result that nobody asked for stays alone."""
    calls = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": f"fc_{n}", "name": "add", "arguments": {}}]}
        for n in (1, 2)
    ]
    results = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"call_{n}", "response": n}]} for n in (1, 2, 3)
    ]
    span = made(scope=OPENAI_AGENTS, attributes={"gen_ai.input.messages": json.dumps([*calls, *results])})
    sent = traceloop.messages(span, Memo()).input or ()
    assert ["call_1", "call_2", "call_1", "call_2", "call_3"] == [part.id for message in sent for part in message.parts]
    assert Messages() == traceloop.messages(made(scope=OPENAI_AGENTS), Memo())


def test_agent_of_langchain() -> None:
    """The graph's span has the name, the workflow's span below it the question and the answer."""
    outer = named("invoke_agent research_agent", "langgraph__traceloop")
    inner = named("research_agent.workflow", "langgraph__traceloop")
    assert AgentFields("research_agent") == traceloop.agent(outer, Memo())
    assert AgentFields(None, QUESTION, ANSWER) == traceloop.agent(inner, Memo())


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["model", "tools"], "agent"),
        (("agent", "tools"), "agent"),
        (["chatbot", "research"], "workflow"),
        ([], "agent"),
        (None, "agent"),
    ],
)
def test_graphs_that_are_agents(nodes: list[str] | None, expected: str) -> None:
    """A graph is said to be an agent, whatever it does: LangChain's agents have a node that asks the model."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "flow", "gen_ai.workflow.nodes": nodes}
    span = made("invoke_agent flow", scope="opentelemetry.instrumentation.langchain", attributes=attributes)
    assert expected == traceloop.kind(span)


def test_agent_of_the_sdk() -> None:
    """A decorated agent is named by its entity; its question is the text that it was called with."""
    attributes = {
        "traceloop.span.kind": "agent",
        "traceloop.entity.name": "research_agent",
        "traceloop.entity.input": json.dumps({"args": [QUESTION], "kwargs": {}}),
        "traceloop.entity.output": json.dumps(ANSWER),
    }
    expected = AgentFields("research_agent", QUESTION, ANSWER)
    assert expected == traceloop.agent(made("research_agent.agent", scope=SDK, attributes=attributes), Memo())


def test_agent_of_agno() -> None:
    """Plain text is what it is."""
    attributes = {
        "traceloop.span.kind": "agent",
        "gen_ai.agent.name": "helper",
        "traceloop.entity.input": QUESTION,
        "traceloop.entity.output": ANSWER,
    }
    span = made("helper.agent", scope="opentelemetry.instrumentation.agno", attributes=attributes)
    assert AgentFields("helper", QUESTION, ANSWER) == traceloop.agent(span, Memo())


def test_an_agent_of_langgraphs_that_passes_control() -> None:
    """Releases that name no operation: the command by which an agent leaves holds what it said, under its name."""
    raised = "Command(graph='expert:1', update={'messages': [AIMessage(content='', name='expert', id='run--1')]})"
    attributes = {"traceloop.span.kind": "task", "traceloop.entity.name": "expert"}
    events = [("exception", {"exception.type": "langgraph.errors.ParentCommand", "exception.message": raised})]
    span = made("expert.task", scope=LANGCHAIN, attributes=attributes, events=events)
    assert ("agent", "expert") == (traceloop.kind(span), traceloop.agent(span, Memo()).name)
    other = made(
        "tools.task", scope=LANGCHAIN, attributes={**attributes, "traceloop.entity.name": "tools"}, events=events
    )
    assert "workflow" == traceloop.kind(other)


def test_team_of_agno() -> None:
    """A team is an agent, too; what it used by itself stands nowhere, so no sum over its members is that of the run."""
    scope = "opentelemetry.instrumentation.agno"
    span = made("crew.team", scope=scope, attributes={"traceloop.span.kind": "workflow", "agno.team.name": "crew"})
    assert ("agent", "crew") == (traceloop.kind(span), traceloop.agent(span, Memo()).name)
    assert LLMFields(own=True, whole=True, overcounted=True) == traceloop.llm(span, Memo())
    assert LLMFields(own=True) == traceloop.llm(made("helper.agent", scope=scope), Memo())


def test_retrieval_of_langchain() -> None:
    """Ids, scores and titles stand in the documents' metadata."""
    span = named("vector_db_retrieve kb_retriever", "langgraph__traceloop")
    documents = tuple(
        Document(str(one["id"]), float(str(one["score"])), str(one["content"]), (title, f"kb://{one['id']}"))
        for one, title in zip(FOUND, ("France demographics", "Paris", "French cheese"), strict=True)
    )
    assert RetrievalFields("population of France 2024", documents) == traceloop.retrieval(span, Memo())
    assert RetrievalFields() == traceloop.retrieval(made(scope=LANGCHAIN), Memo())


def test_handoff_whose_target_was_unknown() -> None:
    """A name that says `unknown` names no target; what the attributes know counts first."""
    attributes = {"gen_ai.operation.name": "handoff", "gen_ai.handoff.from_agent": "triage_agent"}
    broken = made("triage_agent → unknown.handoff", scope=OPENAI_AGENTS, attributes=attributes)
    whole = made("triage_agent → research_agent.handoff", scope=OPENAI_AGENTS)
    assert HandoffFields("triage_agent") == traceloop.handoff(broken, Memo())
    assert HandoffFields("triage_agent", "research_agent") == traceloop.handoff(whole, Memo())
    assert None is traceloop.handoff(made("unknown → unknown.handoff", scope=OPENAI_AGENTS), Memo())
    assert None is traceloop.handoff(made("add.tool", scope=OPENAI_AGENTS), Memo())


def test_context_of_langchain() -> None:
    """Session and user are association properties; LangChain's own metadata is left out."""
    span = named("ChatOpenAI.chat", "langgraph__traceloop")
    assert ContextFields("sess-42", "user-7") == traceloop.context(span, Memo())


def test_context_of_the_app() -> None:
    """What the app put among the properties is metadata; without a session id the thread's id is one."""
    prefix = "traceloop.association.properties."
    attributes = {
        f"{prefix}thread_id": "t-1",
        f"{prefix}plan": "pro",
        f"{prefix}tags": ["demo", 7],
        f"{prefix}request_id": "r",
    }
    expected = ContextFields("t-1", None, "r", ("demo",), {"plan": "pro"})
    assert expected == traceloop.context(made(scope=SDK, attributes=attributes), Memo())


def test_definitions_are_left_to_genai() -> None:
    """A LangChain model call has its tools in GenAI attributes."""
    span = named("ChatOpenAI.chat", "langgraph__traceloop")
    dialect, _ = conventions.classify(span)
    assert None is traceloop.definitions(span, Memo())
    found = conventions.definitions(span, Memo(), dialect) or ()
    assert ["search_docs", "calculator"] == [tool.name for tool in found]


@given(
    spans(
        traceloop.CONVENTION,
        keys=(
            "gen_ai.operation.name", "gen_ai.task.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
            "gen_ai.input.messages", "gen_ai.output.messages", "traceloop.span.kind", "traceloop.entity.name",
            "traceloop.entity.input", "traceloop.entity.output", "traceloop.association.properties.lc_agent_name",
            "traceloop.association.properties.tags", "tool.name", "tool.arguments", "crewai.crew.id", "crewai.task.id",
            "crewai.crew.tasks", "crewai.crew.agents", "crewai.crew.tasks_output", "crewai.crew.token_usage",
            "crewai.agent.tools",
        ),
        words=(
            "inputs", "outputs", "output", "input_str", "kwargs", "args", "tool_name", "arguments", "result", "role",
            "is_error", "messages", "content", "tool_output", "tool_kwargs", "tool_id", "message", "documents", "task",
            "workflow", "invoke_agent",
        ),
        names=("a → b.handoff", "FunctionTool.task", "KB.task", "AgentWorkflow.task", "FunctionAgent.workflow"),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 10 == read_all(traceloop.CONVENTION, span)
