"""OpenLIT: GenAI's conventions, with frameworks' objects as Python prints them.

LangChain's tools have arguments and results as printed values and messages. A graph's nodes are written as agents, the
model's among them. Some releases have the id of LangChain's run where a failed call's should be; the model's request
sets that right. Of an OpenAI response's call the message has the id of the item, the model's span that of the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import asked, call_arguments
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import number_of, text_of
from spanwise.model.content import AgentFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_SPEAKER = re.compile(r"(?:\A|\n)(system|user|assistant|tool|developer): ")
GRAPH = "openlit.instrumentation.langgraph"
_CLIENTS = (
    "ai21 anthropic azure_ai_inference bedrock cohere google_ai_studio gpt4all groq litellm mistral oci_genai ollama "
    "openai premai reka sarvam together transformers vertexai vllm"
).split()
_CACHE_APART = frozenset({"openlit.instrumentation.anthropic", "openlit.instrumentation.bedrock"})
_THOUGHTS_APART = frozenset({"openlit.instrumentation.google_ai_studio", "openlit.instrumentation.vertexai"})
"""Their providers count cached tokens beside the input, or thoughts beside the output, and so do the spans."""


def kind(span: RawSpan) -> Kind | None:
    """The kind that the operation names; a graph's node is a step of its workflow."""
    found = _genai.kind(span)
    return "workflow" if found == "agent" and span.scope.name == GRAPH else found


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The tool as GenAI's attributes tell it, printed values read."""
    said = _genai.tool(span, memo)
    found = outcome(said.result, memo)
    if said.arguments is not None:
        said.arguments = call_arguments(said.arguments, memo)
    said.result = found.value
    said.failed = said.failed or found.failed
    said.message = text_of(span.attributes.get("gen_ai.framework.error.message")) or ""
    return said


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Usage as GenAI's attributes tell it; a cost of 0 is that of a price which OpenLIT did not know, so are tokens."""
    said = _genai.llm(span, memo)
    said.cost_usd = said.cost_usd or None
    if span.scope.name in _CACHE_APART and said.input_tokens is not None:
        said.input_tokens += (said.cache_read_tokens or 0) + (said.cache_write_tokens or 0)
    if span.scope.name in _THOUGHTS_APART and said.output_tokens is not None:
        said.output_tokens += said.reasoning_tokens or 0
    said.whole = number_of(span.attributes.get("gen_ai.usage.cost")) == 0
    if said.input_tokens == said.output_tokens == 0:  # of a stream that does not tell what it used
        said.input_tokens = said.output_tokens = said.cache_read_tokens = said.cache_write_tokens = None
        said.whole = True
    if said.ttft_ms is None:
        said.ttft_ms = _genai.ms_of(span.attributes.get("gen_ai.server.time_to_first_token"))
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What GenAI's attributes tell, the calls that were asked for under their own ids."""
    return Messages(_genai.messages(span, memo).input or _formerly_sent(span, memo), output(span, memo))


def _formerly_sent(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The conversation that releases before 1.35 print: a line for each text, or the whole list once tools ran."""
    printed = text_of(span.attributes.get("gen_ai.prompt"))
    if printed is None or "gen_ai.operation.name" not in span.attributes:
        return None
    _, *parted = _SPEAKER.split(printed)
    if parted and parted[-1].startswith("[{'role'"):
        return messages_of(read_repr(parted[-1]), memo)
    return messages_of([{"role": r, "content": t} for r, t in zip(parted[::2], parted[1::2], strict=True)], memo)


def _formerly_got(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model said then, and the calls that it asked for, each list of theirs a text with commas."""
    get = span.attributes.get
    if "gen_ai.completion" not in span.attributes or "gen_ai.operation.name" not in span.attributes:
        return None
    said, names, ids = text_of(get("gen_ai.completion")), str(get("gen_ai.tool.name") or ""), get("gen_ai.tool.call.id")
    given = items(memo.json(f"[{get('gen_ai.tool.args')}]")) or ()
    calls = zip(names.split(", "), str(ids or "").split(", "), given, strict=False) if names else ()
    parts = [Part("tool_call", id=call_id or None, name=name, value=value) for name, call_id, value in calls]
    return (Message("assistant", (*([Part("text", said)] if said else []), *parts)),)


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered, each call under its own id."""
    got = _genai.output(span, memo) or _formerly_got(span, memo)
    said = span.attributes.get("gen_ai.tool.call.id")
    if got is not None and isinstance(said, str):
        ids = said.split(", ")
        calls = [part for message in got for part in message.parts if part.type == "tool_call"]
        if len(ids) == len(calls) and all((part.id or "").startswith("fc_") for part in calls):
            for part, call_id in zip(calls, ids, strict=True):
                part.id = call_id
    return got


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The calls that the model asked for."""
    got = output(span, memo)
    return None if got is None else [p for message in got for p in message.parts if p.type == "tool_call" and p.name]


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name and messages as GenAI's; the question also from what the workflow was called with."""
    said = _genai.agent(span, memo)
    if said.query is None:
        said.query = asked(span.attributes.get("gen_ai.workflow.input"), memo)
    if span.scope.name == GRAPH:
        said.name = None
    return said


CONVENTION = Convention(
    name="openlit",
    title="OpenLIT",
    scopes=(
        "openlit.instrumentation.langchain",
        GRAPH,
        *(f"openlit.instrumentation.{name}" for name in _CLIENTS),
        "openlit.otel.tracing",
        "openlit",
    ),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    requests=requests,
    agent=agent,
    content_switch="Leave capture_message_content on in openlit.init().",
)
