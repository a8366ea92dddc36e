"""Microsoft's Agent Framework, by its own spans: the GenAI conventions, and workflow spans of its own.

Content needs no special reading: `_genai` finds it in attributes, or in one log event per message. What is special are
the names: a workflow's run is no GenAI operation, its executors, edges and messages are plumbing, and a call that a
handed-over agent makes is marked with an id of "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.model.content import ContextFields, Memo, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_NAMES: Mapping[str, Kind] = {"workflow.run": "workflow", "workflow.build": "setup"}
_RESPONSES = ("resp_", "caresp_")
"""How ids of responses begin: of OpenAI's API, and of agents in Azure."""
_PLUMBING = ("executor.process", "edge_group.process", "message.send")


def kind(span: RawSpan) -> Kind | None:
    """What the operation says; a workflow's run and its building by name, its inner traffic is nobody's step."""
    found = _genai.kind(span)
    if found is not None:
        return found
    name = span.name
    return _NAMES.get(name.partition(" ")[0]) or ("other" if name.startswith(_PLUMBING) else None)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """What the GenAI attributes say; a tool that takes nothing is recorded as called with `None`."""
    said = _genai.tool(span, memo)
    if said.arguments == "None":
        said.arguments = {}
    return said


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """Session and user; where the service keeps the conversation, its id is that of the latest response."""
    said = _genai.context(span, memo)
    if said.session_id is not None and said.session_id.startswith(_RESPONSES):
        said.session_id = ""
    return said


CONVENTION = Convention(
    name="agent_framework",
    title="Microsoft Agent Framework",
    scopes=("agent_framework",),
    kind=kind,
    tool=tool,
    output=_genai.output,
    requests=_genai.requests,
    context=context,
    content_switch="Set ENABLE_SENSITIVE_DATA=true.",
)
