"""AgentOps: decorated functions as `agentops.*` spans, model calls in OpenLLMetry's older style.

Each tool call that a model asks for leaves a span `tool_call.X` below the model's: the request, not the execution,
which has a span of its own where the tool's function is decorated.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions._convention import Convention
from spanwise.conventions._payloads import answered, asked, call_arguments
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, Memo, Part, ToolFields
from spanwise.model.raw import STATUS_ERROR, RawSpan
from spanwise.model.span import Kind

_KINDS: Mapping[str, Kind] = {
    "session": "workflow",
    "workflow": "workflow",
    "operation": "workflow",
    "task": "workflow",
    "chain": "workflow",
    "agent": "agent",
    "tool": "tool",
    "llm": "llm",
    "guardrail": "guardrail",
}
_REQUEST = "tool_call."
_FIELDS = ("agentops.entity.", "agentops.task.", "agentops.agent.", "agentops.operation.", "agentops.workflow.")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the span names; a model's request for a tool is no execution of it."""
    said = span.attributes.get("agentops.span.kind")
    if not isinstance(said, str):
        return None
    if span.name.startswith(_REQUEST):
        return "other"
    return _KINDS.get(said.removeprefix("AgentOpsSpanKindValues.").lower(), "other")


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """A decorated tool: the call of its function, and what it returned."""
    attributes = span.attributes
    given = attributes.get("agentops.tool.input", attributes.get("agentops.entity.input"))
    return ToolFields(
        first_text(attributes, "tool.name", "operation.name") or span.name.removesuffix(".tool") or None,
        attributes.get("tool.parameters") if given is None else call_arguments(_called(given, memo), memo),
        attributes.get("agentops.tool.output", attributes.get("agentops.entity.output", attributes.get("tool.result"))),
    )


def requested(span: RawSpan, memo: Memo) -> Part | None:
    """A model's request for a tool, with the id of the call."""
    attributes = span.attributes
    name = first_text(attributes, "tool.name") or span.name.removeprefix(_REQUEST)
    if not name or not span.name.startswith(_REQUEST):
        return None
    call_id = first_text(attributes, "tool.call.id")
    return Part("tool_call", id=call_id, name=name, value=memo.json(attributes.get("tool.parameters")))


def _called(given: object, memo: Memo) -> object:
    """The recorded call, without what AgentOps may put beside arguments and keywords."""
    fields = mapping_of(memo.json(given))
    if fields is None or not {"args", "kwargs"} <= fields.keys():
        return given
    return {"args": fields["args"], "kwargs": fields["kwargs"]}


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What the function was asked and returned; an agent by its name."""
    attributes = span.attributes
    name = text_of(attributes.get("operation.name")) if kind(span) == "agent" else None
    given = next((held for key in _FIELDS if (held := attributes.get(f"{key}input")) is not None), None)
    returned = next((held for key in _FIELDS if (held := attributes.get(f"{key}output")) is not None), None)
    return AgentFields(
        name or text_of(attributes.get("agent.name")),
        None if given is None else asked(given, memo),
        None if returned is None or span.status_code == STATUS_ERROR else answered(returned, memo),
    )


CONVENTION = Convention(
    name="agentops",
    title="AgentOps",
    hints=("agentops.span.kind",),
    kind=kind,
    tool=tool,
    asked=requested,
    agent=agent,
    content_switch="Leave TRACELOOP_TRACE_CONTENT unset, which AgentOps's instrumentations read.",
)
