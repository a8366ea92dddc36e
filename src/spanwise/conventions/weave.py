"""Weave's spans of the OpenAI Agents SDK: GenAI's attributes, and `weave.openai_agents.*` for what those have no word.

The run, its turns and hand-offs have no operation. Where the app names no group of traces, the id of the SDK's trace
stands in the place of a conversation's.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import definitions_of
from spanwise.conventions._values import first_text
from spanwise.model.content import ContextFields, HandoffFields, Memo, ToolDefinition
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_OWN = "weave.openai_agents."
_KINDS: Mapping[str, Kind] = {
    f"{_OWN}task.workflow_name": "workflow",
    f"{_OWN}turn.agent_name": "workflow",
    f"{_OWN}handoff.to_agent": "handoff",
    f"{_OWN}guardrail.name": "guardrail",
}


def kind(span: RawSpan) -> Kind | None:
    """The operation, else what the span's own attributes are about."""
    told = next((key for key in _KINDS if key in span.attributes), "")
    return _genai.kind(span) or _KINDS.get(told) or "other"


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """From which agent to which."""
    attributes = span.attributes
    target = first_text(attributes, f"{_OWN}handoff.to_agent")
    return HandoffFields(first_text(attributes, f"{_OWN}handoff.from_agent"), target) if target else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The names of an agent's tools, those that pass control not among them."""
    return definitions_of(span.attributes.get(f"{_OWN}agent.tools"), memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The group of traces as the session; the trace alone is none."""
    session = first_text(span.attributes, "gen_ai.conversation.id")
    return ContextFields("" if session == span.attributes.get(f"{_OWN}trace_id") else session)


CONVENTION = Convention(
    name="weave",
    title="W&B Weave (OpenAI Agents)",
    scopes=("weave.openai_agents",),
    kind=kind,
    output=_genai.output,
    requests=_genai.requests,
    answer_text=_genai.answer_text,
    plain_answers=_genai.ANSWERS,
    agent_name=_genai.agent_name,
    handoff=handoff,
    definitions=definitions,
    context=context,
)
