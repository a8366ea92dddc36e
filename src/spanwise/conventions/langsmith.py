"""LangSmith's runs, exported as spans: LangChain, LangGraph and `@traceable` functions with `LANGSMITH_OTEL_ENABLED`.

What a run was given and gave back is JSON under `gen_ai.prompt` and `gen_ai.completion`, for a tool as for a model.
`gen_ai.operation.name` misleads (a retriever's is `embeddings`, a prompt template's `chat`), and so does the status:
it is set to OK when the run begins, and the SDK lets nothing change it afterwards. Only the exception event tells a
failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, documents, reply, searched
from spanwise.conventions._strung import apart
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind, SpanError

_KINDS: Mapping[object, Kind] = {
    "chain": "workflow",
    "llm": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "embedding",
    "prompt": "other",
    "parser": "other",
}
_METADATA = "langsmith.metadata."
# LangChain's AgentExecutor runs these in the place of a tool that does not exist, or of an answer it cannot parse.
_STAND_INS = frozenset({"invalid_tool", "_Exception"})
_TRACEBACK = "Traceback (most recent call last)"
_HIDDEN = "{}"
_GIVEN = "gen_ai.prompt"
_RETURNED = "gen_ai.completion"


def kind(span: RawSpan) -> Kind | None:
    """The type of the run; a chain that bears its agent's name is the agent."""
    attributes = span.attributes
    said = attributes.get("langsmith.span.kind")
    found = _KINDS.get(said, "other") if type(said) is str else None
    if found == "workflow" and attributes.get("langsmith.metadata.lc_agent_name") == span.name:
        return "agent"
    return "other" if found == "tool" and span.name in _STAND_INS else found


def failed(span: RawSpan) -> bool:
    """The run ended by an exception, whatever its status says."""
    return any(event.name == "exception" for event in span.events)


def _passed(attributes: Attributes) -> tuple[object, object]:
    """What went in and came out: an empty mapping stands for what the SDK was told to hide, and says it in metadata."""
    given, returned = attributes.get(_GIVEN), attributes.get(_RETURNED)
    if _HIDDEN not in (given, returned):
        return given, returned
    both = given == returned  # a client may be told so, too, which nothing says
    given = None if given == _HIDDEN and (both or f"{_METADATA}LANGSMITH_HIDE_INPUTS" in attributes) else given
    return given, None if returned == _HIDDEN else returned


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Arguments and result of a tool: the function's own, or LangChain's message around the result."""
    attributes = span.attributes
    given, returned = _passed(attributes)
    found = outcome(returned, memo)
    return ToolFields(
        text_of(attributes.get("gen_ai.tool.name")) or span.name or None,
        None if given is None else _arguments(given, memo),
        found.value,
        text_of(attributes.get("gen_ai.tool.call.id")) or found.call_id,
        found.failed or failed(span),
    )


def _arguments(given: object, memo: Memo) -> object:
    """The arguments by name; a tool that was called with a text has it under `input`."""
    fields = mapping_of(memo.json(given))
    if fields is not None and list(fields) == ["input"]:
        return call_arguments(fields["input"], memo)
    return call_arguments(given, memo)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """The model that LangChain says answered, and the details of its usage."""
    attributes = span.attributes
    usage = mapping_of(memo.json(attributes.get("langsmith.metadata.usage_metadata"))) or {}
    sent = mapping_of(usage.get("input_token_details")) or {}
    got = mapping_of(usage.get("output_token_details")) or {}
    return LLMFields(
        _responding(attributes.get(_RETURNED), memo),
        text_of(attributes.get("langsmith.metadata.ls_provider")),
        first_int(usage, "input_tokens"),
        first_int(usage, "output_tokens"),
        first_int(sent, "cache_read"),
        first_int(sent, "cache_creation"),
        first_int(got, "reasoning"),
    )


def _responding(returned: object, memo: Memo) -> str | None:
    """The model named in the response: LangChain puts it into the metadata of the message or of the generation."""
    response = memo.json(returned)
    candidates = _first((mapping_of(response) or {}).get("generations"))
    generation = mapping_of(_first(candidates)) or {}
    message = mapping_of(generation.get("message")) or {}
    inner = mapping_of(message.get("kwargs")) or message
    for held in (inner.get("response_metadata"), generation.get("generation_info"), response):
        found = first_text(mapping_of(held) or {}, "model_name", "model")
        if found is not None:
            return found
    return None


def _first(value: object) -> object:
    listed = items(value)
    return listed[0] if listed else None


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    given = memo.json(span.attributes.get(_GIVEN))
    fields = mapping_of(given)
    listed = items(fields.get("input")) if fields is not None and "messages" not in fields else None
    if fields is None or listed is None:
        return Messages(conversation(given, memo), output(span, memo))
    said = text_of(fields.get("instructions"))  # a request of OpenAI's Responses API
    instructions = [{"role": "system", "content": said}] if said is not None else []
    return Messages(messages_of([*instructions, *listed], memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    returned = span.attributes.get(_RETURNED)
    if returned is None or failed(span):
        return None
    return apart(reply(returned, memo), lambda: definitions(span, memo))


def record(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The messages in the state that an agent or a graph returned."""
    return conversation(memo.json(span.attributes.get(_RETURNED)), memo)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools among what a wrapped client was given."""
    given = mapping_of(memo.json(span.attributes.get(_GIVEN))) or {}
    return definitions_of(given["tools"], memo) if "tools" in given and kind(span) == "llm" else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent's name, what it was given and what it returned."""
    attributes = span.attributes
    name = span.name if attributes.get("langsmith.metadata.lc_agent_name") == span.name else None
    given, returned = attributes.get(_GIVEN), attributes.get(_RETURNED)
    return AgentFields(
        name,
        None if given is None else asked(given, memo),
        None if returned is None or failed(span) else answered(returned, memo),
    )


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever."""
    given, returned = _passed(span.attributes)
    fields = mapping_of(memo.json(returned)) or {}
    held = fields["output"] if list(fields) == ["output"] else returned  # what a function returned that is no mapping
    return RetrievalFields(
        None if given is None else searched(given, memo), None if held is None else documents(held, memo)
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user as the caller's metadata names them; `langsmith.trace.session_name` is a project."""
    attributes = span.attributes
    tags = attributes.get("langsmith.span.tags")
    own = [tag for tag in str(tags).split(", ") if tag and ":step:" not in tag and not tag.startswith("map:key:")]
    return ContextFields(
        first_text(attributes, f"{_METADATA}session_id", f"{_METADATA}thread_id", f"{_METADATA}conversation_id"),
        first_text(attributes, f"{_METADATA}user_id"),
        first_text(attributes, f"{_METADATA}request_id"),
        tuple(own) if isinstance(tags, str) else (),
    )


def error(span: RawSpan) -> SpanError | None:
    """The exception as Python printed it: `Error('text')`, with its traceback glued to it."""
    found = _genai.error(span)
    if found is None or not failed(span):
        return found
    said = found.message.partition(_TRACEBACK)[0].strip()
    name, opened, rest = said.partition("(")
    if not opened or not rest.endswith(")") or not name.replace(".", "").replace("_", "").isalnum():
        return SpanError(type=found.type, message=said or found.message)
    inner = rest[:-1].rstrip(",")
    quoted = len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "'\""
    return SpanError(type=name, message=inner[1:-1] if quoted else inner)


CONVENTION = Convention(
    name="langsmith",
    title="LangSmith (OpenTelemetry export)",
    keys=("langsmith.span.kind",),
    kind=kind,
    failed=failed,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    record=record,
    agent=agent,
    retrieval=retrieval,
    definitions=definitions,
    context=context,
    error=error,
    content_switch="Unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS.",
)
