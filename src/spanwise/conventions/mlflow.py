"""MLflow's tracing, exported over OTLP: `mlflow.*`, each value as JSON text, strings in quotes among them.

Decorated functions and autologged frameworks look alike: what was passed in is `mlflow.spanInputs`, what came back
`mlflow.spanOutputs`, in whatever form the framework has. MLflow's own server passes the values on decoded. LangChain's
agents are chains to MLflow; LangChain's metadata, recorded beside, names them. The spans of LlamaIndex and smolagents
bear the names of methods (`FunctionTool.acall`): tools and agents are named by the fields of the objects beside.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from spanwise.conventions import _pydantic_messages
from spanwise.conventions._convention import Convention
from spanwise.conventions._dspy import asking, told
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, documents, reply, searched
from spanwise.conventions._reprs import is_object
from spanwise.conventions._usages import provided, responded
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, text_of
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
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "AGENT": "agent",
    "CHAIN": "workflow",
    "WORKFLOW": "workflow",
    "TASK": "workflow",
    "UNKNOWN": "workflow",
    "LLM": "llm",
    "CHAT_MODEL": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "RERANKER": "rerank",
    "EMBEDDING": "embedding",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluation",
}
SCOPE = "mlflow.tracing.provider"
_INPUTS = "mlflow.spanInputs"
_OUTPUTS = "mlflow.spanOutputs"
_TAG = "mlflow.traceTag."
_FINAL = "FinalAnswerTool.__call__"
"""smolagents' tool by which an agent answers; MLflow names the spans of its tools by their classes."""
_RETRY = "ToolRetryError"
_PREPARING = "._prepare_chat_with_tools"
"""LlamaIndex puts together what it will ask the model; MLflow calls that a model call."""


def kind(span: RawSpan) -> Kind | None:
    """The kind that the span's type names; types of the app's own are none."""
    attributes = span.attributes
    said = attributes.get("mlflow.spanType")
    if not isinstance(said, str):
        return _exported_kind(span)
    found = _KINDS.get(said.strip('"'), "other")
    if found == "agent" and "mlflow.openai.agent_run_root" in attributes:  # the runner around the agents
        return "workflow"
    if found == "llm" and span.name.endswith(_PREPARING):
        return "other"
    if found == "workflow":
        given = attributes.get(_INPUTS)
        if span.name == "Handoff" and isinstance(given, str | Mapping) and "from_agent" in given:
            return "handoff"
        return "agent" if _is_langchain_agent(span) else found
    return found


def _exported_kind(span: RawSpan) -> Kind | None:
    """MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=true: GenAI's attributes; types that have no operation there keep their name."""
    operation = span.attributes.get("gen_ai.operation.name")
    if operation == "execute_tool" and span.scope.name == SCOPE:
        return "tool"
    found = _KINDS.get(operation) if isinstance(operation, str) and span.scope.name == SCOPE else None
    return "agent" if found == "workflow" and _exported_agent(span) else found


def _exported_agent(span: RawSpan) -> bool:
    """LangChain's metadata names the agent; what has no node of a graph is the agent itself."""
    metadata = span.attributes.get("metadata")
    return isinstance(metadata, str) and '"lc_agent_name"' in metadata and '"langgraph_node"' not in metadata


def _is_langchain_agent(span: RawSpan) -> bool:
    """The metadata, or the state, names the agent, also that of its nodes; the agent's own chain has the same name."""
    metadata = span.attributes.get("metadata")
    state = span.attributes.get(_OUTPUTS)
    if isinstance(state, str) and f'"type": "ai", "name": "{span.name}"' in state:  # LangGraph's prebuilt agents
        return True
    if isinstance(metadata, str):
        return f'"lc_agent_name": "{span.name}"' in metadata
    return (mapping_of(metadata) or {}).get("lc_agent_name") == span.name


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a tool."""
    attributes = span.attributes
    given = memo.json(attributes.get(_INPUTS, attributes.get("gen_ai.tool.call.arguments")))
    fields = mapping_of(given)
    if fields is not None and set(fields) == {"tool_name", "tool_args"}:  # CrewAI's
        given = memo.json(fields["tool_args"])
    elif fields is not None and "sanitize_inputs_outputs" in fields:  # smolagents'
        given = {key: value for key, value in fields.items() if key in ("args", "kwargs")}
    returned = memo.json(attributes.get(_OUTPUTS, attributes.get("gen_ai.tool.call.result")))
    fields = mapping_of(returned)
    if fields is not None and set(fields) == {"_value"}:
        returned = "null" if fields["_value"] is None else fields["_value"]
    elif fields is not None and set(fields) == {"blocks"}:  # LlamaIndex's
        returned = fields["blocks"]
    found = outcome(returned, memo)
    return ToolFields(
        text_of(attributes.get("gen_ai.tool.name")) or _tool_name(span, memo, returned),
        None if given is None else call_arguments(given, memo),
        found.value,
        text_of(memo.json(attributes.get("tool_call_id"))) or found.call_id,
        found.failed,
        retry=any(str(event.attributes.get("exception.type")).endswith(_RETRY) for event in span.events),
    )


def _tool_name(span: RawSpan, memo: Memo, returned: object) -> str | None:
    """The span's name without the number that older releases put behind the names of spans that were named alike."""
    name = span.name
    if name == _FINAL:
        return "final_answer"
    if _is_method(name):
        return text_of(memo.json(span.attributes.get("name")))
    for other in (
        memo.json(span.attributes.get("mlflow.spanFunctionName")),
        first_text(mapping_of(returned) or {}, "name", "tool_name"),
    ):
        if isinstance(other, str) and name.startswith(f"{other}_") and name[len(other) + 1 :].isdecimal():
            return other
    return name or None


def _is_method(name: str) -> bool:
    """The span is named after a class and its method."""
    owner, dot, method = name.partition(".")
    return bool(dot) and owner[:1].isupper() and owner.isidentifier() and method.isidentifier()


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider, tokens and cost of a model call."""
    attributes = span.attributes
    usage = mapping_of(memo.json(attributes.get("mlflow.chat.tokenUsage"))) or {}
    cost = mapping_of(memo.json(attributes.get("mlflow.llm.cost"))) or {}
    model = text_of(memo.json(attributes.get("mlflow.llm.model")))
    said = _responded(span, memo) if model is None or not usage else LLMFields()
    model = model or said.model
    if model is None:
        named = text_of(memo.json(attributes.get("model")))
        model = first_text(mapping_of(memo.json(attributes.get(_INPUTS))) or {}, "model")
        model = model or (None if is_object(named) else named)
    if not usage:  # releases before 3 leave it where the client had it
        own = mapping_of(memo.json(attributes.get("usage")))
        said = provided(own) if own else said
        found = first_number(cost, "total_cost")
        provider = text_of(memo.json(attributes.get("mlflow.llm.provider")))
        return replace(said, model=model, provider=provider, cost_usd=found)
    own = mapping_of(memo.json(attributes.get("usage"))) or {}  # OpenAI's own, where LlamaIndex passes it on
    cached = mapping_of(own.get("prompt_tokens_details")) or {}
    thought = mapping_of(own.get("completion_tokens_details")) or {}
    read = first_int(usage, "cache_read_input_tokens")
    return LLMFields(
        model,
        text_of(memo.json(attributes.get("mlflow.llm.provider"))),
        first_int(usage, "input_tokens"),
        first_int(usage, "output_tokens"),
        first_int(cached, "cached_tokens") if read is None else read,
        first_int(usage, "cache_creation_input_tokens"),
        first_int(thought, "reasoning_tokens"),
        first_number(cost, "total_cost"),
    )


def _responded(span: RawSpan, memo: Memo) -> LLMFields:
    """What the response says that was used; of a stream its last piece, each of which is an event."""
    response = mapping_of(memo.json(span.attributes.get(_OUTPUTS))) if kind(span) == "llm" else None
    found = responded(response) if response is not None else LLMFields()
    for event in reversed(span.events) if found.input_tokens is None else ():
        for value in event.attributes.values() if "chunk" in event.name else ():
            piece = memo.json(memo.json(value))
            used = responded(mapping_of(piece) or {})
            if used.input_tokens is not None:
                return used
    return found


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent, in the form of its client, and what it answered."""
    given = memo.json(span.attributes.get(_INPUTS))
    fields = mapping_of(given)
    if _form(span, memo) == "pydantic_ai":
        return Messages(_pydantic_messages.messages_of((fields or {}).get("messages"), memo), output(span, memo))
    sent = conversation(given, memo)
    if sent is None and fields is not None:
        held = next((fields[key] for key in ("input", "prompt", "contents", "prompts") if fields.get(key)), None)
        sent = messages_of([held] if isinstance(held, str) else held, memo)
    elif sent is None and given is not None:
        sent = messages_of([given] if isinstance(given, str) else given, memo)
    if sent is not None and items(memo.json(span.attributes.get(_OUTPUTS))):  # DSPy's completions
        sent = told(sent)
    return Messages(_instructed(span, fields, sent, memo), output(span, memo))


def _form(span: RawSpan, memo: Memo) -> object:
    """The framework whose messages these are, where MLflow says so."""
    return memo.json(span.attributes.get("mlflow.message.format"))


def _instructed(
    span: RawSpan, fields: Mapping[str, object] | None, sent: tuple[Message, ...] | None, memo: Memo
) -> tuple[Message, ...] | None:
    """The conversation with the instructions that some clients pass beside it."""
    if sent is None or sent[0].role == "system":
        return sent
    text = first_text(fields or {}, "system", "instructions") or text_of(memo.json(span.attributes.get("instructions")))
    return (*(messages_of([{"role": "system", "content": text}], memo) or ()), *sent) if text else sent


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered; of what OpenAI's client streams the calls are lost, so that no word is no answer."""
    returned = memo.json(span.attributes.get(_OUTPUTS))
    form = _form(span, memo)
    if form == "pydantic_ai":
        return _pydantic_messages.messages_of(returned, memo)
    listed = items(returned)
    if listed and all(isinstance(item, str) for item in listed):  # DSPy's completions
        said = tuple(Message("assistant", (Part("text", str(item)),)) for item in listed)
        return asking(said, memo)
    found = reply(returned, memo)
    given = mapping_of(memo.json(span.attributes.get(_INPUTS))) or {}
    silent = found is not None and not any(part.text or part.type != "text" for one in found for part in one.parts)
    return None if silent and given.get("stream") is True else found


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    found = definitions_of(span.attributes.get("mlflow.chat.tools"), memo)
    if found is None:
        fields = mapping_of(memo.json(span.attributes.get(_INPUTS)))
        found = definitions_of(fields.get("tools"), memo) if fields is not None else None
    return found


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """An agent by its span's name, with what it was passed and what it returned."""
    given = memo.json(span.attributes.get(_INPUTS))
    returned = memo.json(span.attributes.get(_OUTPUTS))
    if set(mapping_of(returned) or ()) == {"output_type"}:  # OpenAI's agents say no more of their answer than its type
        returned = None
    if isinstance(returned, str) and returned.startswith("{'_all_messages'"):  # Pydantic AI's stream, printed
        returned = None
    name = span.name if kind(span) == "agent" else None
    if name is not None and _is_method(name):
        result = mapping_of((mapping_of(returned) or {}).get("result")) or {}
        name = text_of(memo.json(span.attributes.get("name"))) or first_text(result, "current_agent_name")
    if name is not None and "mlflow.spanType" not in span.attributes:
        name = first_text(mapping_of(memo.json(span.attributes.get("metadata"))) or {}, "lc_agent_name")
    return AgentFields(
        name,
        None if given is None else asked(given, memo),
        None if returned is None or span.status_code == STATUS_ERROR else answered(returned, memo),
    )


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever."""
    given = memo.json(span.attributes.get(_INPUTS))
    returned = memo.json(span.attributes.get(_OUTPUTS))
    return RetrievalFields(
        None if given is None else searched(given, memo), None if returned is None else documents(returned, memo)
    )


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Source and target of a hand-off between OpenAI's agents."""
    source = first_text(mapping_of(memo.json(span.attributes.get(_INPUTS))) or {}, "from_agent")
    target = first_text(mapping_of(memo.json(span.attributes.get(_OUTPUTS))) or {}, "to_agent")
    return HandoffFields(source, target) if source or target else None


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user, which MLflow copies to the root; LangChain's thread; the tags of the trace."""
    attributes = span.attributes
    metadata = mapping_of(memo.json(attributes.get("metadata"))) or {}
    session = text_of(memo.json(attributes.get("session.id"))) or first_text(metadata, "session_id", "thread_id")
    user = text_of(memo.json(attributes.get("user.id"))) or first_text(metadata, "user_id")
    tags = {key.removeprefix(_TAG): memo.json(value) for key, value in attributes.items() if key.startswith(_TAG)}
    request = text_of(memo.json(attributes.get("mlflow.traceRequestId")))
    return ContextFields(session, user, request, (), tags or None)


CONVENTION = Convention(
    name="mlflow",
    title="MLflow tracing",
    scopes=(SCOPE,),
    keys=("mlflow.spanType",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    content_switch="Leave input and output capture on (MLflow records both unless a span processor removes them; of "
    "retrievals and plain steps neither with MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=true).",
)
