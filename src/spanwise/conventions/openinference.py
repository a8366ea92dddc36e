"""OpenInference (Arize): the attributes of `openinference-instrumentation-*` for some thirty frameworks and clients.

A span names its kind in `openinference.span.kind`; names, messages, documents and token counts have attributes of their
own, and content that has none stands in `input.value` and `output.value`. The instrumentations differ in what they put
there, and some call a span what it is not; both is set right here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from spanwise.conventions import _openinference_crewai as crewai
from spanwise.conventions._convention import Convention, PlainKind
from spanwise.conventions._crewai import total
from spanwise.conventions._fields import lowered, reader, text
from spanwise.conventions._genai_scopes import NODES
from spanwise.conventions._langgraph import is_paused, passed
from spanwise.conventions._messages import items
from spanwise.conventions._openinference_definitions import definitions
from spanwise.conventions._openinference_envelopes import held_messages, recorded
from spanwise.conventions._openinference_messages import GOOGLE_GENAI, HAYSTACK, LANGCHAIN, LANGCHAIN_JS, record
from spanwise.conventions._openinference_plain import (
    ANSWERED,
    ANSWERS,
    ASKED,
    BEEAI,
    CALL_IDS,
    MODELS,
    PROVIDERS,
    TOOL_CLASSES,
    TOOLS,
    USED,
    not_found,
    put_right,
)
from spanwise.conventions._openinference_requests import call_ids, requests, told
from spanwise.conventions._openinference_retrieval import retrieval
from spanwise.conventions._openinference_runs import (
    INSTRUCTOR,
    LLAMA_STEP,
    agent,
    agent_name,
    is_langchain_agent,
    is_router,
)
from spanwise.conventions._openinference_streams import messages, output
from spanwise.conventions._openinference_tools import given, outcome
from spanwise.conventions._payloads import invoked
from spanwise.conventions._smolagents import broke_off
from spanwise.conventions._values import first_number, first_text, mapping_of, text_of
from spanwise.model.content import ContextFields, HandoffFields, LLMFields, Memo, ToolFields, is_blank
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
AGNO = "openinference.instrumentation.agno"
TOOL_METHODS = (".__call__", ".acall", ".call", ".run", ".arun", ".invoke", ".ainvoke", ".forward")
# LangChain's AgentExecutor runs these in the place of a tool that does not exist, or of an answer it cannot parse.
STAND_INS = frozenset({"invalid_tool", "_Exception"})
CONTROL_FLOW = ("ParentCommand", "GraphInterrupt", "GraphBubbleUp", "NodeInterrupt")
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
    if _is_handoff(span):
        return "handoff"
    return "other" if span.name == "mcp_tools" and "tool.name" not in span.attributes else _tool(span)


def _is_handoff(span: RawSpan) -> bool:
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
_PLAIN: Mapping[str, PlainKind] = {
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


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool span."""
    if span.name.endswith(crewai.USE):
        return crewai.tool(span, memo)
    attributes = span.attributes
    asked = given(attributes, memo, beeai=span.scope.name == BEEAI)
    got = outcome(attributes.get("output.value"), memo)
    name = _tool_name(span)
    failed = got.failed or _raised(span) or not_found(name, got.value)
    call_id = first_text(attributes, *CALL_IDS) or got.call_id or asked.call_id
    message = got.value if failed and isinstance(got.value, str) else ""
    # LangChain says in its message around the result that the tool failed; where that was cut, nobody knows.
    cut = (
        span.scope.name in LANGCHAIN
        and got.value not in (None, "null")
        and recorded(attributes, "output", memo) is None
    )
    untold = got.value == "None" and span.scope.name == AGNO  # as before Agno 2 of tools that raised, too
    return ToolFields(
        name,
        asked.value,
        None if untold else got.value,
        call_id,
        failed,
        message=message,
        uncertain=cut or untold or got.uncertain or broke_off(span),
        paused=bool(span.events) and is_paused(span),
        control=got.control,
    )


def several(span: RawSpan, memo: Memo) -> tuple[ToolFields, ...] | None:
    """The calls of Haystack's tool invoker, which stand in its input and output as printed messages."""
    if span.scope.name != HAYSTACK or not span.name.startswith(INVOKER):
        return None
    get = span.attributes.get
    return invoked(held_messages(get("input.value"), memo), held_messages(get("output.value"), memo))


def _raised(span: RawSpan) -> bool:
    """The tool ended by an exception that its status hides; those by which LangGraph passes control are no failure."""
    if "output.value" in span.attributes:
        return False
    raised = [text_of(event.attributes.get("exception.type")) for event in span.events if event.name == "exception"]
    return any(kind is not None and not kind.endswith(CONTROL_FLOW) for kind in raised)


def _tool_name(span: RawSpan) -> str | None:
    """The tool's own name; where there is none the span's without the method that was wrapped, but no class's."""
    attributes = span.attributes
    found = text_of(attributes.get("tool.name"))
    if found is None and "gen_ai.tool.name" not in attributes:
        found = next((span.name[: -len(end)] for end in TOOL_METHODS if span.name.endswith(end)), span.name)
    return None if found in TOOL_CLASSES else found


class _Model(msgspec.Struct, gc=False):
    name: str | None = None


_llm = reader(LLMFields, text(ANSWERED), lowered(*PROVIDERS), *USED)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider, tokens and recorded cost; of an agent or a crew the totals."""
    attributes = span.attributes
    fields = _llm(attributes)
    if fields.model is None and "gen_ai.response.model" not in attributes:
        fields.model = _model(attributes, memo)
    if fields.provider is not None and "gen_ai.provider.name" in attributes:
        fields.provider = None
    if fields.cost_usd is None and "llm.cost.prompt" in attributes:
        fields.cost_usd = _cost(attributes)
    if AUTOMATIC in attributes and span.scope.name == GOOGLE_GENAI:  # the usage of the last call only
        return LLMFields(fields.model, fields.provider, whole=True)
    if fields.input_tokens is None and "crew_id" in attributes:
        fields = _crew_usage(attributes, memo) or fields
    if span.scope.name == LANGCHAIN_JS:
        put_right(fields, attributes)
    cached = (fields.cache_read_tokens or 0) + (fields.cache_write_tokens or 0)
    if fields.input_tokens is not None and cached > fields.input_tokens:  # a client that counts cached tokens apart
        fields.input_tokens += cached
    return fields


_named = reader(_Model, text(*ASKED))


def _model(attributes: Attributes, memo: Memo) -> str | None:
    """The model that was asked for."""
    found = _named(attributes).name
    if found is None and "gen_ai.request.model" not in attributes:
        parameters = mapping_of(memo.json(attributes.get("llm.invocation_parameters")))
        found = first_text(parameters, "model", "model_name", "model_id") if parameters is not None else None
    return found


def _cost(attributes: Attributes) -> float | None:
    prompt, completion = first_number(attributes, "llm.cost.prompt"), first_number(attributes, "llm.cost.completion")
    return prompt + completion if prompt is not None and completion is not None else None


def _crew_usage(attributes: Attributes, memo: Memo) -> LLMFields | None:
    """CrewAI counts tokens for the crew as a whole, in its result."""
    result = mapping_of(memo.json(attributes.get("output.value"))) or {}
    usage = mapping_of(result.get("token_usage"))
    return total(usage, result.get("tasks_output"), memo.json(attributes.get("crew_agents"))) if usage else None


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Source and target of an OpenAI agent's hand-off: the span's input and output, its name at the least."""
    get = span.attributes.get
    if not _is_handoff(span):
        return passed(mapping_of(memo.json(get("metadata"))) or {}) if "tool.name" in span.attributes else None
    source, target = (None if is_blank(get(key)) else memo.json(get(key)) for key in ("input.value", "output.value"))
    fields = {**(mapping_of(source) or {"from_agent": source}), **(mapping_of(target) or {"to_agent": target})}
    return HandoffFields(
        text_of(fields.get("from_agent")), text_of(fields.get("to_agent")) or span.name.removeprefix(HANDOFF) or None
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session, user, tags and metadata; LangChain's callers put ids into the metadata."""
    attributes = span.attributes
    metadata = mapping_of(memo.json(attributes.get("metadata")))
    tags = memo.json(attributes.get("tag.tags"))
    found = ContextFields(
        first_text(attributes, "session.id"),
        first_text(attributes, "user.id"),
        None,
        tuple(tag for tag in items(tags) or (tags,) if isinstance(tag, str) and tag),
        metadata,
    )
    if metadata is not None:
        found.session_id = found.session_id or first_text(metadata, "session_id", "conversation_id", "thread_id")
        found.user_id = found.user_id or first_text(metadata, "user_id")
        found.request_id = first_text(metadata, "request_id")
    return found


CONVENTION = Convention(
    name="openinference",
    title="OpenInference",
    keys=("openinference.span.kind",),
    hints=("llm.model_name", "tool.name", "llm.input_messages.0.message.role", FIRST_DOCUMENT),
    kind=kind,
    plain_kinds=_PLAIN,
    tool=tool,
    plain_tools=TOOLS,
    several=several,
    llm=llm,
    plain_models=MODELS,
    messages=messages,
    output=output,
    told=told,
    record=record,
    requests=requests,
    call_ids=call_ids,
    plain_answers=ANSWERS,
    agent=agent,
    agent_name=agent_name,
    agent_name_tells_all=True,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    content_switch="Unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and their kin (OPENINFERENCE_HIDE_*).",
)
