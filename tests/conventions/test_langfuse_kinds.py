"""Langfuse's observations: which kind of span each is."""

from __future__ import annotations

from spanwise import conventions
from spanwise.conventions import langfuse
from spanwise.model.content import Memo
from tests.conventions.test_langfuse import RECORDING, observation
from tests.recordings_io import made
from tests.recordings_io import spans as recorded


def test_kinds_of_a_recording() -> None:
    """The graph is the agent, its nodes are workflows."""
    kinds = {span.name: langfuse.kind(span) for span in recorded(RECORDING)}
    assert {
        "research_agent": "agent",
        "model": "workflow",
        "tools": "workflow",
        "ChatOpenAI": "llm",
        "search_docs": "tool",
        "calculator": "tool",
        "kb_retriever": "retrieval",
    } == kinds


def test_agents_are_those_of_the_framework() -> None:
    """A hook, a parser or a node is no agent for having `agent` in its name; a function or a chain may be one."""
    named_by_langchain = {"langfuse.observation.metadata.lc_agent_name": '"researcher"'}
    chain = {"langfuse.observation.type": "chain"}
    found = [
        langfuse.kind(span)
        for span in (
            observation("agent", "research_agent"),
            observation("agent", "agent", **{"metadata.langgraph_node": '"agent"'}),
            observation("agent", "agent"),
            observation("agent", "limits.before_agent"),
            observation("agent", "ToolsAgentOutputParser"),
            made("researcher", attributes={**chain, **named_by_langchain}),
            made("model", attributes={**chain, **named_by_langchain}),
            made("researcher", attributes={**chain, "langfuse.observation.metadata.lc_agent_name": "researcher"}),
        )
    ]
    assert ["agent", "workflow", "agent", "workflow", "workflow", "agent", "workflow", "agent"] == found


def test_an_agent_that_passes_control() -> None:
    """One that ends with a command returns no state: the command's printed messages bear its name."""
    command = "Command(graph='__parent__', update={'messages': [AIMessage(content='', name='supervisor', id='l')]})"
    kinds = [
        langfuse.kind(observation("chain", name, status_message=text))
        for name, text in (("supervisor", command), ("team", command), ("supervisor", command[8:]))
    ]
    assert ["agent", "workflow", "workflow"] == kinds


def test_other_kinds() -> None:
    """Each type has its kind; a type of the app's own has none."""
    types = ("span", "embedding", "evaluator", "guardrail", "event", "of the app's own")
    found = [langfuse.kind(observation(kind)) for kind in types]
    assert ["workflow", "embedding", "evaluation", "guardrail", "other", None] == found
    assert None is langfuse.kind(made(attributes={"langfuse.observation.type": ["tool"]}))


def test_kinds_before_observations_had_types_of_their_own() -> None:
    """Up to 3.3.0 the LangChain handler wrote tools, retrievers and agents as spans; an app's span stays one."""
    color = {"metadata.color": "green"}
    message = {"type": "tool", "name": "add", "tool_call_id": "c1", "content": "2"}
    state = {"messages": [{"type": "ai", "name": "researcher", "content": "2"}]}
    found = [
        langfuse.kind(observation("span", "add", **color, **{"metadata.inputs": {"a": 1}}, level="ERROR")),
        langfuse.kind(observation("span", "add", **color, output=message)),
        langfuse.kind(observation("span", "paint", **color, output="done")),
        langfuse.kind(observation("span", "kb", **{"metadata.ls_retriever_name": "kb"})),
        langfuse.kind(observation("span", "researcher", output=state)),
        langfuse.kind(observation("chain", "researcher", output=state)),
        langfuse.kind(observation("span", "tools", output=state)),
    ]
    assert ["tool", "tool", "workflow", "retrieval", "agent", "agent", "workflow"] == found


def test_haystack() -> None:
    """An agent in a pipeline has the name of its component; whatever agent's run is named alike."""
    component = observation("span", "helper", **{"metadata.haystack.component.type": '"Agent"'})
    run = observation("agent", "haystack.agent.run", output={"messages": [{"role": "assistant", "content": "A"}]})
    assert ["agent", "agent"] == [langfuse.kind(component), langfuse.kind(run)]
    assert ["helper", None] == [langfuse.agent(one, Memo()).name for one in (component, run)]
    told = {"metadata.haystack.tool.name": '"search"', "metadata.haystack.tool.error": True}
    found = langfuse.tool(observation("tool", "tool - search", **told), Memo())
    assert ("search", True) == (found.name, found.failed)
    assert "Set HAYSTACK_CONTENT_TRACING_ENABLED=true." == conventions.content_switch(component, some=False)
