"""Google's Agent Development Kit, by its own spans, in all formats that it has had.

Schema 2 follows the GenAI conventions. Schema 1 (`invocation`, `call_llm`) puts content under `gcp.vertex.agent.*`; the
first releases have `agent_run [name]` and `tool_call [name]` instead of attributes. In all of them a tool that handles
its own failure leaves the status unset and says so only in its result, so a span without a result tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import declared_in, definition_of, items, messages_of
from spanwise.conventions._returned import is_failure
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ModelCall,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import STATUS_ERROR, RawEvent, RawSpan
from spanwise.model.span import Kind

SCOPE = "gcp.vertex.agent"
MERGED = "(merged tools)"
"""The name on the span that sums up the parallel calls of one turn; each of them has a span of its own."""
PLACEHOLDERS = frozenset({"<not specified>", "<not serializable>", "<elided>", "N/A"})
DETAILS = "gen_ai.client.inference.operation.details"
_NAMES: Mapping[str, Kind] = {"invocation": "workflow", "call_llm": "llm"}
_THOUGHTS = "gen_ai.usage.experimental.reasoning_tokens"
"""What the model thought; ADK for Go does not count it among what was answered."""
_CAPITAL = re.compile("[A-Z]")
_MAX_DEPTH = 32
_RUNNING = "execute_tool "
"""How a tool's span is named; in JavaScript that is all that it has if the tool raised."""


def kind(span: RawSpan) -> Kind | None:
    """What the operation says, or the name on spans without one."""
    if span.attributes.get("gen_ai.tool.name") == MERGED:
        return "other"
    found = _genai.kind(span) or _NAMES.get(span.name)
    if (found == "llm" or (found is None and span.scope.name == SCOPE)) and _is_agent(span):
        return "agent"
    if found is None and span.name.endswith("]"):
        if span.name.startswith("agent_run ["):
            return "agent"
        if span.name.startswith("tool_call ["):
            return "tool"
    if found is None and span.name.startswith(_RUNNING) and span.scope.name == SCOPE:
        return "tool"
    return found


def _is_agent(span: RawSpan) -> bool:
    """OpenInference writes each model call of an agent onto the agent's own span, the last one over all before it."""
    return span.name.startswith("invoke_agent ") and span.attributes.get("gen_ai.operation.name") != "invoke_agent"


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Arguments and result, ADK's wrapping taken off; a handled failure is recognised by the result alone."""
    get = span.attributes.get
    arguments, result = get("gcp.vertex.agent.tool_call_args"), get("gcp.vertex.agent.tool_response")
    if arguments == result == "{}":  # what schema 1 writes when content is switched off
        arguments = result = None
    if arguments is None:
        arguments = get("gen_ai.tool.call.arguments")
    if result is None:
        result = get("gen_ai.tool.call.result")
    said = says_error(memo.json(result))
    return ToolFields(
        text_of(get("gen_ai.tool.name")) or _titled(span.name),
        None if _is_placeholder(arguments) else arguments,
        unwrapped(result, memo),
        failed=said is True,
        uncertain=said is None or (result is None and _is_untold(span)),
    )


def _is_untold(span: RawSpan) -> bool:
    """Nothing else says how the call ended; OpenInference's processor adds the result under a name of its own."""
    return span.status_code != STATUS_ERROR and "output.value" not in span.attributes


def says_error(result: object) -> bool | None:
    """A failure by ADK's conventions: `{"status": "error"}`, or a report under `error`; None where that is data."""
    fields = mapping_of(result)
    if fields is None:
        return False
    return True if fields.get("status") == "error" else is_failure(fields.get("error"))


def unwrapped(result: object, memo: Memo) -> object:
    """What the tool returned: ADK puts all but mappings under `result`. Of a tool that returned None, JSON's null."""
    decoded = memo.json(result)
    fields = mapping_of(decoded)
    if fields is not None and len(fields) == 1 and "result" in fields:
        inner = fields["result"]
        return None if _is_placeholder(inner) else "null" if inner is None else inner
    return None if _is_placeholder(decoded) else decoded


def _is_placeholder(value: object) -> bool:
    return isinstance(value, str) and value in PLACEHOLDERS


def _titled(name: str) -> str | None:
    """The tool's name in that of its span."""
    return (name[len(_RUNNING) :] or None) if name.startswith(_RUNNING) else _bracketed(name)


def _bracketed(name: str) -> str | None:
    """The name in `agent_run [name]`."""
    return name[name.index("[") + 1 : -1] or None if "[" in name and name.endswith("]") else None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage as the model reported it: some releases wrote the total as output tokens."""
    if _is_agent(span):
        said = _genai.llm(span, memo)
        return LLMFields(said.model, said.provider, whole=True)
    response = mapping_of(memo.json(span.attributes.get("gcp.vertex.agent.llm_response"))) or {}
    usage = _usage(response)
    if not usage and span.scope.resource.get("telemetry.sdk.language") == "go":
        return _with_thoughts(_genai.llm(span, memo), first_int(span.attributes, _THOUGHTS))
    asked, answered = first_int(usage, "prompt_token_count"), first_int(usage, "candidates_token_count")
    thoughts = first_int(usage, "thoughts_token_count")
    return LLMFields(
        input_tokens=None if asked is None else asked + (first_int(usage, "tool_use_prompt_token_count") or 0),
        output_tokens=None if answered is None else answered + (thoughts or 0),
        cache_read_tokens=first_int(usage, "cached_content_token_count"),
        reasoning_tokens=thoughts,
    )


def _usage(response: Mapping[str, object]) -> Mapping[str, object]:
    """What the model reported, by Python's names; JavaScript spells them otherwise."""
    usage = mapping_of(response.get("usage_metadata", response.get("usageMetadata"))) or {}
    return {_CAPITAL.sub(lambda found: f"_{found.group().lower()}", name): value for name, value in usage.items()}


def _with_thoughts(said: LLMFields, thoughts: int | None) -> LLMFields:
    """What was used, with what the model thought counted among what it answered."""
    if thoughts is not None:
        said.reasoning_tokens = thoughts
        said.output_tokens = None if said.output_tokens is None else said.output_tokens + thoughts
    return said


def _details(span: RawSpan) -> list[RawEvent]:
    return [event for event in span.events if event.name == DETAILS]


def model_calls(span: RawSpan, memo: Memo) -> tuple[ModelCall, ...]:
    """The calls of an agent on whose span all of them ended up: each left a log event, one that failed no end in it."""
    if not _is_agent(span):
        return ()
    kept = {key: value for key, value in span.attributes.items() if not key.startswith("gen_ai.usage.")}
    each = [(event, {**kept, **event.attributes}) for event in _details(span)]
    return tuple(
        ModelCall(used := _genai.llm(replace(span, attributes=said), memo), event.time_ns, _is_cut_off(event, used))
        for event, said in each
    )


def _is_cut_off(event: RawEvent, used: LLMFields) -> bool:
    counted = used.input_tokens is not None or used.output_tokens is not None
    return not counted and "gen_ai.response.finish_reasons" not in event.attributes


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    request = mapping_of(memo.json(span.attributes.get("gcp.vertex.agent.llm_request"))) or {}
    sent = messages_of(request.get("contents"), memo)
    if sent is not None:
        instruction = (mapping_of(request.get("config")) or {}).get("system_instruction")
        system = Message("system", (Part("text", instruction),)) if isinstance(instruction, str) else None
        sent = (system, *sent) if system else sent
    elif len(calls := _details(span)) > 1:  # each call was sent all that went before it
        sent = messages_of(calls[-1].attributes.get("gen_ai.input.messages"), memo)
    else:
        sent = _genai.messages(span, memo).input
    return Messages(_told(sent, memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered; the pieces of a streamed answer put together."""
    response = mapping_of(memo.json(span.attributes.get("gcp.vertex.agent.llm_response"))) or {}
    content = mapping_of(response.get("content"))
    if content is not None:
        return _told(messages_of([content], memo), memo)
    calls = _details(span)
    if len(calls) < 2:
        return _whole(_told(_genai.output(span, memo), memo))
    answers = [_whole(messages_of(call.attributes.get("gen_ai.output.messages"), memo)) for call in calls]
    return _told(tuple(message for answer in answers for message in answer or ()), memo)


def _told(found: tuple[Message, ...] | None, memo: Memo) -> tuple[Message, ...] | None:
    """The messages without elided ones, with tool results as the tools returned them."""
    kept = [message for message in found or () if not _is_placeholder(message.text)]
    for message in kept:
        for part in message.parts:
            if part.type == "tool_result":
                part.error = part.error or says_error(part.value) is True
                part.value = memo.json(unwrapped(part.value, memo))
    return tuple(kept) or None


def _whole(found: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """One message of the pieces that a stream came in; a last piece that repeats all before it stands for them."""
    if found is None or len(found) < 2:
        return found
    pieces = [message.text for message in found]
    if pieces[-1] and pieces[-1] == "".join(pieces[:-1]):
        return found[-1:]
    parts: list[Part] = []
    for part in (part for message in found for part in message.parts):
        if parts and part.type == parts[-1].type and part.type in {"text", "reasoning"}:
            parts[-1] = Part(part.type, parts[-1].text + part.text)
        else:
            parts.append(part)
    return (Message("assistant", tuple(parts)),)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The name on the first releases' spans; ADK puts no messages on agents."""
    return AgentFields(text_of(span.attributes.get("gen_ai.agent.name")) or _bracketed(span.name))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The functions declared in a request of schema 1; Gemini's upper-case types made JSON schema's."""
    request = mapping_of(memo.json(span.attributes.get("gcp.vertex.agent.llm_request"))) or {}
    tools = items((mapping_of(request.get("config")) or {}).get("tools"))
    if tools is None:
        return _genai.definitions(span, memo)
    declared = (item for tool in tools for item in declared_in(mapping_of(tool) or {}))
    found = (definition_of(_lower(item, _MAX_DEPTH)) for item in declared)
    return tuple(item for item in found if item is not None)


def _lower(schema: object, depth: int) -> object:
    """A Gemini schema with its types in lower case."""
    if depth <= 0:
        return schema
    if isinstance(schema, list):
        return [_lower(item, depth - 1) for item in cast("list[object]", schema)]
    fields = mapping_of(schema)
    if fields is None:
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value, depth - 1)
        for key, value in fields.items()
    }


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The session; the user id stands on log events only."""
    user = next((found for event in span.events if (found := first_text(event.attributes, "user.id"))), None)
    return ContextFields(first_text(span.attributes, "gcp.vertex.agent.session_id"), user)


CONVENTION = Convention(
    name="adk",
    title="Google ADK",
    scopes=(SCOPE,),
    # OpenInference takes ADK's spans over under its own scope; this attribute stays on them.
    keys=("gcp.vertex.agent.event_id",),
    kind=kind,
    tool=tool,
    llm=llm,
    model_calls=model_calls,
    messages=messages,
    output=output,
    agent=agent,
    definitions=definitions,
    context=context,
    content_switch=(
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT "
        "(schema 1: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)."
    ),
)
