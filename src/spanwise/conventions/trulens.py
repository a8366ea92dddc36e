"""TruLens: `ai.observability.*`, written by decorators around an app's functions and by its wrappers of LangGraph.

A span's type says what its function stands for, and what it was called with is recorded by the parameters' names.
LangGraph's node of tools is a tool's span of its own: the call stands in the input, and its result in printed messages.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._fields import below
from spanwise.conventions._messages import items
from spanwise.conventions._openinference_tools import Outcome, outcome
from spanwise.conventions._payloads import asked
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, Document, LLMFields, Memo, RetrievalFields, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_OWN = "ai.observability."
_RETURN = f"{_OWN}call.return"
_KWARGS = f"{_OWN}call.kwargs."
_PRINTED = "ToolMessage("
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("record_root", "nested_record_root", "graph_task", "graph_node", "workflow_step"), "workflow"),
    "agent": "agent",
    "generation": "llm",
    **dict.fromkeys(("tool", "mcp"), "tool"),
    "retrieval": "retrieval",
    **dict.fromkeys(("reranking", "reranker"), "rerank"),
    "guardrail": "guardrail",
    **dict.fromkeys(("eval_root", "eval", "eval_decision"), "evaluation"),
}


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says, which is written as Python prints it or as its value."""
    found = span.attributes.get(f"{_OWN}span_type")
    return _KINDS.get(found.removeprefix("SpanType.").lower(), "other") if isinstance(found, str) else None


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a decorated function, or of the one call that a node of LangGraph was given."""
    calls = _node_calls(span, memo)
    if calls:
        got = _printed(span, memo)
        call = calls[0]
        return ToolFields(text_of(call.get("name")), call.get("args"), got.value, text_of(call.get("id")), got.failed)
    get = span.attributes.get
    name = first_text(span.attributes, f"{_OWN}mcp.tool_name", "gen_ai.tool.name") or span.name
    given = {key.removeprefix(_KWARGS): get(key) for key in below(span.attributes, _KWARGS)}
    return ToolFields(name.rpartition(".")[2], given or None, get(_RETURN))


def several(span: RawSpan, memo: Memo) -> tuple[ToolFields, ...] | None:
    """The calls of a node that was given more than one: of their results no more is known than how they are printed."""
    calls = _node_calls(span, memo)
    if len(calls) < 2:
        return None
    return tuple(ToolFields(text_of(one.get("name")), one.get("args"), None, text_of(one.get("id"))) for one in calls)


def _node_calls(span: RawSpan, memo: Memo) -> list[Mapping[str, object]]:
    listed = items(memo.json(span.attributes.get(f"{_KWARGS}input"))) or ()
    return [one for one in map(mapping_of, listed) if one is not None and "args" in one and "name" in one]


def _printed(span: RawSpan, memo: Memo) -> Outcome:
    """What the printed message of a tool says."""
    told = span.attributes.get(_RETURN)
    at = told.find(_PRINTED) if isinstance(told, str) else -1
    return outcome(told[at:], memo) if isinstance(told, str) and at >= 0 else Outcome(told)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens, in TruLens's own words where it has no others."""
    used, attributes = _genai.llm(span, memo), span.attributes
    used.model = used.model or first_text(attributes, f"{_OWN}cost.model")
    if used.input_tokens is None:
        used.input_tokens = first_int(attributes, f"{_OWN}cost.num_prompt_tokens")
    if used.output_tokens is None:
        used.output_tokens = first_int(attributes, f"{_OWN}cost.num_completion_tokens")
    return used


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Question and answer of a record, the name of an agent; that of an app is no agent's."""
    get = span.attributes.get
    given = get(f"{_OWN}record_root.input")
    if isinstance(given, str) and given[:1] == "{":  # a message, as Python prints it
        given = first_text(mapping_of(read_repr(given)) or {}, "content") or given
    answer = text_of(get(f"{_OWN}record_root.output"))
    name = text_of(get(f"{_OWN}workflow.agent_name"))
    return AgentFields(name, None if given is None else asked(given, memo), answer)


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and documents, which are texts alone."""
    get = span.attributes.get
    found = items(memo.json(get(f"{_OWN}retrieval.retrieved_contexts")))
    texts = None if found is None else tuple(Document(None, None, one) for one in found if isinstance(one, str))
    return RetrievalFields(text_of(get(f"{_OWN}retrieval.query_text")), texts)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The conversation as the session."""
    return ContextFields(first_text(span.attributes, f"{_OWN}conversation_id"))


CONVENTION = Convention(
    name="trulens",
    title="TruLens",
    scopes=("trulens",),
    kind=kind,
    tool=tool,
    several=several,
    llm=llm,
    agent=agent,
    retrieval=retrieval,
    context=context,
    content_switch="Decorate with `attributes=` what TruLens does not record by itself.",
)
