"""Traceloop's OpenLLMetry, 0.5x and newer: GenAI attributes, with `traceloop.*` for what frameworks pass around.

Its instrumentations wrap frameworks from outside, so one agent leaves several nested spans that all say `invoke_agent`
(`invoke_agent X` > `X.workflow`; CrewAI's `crewai.workflow` > `X.task` > `X.agent`), and a task is whatever the
framework calls by a callback. Where both say what a span is, the operation decides, except that a workflow or task that
invokes an agent is not the agent. LlamaIndex's spans have no operation: they are told apart by the class in their name
and by what was passed to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spanwise.conventions import _genai, _traceloop_crewai, _traceloop_llama_index, _traceloop_openai_agents
from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import LANGCHAIN_JS, LLAMA_INDEX_JS, PRINTING
from spanwise.conventions._langgraph import passed, passes_on
from spanwise.conventions._messages import items
from spanwise.conventions._openinference_tools import Given, outcome, without_context
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, documents, searched
from spanwise.conventions._reprs import is_object, read_repr
from spanwise.conventions._traceloop_llama_index import LLAMA_INDEX
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind, SpanError

SDK = "traceloop.tracer"
AGNO = "opentelemetry.instrumentation.agno"
_TEAM = "agno.team.name"
LANGCHAIN = "opentelemetry.instrumentation.langchain"
MCP = "opentelemetry.instrumentation.mcp.instrumentation"
_MCP_TRAFFIC = (".mcp", "StreamWriter")
"""How spans of requests end that call no tool, and those of what a server writes back, often in traces of their own."""
SCOPES = (
    SDK,
    LANGCHAIN_JS,
    LLAMA_INDEX,
    LLAMA_INDEX_JS,
    "opentelemetry.instrumentation.crewai.instrumentation",
    *(
        f"opentelemetry.instrumentation.{name}"
        for name in ("agno", "anthropic", "haystack", "langchain", "mcp.instrumentation", "openai.v1", "openai_agents")
    ),
)
_OPERATIONS: Mapping[str, Kind] = {
    **_genai.KINDS,
    "rerank": "rerank",
    "llm_request": "llm",
}
_KINDS_JS: Mapping[str, Kind] = {
    operation: found for operation, found in _OPERATIONS.items() if found not in {"agent", "workflow"}
}
"""LangChain's spans in JavaScript are never the current one: chains and agents hold nothing, all is beside them."""
_METHODS_JS: Mapping[str, Kind] = {"retrieve": "retrieval", "get_query_embedding": "embedding"}
"""What LlamaIndex's methods in JavaScript do; the other tasks are steps."""
_ROLES: Mapping[str, Kind] = {
    "workflow": "workflow",
    "task": "workflow",
    "agent": "agent",
    "tool": "tool",
    "handoff": "handoff",
    "session": "other",
    "server": "other",
    "unknown": "other",
}
_ASKING = frozenset({"model", "agent", "model_request"})
"""What LangChain's agents call the node that asks the model: of `create_agent`, of `create_react_agent`, at first."""
_PROPERTY = "traceloop.association.properties."
# What LangChain puts among its run's metadata of itself; the rest was put there by the app.
_OWN_METADATA = ("ls_", "lc_", "langgraph_", "checkpoint_", "session_id", "user_id", "thread_id", "request_id")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the operation names, else the one that Traceloop names."""
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    role = attributes.get("traceloop.span.kind")
    if span.scope.name == LANGCHAIN_JS:
        return _KINDS_JS.get(operation, "other") if isinstance(operation, str) else "other"
    if isinstance(operation, str):
        found = _OPERATIONS.get(operation)
        if found == "agent" and (
            role in ("workflow", "task") or "crewai.crew.id" in attributes or _is_graph(attributes)
        ):
            return "workflow"
        if operation == "execute_task":
            return "agent" if _is_nested_agent(attributes) else "workflow"
        if found is not None:
            return found
    if not isinstance(role, str):
        setting_up = span.scope.name == MCP and span.name.endswith(_MCP_TRAFFIC)
        return "setup" if setting_up else _traceloop_crewai.kind(attributes)
    if span.scope.name == LLAMA_INDEX:
        found = _traceloop_llama_index.kind(span)
        if found is not None:
            return found
    found = _traceloop_openai_agents.kind(attributes) if span.scope.name == PRINTING else None
    if found is not None:
        return found
    found = _METHODS_JS.get(span.name.rpartition(".")[2]) if span.scope.name == LLAMA_INDEX_JS else None
    found = found or _ROLES.get(role)
    return "agent" if found == "workflow" and (_TEAM in attributes or _speaks_in_state(span)) else found


def _is_graph(attributes: Attributes) -> bool:
    """Every graph of LangGraph's is said to be an agent; those have a node in which their own model is asked."""
    nodes = items(attributes.get("gen_ai.workflow.nodes"))
    return bool(nodes) and _ASKING.isdisjoint(node for node in nodes if isinstance(node, str))


def _speaks_in_state(span: RawSpan) -> bool:
    """What LangGraph's prebuilt agents say bears their name, in the state they return or the command they raise."""
    attributes = span.attributes
    state = attributes.get("traceloop.entity.output")
    if span.scope.name != LANGCHAIN or "gen_ai.operation.name" in attributes:
        return False
    name = attributes.get("traceloop.entity.name")
    if isinstance(state, str):
        return f'"type": "ai", "name": "{name}"' in state
    return any(passes_on(text_of(event.attributes.get("exception.message")), str(name)) for event in span.events)


def _is_nested_agent(attributes: Attributes) -> bool:
    """An agent run inside another's tool is recorded as a task; LangChain's metadata names the agent."""
    name = attributes.get("gen_ai.task.name")
    return name is not None and name == attributes.get(f"{_PROPERTY}lc_agent_name")


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result, without the wrapping of LangChain, MCP, LlamaIndex, Agno or a decorator."""
    attributes = span.attributes
    if span.scope.name == LLAMA_INDEX:
        return _traceloop_llama_index.tool(span, memo)
    arguments, call_id = _given(_either(attributes, "gen_ai.tool.call.arguments", "traceloop.entity.input"), memo)
    returned = _either(attributes, "gen_ai.tool.call.result", "traceloop.entity.output")
    fields = mapping_of(memo.json(returned)) or {}
    if set(fields) == {"output", "kwargs"}:  # LangChain's `on_tool_end`
        returned = "null" if fields["output"] is None else fields["output"]
    failed = fields.get("is_error") is True and "result" in fields  # MCP's
    if failed:
        returned = fields["result"]
    if span.scope.name == AGNO and isinstance(returned, str):
        returned, failed = _printed_by_agno(returned)
    found = outcome(returned, memo)
    name = first_text(attributes, "gen_ai.tool.name", "traceloop.entity.name")
    if span.scope.name == LANGCHAIN_JS:  # the class of the tool; what it returned bears its name
        name = found.name or name
    return ToolFields(
        name,
        arguments,
        found.value,
        text_of(attributes.get("gen_ai.tool.call.id")) or call_id or found.call_id,
        failed or found.failed or attributes.get("gen_ai.task.status") == "failure",
    )


_AGNO_RESULT = re.compile(
    r"status='(success|failure)' result=(.*) error=(None|'.*?'|\".*?\") updated_session_state=", re.S
)
"""An execution of Agno's as Pydantic prints it; the error stands where the result of a failed one would."""


def _printed_by_agno(text: str) -> tuple[object, bool]:
    """What a tool returned, or the error that it failed with."""
    found = _AGNO_RESULT.match(text)
    if found is None:
        return text, False
    failed = found.group(1) == "failure"
    value = found.group(3 if failed else 2)
    if is_object(value):  # a generator, whose values were printed nowhere
        return None, failed
    return "null" if value == "None" else read_repr(value), failed


def _either(attributes: Attributes, key: str, other: str) -> object:
    value = attributes.get(key)
    return attributes.get(other) if value is None else value


def _given(value: object, memo: Memo) -> tuple[object, str | None]:
    """What the tool was given, and the call's id where LangChain passes it to its callbacks."""
    if value is None:
        return None, None
    fields = mapping_of(memo.json(value))
    if fields is not None and "input_str" in fields:
        inputs = fields.get("inputs")
        call_id = first_text(mapping_of(fields.get("kwargs")) or {}, "tool_call_id")
        if inputs is None:
            inputs = fields["input_str"]
            inputs = read_repr(inputs) if isinstance(inputs, str) else inputs
        named = mapping_of(inputs)
        found = Given(inputs) if named is None else without_context(named)  # a tool may be given the graph's state
        return found.value, call_id or found.call_id
    if fields is not None and "tool_name" in fields and fields.keys() <= {"tool_name", "arguments"}:
        return fields.get("arguments"), None
    return call_arguments(value, memo), None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """A crew's own totals, and the model that it calls; all else stands in GenAI attributes."""
    if "crewai.crew.token_usage" in span.attributes or "crewai.llm.model" in span.attributes:
        return _traceloop_crewai.llm(span, memo)
    if span.scope.name == AGNO:  # what a team used by itself is not recorded, and in nobody's total
        return LLMFields(own=True, whole=_TEAM in span.attributes, overcounted=_TEAM in span.attributes)
    return LLMFields()


def messages(span: RawSpan, memo: Memo) -> Messages:
    """Messages where GenAI attributes lack or mistake them: a crew's, LlamaIndex's, the call ids of OpenAI's agents."""
    scope = span.scope.name
    if scope == LLAMA_INDEX:
        return _traceloop_llama_index.messages(span, memo)
    if "crewai.crew.tasks_output" in span.attributes:
        return _traceloop_crewai.messages(span, memo)
    if scope == LANGCHAIN_JS and kind(span) == "other":
        return Messages(conversation(memo.json(span.attributes.get("traceloop.entity.input")), memo))
    if scope == PRINTING and _traceloop_openai_agents.is_request(span.attributes):
        return _traceloop_openai_agents.messages(span)
    if scope.endswith("openai_agents"):
        found = _genai.messages(span, memo)
        return Messages(_with_call_ids(found.input), found.output)
    return Messages()


def _with_call_ids(sent: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The conversation with each call under the id that its result answers.

    The instrumentation writes the id of the response's item for an earlier call (`fc_...`), but the call's own id for
    the result: so an id that nothing answers is the call of the next result that answers no known id.
    """
    if sent is None:
        return None
    asked_ids = {part.id for message in sent for part in message.parts if part.type == "tool_call"}
    answered_ids = {part.id for message in sent for part in message.parts if part.type == "tool_result"}
    open_calls: list[Part] = []
    for message in sent:
        for part in message.parts:
            if part.type == "tool_call" and part.id not in answered_ids:
                open_calls.append(part)
            elif part.type == "tool_result" and part.id not in asked_ids and open_calls:
                open_calls.pop(0).id = part.id
    return sent


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    if span.scope.name == LLAMA_INDEX:
        found = _traceloop_llama_index.output(span, memo)
        if found is not None:
            return found
    if "crewai.crew.tasks_output" in span.attributes:
        return _traceloop_crewai.messages(span, memo).output
    if span.scope.name == PRINTING and _traceloop_openai_agents.is_request(span.attributes):
        return _traceloop_openai_agents.messages(span).output
    return _genai.output(span, memo)


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The messages in the state that LangChain's agent or graph returned, or those of GenAI attributes."""
    fields = mapping_of(memo.json(span.attributes.get("traceloop.entity.output"))) or {}
    return conversation(memo.json(fields.get("outputs")), memo) or output(span, memo)


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The tool calls that the model asked for; LlamaIndex's stand in its response only."""
    return None if span.scope.name == LLAMA_INDEX else _genai.requests(span, memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer as the framework's callback or the decorated function had them."""
    attributes = span.attributes
    scope = span.scope.name
    if scope == LLAMA_INDEX:
        return _traceloop_llama_index.agent(span, memo)
    if "crewai.crew.id" in attributes or "crewai.task.id" in attributes:
        return _traceloop_crewai.agent(span, memo)
    given = attributes.get("traceloop.entity.input")
    returned = attributes.get("traceloop.entity.output")
    fields = mapping_of(memo.json(given))
    if fields is not None and "inputs" in fields:
        given = fields["inputs"]
    fields = mapping_of(memo.json(returned))
    if fields is not None and "outputs" in fields:
        returned = fields["outputs"]
    name = _genai.agent_name(span) if "gen_ai.agent.name" in attributes and kind(span) == "agent" else None
    if name is None and (attributes.get("traceloop.span.kind") == "agent" or _speaks_in_state(span)):
        name = first_text(attributes, "traceloop.entity.name", "crewai.agent.role")
    if name is None and _is_nested_agent(attributes):
        name = text_of(attributes.get("gen_ai.task.name"))
    name = name or text_of(attributes.get(_TEAM))
    return AgentFields(name, asked(given, memo), answered(returned, memo))


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of LangChain's or LlamaIndex's retriever."""
    given = span.attributes.get("traceloop.entity.input")
    returned = span.attributes.get("traceloop.entity.output")
    return RetrievalFields(
        None if given is None else searched(given, memo), None if returned is None else documents(returned, memo)
    )


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Source and target; a target that was not known when the span began is `unknown` in its name, and no attribute."""
    found = _genai.handoff(span, memo) or HandoffFields()
    source, arrow, target = span.name.removesuffix(".handoff").partition(" → ")
    if arrow:
        found.source = found.source or _known(source)
        found.target = found.target or _known(target)
    return found if found.source or found.target else passed(span.attributes, _PROPERTY)


def _known(name: str) -> str | None:
    return None if name in {"", "unknown"} else name


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """Tools of a crew, its tasks and agents, or of LlamaIndex's call; all others stand in GenAI attributes."""
    if span.scope.name == LLAMA_INDEX:
        return _traceloop_llama_index.definitions(span, memo)
    return _traceloop_crewai.definitions(span, memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The association properties: who asked, and what else the app put there."""
    properties = {
        key.removeprefix(_PROPERTY): value for key, value in span.attributes.items() if key.startswith(_PROPERTY)
    }
    tags = items(properties.get("tags")) or ()
    own = {key: value for key, value in properties.items() if not key.startswith(_OWN_METADATA) and key != "tags"}
    return ContextFields(
        first_text(properties, "session_id", "thread_id"),
        first_text(properties, "user_id"),
        first_text(properties, "request_id"),
        tuple(tag for tag in tags if isinstance(tag, str)),
        own or None,
    )


def error(span: RawSpan) -> SpanError | None:
    """The failure of a tool of OpenAI's agents, printed as a mapping into the status; all others as GenAI says them."""
    printed = mapping_of(read_repr(span.status_message)) if span.status_message[:1] == "{" else None
    if printed is None or "message" not in printed:
        return None
    inner = mapping_of(printed.get("data")) or {}
    return SpanError(message=first_text(inner, "error") or first_text(printed, "message") or span.status_message)


CONVENTION = Convention(
    name="traceloop",
    title="Traceloop OpenLLMetry",
    scopes=SCOPES,
    keys=("traceloop.span.kind", "traceloop.workflow.name"),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    record=record,
    requests=requests,
    agent=agent,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    error=error,
    content_switch="Set TRACELOOP_TRACE_CONTENT=true.",
    records_all=True,
)
