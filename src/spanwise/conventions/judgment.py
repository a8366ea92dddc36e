"""Judgment's spans, of functions that `judgeval` observes and of clients that it wraps: `judgment.*`.

Of a stream only the text is recorded, not the calls that were asked for beside it. A function that yields is a
`generator`, whatever the app called it, and each item that it yields leaves a trace of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items
from spanwise.conventions._payloads import answered, asked, conversation, documents, reply, searched
from spanwise.conventions._returned import of_mcp
from spanwise.conventions._usages import provided
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, text_of
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
from spanwise.model.span import Kind

_KIND = "judgment.span_kind"
_KINDS: Mapping[str, Kind] = {
    "agent": "agent",
    "tool": "tool",
    "llm": "llm",
    "retriever": "retrieval",
    "retrieval": "retrieval",
    "embedding": "embedding",
    "guardrail": "guardrail",
    "generator_item": "setup",
}
_INPUT, _OUTPUT = "judgment.input", "judgment.output"
_USAGE = "judgment.usage."
_GENERATOR = "<generator>"
"""What stands for what a function yields."""


def kind(span: RawSpan) -> Kind | None:
    """What the app or a wrapper called it; all else that was observed is a step."""
    said = span.attributes.get(_KIND)
    return _KINDS.get(said, "workflow") if isinstance(said, str) else None


def _returned(attributes: Attributes) -> object:
    value = attributes.get(_OUTPUT)
    return None if value == _GENERATOR else value


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """The function by its name, its arguments by theirs, and what it returned."""
    attributes = span.attributes
    returned = of_mcp(_returned(attributes), memo)
    return ToolFields(span.name or None, memo.json(attributes.get(_INPUT)), memo.json(returned))


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, use and cost; what was read from and written to a cache is counted apart."""
    attributes = span.attributes
    said = LLMFields(
        first_text(attributes, "judgment.llm.model"),
        first_text(attributes, "judgment.llm.provider"),
        output_tokens=first_int(attributes, f"{_USAGE}output_tokens"),
        cache_read_tokens=first_int(attributes, f"{_USAGE}cache_read_input_tokens"),
        cache_write_tokens=first_int(attributes, f"{_USAGE}cache_creation_input_tokens"),
        cost_usd=first_number(attributes, f"{_USAGE}total_cost_usd"),
    )
    fresh = first_int(attributes, f"{_USAGE}non_cached_input_tokens")
    if fresh is not None:
        said.input_tokens = fresh + (said.cache_read_tokens or 0) + (said.cache_write_tokens or 0)
    details = mapping_of(memo.json(attributes.get(f"{_USAGE}metadata")))
    said.reasoning_tokens = provided(details).reasoning_tokens if details else None
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a client was called with, or the messages that a function was given that calls a model; and the answer."""
    request = mapping_of(memo.json(span.attributes.get("gen_ai.prompt")))
    if request is None:
        return Messages(conversation(memo.json(span.attributes.get(_INPUT)), memo), output(span, memo))
    instructions = text_of(request.get("instructions")) or text_of(request.get("system"))
    given = next((request[key] for key in ("messages", "input", "contents") if request.get(key)), None)
    spoken = [{"role": "system", "content": instructions}] if instructions else []
    sent = conversation([*spoken, *(items(given) or [{"role": "user", "content": given}])], memo) if given else None
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """A provider's response object, or the text of a stream."""
    attributes = span.attributes
    got = attributes.get("gen_ai.completion", _returned(attributes))
    return reply(got, memo) if attributes.get(_KIND) == "llm" else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that a client was called with."""
    request = mapping_of(memo.json(span.attributes.get("gen_ai.prompt"))) or {}
    return definitions_of(request.get("tools"), memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent by its function's name; question and answer as they were passed and returned."""
    attributes = span.attributes
    name = span.name if attributes.get(_KIND) == "agent" else None
    return AgentFields(name, asked(attributes.get(_INPUT), memo), answered(_returned(attributes), memo))


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of an observed function that retrieves."""
    attributes = span.attributes
    given, returned = attributes.get(_INPUT), attributes.get(_OUTPUT)
    return RetrievalFields(
        None if given is None else searched(given, memo), None if returned is None else documents(returned, memo)
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user; a customer may have several users."""
    attributes = span.attributes
    return ContextFields(
        first_text(attributes, "judgment.session_id"),
        first_text(attributes, "judgment.customer_user_id", "judgment.customer_id"),
    )


CONVENTION = Convention(
    name="judgment",
    title="Judgment",
    keys=(_KIND,),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    tells_requests=False,
    definitions=definitions,
    agent=agent,
    retrieval=retrieval,
    context=context,
    content_switch="Let `Tracer.observe` record what goes in and out: without record_input=False, record_output=False.",
)
