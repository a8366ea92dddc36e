"""OpenAI's and Anthropic's clients, instrumented by Logfire.

Version 2 of the format is GenAI's. Version 1 (both may be on) has the request as it was sent in `request_data`, the
answer in `response_data`, and for the Responses API one list of `events`. A streamed call leaves two records side by
side: the span of the request, which knows no answer, and a log without duration that knows everything. The log is the
call, the span is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, message_of, messages_of
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import LLMFields, Memo, Message, Messages, Part, ToolDefinition
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind

STREAMED = "streaming response"
ANTHROPIC = "logfire.anthropic"
_ANSWERS = ("gen_ai.response.id", "gen_ai.output.messages", "response_data", "gen_ai.usage.output_tokens")
"""One of these is on the span of a call that was answered; the response's model is not told: Logfire fills it in."""
_KINDS: Mapping[str, Kind] = {
    "Chat": "llm",
    "Completion": "llm",
    "Responses": "llm",
    "Message": "llm",
    "streaming": "llm",
    "Embedding": "embedding",
}
"""By the first word of the template; pictures and other calls are no steps of an agent."""


def kind(span: RawSpan) -> Kind | None:
    """What operation or template say; the request of a stream, and the notice that a span began, are no model calls."""
    attributes = span.attributes
    if attributes.get("logfire.span_type") == "pending_span":
        return "other"
    template = attributes.get("logfire.msg_template")
    name = template if isinstance(template, str) else span.name
    found = _genai.kind(span) or _KINDS.get(name.partition(" ")[0])
    if found == "llm" and span.status_code != STATUS_ERROR and not name.startswith(STREAMED):
        return found if any(key in attributes for key in _ANSWERS) else "other"
    return found


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage as the provider answered it, for releases that recorded no counts of their own."""
    answer = _answer(span, memo)
    usage = mapping_of(answer.get("usage")) or mapping_of(memo.json(span.attributes.get("gen_ai.usage.raw"))) or {}
    asked = mapping_of(usage.get("prompt_tokens_details")) or mapping_of(usage.get("input_tokens_details")) or {}
    details = mapping_of(usage.get("completion_tokens_details")) or mapping_of(usage.get("output_tokens_details")) or {}
    read = first_int(usage, "cache_read_input_tokens")
    written = first_int(usage, "cache_creation_input_tokens")
    sent = first_int(usage, "prompt_tokens", "input_tokens")
    if sent is not None and span.scope.name == ANTHROPIC:  # Anthropic counts cached tokens beside the input
        sent += (read or 0) + (written or 0)
    return LLMFields(
        input_tokens=sent,
        output_tokens=first_int(usage, "completion_tokens", "output_tokens"),
        cache_read_tokens=first_int(asked, "cached_tokens") if read is None else read,
        cache_write_tokens=written,
        reasoning_tokens=first_int(details, "reasoning_tokens"),
    )


def _request(span: RawSpan, memo: Memo) -> Mapping[str, object]:
    return mapping_of(memo.json(span.attributes.get("request_data"))) or {}


def _answer(span: RawSpan, memo: Memo) -> Mapping[str, object]:
    return mapping_of(memo.json(span.attributes.get("response_data"))) or {}


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    request = _request(span, memo)
    sent = messages_of(request.get("messages"), memo)
    prompt, system = text_of(request.get("prompt")), request.get("system")
    if sent is None and prompt is not None:
        sent = (Message("user", (Part("text", prompt),)),)
    if sent is None:
        sent, _ = _parted(span, memo)
    if sent is not None and system is not None:
        sent = (*(messages_of([{"role": "system", "content": system}], memo) or ()), *sent)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    answer = _answer(span, memo)
    message = mapping_of(answer.get("message"))
    text = first_text(answer, "text", "combined_chunk_content")
    if message is not None:
        got = (message_of({"role": "assistant", **message}, memo),)
    elif text is not None:
        got = (Message("assistant", (Part("text", text),)),)
    else:
        _, got = _parted(span, memo)
    for part in (part for message in got or () for part in message.parts):
        given = mapping_of(part.value)
        if part.type == "tool_call" and span.scope.name == ANTHROPIC and given is not None and set(given) == {"input"}:
            part.value = given["input"]
    return got


def _parted(span: RawSpan, memo: Memo) -> tuple[tuple[Message, ...] | None, tuple[Message, ...] | None]:
    """Input and output of the one list of events: what the assistant says last is the answer."""
    told = list(_told(span.attributes.get("events"), memo))
    end = len(told)
    while end and told[end - 1].role == "assistant":
        end -= 1
    return tuple(told[:end]) or None, tuple(told[end:]) or None


def _told(events: object, memo: Memo) -> Iterator[Message]:
    for fields in map(mapping_of, items(memo.json(events)) or ()):
        if fields is not None and fields.get("event.name") != "gen_ai.unknown":
            yield message_of(fields, memo)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    full = _genai.definitions(span, memo)
    return full if full is not None else definitions_of(_request(span, memo).get("tools"), memo)


CONVENTION = Convention(
    name="logfire_llm",
    title="OpenAI and Anthropic clients (Logfire)",
    scopes=("logfire.openai", ANTHROPIC),
    kind=kind,
    llm=llm,
    messages=messages,
    output=output,
    requests=_genai.requests,
    definitions=definitions,
)
