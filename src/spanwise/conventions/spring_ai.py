"""Spring AI's observations, as Micrometer exports them: GenAI names with values of their own, and `spring.ai.*`.

Every value is text, and `none` stands for no value. Prompts and completions go to the log; what an app's own filter
writes into `gen_ai.prompt` and `gen_ai.completion` is a list of texts that is joined without escaping. A tool that
raises leaves no failed span: the exception's message is its result, bare text, where a value returned is JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {"chat_client": "workflow", "tool_call": "tool", "advisor": "other"}
_OPERATIONS: Mapping[str, Kind] = {"embedding": "embedding", "image": "other", "framework": "other"}
_NONE = "none"
_OFFERED = "spring.ai.model.request.tool.names"


def kind(span: RawSpan) -> Kind | None:
    """What Spring's own kind says, else the operation; only a query of a vector store retrieves anything."""
    get = span.attributes.get
    found = get("spring.ai.kind")
    if found == "vector_store":
        return "retrieval" if get("db.operation.name") == "query" else "setup"
    if isinstance(found, str):
        return _KINDS.get(found, "other")
    operation = get("gen_ai.operation.name")
    return (_OPERATIONS.get(operation) if isinstance(operation, str) else None) or _genai.kind(span)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool call; a result that is no JSON is no value that a tool returned."""
    get = span.attributes.get
    given = get("spring.ai.tool.call.result")
    result = memo.json(given) if isinstance(given, str) else given
    bare = isinstance(given, str) and result == given
    return ToolFields(
        first_text(span.attributes, "spring.ai.tool.definition.name"),
        get("spring.ai.tool.call.arguments"),
        result if isinstance(result, str) else given,
        first_text(span.attributes, "spring.ai.tool.call.id"),
        message=given if bare and isinstance(given, str) else "",
        uncertain=given is None or bare,
        bare=bare,
    )


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens; a stream without usage is counted as nothing sent and nothing answered."""
    if "spring.ai.kind" in span.attributes:
        return LLMFields()
    said = _genai.llm(span, memo)
    said.whole = True
    if said.model == _NONE:
        asked = text_of(span.attributes.get("gen_ai.request.model"))
        said.model = None if asked == _NONE else asked
    if not said.input_tokens and not said.output_tokens:
        said.input_tokens = said.output_tokens = None
    return said


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What was asked last, and the answer; the texts of a prompt do not say whose they are."""
    texts = _texts(span.attributes.get("gen_ai.prompt"), memo)
    last = next((text for text in reversed(texts or ()) if text), None)
    sent = None if last is None else (Message("user", (Part("text", last),)),)
    return Messages(sent, output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What the model answered in words; its requests for tools are not among them."""
    texts = [text for text in _texts(span.attributes.get("gen_ai.completion"), memo) or () if text]
    return (Message("assistant", tuple(Part("text", text) for text in texts)),) if texts else None


def _texts(value: object, memo: Memo) -> Sequence[str] | None:
    """The texts of a list whose quotes and line breaks are not escaped; `null` is what has none."""
    listed = items(memo.json(value))
    if listed is not None:
        found = [text_of(one) or "" for one in listed]
    elif isinstance(value, str) and value[:2] == '["' and value[-2:] == '"]':
        found = value[2:-2].split('", "')
    else:
        return None
    return ["" if text == "null" else text for text in found]


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """A client has no name; what was asked and answered stands on the model's spans, if anywhere."""
    return AgentFields()


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """What was looked for in a vector store; what was found goes to the log."""
    return RetrievalFields(first_text(span.attributes, "db.vector.query.content"))


_NAME = re.compile(r'"([^"]+)"')


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The names of the tools that a model was offered; the one that ran is told in full."""
    get = span.attributes.get
    name = text_of(get("spring.ai.tool.definition.name"))
    if name is not None:
        described = text_of(get("spring.ai.tool.definition.description")) or ""
        schema = mapping_of(memo.json(get("spring.ai.tool.definition.schema")))
        return (ToolDefinition(name, described, schema),)
    offered = get(_OFFERED)
    names = _NAME.findall(offered) if isinstance(offered, str) else items(offered)
    return None if names is None else tuple(ToolDefinition(one) for one in names if isinstance(one, str))


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The conversation that an app's memory goes by."""
    return ContextFields(first_text(span.attributes, "spring.ai.chat.client.conversation.id"))


CONVENTION = Convention(
    name="spring_ai",
    title="Spring AI",
    scopes=("org.springframework.boot",),
    keys=("spring.ai.kind", _OFFERED),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    retrieval=retrieval,
    definitions=definitions,
    context=context,
    sums=True,
    content_switch=(
        "Set spring.ai.tools.observations.include-content=true for what tools are given and return. Prompts, answers "
        "and documents go to the log only: an ObservationFilter of the app may write `gen_ai.prompt` and "
        "`gen_ai.completion`."
    ),
)
