"""OpenInference (Arize): the attributes of `openinference-instrumentation-*` for some thirty frameworks and clients.

A span names its kind in `openinference.span.kind`; names, messages, documents and token counts have attributes of their
own, and content that has none stands in `input.value` and `output.value`. The instrumentations differ in what they put
there, and some call a span what it is not; both is set right here.
"""

from __future__ import annotations

import msgspec

from spanwise.conventions import _openinference_crewai as crewai
from spanwise.conventions._convention import Convention
from spanwise.conventions._crewai import total
from spanwise.conventions._fields import lowered, reader, text
from spanwise.conventions._langgraph import is_paused, passed
from spanwise.conventions._messages import items
from spanwise.conventions._openinference_definitions import definitions
from spanwise.conventions._openinference_envelopes import held_messages, recorded
from spanwise.conventions._openinference_kinds import (
    AUTOMATIC,
    FIRST_DOCUMENT,
    HANDOFF,
    INVOKER,
    PLAIN_KINDS,
    is_handoff,
    kind,
)
from spanwise.conventions._openinference_messages import GOOGLE_GENAI, HAYSTACK, LANGCHAIN, LANGCHAIN_JS, record
from spanwise.conventions._openinference_plain import (
    ANSWERED,
    ANSWERS,
    ASKED,
    BEEAI,
    CALL_IDS,
    MODELS,
    PROVIDERS,
    TOOL_CLASSES,
    TOOLS,
    USED,
    not_found,
    put_right,
)
from spanwise.conventions._openinference_requests import call_ids, requests, told
from spanwise.conventions._openinference_retrieval import retrieval
from spanwise.conventions._openinference_runs import agent, agent_name
from spanwise.conventions._openinference_streams import messages, output
from spanwise.conventions._openinference_tools import given, outcome
from spanwise.conventions._payloads import invoked
from spanwise.conventions._smolagents import broke_off
from spanwise.conventions._values import first_number, first_text, mapping_of, text_of
from spanwise.model.content import ContextFields, HandoffFields, LLMFields, Memo, ToolFields, is_blank
from spanwise.model.raw import Attributes, RawSpan

AGNO = "openinference.instrumentation.agno"
TOOL_METHODS = (".__call__", ".acall", ".call", ".run", ".arun", ".invoke", ".ainvoke", ".forward")
CONTROL_FLOW = ("ParentCommand", "GraphInterrupt", "GraphBubbleUp", "NodeInterrupt")


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a tool span."""
    if span.name.endswith(crewai.USE):
        return crewai.tool(span, memo)
    attributes = span.attributes
    asked = given(attributes, memo, beeai=span.scope.name == BEEAI)
    got = outcome(attributes.get("output.value"), memo)
    name = _tool_name(span)
    failed = got.failed or _raised(span) or not_found(name, got.value)
    call_id = first_text(attributes, *CALL_IDS) or got.call_id or asked.call_id
    message = got.value if failed and isinstance(got.value, str) else ""
    # LangChain says in its message around the result that the tool failed; where that was cut, nobody knows.
    cut = (
        span.scope.name in LANGCHAIN
        and got.value not in (None, "null")
        and recorded(attributes, "output", memo) is None
    )
    untold = got.value == "None" and span.scope.name == AGNO  # as before Agno 2 of tools that raised, too
    return ToolFields(
        name,
        asked.value,
        None if untold else got.value,
        call_id,
        failed,
        message=message,
        uncertain=cut or untold or got.uncertain or broke_off(span),
        paused=bool(span.events) and is_paused(span),
        control=got.control,
    )


def several(span: RawSpan, memo: Memo) -> tuple[ToolFields, ...] | None:
    """The calls of Haystack's tool invoker, which stand in its input and output as printed messages."""
    if span.scope.name != HAYSTACK or not span.name.startswith(INVOKER):
        return None
    get = span.attributes.get
    return invoked(held_messages(get("input.value"), memo), held_messages(get("output.value"), memo))


def _raised(span: RawSpan) -> bool:
    """The tool ended by an exception that its status hides; those by which LangGraph passes control are no failure."""
    if "output.value" in span.attributes:
        return False
    raised = [text_of(event.attributes.get("exception.type")) for event in span.events if event.name == "exception"]
    return any(kind is not None and not kind.endswith(CONTROL_FLOW) for kind in raised)


def _tool_name(span: RawSpan) -> str | None:
    """The tool's own name; where there is none the span's without the method that was wrapped, but no class's."""
    attributes = span.attributes
    found = text_of(attributes.get("tool.name"))
    if found is None and "gen_ai.tool.name" not in attributes:
        found = next((span.name[: -len(end)] for end in TOOL_METHODS if span.name.endswith(end)), span.name)
    return None if found in TOOL_CLASSES else found


class _Model(msgspec.Struct, gc=False):
    name: str | None = None


_llm = reader(LLMFields, text(ANSWERED), lowered(*PROVIDERS), *USED)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model, provider, tokens and recorded cost; of an agent or a crew the totals."""
    attributes = span.attributes
    fields = _llm(attributes)
    if fields.model is None and "gen_ai.response.model" not in attributes:
        fields.model = _model(attributes, memo)
    if fields.provider is not None and "gen_ai.provider.name" in attributes:
        fields.provider = None
    if fields.cost_usd is None and "llm.cost.prompt" in attributes:
        fields.cost_usd = _cost(attributes)
    if AUTOMATIC in attributes and span.scope.name == GOOGLE_GENAI:  # the usage of the last call only
        return LLMFields(fields.model, fields.provider, whole=True)
    if fields.input_tokens is None and "crew_id" in attributes:
        fields = _crew_usage(attributes, memo) or fields
    if span.scope.name == LANGCHAIN_JS:
        put_right(fields, attributes)
    cached = (fields.cache_read_tokens or 0) + (fields.cache_write_tokens or 0)
    if fields.input_tokens is not None and cached > fields.input_tokens:  # a client that counts cached tokens apart
        fields.input_tokens += cached
    return fields


_named = reader(_Model, text(*ASKED))


def _model(attributes: Attributes, memo: Memo) -> str | None:
    """The model that was asked for."""
    found = _named(attributes).name
    if found is None and "gen_ai.request.model" not in attributes:
        parameters = mapping_of(memo.json(attributes.get("llm.invocation_parameters")))
        found = first_text(parameters, "model", "model_name", "model_id") if parameters is not None else None
    return found


def _cost(attributes: Attributes) -> float | None:
    prompt, completion = first_number(attributes, "llm.cost.prompt"), first_number(attributes, "llm.cost.completion")
    return prompt + completion if prompt is not None and completion is not None else None


def _crew_usage(attributes: Attributes, memo: Memo) -> LLMFields | None:
    """CrewAI counts tokens for the crew as a whole, in its result."""
    result = mapping_of(memo.json(attributes.get("output.value"))) or {}
    usage = mapping_of(result.get("token_usage"))
    return total(usage, result.get("tasks_output"), memo.json(attributes.get("crew_agents"))) if usage else None


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """Source and target of an OpenAI agent's hand-off: the span's input and output, its name at the least."""
    get = span.attributes.get
    if not is_handoff(span):
        return passed(mapping_of(memo.json(get("metadata"))) or {}) if "tool.name" in span.attributes else None
    source, target = (None if is_blank(get(key)) else memo.json(get(key)) for key in ("input.value", "output.value"))
    fields = {**(mapping_of(source) or {"from_agent": source}), **(mapping_of(target) or {"to_agent": target})}
    return HandoffFields(
        text_of(fields.get("from_agent")), text_of(fields.get("to_agent")) or span.name.removeprefix(HANDOFF) or None
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session, user, tags and metadata; LangChain's callers put ids into the metadata."""
    attributes = span.attributes
    metadata = mapping_of(memo.json(attributes.get("metadata")))
    tags = memo.json(attributes.get("tag.tags"))
    found = ContextFields(
        first_text(attributes, "session.id"),
        first_text(attributes, "user.id"),
        None,
        tuple(tag for tag in items(tags) or (tags,) if isinstance(tag, str) and tag),
        metadata,
    )
    if found.user_id == "unknown" and span.scope.name == "guardrails-ai":
        found.user_id = ""  # Guardrails AI's word for nobody
    if metadata is not None:
        found.session_id = found.session_id or first_text(metadata, "session_id", "conversation_id", "thread_id")
        found.user_id = found.user_id or first_text(metadata, "user_id")
        found.request_id = first_text(metadata, "request_id")
    return found


CONVENTION = Convention(
    name="openinference",
    title="OpenInference",
    keys=("openinference.span.kind",),
    hints=("llm.model_name", "tool.name", "llm.input_messages.0.message.role", FIRST_DOCUMENT),
    kind=kind,
    plain_kinds=PLAIN_KINDS,
    tool=tool,
    plain_tools=TOOLS,
    several=several,
    llm=llm,
    plain_models=MODELS,
    messages=messages,
    output=output,
    told=told,
    record=record,
    requests=requests,
    call_ids=call_ids,
    plain_answers=ANSWERS,
    agent=agent,
    agent_name=agent_name,
    agent_name_tells_all=True,
    retrieval=retrieval,
    handoff=handoff,
    definitions=definitions,
    context=context,
    content_switch="Unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and their kin (OPENINFERENCE_HIDE_*).",
)
