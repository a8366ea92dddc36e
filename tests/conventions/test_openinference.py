"""OpenInference: tools, usage, hand-offs and context, on recorded spans and on made ones."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import openinference
from spanwise.model.content import ContextFields, HandoffFields, LLMFields, Memo, ToolFields
from spanwise.model.raw import EMPTY, RawSpan
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

LANGCHAIN = "openinference.instrumentation.langchain"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
CONTENTS = [
    (
        "doc-fr-1",
        "France demographics",
        "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
        0.91,
    ),
    ("doc-fr-2", "Paris", "Paris, the capital of France, has about 2.1 million inhabitants.", 0.64),
    ("doc-fr-3", "French cheese", "France produces more than 1,000 kinds of cheese.", 0.22),
]
FOUND = [{"id": i, "content": text, "score": score} for i, _, text, score in CONTENTS]
FOUND_TITLED = [{"id": i, "title": title, "content": text, "score": score} for i, title, text, score in CONTENTS]


def named(recording: str, name: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


@pytest.mark.parametrize(
    ("recording", "name", "at", "expected"),
    [
        (
            "langgraph__openinference",
            "search_docs",
            0,
            ToolFields("search_docs", "population of France 2024", FOUND, "call_000002"),
        ),
        ("langgraph__openinference", "calculator", 0, ToolFields("calculator", "68.4 million * 0.1", failed=True)),
        (
            "smolagents__openinference",
            "SimpleTool",
            0,
            ToolFields("search_docs", {"query": "population of France 2024"}, FOUND_TITLED),
        ),
        ("smolagents__openinference", "FinalAnswerTool", 0, ToolFields("final_answer", {"answer": ANSWER}, ANSWER)),
        (
            "smolagents__openinference__codeagent",
            "FinalAnswerTool",
            0,
            ToolFields("final_answer", [ANSWER], ANSWER),
        ),
        (
            "llama-index__openinference",
            "FunctionTool.acall",
            0,
            ToolFields("search_docs", {"query": "population of France 2024"}, FOUND),
        ),
        (
            "openai-agents__openinference",
            "calculator",
            0,
            ToolFields(
                "calculator",
                {"expression": "68.4 million * 0.1"},
                "An error occurred while running the tool. Please try again.",
            ),
        ),
        (
            "crewai__openinference",
            "calculator.run",
            1,
            ToolFields("calculator", {"expression": "68400000 * 0.1"}, 6840000.0),
        ),
        (
            "strands__openinference",
            "execute_tool calculator",
            1,
            ToolFields("calculator", {"expression": "68400000 * 0.1"}, 6840000.0, "call_000006"),
        ),
    ],
)
def test_tools_of_recordings(recording: str, name: str, at: int, expected: ToolFields) -> None:
    """A tool span gives the tool's own name, its arguments and its result, without the wrappers around them."""
    memo = Memo()
    found = openinference.tool(named(recording, name, at=at), memo)
    found.arguments = memo.json(found.arguments)
    assert expected == found


def test_tool_names() -> None:
    """A tool without a name is called by its span, less the method, and never by its class."""
    names = {
        name: openinference.tool(made(name, attributes=attributes), Memo()).name
        for name, attributes in {
            "search_docs.__call__": EMPTY,
            "search_docs.acall": EMPTY,
            "search_docs": EMPTY,
            "SimpleTool": EMPTY,
            "FunctionTool.acall": EMPTY,
            "execute_tool add": {"gen_ai.tool.name": "add"},
            "BaseTool.run": {"tool.name": "divide"},
        }.items()
    }
    assert {
        "search_docs.__call__": "search_docs",
        "search_docs.acall": "search_docs",
        "search_docs": "search_docs",
        "SimpleTool": None,
        "FunctionTool.acall": None,
        "execute_tool add": None,
        "BaseTool.run": "divide",
    } == names


@pytest.mark.parametrize("result", ["Error: tool 'web' not found in any workbench", "Tool not found"])
def test_tool_that_does_not_exist(result: str) -> None:
    """AutoGen and CrewAI run an invented tool without an error; its result tells."""
    attributes = {"tool.name": "web", "input.value": "{}", "output.value": result}
    expected = ToolFields("web", "{}", attributes["output.value"], failed=True, message=attributes["output.value"])
    assert expected == openinference.tool(made(attributes=attributes), Memo())


@pytest.mark.parametrize(
    ("raised", "expected"),
    [("ValueError", True), ("langgraph.errors.ParentCommand", False), ("langgraph.errors.GraphInterrupt", False)],
)
def test_tool_that_raised_under_an_ok_status(raised: str, expected: bool) -> None:
    """An exception event and no result is a failure, unless it is one by which LangGraph passes control."""
    events = [("other", {}), ("exception", {"exception.type": raised})]
    span = made(attributes={"tool.name": "add", "input.value": "{}"}, events=events)
    assert expected == openinference.tool(span, Memo()).failed


def test_tool_whose_outcome_was_cut() -> None:
    """LangChain's mark of a failure stands at the end of its message: where that was cut, the outcome is open."""
    attributes = {"tool.name": "add", "output.value": '{"type": "tool", "da', "output.mime_type": "application/json"}
    told = {
        scope: openinference.tool(made(scope=scope, attributes=attributes), Memo()).uncertain
        for scope in (LANGCHAIN, "openinference.instrumentation.agno")
    }
    assert {LANGCHAIN: True, "openinference.instrumentation.agno": False} == told


def test_haystack_tool() -> None:
    """The tool invoker's printed messages give name, arguments and result; without them nothing is known."""
    call = "ToolCall(tool_name='add', arguments={'a': 1}, id='call_1', extra=None)"
    asked = f"ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[{call}], _name=None, _meta={{}})"
    told = f"ToolCallResult(result='no such number', origin={call}, error=True)"
    said = f"ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[{told}], _name=None, _meta={{}})"
    attributes = {
        "input.value": json.dumps({"messages": [asked], "state": "<State object at 0x7f>"}),
        "output.value": json.dumps({"tool_messages": [said]}),
    }
    scope = "openinference.instrumentation.haystack"
    whole = openinference.several(made("ToolInvoker.run", scope=scope, attributes=attributes), Memo())
    assert (ToolFields("add", {"a": 1}, "no such number", "call_1", failed=True, message="no such number"),) == whole
    del attributes["output.value"]
    running = openinference.several(made("ToolInvoker.run", scope=scope, attributes=attributes), Memo())
    assert (ToolFields("add", {"a": 1}, None, "call_1", uncertain=True),) == running
    assert () == openinference.several(made("ToolInvoker.run", scope=scope), Memo())
    assert openinference.several(made("ToolInvoker.run", scope="other", attributes=attributes), Memo()) is None


@pytest.mark.parametrize(
    ("recording", "name", "expected"),
    [
        (
            "langgraph__openinference",
            "ChatOpenAI",
            LLMFields("gpt-4o-mini-2024-07-18", "openai", 170, 15, 0, None, 0),
        ),
        ("smolagents__openinference", "OpenAIModel.generate", LLMFields("gpt-4o-mini", "openai", 1198, 15)),
        ("smolagents__openinference", "research_agent.run", LLMFields(input_tokens=7233, output_tokens=75)),
        (
            "openai-agents__openinference",
            "response",
            LLMFields("gpt-4o-mini-2024-07-18", "openai", 198, 15, 0, None, 0),
        ),
        (
            "crewai__openinference",
            "population_crew.kickoff",
            LLMFields(None, None, 2433, 86, 256, 0, 0),
        ),
    ],
)
def test_usage_of_recordings(recording: str, name: str, expected: LLMFields) -> None:
    """Model, provider and tokens of a model call; of an agent or a crew the totals that it states."""
    assert expected == openinference.llm(named(recording, name), Memo())


def test_usage_made_by_hand() -> None:
    """Costs, new names of the model and cached tokens that a client counts apart."""
    parts = {
        "llm.response.model_name": "new",
        "llm.model_name": "old",
        "llm.provider": "OpenAI",
        "llm.cost.prompt": 0.25,
    }
    counted = {
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 5,
        "llm.token_count.prompt_details.cache_read": 90,
        "llm.token_count.prompt_details.cache_write": 20,
        "llm.token_count.completion_details.reasoning": 4,
        "llm.cost.completion": 0.5,
    }
    said = openinference.llm(made(attributes={**parts, **counted}), Memo())
    assert LLMFields("new", "openai", 120, 5, 90, 20, 4, 0.75) == said
    bridged = openinference.llm(made(attributes={"llm.provider": "google", "gen_ai.provider.name": "openai"}), Memo())
    assert LLMFields() == bridged
    total = openinference.llm(made(attributes={"llm.cost.total": 0.5, "llm.cost.prompt": 0.25}), Memo())
    assert LLMFields(cost_usd=0.5) == total


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"llm.model_name": "m"}, "m"),
        ({"llm.model_name": "asked", "gen_ai.response.model": "answered"}, None),
        ({"embedding.model_name": "e"}, "e"),
        ({"decision.model_name": "d"}, "d"),
        ({"llm.invocation_parameters": '{"model_id": "p"}'}, "p"),
        ({"llm.invocation_parameters": "nothing"}, None),
        ({"gen_ai.request.model": "r", "llm.invocation_parameters": '{"model": "p"}'}, None),
    ],
)
def test_models(attributes: dict[str, object], expected: str | None) -> None:
    """The model that answered is named before the one that was asked; better names elsewhere are left to others."""
    assert expected == openinference.llm(made(attributes=attributes), Memo()).model


def test_handoff() -> None:
    """A hand-off of OpenAI's agents names both agents, and at the least the next one; tools hand nothing over here."""
    recorded_one = openinference.handoff(
        named("openai-agents__openinference__handoff", "handoff to research_agent"), Memo()
    )
    assert HandoffFields("triage_agent", "research_agent") == recorded_one
    assert HandoffFields(None, "helper") == openinference.handoff(made("handoff to helper"), Memo())
    assert None is openinference.handoff(made("handoff to helper", attributes={"tool.name": "handoff"}), Memo())
    assert None is openinference.handoff(made("research_agent"), Memo())
    masked = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    assert HandoffFields(None, "helper") == openinference.handoff(made("handoff to helper", attributes=masked), Memo())


def test_handoff_in_javascript() -> None:
    """There a hand-off is a TOOL with the name of one, its agents in objects; it is one hand-off all the same."""
    span = named("openai-agents-js__openinference__handoff", "handoff to research_agent")
    assert "handoff" == conventions.classify(span)[1]
    assert HandoffFields("triage_agent", "research_agent") == openinference.handoff(span, Memo())


def test_context() -> None:
    """Session, user, request, tags and metadata; what LangChain's caller put into the metadata fills the gaps."""
    found = openinference.context(named("langgraph__openinference", "research_agent"), Memo())
    metadata = {
        "ls_integration": "langchain_create_agent",
        "lc_agent_name": "research_agent",
        "session_id": "sess-42",
        "user_id": "user-7",
        "thread_id": "sess-42",
    }
    assert ContextFields("sess-42", "user-7", None, (), metadata) == found
    attributes = {
        "session.id": "s",
        "user.id": "u",
        "tag.tags": ["a", "b"],
        "metadata": '{"request_id": "r", "thread_id": "t"}',
    }
    said = openinference.context(made(attributes=attributes), Memo())
    assert ContextFields("s", "u", "r", ("a", "b"), {"request_id": "r", "thread_id": "t"}) == said
    assert ContextFields(tags=("a",)) == openinference.context(made(attributes={"tag.tags": "a"}), Memo())
    assert ContextFields() == openinference.context(made(attributes={"metadata": "none"}), Memo())


def test_a_user_whom_nobody_named() -> None:
    """Guardrails AI calls a user `unknown` whom the app did not name; anybody else may bear that name."""
    told = {"openinference.span.kind": "GUARDRAIL", "user.id": "unknown"}
    found = [
        conventions.context(made(scope=scope, attributes=told), Memo()).user_id for scope in ("guardrails-ai", "app")
    ]
    assert [None, "unknown"] == found
