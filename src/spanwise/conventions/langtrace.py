"""Langtrace's instrumentations of OpenAI's client and LangChain: GenAI's attributes, content as LangChain has it.

Of a stream that may ask for tools the client's span holds no text but the pieces of arguments, run together.
"""

from __future__ import annotations

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import LANGTRACE
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._values import first_int, first_text, mapping_of
from spanwise.model.content import LLMFields, Memo, Message, Messages, ToolDefinition
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_MODEL_METHODS = ("BaseChatModel.invoke", "BaseChatModel.ainvoke")
_OUTPUTS = "langchain.outputs"
_TOOLS = "gen_ai.request.tools"


def kind(span: RawSpan) -> Kind | None:
    """A chat model's outermost method, and a call of the Responses API, whose operation is the name of the method."""
    if span.name in _MODEL_METHODS:
        return "llm"
    operation = span.attributes.get("gen_ai.operation.name")
    return "llm" if isinstance(operation, str) and (operation == "chat" or "responses" in operation) else None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens, as GenAI's but for the cache and for the model that answered LangChain."""
    used = _genai.llm(span, memo)
    used.cache_read_tokens = first_int(span.attributes, "gen_ai.usage.cached_tokens")
    answered = mapping_of(memo.json(span.attributes.get(_OUTPUTS))) or {}
    used.model = first_text(mapping_of(answered.get("response_metadata")) or {}, "model_name") or used.model
    return used


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered."""
    given = items(memo.json(span.attributes.get("langchain.inputs")))
    if not given:
        return Messages(_genai.messages(span, memo).input, output(span, memo))
    return Messages(messages_of(given[0], memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered."""
    if _OUTPUTS not in span.attributes:
        return _genai.messages(span, memo).output
    answered = mapping_of(memo.json(span.attributes[_OUTPUTS]))
    return None if answered is None else messages_of([answered], memo)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that a model was offered: JSON text, also as the only item of a list."""
    held = mapping_of(memo.json(span.attributes.get("langchain.metadata")))
    recorded = memo.json(span.attributes.get(_TOOLS)) if held is None else held.get("tools")
    listed = items(recorded)
    return definitions_of(listed[0] if listed and isinstance(listed[0], str) else recorded, memo)


CONVENTION = Convention(
    name="langtrace",
    title="Langtrace",
    scopes=(LANGTRACE, "langtrace_python_sdk.instrumentation.langchain_core.instrumentation"),
    kind=kind,
    llm=llm,
    messages=messages,
    output=output,
    definitions=definitions,
    content_switch=(
        "Of streams with tools, and of calls that ask for tools in the Responses API, Langtrace records no answers: "
        "instrument the client with another library."
    ),
)
