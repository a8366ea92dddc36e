"""AG2's own tracing: GenAI's attributes, and `ag2.span.type` for what GenAI has no operation for; and OpenInference's.

Before AG2 1.0 (`autogen.opentelemetry`) a chat is a conversation around one span for each reply of each participant.
Who has no model of his own there (the user's proxy, the executor of a group's tools, its manager) speaks for somebody
or runs tools, and is no agent. In AG2 1.0 (`TelemetryMiddleware`) an agent's span is the whole turn.
OpenInference records of a tool how the agent was told to run it, and how that went: a flag and a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import items
from spanwise.conventions._parts import STAFF
from spanwise.conventions._values import first_int, mapping_of, text_of
from spanwise.model.content import AgentFields, HandoffFields, LLMFields, Memo, Message, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_OPENINFERENCE = "openinference.span.kind"
_EXIT = "ag2.code_execution.exit_code"
_NO_NAME = "unknown"
_TRANSFERRED = "Transfer to "
_END = "TERMINATE"
_KINDS: Mapping[str, Kind] = {
    "llm": "llm",
    "tool": "tool",
    **dict.fromkeys(("conversation", "multi_conversation", "speaker_selection"), "workflow"),
}


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says; code counts as a tool where some was run."""
    attributes = span.attributes
    found = attributes.get("ag2.span.type")
    if not isinstance(found, str):
        told = attributes.get(_OPENINFERENCE)
        return "tool" if told == "TOOL" else "workflow" if told == "AGENT" and _is_staff(attributes) else None
    if found == "agent":
        return "workflow" if _has_no_model(attributes) else "agent"
    if found == "code_execution":
        return "tool" if _EXIT in attributes else "other"
    return _KINDS.get(found, "other")


def _is_staff(attributes: Mapping[str, object]) -> bool:
    """A chat is no agent, and not who only serves it; before 0.1.11 no agent's name was recorded."""
    name = attributes.get("agent.name")
    return "ag2.recipient.name" in attributes or not isinstance(name, str) or name in STAFF


def _has_no_model(attributes: Mapping[str, object]) -> bool:
    """Only the spans that record what an agent said record its model whenever it has one."""
    said = "gen_ai.output.messages" in attributes or "gen_ai.input.messages" in attributes
    return said and "gen_ai.request.model" not in attributes


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments and result of a tool, or what came of code."""
    attributes = span.attributes
    if _OPENINFERENCE in attributes:
        get = attributes.get
        fine, told = _told(span, memo)
        name, given = text_of(get("tool.name")), memo.json(get("tool_call.function.arguments"))
        return ToolFields(name, given, told, text_of(get("tool_call.id")), fine is False)
    said = _genai.tool(span, memo)
    if _EXIT in attributes:
        said.name, said.result = "execute_code", attributes.get("ag2.code_execution.output")
    said.failed = failed(span)
    return said


def _told(span: RawSpan, memo: Memo) -> tuple[object, object]:
    """Whether a tool of OpenInference's went well, and what it returned."""
    went = items(memo.json(span.attributes.get("output.value"))) or ()
    if len(went) != 2:
        return None, None
    return went[0], (mapping_of(went[1]) or {}).get("content")


def failed(span: RawSpan) -> bool:
    """Of a failed tool the type of the error is recorded, and no status."""
    return "error.type" in span.attributes


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens; models whose prices AG2 does not know are said to cost nothing."""
    used = _genai.llm(span, memo)
    used.cost_usd = used.cost_usd or None
    if used.reasoning_tokens is None:
        used.reasoning_tokens = first_int(span.attributes, "gen_ai.usage.thinking_tokens")
    used.whole = True
    return used


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer; those of a conversation stand in its history, as who began it has seen it."""
    if _OPENINFERENCE in span.attributes:  # what was said last, of old as JSON
        return AgentFields(answer=text_of(memo.json(span.attributes.get("output.value"))))
    if span.attributes.get("ag2.span.type") != "conversation":
        said = _genai.agent(span, memo)
        said.name = agent_name(span)
        return said
    found = _genai.messages(span, memo)
    return AgentFields(None, _genai.first_user_text(found.input), _answered(found.output or ()))


def _answered(history: Sequence[Message]) -> str | None:
    """What was said last to who began the conversation, without the word that ends it."""
    for message in reversed(history):
        if message.role == "tool" or any(part.type == "tool_call" for part in message.parts):
            return None
        text = message.text.replace(_END, "").strip()
        if text and message.role == "user":
            return text
    return None


def agent_name(span: RawSpan) -> str | None:
    """The agent's name, where the middleware was given one."""
    name = text_of(span.attributes.get("gen_ai.agent.name"))
    return None if name == _NO_NAME else name


def handoff(span: RawSpan, memo: Memo) -> HandoffFields | None:
    """To whom a tool passed the chat: the tool's name is made from the agent's, and numbered."""
    told = span.attributes.get("gen_ai.tool.call.result") or _told(span, memo)[1]
    if isinstance(told, str):
        return HandoffFields(None, told.removeprefix(_TRANSFERRED)) if told.startswith(_TRANSFERRED) else None
    target = text_of((mapping_of(told) or {}).get("agent_name"))
    return HandoffFields(None, target) if target else None


CONVENTION = Convention(
    name="ag2",
    title="AG2",
    scopes=(
        "opentelemetry.instrumentation.ag2",
        *(f"openinference.instrumentation.{name}" for name in ("ag2", "autogen")),
    ),
    kind=kind,
    tool=tool,
    llm=llm,
    agent=agent,
    agent_name=agent_name,
    handoff=handoff,
    failed=failed,
    output=_genai.output,
    requests=_genai.requests,
    answer_text=_genai.answer_text,
    plain_answers=_genai.ANSWERS,
    content_switch=(
        "Call instrument_llm_wrapper with capture_messages=True; of AG2 1.0, leave capture_content of its "
        "TelemetryMiddleware on."
    ),
)
