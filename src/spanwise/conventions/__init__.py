"""From raw spans to canonical ones: the table of dialects, and reading a field from the first dialect that has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from spanwise.conventions import _genai, _genai_scopes
from spanwise.conventions._convention import Convention, Reader, fill, kinds_of
from spanwise.conventions._genai import first_user_text as first_user_text
from spanwise.conventions._genai import last_answer_text as last_answer_text
from spanwise.conventions._genai_scopes import is_untold as is_untold
from spanwise.conventions._langchain import asked_in as asked_in
from spanwise.conventions._langchain import parsed as parsed
from spanwise.conventions._langfuse_javascript import leaves_requests_out
from spanwise.conventions._langgraph import hands_over
from spanwise.conventions._openinference_runs import typed_as as typed_as
from spanwise.conventions._stated import stated as stated
from spanwise.conventions._table import CONVENTIONS as CONVENTIONS
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ModelCall,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind, SpanError

T = TypeVar("T", bound=msgspec.Struct)

_BY_SCOPE: Mapping[str, tuple[int, ...]] = {
    scope: tuple(i for i, c in enumerate(CONVENTIONS) if scope in c.scopes)
    for convention in CONVENTIONS
    for scope in convention.scopes
}
SCOPES: Mapping[str, tuple[tuple[int, Callable[[RawSpan], Kind | None]], ...]] = {
    scope: tuple((index, CONVENTIONS[index].kind) for index in found) for scope, found in _BY_SCOPE.items()
}
"""By the name of a scope the dialects to be asked first, each with what says its kinds."""
_Marks: TypeAlias = tuple[tuple[str, int, Callable[[RawSpan], Kind | None]], ...]
_BY_KEY: _Marks = tuple((key, index, c.kind) for index, c in enumerate(CONVENTIONS) for key in c.keys)
_BY_HINT: _Marks = tuple((hint, index, c.kind) for index, c in enumerate(CONVENTIONS) for hint in c.hints)
_BY_MARK = (*_BY_KEY, *_BY_HINT)
MARKS = tuple(
    (key, index, kind, kinds_of(CONVENTIONS[index]) if (key,) == CONVENTIONS[index].keys[:1] else None)
    for key, index, kind in _BY_MARK
)
"""The attributes that tell a dialect, the surest first: its number, what says its kinds, and the kinds by the value."""
_PLACES: Mapping[str, tuple[int, ...]] = {
    key: tuple(place for place, mark in enumerate(_BY_MARK) if mark[0] == key) for key, _, _ in _BY_MARK
}
"""Where each of those attributes stands among them."""
_MARK_KEYS = frozenset(_PLACES)
_OTHERS = frozenset(key for key, index, _ in _BY_MARK if index < len(CONVENTIONS) - 1)
"""The attributes that tell another dialect than the generic one."""
_HINTS = frozenset(hint for hint, _, _ in _BY_HINT)
_KINDS = tuple(convention.kind for convention in CONVENTIONS)

# The reader of each dialect, the generic one where it has none of its own. UNKNOWN is an index too: that of the last.
_TOOL = tuple(c.tool or _genai.tool for c in CONVENTIONS)
_SEVERAL = tuple(c.several for c in CONVENTIONS)
_LLM = tuple(c.llm or _genai.llm for c in CONVENTIONS)
_MODEL_CALLS = tuple(c.model_calls for c in CONVENTIONS)
_MESSAGES = tuple(c.messages or _genai.messages for c in CONVENTIONS)
_AGENT = tuple(c.agent or _genai.agent for c in CONVENTIONS)
_RETRIEVAL = tuple(c.retrieval or _genai.retrieval for c in CONVENTIONS)
_FAILED = tuple(c.failed for c in CONVENTIONS)
_BORROWED = tuple(c.borrowed for c in CONVENTIONS)

_TELLING = frozenset(key for key, index, _ in _BY_MARK if CONVENTIONS[index].error not in (None, _genai.error))
_TELLING_SCOPES = frozenset(scope for c in CONVENTIONS if c.error is not None for scope in c.scopes)
"""The attributes and scopes of the dialects that say more of a failure than the generic one."""
SUMMING = frozenset(index for index, convention in enumerate(CONVENTIONS) if convention.sums)
HOLDING = frozenset(index for index, convention in enumerate(CONVENTIONS) if convention.model_calls is not None)
"""The dialects whose model calls count the tokens of those before them; those whose agents hold model calls."""
_LAST = len(CONVENTIONS) - 1
UNKNOWN = -1
"""The dialect of a span that no convention knows."""


def classify(span: RawSpan) -> tuple[int, Kind]:
    """The dialect that a span speaks, as an index into CONVENTIONS, and the kind of the span."""
    vendors = _BY_SCOPE.get(span.scope.name)
    if vendors is not None:
        for index in vendors:
            found = _KINDS[index](span)
            if found is not None:
                return index, found
    found = _marked(span, _BY_KEY)
    if found is None and not _HINTS.isdisjoint(span.attributes):
        found = _marked(span, _BY_HINT)
    return (UNKNOWN, "other") if found is None else found


def _marked(span: RawSpan, marks: _Marks) -> tuple[int, Kind] | None:
    """The dialect and the kind that the first of some attributes tells."""
    attributes = span.attributes
    for key, index, kind in marks:
        if key in attributes:
            found = kind(span)
            if found is not None:
                return index, found
    return None


def dialects(span: RawSpan) -> list[Convention]:
    """All conventions that a span speaks, most specific first; the generic one is always the last."""
    found = [CONVENTIONS[index] for index in _BY_SCOPE.get(span.scope.name, ())]
    there = _MARK_KEYS.intersection(span.attributes)
    for place in sorted([place for key in there for place in _PLACES[key]]):
        convention = CONVENTIONS[_BY_MARK[place][1]]
        if convention not in found:
            found.append(convention)
    if CONVENTIONS[-1] not in found:
        found.append(CONVENTIONS[-1])
    return found


def _filled(
    span: RawSpan, memo: Memo, fields: T, first: Reader[T] | None, pick: Callable[[Convention], Reader[T] | None]
) -> T:
    """The fields, what the first dialect left open read by the next ones."""
    if span.scope.name not in _BY_SCOPE and _OTHERS.isdisjoint(span.attributes) and first is pick(CONVENTIONS[_LAST]):
        return fields  # it speaks no other dialect
    for convention in dialects(span):
        reader = pick(convention)
        if reader is not None and reader is not first and not fill(fields, reader(span, memo)):
            break
    return fields


def tool(span: RawSpan, memo: Memo, dialect: int) -> ToolFields:
    """What a tool span says."""
    first = _TOOL[dialect]
    said = first(span, memo)
    whole = None not in (said.name, said.arguments, said.result, said.call_id)
    return said if whole or dialect == _LAST else _filled(span, memo, said, first, lambda c: c.tool)


def several(span: RawSpan, memo: Memo, dialect: int) -> tuple[ToolFields, ...] | None:
    """The calls of a tool span that runs several at once; None for a span that is one call."""
    return reader(span, memo) if (reader := _SEVERAL[dialect]) is not None else None


def llm(span: RawSpan, memo: Memo, dialect: int) -> LLMFields:
    """What a model span says of the model and its use."""
    first = _LLM[dialect]
    said = first(span, memo)
    whole = said.whole or (said.model is not None and said.input_tokens is not None and said.output_tokens is not None)
    return said if whole or dialect == _LAST else _filled(span, memo, said, first, lambda c: c.llm)


def model_calls(span: RawSpan, memo: Memo, dialect: int) -> tuple[ModelCall, ...]:
    """The model calls of an agent's span that have no spans of their own."""
    reader = _MODEL_CALLS[dialect]
    return reader(span, memo) if reader is not None else ()


def messages(span: RawSpan, memo: Memo, dialect: int) -> Messages:
    """The messages of a model or agent span."""
    first = _MESSAGES[dialect]
    return _filled(span, memo, first(span, memo), first, lambda c: c.messages)


def requests(span: RawSpan, memo: Memo, dialect: int) -> Sequence[Part] | None:
    """The tool calls that a model asked for on this span."""
    reader = CONVENTIONS[dialect].requests
    if reader is not None and (found := reader(span, memo)) is not None:
        return found
    got = output(span, memo, dialect)
    if got is None:
        return None
    asked = [part for message in got for part in message.parts if part.type == "tool_call"]
    return [part for part in asked if part.name] or (None if asked else [])  # without content names may be untold


def tells_requests(span: RawSpan, dialect: int) -> bool:
    """Whether a recorded answer without a request says that the model asked for nothing."""
    tells = CONVENTIONS[dialect].tells_requests
    return tells and not (_genai_scopes.leaves_requests_out(span) or leaves_requests_out(span))


def asked(span: RawSpan, memo: Memo, dialect: int) -> Part | None:
    """The tool call that a model asked for, where this span stands for no more than that."""
    reader = CONVENTIONS[dialect].asked
    return reader(span, memo) if reader is not None else None


def answer_text(span: RawSpan, dialect: int) -> str | None:
    """The text in which a model's requests for tools stand marked, if its dialect has such a text."""
    reader = CONVENTIONS[dialect].answer_text
    return reader(span) if reader is not None else None


def call_ids(span: RawSpan, dialect: int) -> Sequence[str] | None:
    """The ids of the calls that a model asked for, if its dialect tells them without decoding."""
    reader = CONVENTIONS[dialect].call_ids
    return reader(span) if reader is not None else None


def output(span: RawSpan, memo: Memo, dialect: int) -> tuple[Message, ...] | None:
    """What a model answered on this span, without reading what it was sent where the dialect can tell them apart."""
    reader = CONVENTIONS[dialect].output
    if reader is not None:
        found = reader(span, memo)
        if found is not None or dialect == _LAST:
            return found
    return messages(span, memo, dialect).output


def told(span: RawSpan, memo: Memo, dialect: int) -> tuple[Message, ...] | None:
    """The messages that a model was sent, with no more than the results in them; None where that is no easier."""
    return reader(span, memo) if (reader := CONVENTIONS[dialect].told) is not None else None


def record(span: RawSpan, memo: Memo, dialect: int) -> tuple[Message, ...] | None:
    """What an agent's span holds of what was said in its run."""
    reader = CONVENTIONS[dialect].record
    return reader(span, memo) if reader is not None else messages(span, memo, dialect).output


def agent(span: RawSpan, memo: Memo, dialect: int) -> AgentFields:
    """What an agent or workflow span says."""
    first = _AGENT[dialect]
    return _filled(span, memo, first(span, memo), first, lambda c: c.agent)


def agent_name(span: RawSpan, memo: Memo, dialect: int) -> str | None:
    """The name of the agent whose span this is."""
    convention = CONVENTIONS[dialect]
    found = convention.agent_name(span) if convention.agent_name is not None else None
    if found or not convention.agent_name_tells_all:
        return found or agent(span, memo, dialect).name
    others = (one.agent for one in dialects(span) if one.agent is not None and one is not convention)
    return next((name for read in others if (name := read(span, memo).name) is not None), None)


def retrieval(span: RawSpan, memo: Memo, dialect: int) -> RetrievalFields:
    """What a retrieval span says."""
    first = _RETRIEVAL[dialect]
    return _filled(span, memo, first(span, memo), first, lambda c: c.retrieval)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Whose request a span served: what the app itself said of it first, tags and metadata of all put together."""
    found = _filled(span, memo, ContextFields(), None, lambda c: c.context)
    # Empty: a dialect's word that another's id is none.
    found.session_id, found.user_id = found.session_id or None, found.user_id or None
    said = stated(span, memo)
    if said is None:
        return found
    session_id, user_id = said.session_id or found.session_id, said.user_id or found.user_id
    tags = tuple(dict.fromkeys((*said.tags, *found.tags)))
    metadata = {**(found.metadata or {}), **(said.metadata or {})} or None
    return ContextFields(session_id, user_id, said.request_id or found.request_id, tags, metadata)


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """The hand-off that a span stands for, from the first dialect that knows of one."""
    readers = (convention.handoff for convention in dialects(span))
    return next((found for read in readers if read and (found := read(span, memo))), None)


def definitions(span: RawSpan, memo: Memo, dialect: int) -> tuple[ToolDefinition, ...] | None:
    """The tools that a span says the model was offered."""
    if dialect == _LAST:
        return _genai.definitions(span, memo)
    first = CONVENTIONS[dialect].definitions if dialect >= 0 else None
    if first is not None and (found := first(span, memo)) is not None:
        return found
    readers = (convention.definitions for convention in dialects(span) if convention.definitions is not first)
    return next((found for read in readers if read and (found := read(span, memo)) is not None), None)


def failed(span: RawSpan, dialect: int) -> bool:
    """Whether the span's status, or what its dialect has in the place of one, marks a failure."""
    if span.status_code == STATUS_ERROR:
        borrowed = _BORROWED[dialect]
        return (borrowed is None or not borrowed(span)) and not hands_over(span)
    check = _FAILED[dialect]
    return check is not None and check(span)


def error(span: RawSpan) -> SpanError | None:
    """What a failed span says of its failure."""
    if span.scope.name not in _TELLING_SCOPES and _TELLING.isdisjoint(span.attributes):
        return _genai.error(span)  # no other dialect that it speaks knows more
    readers = (convention.error for convention in dialects(span))
    return next((found for read in readers if read and (found := read(span))), None)


def content_switch(span: RawSpan, *, some: bool) -> str:
    """The setting that would make the span's instrumentation record content, given whether some is recorded."""
    spoken = (c for c in dialects(span) if c is CONVENTIONS[-1] or c.kind(span) is not None)
    switches = ("" if some and c.records_all else c.content_switch for c in spoken if c.content_switch)
    return next(switches, "") if (own := _genai_scopes.content_switch(span, some=some)) is None else own
