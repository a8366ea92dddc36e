"""Pydantic AI, by its own spans, formats 1 to 6, also as Logfire passes them on.

Formats 2 to 6 follow the GenAI conventions more and more closely: 2 still has `agent run` and `running tool` with
`tool_arguments` and `tool_response`, and operation names came to agents and tools only late. Format 1 puts messages as
a list of events into one attribute, or sends them as log events. A tool that asks the model to try again (`ModelRetry`,
arguments that do not validate) ends with status ERROR although nothing has failed yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._langchain import as_json
from spanwise.conventions._messages import definition_of, items, message_of, messages_of
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ToolDefinition,
    ToolFields,
    is_redacted,
)
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind, SpanError

RETRY_WORDS = "Fix the errors and try again."
"""How the text ends that asks the model for another attempt, in releases before 2."""
_RETRY_ERRORS = ("ToolRetryError", "ModelRetry")
# How the providers count what came from their caches and went there, passed on as they say it in releases before 1.
_CACHE_READ = tuple(
    f"gen_ai.usage.details.{name}" for name in ("cached_tokens", "cache_read_input_tokens", "cached_content_tokens")
)
_CACHE_WRITE = "gen_ai.usage.details.cache_creation_input_tokens"
_VERSION = re.compile(r"(\d+)\.(\d+)")


def kind(span: RawSpan) -> Kind | None:
    """What the operation says, or the name where there is none; Logfire's notice that a span began is no span."""
    attributes = span.attributes
    if attributes.get("logfire.span_type") == "pending_span":
        return "other"
    found = _genai.kind(span)
    if found is not None:
        return found
    if span.name == "agent run" or span.name.startswith("invoke_agent "):
        return "agent"
    return None


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Arguments, result, and whether the call has to be made again or was put off."""
    get = span.attributes.get
    said = _genai.tool(span, memo)
    if said.arguments is None:
        said.arguments = get("tool_arguments")
    if said.result is None:
        said.result = get("tool_response")
    cause = get("pydantic_ai.tool.retry.cause")
    if cause is not None:  # without an attempt the budget was spent, and the failure ended the run
        said.retry = get("pydantic_ai.tool.retry.attempt") is not None
    elif span.status_code == STATUS_ERROR:
        said.retry = _raised_retry(span)
    if isinstance(said.result, str) and said.result.endswith(RETRY_WORDS):  # 0.4.0 leaves the status unset
        said.retry = True
    deferred = get("pydantic_ai.tool.deferral.name") is not None
    # Before 0.4.3 or so no span of a tool records what it returned, nor that it asked for another try.
    untold = said.result is None and get("tool_arguments") is not None and span.status_code != STATUS_ERROR
    said.uncertain = deferred or untold
    return said


def _raised_retry(span: RawSpan) -> bool:
    return any(
        str(event.attributes.get("exception.type")).endswith(_RETRY_ERRORS)
        for event in span.events
        if event.name == "exception"
    )


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage of a model call; an agent's total has names of its own, so that sums over spans count nothing twice."""
    attributes = span.attributes
    said = _genai.llm(span, memo)
    if said.input_tokens is None and said.output_tokens is None:
        said.input_tokens = first_int(attributes, "gen_ai.aggregated_usage.input_tokens")
        said.output_tokens = first_int(attributes, "gen_ai.aggregated_usage.output_tokens")
        said.cache_read_tokens = first_int(attributes, "gen_ai.aggregated_usage.cache_read.input_tokens")
        said.cache_write_tokens = first_int(attributes, "gen_ai.aggregated_usage.cache_creation.input_tokens")
        said.reasoning_tokens = first_int(attributes, "gen_ai.aggregated_usage.details.reasoning_tokens")
        return said
    if said.cache_read_tokens is None:
        said.cache_read_tokens = first_int(attributes, *_CACHE_READ)
    if said.cache_write_tokens is None:
        said.cache_write_tokens = first_int(attributes, _CACHE_WRITE)
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """Messages in the form of GenAI, or format 1's events."""
    events = span.attributes.get("events")
    if events is None:
        return _genai.messages(span, memo)
    told = list(_told(events, memo))
    sent = tuple(message for name, message in told if name != "gen_ai.choice")
    return Messages(sent or None, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    events = span.attributes.get("events")
    if events is None:
        return _genai.output(span, memo)
    return tuple(message for name, message in _told(events, memo) if name == "gen_ai.choice") or None


def _told(events: object, memo: Memo) -> Iterator[tuple[object, Message]]:
    """Name and message of each event in an attribute of format 1."""
    for fields in map(mapping_of, items(memo.json(events)) or ()):
        if fields is not None:
            inner = mapping_of(fields.get("message")) or fields
            if "content" in inner and inner["content"] is None and "id" in inner:  # a tool that returned nothing
                inner = {**inner, "content": "null"}
            yield fields.get("event.name"), message_of(inner, memo)


def _history(span: RawSpan, memo: Memo) -> tuple[Message, ...]:
    """All messages of an agent's run, those of earlier runs that it was given among them."""
    told = span.attributes.get("all_messages_events")
    if told is None:
        return messages_of(span.attributes.get("pydantic_ai.all_messages"), memo) or ()
    return tuple(message for _, message in _told(told, memo))


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent's run."""
    opening = _opening(span, _history(span, memo))
    asked = opening.text if opening is not None else None
    return AgentFields(agent_name(span), asked, _answer(span.attributes.get("final_result"), memo))


def agent_name(span: RawSpan) -> str | None:
    """Name of an agent's run."""
    return first_text(span.attributes, "gen_ai.agent.name", "agent_name")


def _answer(final: object, memo: Memo) -> str | None:
    """What the run returned; not where it ended to ask for approvals or for results of external tools."""
    text = text_of(final) if final is None or isinstance(final, str) else as_json(final)
    if text is None or is_redacted(text):
        return None
    fields = mapping_of(memo.json(final)) if text.startswith("{") else None
    return None if fields is not None and {"calls", "approvals"} <= set(fields) else text


def _opening(span: RawSpan, history: tuple[Message, ...]) -> Message | None:
    """The message that opened this run: the first user text after the history that it was given.

    `new_message_index` counts requests and responses, of which a request may show as several messages in a row.
    Releases that do not count, and format 1, have no mark at all: there the last question stands that is no request to
    try again.
    """
    first = first_int(span.attributes, "pydantic_ai.new_message_index") or 0
    if not first and ("all_messages_events" in span.attributes or not _counts(span.scope.version)):
        asked = (one for one in reversed(history) if one.role == "user" and one.text)
        return next((one for one in asked if not one.text.endswith(RETRY_WORDS)), None)
    at, before = -1, "assistant"
    for message in history:
        if "assistant" in {message.role, before}:
            at += 1
        before = message.role
        if at >= first and message.role == "user" and message.text and not is_redacted(message.text):
            return None if message.text.endswith(RETRY_WORDS) else message  # without content that alone is recorded
    return None


def _counts(version: str) -> bool:
    """The release says where a run begins in its messages: 1.30 and later do, and what names no release."""
    found = _VERSION.match(version)
    return found is None or (int(found[1]), int(found[2])) >= (1, 30)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered, those that take its answer among them."""
    full = _genai.definitions(span, memo)
    if full is not None:
        return full
    asked = mapping_of(memo.json(span.attributes.get("model_request_parameters")))
    if asked is None:
        return None
    offered = (item for key in ("function_tools", "output_tools") for item in items(asked.get(key)) or ())
    return tuple(found for item in offered if (found := definition_of(item)) is not None)


def error(span: RawSpan) -> SpanError | None:
    """Type and message of a failure; the words of a request to try again are in the result only."""
    found = _genai.error(span)
    if found is None or (found.message and not found.message.rstrip(": ").endswith(_RETRY_ERRORS)):
        return found
    said = first_text(span.attributes, "tool_response", "gen_ai.tool.call.result")
    return SpanError(type=found.type, message=said) if said else found


CONVENTION = Convention(
    name="pydantic_ai",
    title="Pydantic AI",
    scopes=("pydantic-ai",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    record=_history,
    requests=_genai.requests,
    answer_text=_genai.answer_text,
    plain_answers=_genai.ANSWERS,
    agent=agent,
    agent_name=agent_name,
    definitions=definitions,
    error=error,
    content_switch="Set include_content=True in InstrumentationSettings.",
)
