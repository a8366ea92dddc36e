"""Strands Agents, by its own spans: the GenAI conventions with content in span events.

By default each message is an event (`gen_ai.user.message` ... `gen_ai.choice`) that holds Bedrock's blocks; with
`gen_ai_latest_experimental` the messages stand in `gen_ai.client.inference.operation.details`, in the form of GenAI.
The first releases (scope `strands-agents`) put everything into attributes. What an agent answers is plain text in all
of them, never to be decoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definition_of, definitions_of, items, messages_of
from spanwise.conventions._returned import plain
from spanwise.conventions._values import first_number, first_text, mapping_of, names_of, number_of, text_of
from spanwise.model.content import (
    AgentFields,
    Document,
    LLMFields,
    Memo,
    Message,
    Messages,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
    is_redacted,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_OUTPUT_TAKEN = re.compile(r"Successfully validated \S+ structured output")
"""What the tool of a typed answer returns, which is called like the type."""
_RUNS = ("invoke_agent", "invoke_swarm", "invoke_graph")
_NAMES: Mapping[str, Kind] = {"Model": "llm", "Tool:": "tool", "Cycle": "workflow"}


def kind(span: RawSpan) -> Kind | None:
    """What the operation says; memory is searched (a retrieval) or kept, which is no step of the agent."""
    get = span.attributes.get
    operation = get("gen_ai.operation.name")
    if isinstance(operation, str) and operation.startswith("memory."):
        return "retrieval" if operation == "memory.search" else "other"
    found = _genai.kind(span)
    if found is None and operation is None and get("gen_ai.event.start_time") is not None:  # before 0.2
        return _NAMES.get(span.name.split(" ", 1)[0]) or ("agent" if "agent.name" in span.attributes else None)
    return found


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Arguments and result from wherever the release puts them, the blocks around a result taken off."""
    get = span.attributes.get
    arguments, result = get("gen_ai.tool.call.arguments"), get("gen_ai.tool.call.result")
    for event in span.events:
        if event.name == "gen_ai.tool.message":
            arguments = event.attributes.get("content")
        elif event.name == "gen_ai.choice":
            result = event.attributes.get("message")
        elif result is None:  # a failure's text is recorded as a message only
            result = _answered(event.attributes.get("gen_ai.output.messages"), memo)
    if result is None:
        result = _answered(get("gen_ai.output.messages"), memo)
    status = get("gen_ai.tool.status") or get("tool.status")
    said = unwrapped(get("tool.result") if result is None else result, memo)
    return ToolFields(
        first_text(span.attributes, "gen_ai.tool.name", "tool.name"),
        get("tool.parameters") if arguments is None else arguments,  # before 0.2 these are the arguments, no schema
        said,
        first_text(span.attributes, "gen_ai.tool.call.id", "tool.id"),
        failed=status == "error" or get("strands.cancellation.type") is not None,
        control=isinstance(said, str) and _OUTPUT_TAKEN.fullmatch(said) is not None,
    )


def _answered(value: object, memo: Memo) -> object:
    """The result in the message that a tool span gives as its output."""
    for message in messages_of(value, memo) or ():
        for part in message.parts:
            if part.type == "tool_result":
                return part.value
    return None


def unwrapped(result: object, memo: Memo) -> object:
    """What the tool returned: the text or JSON blocks of Bedrock's tool result taken off.

    >>> unwrapped('[{"text": "6840000.0"}]', Memo())
    6840000.0
    """
    blocks = items(memo.json(result))
    if not blocks:
        return result
    only = mapping_of(blocks[0]) if len(blocks) == 1 else None
    if only is None or set(only) != {"json"}:
        return plain(blocks, memo)
    held = mapping_of(only["json"]) or {}
    return held["$value"] if set(held) == {"$value"} else only["json"]  # so are lists passed on in TypeScript


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage as GenAI's attributes tell it; Strands counts the time to the first token in whole milliseconds."""
    said = _genai.llm(span, memo)
    if said.ttft_ms is None:
        waited = number_of(span.attributes.get("gen_ai.server.time_to_first_token"))
        said.ttft_ms = waited if waited is not None and waited > 0 else None  # 0 stands for a model that does not say
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """Messages from events or attributes; of the first releases from `gen_ai.prompt` and `gen_ai.completion`."""
    prompt = span.attributes.get("gen_ai.prompt")
    if prompt is None:
        return _genai.messages(span, memo)
    return Messages(messages_of(prompt, memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered."""
    blocks = items(memo.json(span.attributes.get("gen_ai.completion")))
    if blocks is None:
        return _genai.output(span, memo)
    return messages_of([{"role": "assistant", "content": blocks}], memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent, swarm or graph."""
    get = span.attributes.get
    name = first_text(span.attributes, "gen_ai.agent.name", "agent.name")
    prompt = get("gen_ai.prompt")
    if prompt is not None:
        return AgentFields(name, text_of(prompt), _stripped(get("gen_ai.completion")))
    found = _genai.messages(span, memo)
    answer = _genai.last_answer_text(found.output)
    if get("gen_ai.operation.name") in _RUNS:
        for event in span.events:
            if event.name == "gen_ai.choice":
                halted = event.attributes.get("finish_reason") == "interrupt"
                answer = None if halted else text_of(event.attributes.get("message"))
    return AgentFields(name, _genai.first_user_text(found.input), _stripped(answer))


def _stripped(text: object) -> str | None:
    """The answer without the line break that Strands ends every text with."""
    return text_of(text.strip()) if isinstance(text, str) and not is_redacted(text) else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """A search of the agent's memory."""
    held = {event.name: event.attributes.get("content") for event in span.events}
    found = items(memo.json(held.get("memory.results", span.attributes.get("content"))))
    documents = None if found is None else tuple(_entry(fields) for fields in map(mapping_of, found) if fields)
    return RetrievalFields(text_of(held.get("memory.query")), documents)


def _entry(fields: Mapping[str, object]) -> Document:
    metadata = mapping_of(fields.get("metadata")) or {}
    text = first_text(fields, "content")
    return Document(first_text(metadata, "id"), first_number(metadata, "score"), text, names_of(metadata))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The agent's tools, by name where no more is recorded; a tool's own span has its schema."""
    get = span.attributes.get
    full = _genai.definitions(span, memo)
    if full is not None:
        return full
    schema = mapping_of(memo.json(get("gen_ai.tool.json_schema")))
    if schema is not None:
        fields = {"name": get("gen_ai.tool.name"), "description": get("gen_ai.tool.description"), "parameters": schema}
        found = definition_of(fields)
        return None if found is None else (found,)
    return definitions_of(get("gen_ai.agent.tools"), memo)


CONVENTION = Convention(
    name="strands",
    title="Strands Agents",
    scopes=("strands.telemetry.tracer", "strands-agents"),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    retrieval=retrieval,
    definitions=definitions,
    content_switch="Take gen_ai_unredacted_attributes out of OTEL_SEMCONV_STABILITY_OPT_IN, or name the attributes.",
)
