"""Genkit's own spans, in JavaScript, Go and Python: `genkit:*` attributes, content as JSON text.

An action's subtype says what ran. What an app calls to have a model use tools is the utility `generate`, which calls
itself once more for each turn. A call's id stands in the messages only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of, items
from spanwise.conventions._payloads import answered, asked
from spanwise.conventions._values import first_int, first_number, first_text, mapping_of, text_of
from spanwise.model.content import (
    AgentFields,
    Document,
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

_SUBTYPE = "genkit:metadata:subtype"
_KINDS: Mapping[str, Kind] = {
    "flow": "workflow",
    "flowStep": "workflow",
    "agent": "agent",
    "model": "llm",
    "background-model": "llm",
    "tool": "tool",
    "tool.v2": "tool",
    "retriever": "retrieval",
    "embedder": "embedding",
    "reranker": "rerank",
    "evaluator": "evaluation",
}


def kind(span: RawSpan) -> Kind | None:
    """What the action's subtype or the span's type says."""
    get = span.attributes.get
    found = get(_SUBTYPE, get("genkit:type"))
    if found == "util":
        return "workflow" if get("genkit:name") == "generate" else "other"
    return _KINDS.get(found, "other") if isinstance(found, str) else "other"


def _given(span: RawSpan, memo: Memo) -> object:
    return memo.json(span.attributes.get("genkit:input"))


def _got(span: RawSpan, memo: Memo) -> object:
    return memo.json(span.attributes.get("genkit:output"))


_PARTS = frozenset({"output", "content", "metadata"})
"""What a tool of the second kind returns, of which the first is its value: every tool in Go is one."""


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a tool."""
    get = span.attributes.get
    returned = get("genkit:output")
    parts = mapping_of(memo.json(returned)) if get(_SUBTYPE) == "tool.v2" else None
    if parts is not None and "output" in parts and _PARTS.issuperset(parts):
        returned = "null" if parts["output"] is None else parts["output"]
    return ToolFields(text_of(get("genkit:name")), get("genkit:input"), returned)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens; what the provider said of its model stands in the raw response."""
    if _KINDS.get(str(span.attributes.get(_SUBTYPE))) != "llm":
        return LLMFields()  # a turn's usage is that of its last model call
    got = mapping_of(_got(span, memo)) or {}
    used = mapping_of(got.get("usage")) or {}
    raw = mapping_of(got.get("raw")) or {}
    name = text_of(span.attributes.get("genkit:name")) or ""
    openai = mapping_of(raw.get("usage")) or {}  # its plugin passes on no more than the sums
    cached, thought = (mapping_of(openai.get(f"{side}_tokens_details")) or {} for side in ("prompt", "completion"))
    sent, written = first_int(used, "inputTokens"), first_int(used, "outputTokens")
    thoughts = first_int(used, "thoughtsTokens") or 0
    if sent is not None and written is not None and sent + written + thoughts == first_int(used, "totalTokens"):
        written += thoughts  # Google's API counts what its models think beside what they say
    return LLMFields(
        first_text(raw, "model", "modelVersion") or name.rpartition("/")[2] or None,
        name.partition("/")[0] if "/" in name else None,
        sent,
        written,
        first_int({**cached, **used}, "cachedContentTokens", "cached_tokens"),
        None,
        first_int({**thought, **used}, "thoughtsTokens", "reasoning_tokens"),
    )


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered."""
    given = mapping_of(_given(span, memo)) or {}
    return Messages(_spoken(given.get("messages"), memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered."""
    got = mapping_of(_got(span, memo)) or {}
    said = got.get("message")
    if said is None:  # the older form
        candidates = items(got.get("candidates")) or ()
        said = (mapping_of(candidates[0]) or {}).get("message") if candidates else None
    return _spoken([said], memo) if said is not None else None


def _spoken(value: object, memo: Memo) -> tuple[Message, ...] | None:
    out: list[Message] = []
    for item in items(value) or ():
        fields = mapping_of(item) or {}
        role = text_of(fields.get("role")) or "model"
        parts = [_part(part) for content in items(fields.get("content")) or () if (part := mapping_of(content))]
        out.append(Message("assistant" if role == "model" else role, tuple(_joined(parts))))
    return tuple(out) or None


def _joined(parts: Sequence[Part]) -> list[Part]:
    """The parts, texts that follow each other as one: those of a stream stay apart in what it came to."""
    out: list[Part] = []
    for part in parts:
        if out and part.type == "text" == out[-1].type:
            out[-1] = Part("text", out[-1].text + part.text)
        else:
            out.append(part)
    return out


def _part(fields: Mapping[str, object]) -> Part:
    call, result = mapping_of(fields.get("toolRequest")), mapping_of(fields.get("toolResponse"))
    if call is not None:
        return Part("tool_call", id=text_of(call.get("ref")), name=text_of(call.get("name")), value=call.get("input"))
    if result is not None:
        got = result.get("output")
        return Part("tool_result", id=text_of(result.get("ref")), name=text_of(result.get("name")), value=got)
    if "reasoning" in fields:
        return Part("reasoning", text_of(fields["reasoning"]) or "")
    said = text_of(fields.get("text"))
    if said is None and mapping_of(fields.get("data")):  # the answer in a schema
        said = msgspec.json.encode(fields["data"]).decode()
    return Part("text", said) if said is not None else Part("other")


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Question and answer of a flow or of `generate`."""
    given, got = _given(span, memo), _got(span, memo)
    name = agent_name(span)
    if span.attributes.get("genkit:type") == "util":
        said = messages(span, memo)
        return AgentFields(name, _genai.first_user_text(said.input), _genai.last_answer_text(said.output))
    return AgentFields(name, asked(given, memo), answered(got, memo))


def agent_name(span: RawSpan) -> str | None:
    """The name of an agent; a flow's is no agent's."""
    get = span.attributes.get
    return text_of(get("genkit:name")) if _KINDS.get(str(get(_SUBTYPE))) == "agent" else None


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents of a retriever."""
    query = (mapping_of(_given(span, memo)) or {}).get("query")
    found = items((mapping_of(_got(span, memo)) or {}).get("documents"))
    asked_for = text_of(query) or _text_in(query)
    return RetrievalFields(asked_for, None if found is None else tuple(map(_document, found)))


def _text_in(document: object) -> str | None:
    parts = items((mapping_of(document) or {}).get("content")) or ()
    texts = [text for part in parts if (text := text_of((mapping_of(part) or {}).get("text")))]
    return "".join(texts) or None


def _document(value: object) -> Document:
    metadata = mapping_of((mapping_of(value) or {}).get("metadata")) or {}
    return Document(first_text(metadata, "id", "docId"), first_number(metadata, "score"), _text_in(value))


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that a model was offered."""
    if _KINDS.get(str(span.attributes.get(_SUBTYPE))) != "llm":
        return None
    return definitions_of((mapping_of(_given(span, memo)) or {}).get("tools"), memo)


CONVENTION = Convention(
    name="genkit",
    title="Genkit",
    scopes=("genkit-tracer",),
    keys=("genkit:type",),
    kind=kind,
    tool=tool,
    llm=llm,
    messages=messages,
    output=output,
    agent=agent,
    agent_name=agent_name,
    retrieval=retrieval,
    definitions=definitions,
)
