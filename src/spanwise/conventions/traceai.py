"""Future AGI's traceAI: a fork of OpenInference that bears GenAI's names.

`gen_ai.span.kind` tells the kind; messages stand flattened in `gen_ai.input.messages.N` and `gen_ai.output.messages.N`.
A span is read as OpenInference's after its names are put back; model, tokens and names of tools are GenAI's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from spanwise.conventions import openinference
from spanwise.conventions._convention import Convention, Reader
from spanwise.conventions._fields import below
from spanwise.conventions._openinference_messages import OUTPUT
from spanwise.conventions._values import first_int
from spanwise.model.content import LLMFields, Memo
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

T = TypeVar("T")

_KIND = "gen_ai.span.kind"
_OWN = "traceai_"
_LANGCHAIN = "traceai_langchain"
"""Its flattened answers lack what the model asked for, which the recorded response holds."""
_NAMES: Mapping[str, str] = {
    _KIND: "openinference.span.kind",
    "gen_ai.tool.name": "tool.name",
    "gen_ai.tool.parameters": "tool.parameters",
    "gen_ai.agent.name": "agent.name",
    "gen_ai.request.model": "llm.model_name",
    "gen_ai.request.parameters": "llm.invocation_parameters",
}
_BEGINNINGS: Mapping[str, str] = {
    "gen_ai.input.messages.": "llm.input_messages.",
    "gen_ai.output.messages.": "llm.output_messages.",
    "gen_ai.tool.definitions.": "llm.tools.",
    "gen_ai.retrieval.documents.": "retrieval.documents.",
}


def as_openinference(span: RawSpan) -> RawSpan:
    """The span under the names from which it was forked, its scope's too: each instrumentation has its habits there."""
    attributes = {_former(key): value for key, value in span.attributes.items()}
    if span.scope.name == _LANGCHAIN and "output.value" in attributes:
        for key in [*below(attributes, OUTPUT)]:
            del attributes[key]
    name = f"openinference.instrumentation.{span.scope.name.removeprefix(_OWN)}"
    return replace(span, attributes=attributes, scope=replace(span.scope, name=name))


def _former(key: str) -> str:
    found = _NAMES.get(key)
    if found is not None:
        return found
    for own, former in _BEGINNINGS.items():
        if key.startswith(own):
            return former + key[len(own) :]
    return key


def kind(span: RawSpan) -> Kind | None:
    """The kind that the span says it is; others have the attribute beside GenAI's operation."""
    if not span.scope.name.startswith(_OWN) and "gen_ai.operation.name" in span.attributes:
        return None
    return openinference.kind(as_openinference(span))


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Cached tokens and thoughts, which have names of their own; what else a model call used has GenAI's."""
    return LLMFields(
        cache_read_tokens=first_int(span.attributes, "gen_ai.usage.input_tokens.cache_read"),
        cache_write_tokens=first_int(span.attributes, "gen_ai.usage.input_tokens.cache_write"),
        reasoning_tokens=first_int(span.attributes, "gen_ai.usage.output_tokens.reasoning"),
    )


def _of(read: Reader[T] | None) -> Reader[T] | None:
    """A reader of OpenInference's, given the span as it would have been there."""
    return None if read is None else lambda span, memo: read(as_openinference(span), memo)


def _alone(read: Callable[[RawSpan], T] | None) -> Callable[[RawSpan], T] | None:
    return None if read is None else lambda span: read(as_openinference(span))


_OI = openinference.CONVENTION
CONVENTION = Convention(
    name="traceai",
    title="traceAI",
    keys=(_KIND,),
    kind=kind,
    tool=_of(_OI.tool),
    several=_of(_OI.several),
    llm=llm,
    messages=_of(_OI.messages),
    output=_of(_OI.output),
    record=_of(_OI.record),
    requests=_of(_OI.requests),
    call_ids=_alone(_OI.call_ids),
    agent=_of(_OI.agent),
    agent_name=_alone(_OI.agent_name),
    agent_name_tells_all=True,
    retrieval=_of(_OI.retrieval),
    handoff=_of(_OI.handoff),
    definitions=_of(_OI.definitions),
    context=_of(_OI.context),
    content_switch="Unset FI_HIDE_INPUTS, FI_HIDE_OUTPUTS and their kin (FI_HIDE_*).",
)
