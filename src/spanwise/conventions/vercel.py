"""Vercel's AI SDK: `ai.*` attributes of releases 3 to 6, and what release 7's `@ai-sdk/otel` adds to GenAI attributes.

`ai.generateText` and its kin are the agent's loop; each step below it is a call of the model (`.doGenerate`,
`.doStream`) and its tool calls. While a stream is read, tools run below the model's span. Release 7 writes GenAI spans
whose root repeats all steps in one answer: its text is the final one, though the calls of the earlier steps stand
beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._payloads import asked
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "ai.toolCall": "tool",
    **{f"ai.{name}": "agent" for name in ("generateText", "streamText", "generateObject", "streamObject")},
    "ai.workflowAgent.stream": "agent",
    **{f"ai.{name}": "embedding" for name in ("embed", "embedMany", "embed.doEmbed", "embedMany.doEmbed")},
    **{f"ai.{name}": "rerank" for name in ("rerank", "rerank.doRerank")},
}
_RELEASE_7 = "gen_ai"
_NO_CACHE = "ai.usage.inputTokenDetails.noCacheTokens"
_REASONS = "gen_ai.response.finish_reasons"
_METADATA = "ai.telemetry.metadata."
_RUNTIME = "ai.settings.context."
_NOT_METADATA = frozenset({"sessionId", "session_id", "userId", "user_id", "requestId", "request_id", "tags"})


def kind(span: RawSpan) -> Kind | None:
    """The kind that the operation names."""
    operation = span.attributes.get("ai.operationId")
    if not isinstance(operation, str):
        return "rerank" if span.attributes.get("gen_ai.operation.name") == "rerank" else _genai.kind(span)
    found = _KINDS.get(operation)
    if found is not None:
        return found
    return "llm" if operation.endswith((".doGenerate", ".doStream")) else "other"


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool call."""
    get = span.attributes.get
    return ToolFields(
        text_of(get("ai.toolCall.name")),
        get("ai.toolCall.args"),
        get("ai.toolCall.result"),
        text_of(get("ai.toolCall.id")),
    )


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider and tokens; up to release 5 without what Anthropic's cache held and Google's models thought."""
    attributes = span.attributes
    reasoning = first_int(attributes, "ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens")
    if "ai.operationId" not in attributes:
        said = _genai.llm(span, memo)
        said.reasoning_tokens = reasoning if said.reasoning_tokens is None else said.reasoning_tokens
        return said
    sent = first_int(attributes, "gen_ai.usage.input_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens")
    if sent is None:
        sent = first_int(attributes, "gen_ai.usage.prompt_tokens", "ai.usage.tokens")
    got = first_int(attributes, "gen_ai.usage.output_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens")
    read = first_int(attributes, "ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens")
    written = first_int(attributes, "ai.usage.inputTokenDetails.cacheWriteTokens")
    provider = first_text(attributes, "gen_ai.system", "ai.model.provider") or ""
    if sent is not None and provider.startswith("anthropic") and _NO_CACHE not in attributes:
        cached, alone = _cached_by_anthropic(attributes, memo)
        read, written = cached[0] if read is None else read, cached[1] if written is None else written
        sent += (read or 0) + (written or 0) if alone in (None, sent) else 0
    if got is not None and provider.startswith("google") and _NO_CACHE not in attributes:
        told = _counted_by_google(attributes, memo)
        read = first_int(told, "cachedContentTokenCount") if read is None else read
        reasoning = first_int(told, "thoughtsTokenCount") if reasoning is None else reasoning
        got += (reasoning or 0) if first_int(told, "candidatesTokenCount") == got else 0
    return LLMFields(
        first_text(attributes, "gen_ai.response.model", "ai.response.model", "gen_ai.request.model", "ai.model.id"),
        provider or None,
        sent,
        got,
        read,
        written,
        reasoning,
    )


def _cached_by_anthropic(attributes: Attributes, memo: Memo) -> tuple[tuple[int | None, int | None], int | None]:
    """What was read from and written to the cache, as the provider's own metadata has it, and the input beside that."""
    metadata = mapping_of(memo.json(attributes.get("ai.response.providerMetadata"))) or {}
    own = mapping_of(metadata.get("anthropic")) or {}
    usage = {**(mapping_of(own.get("usage")) or {}), **own}
    cached = (
        first_int(usage, "cacheReadInputTokens", "cache_read_input_tokens"),
        first_int(usage, "cacheCreationInputTokens", "cache_creation_input_tokens"),
    )
    return cached, first_int(usage, "input_tokens")


def _counted_by_google(attributes: Attributes, memo: Memo) -> Mapping[str, object]:
    """What Google's API counted: its candidates, which release 5 takes for the output, lack the model's thoughts."""
    metadata = mapping_of(memo.json(attributes.get("ai.response.providerMetadata"))) or {}
    own = mapping_of(metadata.get("google")) or mapping_of(metadata.get("vertex")) or {}
    return mapping_of(own.get("usageMetadata")) or {}


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered, or what its caller passed and got back."""
    attributes = span.attributes
    sent = messages_of(attributes.get("ai.prompt.messages"), memo)
    if sent is None:
        prompt = mapping_of(memo.json(attributes.get("ai.prompt")))
        sent = _prompted(prompt, memo) if prompt is not None else None
    return Messages(sent, output(span, memo))


def _prompted(prompt: Mapping[str, object], memo: Memo) -> tuple[Message, ...] | None:
    """The messages of `{"system": ..., "prompt": ..., "messages": ...}`."""
    out: list[object] = []
    system = text_of(prompt.get("system"))
    if system is not None:
        out.append({"role": "system", "content": system})
    for key in ("prompt", "messages"):
        value = prompt.get(key)
        text = text_of(value)
        out += [{"role": "user", "content": text}] if text is not None else items(value) or ()
    return messages_of(out, memo)


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered: text or an object, and the tools that it asked for; a text may be empty."""
    attributes = span.attributes
    if "ai.operationId" not in attributes:
        return _genai.output(span, memo)
    text = first_text(attributes, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    calls = items(memo.json(attributes.get("ai.response.toolCalls", attributes.get("ai.result.toolCalls"))))
    reasoning = text_of(attributes.get("ai.response.reasoning"))
    if text is None and not calls and reasoning is None:
        return (Message("assistant", ()),) if attributes.get("ai.response.text") == "" else None
    parts: list[object] = [{"type": "reasoning", "content": reasoning}] if reasoning is not None else []
    if text is not None:
        parts.append({"type": "text", "text": text})
    return messages_of([{"role": "assistant", "parts": parts, "tool_calls": calls}], memo)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered."""
    return definitions_of(span.attributes.get("ai.prompt.tools"), memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The function's id as the agent's name, its prompt, and the text or object of its last step."""
    attributes = span.attributes
    if "ai.operationId" not in attributes:
        return AgentFields(answer=_last_step_text(attributes, memo))
    prompt = attributes.get("ai.prompt")
    answer = None
    if first_text(attributes, "ai.response.finishReason", "ai.finishReason") != "tool-calls":
        answer = first_text(attributes, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    return AgentFields(
        text_of(attributes.get("ai.telemetry.functionId")), asked(prompt, memo) if prompt is not None else None, answer
    )


def borrowed(span: RawSpan) -> bool:
    """An error that OpenInference's processor wrote on a span for another one of the trace.

    With version 2 of the SDK it takes every span for a root. The SDK of Vercel itself records an exception beside a
    status with a message. Release 7 leaves both out where outputs are not recorded: then a tool's error may be either.
    """
    attributes = span.attributes
    if "openinference.span.kind" not in attributes or span.dropped:
        return False
    if any(event.name == "exception" for event in span.events):
        return False
    if "ai.operationId" in attributes:
        return bool(span.status_message) and first_text(attributes, "ai.response.finishReason") != "error"
    reasons = attributes.get(_REASONS)
    said = bool(span.status_message) or reasons is not None or "gen_ai.tool.name" in attributes
    return span.scope.name == _RELEASE_7 and said and "error" not in str(reasons)


def _last_step_text(attributes: Attributes, memo: Memo) -> str | None:
    """The text of a root that repeats the calls of all steps beside it; none where the last step asked for tools."""
    reasons = items(memo.json(attributes.get(_REASONS)))
    if not reasons or reasons[-1] != "stop":
        return None
    found = messages_of(attributes.get("gen_ai.output.messages"), memo)
    return (found[-1].text or None) if found else None


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The telemetry settings' metadata, or release 7's runtime context: who asked, and what else the app put there."""
    properties: dict[str, object] = {}
    for key, value in span.attributes.items():
        for prefix in (_METADATA, _RUNTIME):
            if key.startswith(prefix):
                properties[key.removeprefix(prefix)] = value
    tags = items(properties.get("tags")) or ()
    return ContextFields(
        first_text(properties, "sessionId", "session_id"),
        first_text(properties, "userId", "user_id"),
        first_text(properties, "requestId", "request_id"),
        tuple(tag for tag in tags if isinstance(tag, str)),
        {key: value for key, value in properties.items() if key not in _NOT_METADATA} or None,
    )


CONVENTION = Convention(
    name="vercel",
    title="Vercel AI SDK",
    scopes=("ai", _RELEASE_7),
    keys=("ai.operationId",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    definitions=definitions,
    context=context,
    borrowed=borrowed,
    content_switch="Leave recordInputs and recordOutputs of the telemetry settings on.",
)
