"""The kinds of OpenInference spans, also of those that an instrumentation calls what they are not."""

from __future__ import annotations

from collections import Counter

import pytest

from spanwise import conventions
from spanwise.conventions import openinference
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

KIND = "openinference.span.kind"
LANGCHAIN = "openinference.instrumentation.langchain"
LANGCHAIN_JS = "openinference-instrumentation-langchain"


def kind_of(kind: object, *, name: str = "span", scope: str = "", **attributes: object) -> object:
    """The kind of a span made by hand; a double underscore in an attribute's name stands for a dot."""
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return openinference.kind(made(name, scope=scope, attributes={KIND: kind, **dotted}))


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("crewai__openinference", {"workflow": 1, "agent": 1, "tool": 4}),
        ("crewai__openinference-with-openai", {"workflow": 1, "agent": 1, "llm": 5, "tool": 4}),
        ("langgraph__openinference", {"agent": 1, "workflow": 9, "llm": 5, "tool": 4, "retrieval": 2}),
        ("langgraph__openinference__subagent", {"agent": 2, "workflow": 12, "llm": 7, "tool": 5, "retrieval": 2}),
        (
            "llama-index__openinference",
            {"workflow": 20, "agent": 5, "other": 5, "llm": 10, "tool": 4, "retrieval": 4},
        ),
        ("openai-agents__openinference", {"workflow": 7, "agent": 1, "llm": 5, "tool": 4}),
        ("openai-agents__openinference__agent_as_tool", {"workflow": 10, "agent": 2, "llm": 7, "tool": 5}),
        ("openai-agents__openinference__handoff", {"workflow": 8, "agent": 2, "llm": 6, "handoff": 1, "tool": 4}),
        ("smolagents__openinference", {"agent": 1, "workflow": 5, "llm": 5, "tool": 5}),
        ("strands__openinference", {"agent": 1, "workflow": 5, "llm": 5, "tool": 4}),
    ],
)
def test_kinds_of_recordings(recording: str, expected: dict[str, int]) -> None:
    """Every span of a recording has its kind; traces, steps and prepared requests are no agents and no model calls."""
    assert expected == Counter(openinference.kind(span) for span in recorded(recording))


def test_kinds_by_name() -> None:
    """The kind that a span names is read in any case; one that nobody knows, or that is no text, is left to others."""
    kinds = {name: kind_of(name) for name in ("AGENT", "chain", "LLM", "DECISION", "TOOL", "RETRIEVER", "EMBEDDING")}
    assert {
        "AGENT": "agent",
        "chain": "workflow",
        "LLM": "llm",
        "DECISION": "llm",
        "TOOL": "tool",
        "RETRIEVER": "retrieval",
        "EMBEDDING": "embedding",
    } == kinds
    kinds = {name: kind_of(name) for name in ("RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT", "UNKNOWN", "SOMETHING")}
    assert {
        "RERANKER": "rerank",
        "GUARDRAIL": "guardrail",
        "EVALUATOR": "evaluation",
        "PROMPT": "other",
        "UNKNOWN": "other",
        "SOMETHING": None,
    } == kinds


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"tool.name": "add", "output.value": "3"}, "tool"),
        ({"retrieval.documents.0.document.content": "text"}, "retrieval"),
        ({"llm.model_name": "m", "llm.token_count.prompt": 3}, "llm"),
        ({"llm.input_messages.0.message.role": "user"}, "llm"),
        ({"llm.model_name": "m", "gen_ai.operation.name": "invoke_agent"}, "agent"),
        ({"something": "else"}, "other"),
    ],
)
def test_kind_that_was_dropped(attributes: dict[str, object], expected: str) -> None:
    """A span that lost its kind to the attribute limit is told by what it still has, or by another dialect."""
    assert expected == conventions.classify(made(attributes=attributes))[1]


def test_kind_that_was_dropped_beside_an_operation() -> None:
    """Where a GenAI operation is named, it is not for this dialect to guess."""
    assert None is openinference.kind(made(attributes={"tool.name": "add", "gen_ai.operation.name": "chat"}))


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("research_agent", {}, "agent"),
        ("ask_agent", {"tool.name": "ask_agent"}, "tool"),
        ("agent_model", {"llm.invocation_parameters": "{}"}, "llm"),
        ("agent_memory", {"retrieval.documents.0.document.content": "text"}, "retrieval"),
        ("agent", {}, "workflow"),
        ("RunnableAssign<agent_scratchpad>", {}, "workflow"),
        ("ToolsAgentOutputParser", {}, "workflow"),
        ("Limit.before_agent", {}, "workflow"),
    ],
)
def test_langchain_agents(name: str, attributes: dict[str, object], expected: str) -> None:
    """The word "agent" in the name of a tool, a node, a parser or a hook makes no agent of it."""
    assert expected == openinference.kind(made(name, scope=LANGCHAIN, attributes={KIND: "AGENT", **attributes}))


def test_kinds_set_right() -> None:
    """Instrumentations that call a span what it is not are known by their scope or by the span's own attributes."""
    oi = "openinference.instrumentation."
    beeai, instructor = f"{oi}beeai", f"{oi}instructor"
    kinds = [
        kind_of("TOOL", name="invalid_tool", scope=LANGCHAIN, tool__name="invalid_tool"),
        kind_of("TOOL", name="add", scope=LANGCHAIN, tool__name="add"),
        kind_of("AGENT", name="helper", tool__name="helper"),
        kind_of("TOOL", name="instructor.patch", scope=instructor, llm__invocation_parameters="{}"),
        kind_of("TOOL", name="handle_response_model", scope=instructor),
        kind_of("CHAIN", name="instructor.create", scope=instructor),
        kind_of("TOOL", name="error", scope=beeai, metadata__path="tool.add.error"),
        kind_of("AGENT", name="helper", scope=beeai, metadata__class_name="ReActAgent"),
        kind_of("CHAIN", name="ToolInvoker.run", scope=f"{oi}haystack"),
        kind_of("CHAIN", name="Pipeline.run", scope=f"{oi}haystack"),
        kind_of("TOOL", name="prepare.task", traceloop__span__kind="task"),
        kind_of("TOOL", name="add.__call__"),
        kind_of("LLM", name="OpenAI._prepare_chat_with_tools"),
    ]
    assert [
        *("other", "tool", "tool"),
        *("llm", "other", "workflow"),
        *("other", "agent"),
        *("tool", "workflow"),
        *(None, "tool", "other"),
    ] == kinds


def test_agents_of_openai_before_they_had_names() -> None:
    """Before 1.2 an agent's span says only whose model it uses, and the trace nothing; in JavaScript both say it."""
    python = "openinference.instrumentation.openai_agents"
    javascript = "@arizeai/openinference-instrumentation-openai-agents"
    system = {"llm.system": "openai"}
    assert "agent" == kind_of("AGENT", name="triage", scope=python, **system)
    assert "workflow" == kind_of("AGENT", name="Agent workflow", scope=python)
    assert "workflow" == kind_of("AGENT", name="Agent workflow", scope=javascript, **system)


@pytest.mark.parametrize(
    "scope", ["openinference.instrumentation.openai_agents", "@arizeai/openinference-instrumentation-openai-agents"]
)
def test_listing_an_mcp_servers_tools_is_no_call(scope: str) -> None:
    """OpenAI's agents ask their MCP servers for tools before each turn: the model called none."""
    assert "other" == kind_of("TOOL", name="mcp_tools", scope=scope)
    assert "tool" == kind_of("TOOL", name="mcp_tools", scope=scope, **{"tool.name": "mcp_tools"})
    assert "tool" == kind_of("TOOL", name="mcp_tools")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"AIMessage"],"kwargs":{"id":"c","name":"helper","content":""}', "agent"),
        ('"AIMessageChunk"],"kwargs":{"content":"hi","name":"helper"}', "agent"),
        ('"AIMessage"],"kwargs":{"content":"","tool_calls":[{"name":"add","args":{"name":"helper"}}]}', "workflow"),
        ('"AIMessage"],"kwargs":{"content":""}},{"id":["ToolMessage"],"kwargs":{"name":"helper"}', "workflow"),
        ('"AIMessage"],"kwargs":{"name":"another"}', "workflow"),
        ('"name":"helper"', "workflow"),
    ],
)
def test_langchain_agents_in_javascript(said: str, expected: str) -> None:
    """The state that an agent returns holds what its model said under the agent's name."""
    state = f'{{"messages":[{{"lc":1,"type":"constructor","id":["langchain_core","messages",{said}}}]}}'
    scope = "@arizeai/openinference-instrumentation-langchain"
    assert expected == kind_of("CHAIN", name="helper", scope=scope, **{"output.value": state})


def test_langchain_agents_without_the_word() -> None:
    """An agent without the word in its name is known by LangChain's metadata, its nodes are not."""
    metadata = {"metadata": '{"lc_agent_name": "köln", "langgraph_node": "model"}', KIND: "CHAIN"}
    span = made("köln", scope=LANGCHAIN, attributes=metadata)
    assert "agent" == openinference.kind(span)
    assert "köln" == openinference.agent_name(span)
    assert "workflow" == openinference.kind(made("model", scope=LANGCHAIN, attributes=metadata))
    assert "workflow" == openinference.kind(made("köln", scope="other", attributes=metadata))
    compact = {"metadata": '{"lc_agent_name":"köln"}', KIND: "CHAIN", "output.value": "__REDACTED__"}
    assert "agent" == openinference.kind(made("köln", scope=f"@arizeai/{LANGCHAIN_JS}", attributes=compact))
    assert "workflow" == openinference.kind(made("köln", scope=LANGCHAIN, attributes={**metadata, "metadata": 1}))


def test_tools_without_names() -> None:
    """A tool's span that does not name it is a hand-off by its own name, or no tool where a task is called one."""
    assert "handoff" == kind_of("TOOL", name="handoff to helper")
    assert "tool" == kind_of("TOOL", name="handoff to helper", tool__name="handoff")
    assert "tool" == kind_of("TOOL")
    assert "tool" != kind_of("TOOL", traceloop__span__kind="task")


def test_writes_of_a_graph_are_no_agents() -> None:
    """Where LangGraph writes to a channel whose name holds the word "agent", no agent is at work."""
    for name in ("ChannelWrite<start:agent>", "ChannelWrite<...,agent>", "ChannelRead<agent>", "Branch<agent>"):
        assert "workflow" == kind_of("AGENT", name=name, scope=LANGCHAIN)
