"""LiteLLM's callback `otel`: one request on one span, and what was really sent and received on a span below it.

Without a span around it a request has its own, `litellm_request`; in the proxy it stands on the span of what the proxy
received. Where the app has a span open, the request is written onto that one, the later over the earlier: such a span
is what the requests were made in, and each request is the span below, `raw_gen_ai_request`, whose values are Python's
text of what went over the wire, under `llm.PROVIDER.*`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.conventions import _genai, traceloop_legacy
from spanwise.conventions._convention import Convention
from spanwise.conventions._fields import amount_of
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

SCOPE = "litellm"
RAW = "raw_gen_ai_request"
REQUEST_SWITCH = "Set USE_OTEL_LITELLM_REQUEST_SPAN=true."
_REQUEST = "llm.request.type"
_CALL = "gen_ai.completion."
_KINDS: Mapping[str, Kind] = {
    "completion": "llm",
    "text_completion": "llm",
    "responses": "llm",
    "anthropic_messages": "llm",
    "generate_content": "llm",
    "generate_content_stream": "llm",
    "embedding": "embedding",
    "rerank": "rerank",
}
_SENT = ("messages", "contents", "input", "prompt")


def is_shared(span: RawSpan) -> bool:
    """The span is the app's: of the requests made in it, it tells the last one."""
    return span.scope.name != SCOPE and "litellm.call_id" in span.attributes


def kind(span: RawSpan) -> Kind | None:
    """The kind that the type of the call names, whose asynchronous twin begins with an `a`."""
    request = span.attributes.get(_REQUEST)
    if not isinstance(request, str):
        return "llm" if _is_raw(span) else None
    found = _KINDS.get(request) or (_KINDS.get(request[1:]) if request[:1] == "a" else None)
    return "workflow" if found == "llm" and is_shared(span) else found


def _is_raw(span: RawSpan) -> bool:
    """What went over the wire; of a streamed answer its span holds nothing, a named generation's has that name."""
    return span.scope.name == SCOPE and (span.name == RAW or _wire(span, *_SENT) is not None)


def _wire(span: RawSpan, *names: str) -> object:
    """The first of the fields that went over the wire, read from its text."""
    for key, value in span.attributes.items():
        if key.startswith("llm.") and key.count(".") == 2 and key.rpartition(".")[2] in names:
            return read_repr(value) if isinstance(value, str) else value
    return None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, tokens and recorded cost of a request; a span that several may have been written onto counts none."""
    if is_shared(span):
        return LLMFields(whole=True)
    attributes = span.attributes
    if _REQUEST not in attributes:
        return _usage(mapping_of(_wire(span, "usage")), LLMFields(text_of(_wire(span, "model")), whole=True))
    said = _genai.llm(span, memo)
    text = attributes.get("metadata.usage_object")
    used = _usage(mapping_of(read_repr(text)) if isinstance(text, str) else None, LLMFields())
    said.cache_read_tokens = used.cache_read_tokens if said.cache_read_tokens is None else said.cache_read_tokens
    said.cache_write_tokens = used.cache_write_tokens if said.cache_write_tokens is None else said.cache_write_tokens
    said.reasoning_tokens = used.reasoning_tokens if said.reasoning_tokens is None else said.reasoning_tokens
    said.cost_usd = amount_of(attributes.get("gen_ai.cost.total_cost"))
    return said


def _usage(used: Mapping[str, object] | None, said: LLMFields) -> LLMFields:
    """Tokens as OpenAI's API counts them; Anthropic's counts cached ones apart."""
    if used is None:
        return said
    read, written = (first_int(used, f"cache_{name}_input_tokens") for name in ("read", "creation"))
    if "prompt_tokens" in used:
        said.input_tokens = first_int(used, "prompt_tokens")
        said.output_tokens = first_int(used, "completion_tokens")
    elif "input_tokens" in used:
        said.input_tokens = (first_int(used, "input_tokens") or 0) + (read or 0) + (written or 0)
        said.output_tokens = first_int(used, "output_tokens")
    sent = mapping_of(used.get("prompt_tokens_details") or used.get("input_tokens_details")) or {}
    got = mapping_of(used.get("completion_tokens_details") or used.get("output_tokens_details")) or {}
    cached = first_int(sent, "cached_tokens")
    said.cache_read_tokens = read if cached is None else cached
    said.cache_write_tokens = written
    said.reasoning_tokens = first_int(got, "reasoning_tokens")
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The conversation and the answer."""
    if _REQUEST in span.attributes:
        return Messages(_genai.messages(span, memo).input, output(span, memo))
    return Messages(messages_of(_wire(span, *_SENT), memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered; the calls that it asked for stand apart on a request's span, without ids."""
    if _REQUEST not in span.attributes:
        return _received(span, memo)
    got = _genai.output(span, memo)
    if is_shared(span) or any(part.type == "tool_call" for message in got or () for part in message.parts):
        return got
    parts = tuple(
        Part("tool_call", "", None, first_text(call, "name"), memo.json(call.get("arguments")))
        for call in _asked(span)
        if call
    )
    return (*(got or ()), Message("assistant", parts)) if parts else got


def _asked(span: RawSpan) -> Sequence[Mapping[str, object]]:
    """The calls in `gen_ai.completion.N.function_call.*`, in order of their numbers."""
    found = traceloop_legacy.numbered(span.attributes, _CALL)
    before = "function_call."
    return [
        {name.removeprefix(before): value for name, value in fields.items() if name.startswith(before)}
        for fields in found.values()
    ]


def _received(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    choices = items(_wire(span, "choices"))
    if choices is not None:
        said = [fields["message"] for choice in choices if (fields := mapping_of(choice)) and "message" in fields]
        return messages_of(said, memo)
    blocks = items(_wire(span, "content"))
    if blocks is not None:
        return messages_of([{"role": "assistant", "content": blocks}], memo)
    return messages_of(_wire(span, "output"), memo)


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The calls that the model asked for."""
    got = output(span, memo)
    return None if got is None else [p for message in got for p in message.parts if p.type == "tool_call" and p.name]


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Question and answer of an app's span, from the last request that was made in it."""
    said = _genai.agent(span, memo)
    said.name = None
    return said


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The user whom the request names."""
    return ContextFields(user_id=first_text(span.attributes, "llm.user"))


CONVENTION = Convention(
    name="litellm",
    title="LiteLLM",
    scopes=(SCOPE,),
    keys=("litellm.call_id",),
    kind=kind,
    llm=llm,
    messages=messages,
    output=output,
    requests=requests,
    agent=agent,
    definitions=traceloop_legacy.definitions,
    context=context,
    content_switch=(
        "Leave litellm.turn_off_message_logging off, and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT unset or "
        "SPAN_AND_EVENT."
    ),
)
