"""OpenAI's Agents SDK, instrumented by Logfire.

Span names are message templates that nobody filled in (`Function: {name}`), so the template tells the kind and
attributes tell the rest. A run is a trace, below it a task, agents, and turns. A model call by the Responses API has
the items that went in and the response that came out; one by Chat Completions has two lists of messages.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._returned import of_mcp
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind, SpanError

SCOPE = "logfire.openai_agents"
_KINDS: Mapping[str, Kind] = {
    "Task:": "workflow",
    "Agent": "agent",
    "Function:": "tool",
    "Handoff:": "handoff",
    "Responses": "llm",
    "Chat": "llm",
    "Guardrail": "guardrail",
}
"""By the first word of the template. Turns, custom spans and speech are no steps of their own."""


def kind(span: RawSpan) -> Kind | None:
    """What the template says; Logfire's notice that a span began is no span."""
    get = span.attributes.get
    if get("logfire.span_type") == "pending_span":
        return "other"
    template = get("logfire.msg_template")
    name = template if isinstance(template, str) else span.name
    return "workflow" if name.startswith("OpenAI Agents trace") else _KINDS.get(name.partition(" ")[0])


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a function tool. The SDK does not tell the call's id."""
    get = span.attributes.get
    result = of_mcp(_given(get("output")), memo)
    return ToolFields(text_of(get("name")), _given(get("input")), result, failed=_failed(span, memo))


def _given(value: object) -> object:
    """The value, unless Logfire writes that there is none."""
    return None if value == "null" else value


def _failed(span: RawSpan, memo: Memo) -> bool:
    return mapping_of(memo.json(span.attributes.get("error"))) is not None


def error(span: RawSpan) -> SpanError | None:
    """What the SDK says of a failure: the details first, which it redacts unless it may send sensitive data."""
    fields = mapping_of(Memo().json(span.attributes.get("error")))
    if fields is None:
        return None
    data = mapping_of(fields.get("data")) or {}
    found = _genai.error(span)
    message = first_text(data, "error") or first_text(fields, "message") or ""
    return SpanError(type=found.type if found else "", message=message)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """What the SDK's usage says beyond the counts under GenAI's names."""
    usage = mapping_of(memo.json(span.attributes.get("usage"))) or {}
    asked = mapping_of(usage.get("input_tokens_details")) or {}
    answered = mapping_of(usage.get("output_tokens_details")) or {}
    if _is_uncounted(usage):
        return LLMFields(_genai.llm(span, memo).model, first_text(span.attributes, "gen_ai.system"), whole=True)
    return LLMFields(
        input_tokens=first_int(usage, "input_tokens"),
        output_tokens=first_int(usage, "output_tokens"),
        cache_read_tokens=first_int(asked, "cached_tokens") or first_int(usage, "cached_input_tokens"),
        cache_write_tokens=first_int(asked, "cache_write_tokens") or first_int(usage, "cache_write_input_tokens"),
        reasoning_tokens=first_int(answered, "reasoning_tokens"),
    )


def _is_uncounted(usage: Mapping[str, object]) -> bool:
    """A stream of chat completions that was not asked to count: the SDK puts zeros for what it was not told."""
    return usage.get("input_tokens") == usage.get("output_tokens") == 0 and not usage.get("total_tokens")


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What the model was sent and what it answered."""
    get = span.attributes.get
    sent = messages_of(_given(get("raw_input", get("input"))), memo)
    if sent is None and isinstance(asked := memo.json(get("raw_input")), str) and asked != "null":
        sent = (Message("user", (Part("text", asked),)),)
    instructions = text_of(_response(span, memo).get("instructions"))
    if instructions is not None:
        sent = (Message("system", (Part("text", instructions),)), *(sent or ()))
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    answer = _response(span, memo).get("output")
    if answer is None:
        answer = memo.json(_given(span.attributes.get("output")))
        streamed = [mapping_of(item) or {} for item in items(answer) or ()]
        if streamed and all(one.get("object") == "response" for one in streamed):
            answer = [item for one in streamed for item in items(one.get("output")) or ()]
    return messages_of(answer, memo)


def _response(span: RawSpan, memo: Memo) -> Mapping[str, object]:
    return mapping_of(memo.json(span.attributes.get("response"))) or {}


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The name of an agent. Question and answer stand on the model calls only."""
    is_agent = span.name.startswith("Agent run")
    return AgentFields(text_of(span.attributes.get("name")) if is_agent else None)


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Who passed control to whom."""
    source, target = (text_of(_given(span.attributes.get(key))) for key in ("from_agent", "to_agent"))
    return HandoffFields(source, target) if source or target else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools in a response, with schema; of an agent their names."""
    offered = _response(span, memo).get("tools")
    return definitions_of(offered if items(offered) is not None else _given(span.attributes.get("tools")), memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The group that the app gave to the trace, which is the session."""
    return ContextFields(text_of(_given(span.attributes.get("group_id"))))


CONVENTION = Convention(
    name="logfire_openai_agents",
    title="OpenAI Agents SDK (Logfire)",
    scopes=(SCOPE,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    handoff=handoff,
    definitions=definitions,
    context=context,
    error=error,
    content_switch="Set trace_include_sensitive_data=True in RunConfig.",
)
