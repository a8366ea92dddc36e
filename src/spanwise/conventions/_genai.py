"""OpenTelemetry's GenAI semantic conventions: the generic dialect, and the last fallback of every other.

All `gen_ai.*` names are of Development stability; older spellings stand behind the newer ones. Content stands in span
attributes, in span events, or in log events joined to the span; all three are read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from spanwise.conventions import _genai_scopes
from spanwise.conventions._convention import Convention, PlainAnswers, PlainKind, PlainModels, PlainTools
from spanwise.conventions._fields import amount, any_of, converted, count, fixed, marked, reader, text
from spanwise.conventions._genai_scopes import LANGCHAIN, input_of, is_plumbing, is_unsaid
from spanwise.conventions._langgraph import ENVELOPES, NAMELESS, is_paused, open_message, open_value, told_by_command
from spanwise.conventions._messages import definitions_of, messages_of, operation_details, per_message_events
from spanwise.conventions._reprs import is_dump
from spanwise.conventions._returned import TEXT_BLOCKS, plain
from spanwise.conventions._values import first_number, first_text, mapping_of, names_of, number_of, text_of
from spanwise.model.content import (
    MASKED,
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
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import STATUS_ERROR, RawEvent, RawSpan
from spanwise.model.span import Kind, SpanError

KINDS: Mapping[str, Kind] = {
    "invoke_agent": "agent",
    "invoke_workflow": "workflow",
    "handle_conversation_turn": "workflow",
    "agent_step": "workflow",
    "execute_event_loop_cycle": "workflow",
    "invoke_swarm": "workflow",
    "invoke_graph": "workflow",
    "execute_task": "workflow",
    "plan": "planning",
    "chat": "llm",
    **dict.fromkeys(("generate_content", "text_completion", *_genai_scopes.COMPLETIONS), "llm"),
    "execute_tool": "tool",
    "retrieval": "retrieval",
    "search_memory": "retrieval",
    "vector_db_retrieve": "retrieval",
    "embeddings": "embedding",
    "handoff": "handoff",
    "evaluation": "evaluation",
    "create_agent": "setup",
}


NO_ID = frozenset({"<not specified>", "unknown"})
"""What instrumentations write as the id of a call that has none (ADK, Microsoft's Agent Framework)."""


def kind(span: RawSpan) -> Kind | None:
    """The kind that the operation names."""
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    found = KINDS.get(operation) if type(operation) is str else None
    if found is not None:
        is_step = (found == "agent" and is_plumbing(span)) or (found == "tool" and _genai_scopes.is_function(span))
        return "workflow" if is_step else found
    if "gen_ai.tool.name" in attributes:
        return "tool"
    return None


_TOOL = (
    text("gen_ai.tool.name"),
    any_of("gen_ai.tool.call.arguments"),
    any_of("gen_ai.tool.call.result"),
    text("gen_ai.tool.call.id"),
    marked("error", "failure", among=("gen_ai.tool.status", "gen_ai.task.status")),
    fixed(False),  # noqa: FBT003  (a field's value)
    fixed(""),
    marked(True, among=("spanwise.unended",)),  # noqa: FBT003
)
_tool = reader(ToolFields, *_TOOL)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool span."""
    said = _tool(span.attributes)
    if said.call_id in NO_ID:
        said.call_id = None
    _genai_scopes.complete(said, span)
    if span.events and (said.arguments is None or said.result is None):
        _gather(said, span.events)
    result = said.result
    if span.scope.name == LANGCHAIN and (told := told_by_command(result, memo)) is not None:
        said.result = result = told
    if type(result) is str:
        if result.startswith(TEXT_BLOCKS):
            said.result = plain(result, memo)
        elif result[:2] == "[<" and is_dump(result[1:]):  # printed objects: no value can be read
            said.result = None
        elif result[:5] in ENVELOPES:
            open_message(result, said, memo)
    elif result is not None:
        open_value(result, said, memo)
    if span.status_code == STATUS_ERROR and is_paused(span):
        said.paused = True
    return said


def _gather(said: ToolFields, events: Sequence[RawEvent]) -> None:
    """What the span's events tell of a call beside its attributes."""
    for event in events:
        if event.name == "gen_ai.client.operation.exception":
            continue
        if said.arguments is None:
            said.arguments = event.attributes.get("gen_ai.tool.call.arguments")
        if said.result is None:
            said.result = event.attributes.get("gen_ai.tool.call.result")


def ms_of(seconds: object) -> float | None:
    """A recorded number of seconds, not negative, in milliseconds."""
    number = None if seconds is None else number_of(seconds)
    return number * 1000.0 if number is not None and number >= 0 else None


_LLM = (
    text("gen_ai.response.model", "gen_ai.request.model"),
    text("gen_ai.provider.name", "gen_ai.system"),
    count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    count(
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
    ),
    count(
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    ),
    count(
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
    ),
    amount("operation.cost", "gen_ai.usage.cost", "gen_ai.usage.total_cost"),
    fixed(False),  # noqa: FBT003  (a field's value)
    converted(ms_of, "gen_ai.response.time_to_first_chunk"),
)
_llm = reader(LLMFields, *_LLM)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider, tokens and recorded cost of a model span."""
    return _genai_scopes.with_cached(_llm(span.attributes), span)


def messages(span: RawSpan, memo: Memo) -> Messages:
    """Messages of a model or agent span, from attributes, the operation-details event, or one event per message."""
    get = span.attributes.get
    sent = messages_of(get("gen_ai.input.messages"), memo)
    got = messages_of(get("gen_ai.output.messages"), memo)
    if sent is None and got is None and span.events:
        details = operation_details(span, memo)
        sent, got = details.input, details.output
        if sent is None and got is None:
            by_event = per_message_events(span, memo)
            sent, got = by_event.input, by_event.output
    sent, got = _genai_scopes.mended(span, sent, got, memo)
    instructions = get("gen_ai.system_instructions")
    if instructions is None and span.events:
        told = (event.attributes.get("gen_ai.system_instructions") for event in span.events)
        instructions = next((found for found in told if found is not None), None)
    if instructions is not None and sent is not None and not any(m.role == "system" for m in sent):
        parts = messages_of([{"role": "system", "parts": memo.json(instructions)}], memo)
        sent = (*parts, *sent) if parts else sent
    return Messages(sent, got)


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    if is_unsaid(span):
        return None
    got = messages_of(span.attributes.get("gen_ai.output.messages"), memo)
    if got is None and span.events:
        got = operation_details(span, memo).output or per_message_events(span, memo).output
    return _genai_scopes.answered(span, got, memo)


def answer_text(span: RawSpan) -> str | None:
    """The recorded answer as JSON text, where it tells all that the model asked for."""
    text = span.attributes.get("gen_ai.output.messages")
    return text if type(text) is str and span.scope.name not in _genai_scopes.UNTOLD else None


ANSWERS = PlainAnswers(text="gen_ai.output.messages", scopes=_genai_scopes.UNTOLD)


class _Answer(msgspec.Struct, gc=False):
    parts: list[Part]  # messages of another form, such as OpenAI's, are not decoded


_decode_answers = msgspec.json.Decoder(list[_Answer]).decode


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The tool calls that the model asked for, read without the messages around them; None where that takes more."""
    text = span.attributes.get("gen_ai.output.messages")
    if type(text) is not str:
        return None
    if "tool_call" not in text:
        return None if _genai_scopes.PRINTED in text or is_unsaid(span) or '"parts"' not in text else ()
    if "server_tool_call" in text:
        return None
    try:
        answers = _decode_answers(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    asked = [part for answer in answers for part in answer.parts if part.type == "tool_call"]
    named = [part for part in asked if part.name]
    for part in named:
        part.id = part.id or None  # OpenLLMetry's of Google's client: empty
    return _genai_scopes.without_lost_arguments(span, named) if named or not (asked or is_unsaid(span)) else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name of an agent span, with query and answer where its messages record them."""
    found = messages(span, memo)
    asked = first_user_text(found.input)
    if asked and asked[0] == "{" and span.scope.name == LANGCHAIN:
        asked = input_of(asked, memo)
    return AgentFields(agent_name(span), asked, last_answer_text(found.output))


def agent_name(span: RawSpan) -> str | None:
    """Name of an agent or workflow span; a graph that was given none says what it is, which is no name."""
    get = span.attributes.get
    name = get("gen_ai.agent.name") or get("gen_ai.workflow.name")
    return None if name == NAMELESS else text_of(name)


def first_user_text(sent: tuple[Message, ...] | None) -> str | None:
    """The text of the latest user message that opens a turn: the last one before any answer of the model.

    A conversation that carries earlier turns holds several questions; the run answers the last of them.
    """
    if not sent:
        return None
    for message in reversed(sent):
        if message.role in {"user", "human"} and message.text:
            return message.text
    return None


def last_answer_text(got: tuple[Message, ...] | None) -> str | None:
    """The text of the last message that holds any and requests no tool."""
    for message in reversed(got or ()):
        if any(part.type == "tool_call" for part in message.parts):
            return None
        if message.role.lower() not in {"user", "human", "system", "tool"} and message.text:
            return message.text
    return None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retrieval span; the official instrumentations record ids and scores, no content."""
    documents = documents_of(memo.json(span.attributes.get("gen_ai.retrieval.documents")))
    query = first_text(span.attributes, "gen_ai.retrieval.query.text", "gen_ai.retrieval.query")
    return RetrievalFields(query, documents)


def documents_of(value: object) -> tuple[Document, ...] | None:
    """Documents from a list of mappings with an id, a score, content or some of them."""
    if not isinstance(value, list | tuple):
        return None
    out: list[Document] = []
    for item in cast("list[object]", value):
        if isinstance(item, Mapping):
            fields = cast("Mapping[str, object]", item)
            out.append(
                Document(
                    first_text(fields, "id", "doc_id", "document_id"),
                    first_number(fields, "score", "relevance_score"),
                    first_text(fields, "content", "text", "page_content"),
                    names_of(fields, mapping_of(fields.get("metadata")) or {}),
                )
            )
    return tuple(out)


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Source and target of a hand-off span, as far as the span names them."""
    source = first_text(span.attributes, "gen_ai.transfer.source.name", "gen_ai.handoff.from_agent")
    target = first_text(span.attributes, "gen_ai.transfer.target.name", "gen_ai.handoff.to_agent")
    return HandoffFields(source, target) if source or target else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    recorded = span.attributes.get("gen_ai.tool.definitions")
    if isinstance(recorded, str):
        found = memo.tools(recorded, lambda: definitions_of(recorded, memo))
    else:
        found = None if recorded is None else definitions_of(recorded, memo)
    if found is None and span.events:
        for event in span.events:
            found = found or definitions_of(event.attributes.get("gen_ai.tool.definitions"), memo)
    return found


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user ids."""
    attributes = span.attributes
    return ContextFields(
        first_text(attributes, "gen_ai.conversation.id", "session.id"),
        first_text(attributes, "user.id", "enduser.id"),
        first_text(attributes, "request.id", "http.request.id"),
    )


def error(span: RawSpan) -> SpanError | None:
    """Type and message of a failure, the exception event first: a status message may hold a whole stack trace."""
    kind_of_error = text_of(span.attributes.get("error.type")) or ""
    told = message = ""
    if " " in kind_of_error:  # no type, but what was said
        told, kind_of_error = kind_of_error, ""
    for event in span.events:
        if event.name == "exception":
            kind_of_error = text_of(event.attributes.get("exception.type")) or kind_of_error
            message = text_of(event.attributes.get("exception.message")) or message
    message = message or span.status_message or told
    return SpanError(type=kind_of_error, message=message) if kind_of_error or message or span.status_code == 2 else None


CONVENTION = Convention(
    name="genai",
    title="OpenTelemetry GenAI",
    keys=("gen_ai.operation.name", "gen_ai.tool.name"),
    kinds={operation: kind_ for operation, kind_ in KINDS.items() if kind_ not in {"agent", "tool"}},
    plain_kinds={"execute_tool": PlainKind(kind="tool", scopes=frozenset({_genai_scopes.KERNEL_FUNCTION}))},
    kind=kind,
    tool=tool,
    plain_tools=PlainTools(
        fields=_TOOL,
        ids=NO_ID,
        beginnings=("[<", *MASKED, '{"graph":', *TEXT_BLOCKS, *sorted(ENVELOPES)),
        odd_failure=_genai_scopes.is_odd_failure,
    ),
    llm=llm,
    plain_models=PlainModels(fields=_LLM, scopes=_genai_scopes.RECKONED),
    messages=messages,
    output=output,
    requests=requests,
    answer_text=answer_text,
    plain_answers=ANSWERS,
    agent=agent,
    agent_name=agent_name,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    error=error,
    borrowed=_genai_scopes.borrowed,
    content_switch=(
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (or 'true' for older instrumentations)."
    ),
)
