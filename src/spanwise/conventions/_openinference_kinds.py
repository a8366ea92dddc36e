"""The kinds that OpenInference's spans name, put right where an instrumentation calls its spans what they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from spanwise.conventions._convention import PlainKind
from spanwise.conventions._genai_scopes import NODES
from spanwise.conventions._openinference_messages import GOOGLE_GENAI, HAYSTACK, LANGCHAIN
from spanwise.conventions._openinference_plain import BEEAI
from spanwise.conventions._openinference_runs import INSTRUCTOR, LLAMA_STEP, is_langchain_agent, is_router
from spanwise.conventions._values import text_of
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

KINDS: Mapping[str, Kind] = {
    "AGENT": "agent",
    "CHAIN": "workflow",
    "LLM": "llm",
    "DECISION": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "embedding",
    "RERANKER": "rerank",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluation",
    "PROMPT": "other",
    "UNKNOWN": "other",
}
AUTOMATIC = "message.tool_calls.0.tool_call.function.name"
HANDOFF = "handoff to "
INVOKER = "ToolInvoker.run"
PREPARING = "._prepare_"
OPENAI_AGENTS = "openinference.instrumentation.openai_agents"
# LangChain's AgentExecutor runs these in the place of a tool that does not exist, or of an answer it cannot parse.
STAND_INS = frozenset({"invalid_tool", "_Exception"})
PLUMBING = ("Runnable", "ChannelWrite<", "ChannelRead<", "Branch<")
NOT_AGENTS = ("OutputParser", ".before_agent", ".after_agent")
_OPERATION = "gen_ai.operation.name"
_NO_MODELS = frozenset({"invoke_agent", "invoke_workflow", "agent_step", "execute_tool"})
FIRST_DOCUMENT = "retrieval.documents.0.document.content"


def kind(span: RawSpan) -> Kind | None:
    """The kind that the span names; where the attribute limit took that away, what its other attributes imply."""
    attributes = span.attributes
    named = attributes.get("openinference.span.kind")
    if not isinstance(named, str):
        return _implied(attributes)
    found = KINDS.get(named) or KINDS.get(named.upper())
    corrected = CORRECTIONS.get(span.scope.name)
    if corrected is not None and found in corrected:
        return corrected[found](span)
    if found == "tool":
        return _tool(span)
    if found == "agent" and "tool.name" in attributes:  # LangChain, for the word "agent" in the name of a tool
        return "tool"
    if found == "workflow" and span.name.endswith(LLAMA_STEP):
        return "agent"
    if found == "llm" and PREPARING in span.name:  # LlamaIndex: a request is put together, no model is called
        return "other"
    if found == "llm" and attributes.get(_OPERATION) in _NO_MODELS:  # Vercel: whatever has a model's name
        return None
    return found


def _implied(attributes: Attributes) -> Kind | None:
    if "gen_ai.operation.name" in attributes:
        return None
    if "tool.name" in attributes:
        return "tool"
    if FIRST_DOCUMENT in attributes:
        return "retrieval"
    return "llm"


def _tool(span: RawSpan) -> Kind | None:
    attributes = span.attributes
    if attributes.get("tool.name"):
        return "tool"
    if span.name.startswith(HANDOFF):
        return "handoff"
    if attributes.get("traceloop.span.kind") == "task":  # the bridge from OpenLLMetry calls every task a tool
        return None
    return "tool"


def _langchain_agent(span: RawSpan) -> Kind:
    """The word "agent" in a name makes a span AGENT: a tool, a graph's node, a parser, a middleware, even a model."""
    attributes = span.attributes
    if "tool.name" in attributes:
        return "tool"
    if "llm.invocation_parameters" in attributes:
        return "llm"
    if FIRST_DOCUMENT in attributes:
        return "retrieval"
    name = span.name
    if is_router(span):
        return "workflow"
    return "workflow" if name in NODES or name.startswith(PLUMBING) or name.endswith(NOT_AGENTS) else "agent"


def _langchain_chain(span: RawSpan) -> Kind:
    """An agent without the word "agent" in its name is a chain like any other."""
    return "agent" if is_langchain_agent(span) else "workflow"


def _langchain_tool(span: RawSpan) -> Kind:
    return "other" if text_of(span.attributes.get("tool.name")) in STAND_INS else "tool"


def _openai_agents_agent(span: RawSpan) -> Kind:
    """The trace itself is written as an AGENT that has no name; before 1.2 an agent has its span's name only.

    What says whose model it uses is no trace there. In JavaScript the trace says so, too.
    """
    attributes = span.attributes
    named = "agent.name" in attributes or "graph.node.id" in attributes
    return "agent" if named or ("llm.system" in attributes and span.scope.name == OPENAI_AGENTS) else "workflow"


def _instructor_tool(span: RawSpan) -> Kind:
    """The patched client is written as a TOOL, as is what prepares its response."""
    return "llm" if "llm.invocation_parameters" in span.attributes else "other"


def _haystack_chain(span: RawSpan) -> Kind:
    """The component that runs the tools is a CHAIN like any other."""
    return "tool" if span.name.startswith(INVOKER) else "workflow"


def _beeai(found: Kind) -> Callable[[RawSpan], Kind]:
    """Each event of a run is written as a child of the run's own kind."""

    def read(span: RawSpan) -> Kind:
        attributes = span.attributes
        return "other" if "metadata.path" in attributes and "metadata.class_name" not in attributes else found

    return read


def _google_genai_llm(span: RawSpan) -> Kind:
    """Google's client may call tools by itself: all its model calls are one span then, which is an agent at work."""
    return "agent" if AUTOMATIC in span.attributes else "llm"


def _openai_agents_tool(span: RawSpan) -> Kind | None:
    """A hand-off is a TOOL, in JavaScript with the name of one; so is the listing of what an MCP server offers."""
    if is_handoff(span):
        return "handoff"
    return "other" if span.name == "mcp_tools" and "tool.name" not in span.attributes else _tool(span)


def is_handoff(span: RawSpan) -> bool:
    target = span.name.removeprefix(HANDOFF)
    return target != span.name and span.attributes.get("tool.name") in (None, f"handoff_to_{target}")


_Correction: TypeAlias = Mapping[Kind | None, Callable[[RawSpan], Kind | None]]
_LANGCHAIN: _Correction = {"agent": _langchain_agent, "workflow": _langchain_chain, "tool": _langchain_tool}
_OPENAI_AGENTS: _Correction = {"agent": _openai_agents_agent, "tool": _openai_agents_tool}
CORRECTIONS: Mapping[str, _Correction] = {
    **dict.fromkeys(LANGCHAIN, _LANGCHAIN),
    OPENAI_AGENTS: _OPENAI_AGENTS,
    "@arizeai/openinference-instrumentation-openai-agents": _OPENAI_AGENTS,
    INSTRUCTOR: {"tool": _instructor_tool},
    BEEAI: {found: _beeai(found) for found in KINDS.values()},
    HAYSTACK: {"workflow": _haystack_chain},
    GOOGLE_GENAI: {"llm": _google_genai_llm},
}
"""Where an instrumentation calls its spans what they are not: by scope and by the kind that it names."""
_UNLIKE: Mapping[Kind, str] = {"workflow": LLAMA_STEP, "llm": PREPARING, "tool": HANDOFF}
_NEEDS: Mapping[Kind, str] = {"tool": "tool.name", "agent": "agent.name"}
_WITHOUT: Mapping[Kind, str] = {"llm": _OPERATION, "agent": "tool.name"}
PLAIN_KINDS: Mapping[str, PlainKind] = {
    named: PlainKind(
        kind=found,
        scopes=frozenset(
            scope
            for scope, corrected in CORRECTIONS.items()
            if found in corrected and (corrected is not _OPENAI_AGENTS or found not in _NEEDS)
        ),
        needs=_NEEDS.get(found, ""),
        unlike=_UNLIKE.get(found, ""),
        without=_WITHOUT.get(found, ""),
    )
    for named, found in KINDS.items()
}
