"""Azure AI Agents by the telemetry of `azure-ai-agents`: GenAI's attributes on requests of the API, content in events.

The service runs the agent. A run that was streamed tells in events what the model asked for, what it was given and how
many tokens each step took; of any other run no more is told than its tokens. What the user asked stands on the request
that sent the message, and what the agent answered on one that listed the messages of the thread, both beside the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._messages import message_of
from spanwise.conventions._values import first_int, first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, ModelCall
from spanwise.model.raw import RawEvent, RawSpan
from spanwise.model.span import Kind

_THREAD = "gen_ai.thread.id"
_SAID = ("gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
_REQUESTS = frozenset(
    {"create_message", "get_thread_run", "list_messages", "list_run_steps", "start_thread_run", "submit_tool_outputs"}
)
_OPEN = frozenset({"queued", "in_progress", "requires_action"})


def kind(span: RawSpan) -> Kind | None:
    """A run that was streamed, or whose end its request waited for; other requests are nobody's step."""
    get = span.attributes.get
    operation = get("gen_ai.operation.name")
    if operation == "process_thread_run":
        return "agent"
    if not isinstance(operation, str) or operation not in _REQUESTS:
        return None
    waited = operation == "start_thread_run" and str(get("gen_ai.thread.run.status", "queued")) not in _OPEN
    return "agent" if waited else "other"


def _spoken(span: RawSpan, memo: Memo) -> Iterable[tuple[RawEvent, Message]]:
    for event in span.events:
        fields = mapping_of(memo.json(event.attributes.get("gen_ai.event.content"))) if event.name in _SAID else None
        if fields is not None:
            yield event, _message(event, fields, memo)


def _message(event: RawEvent, fields: Mapping[str, object], memo: Memo) -> Message:
    """A message, its text out of the mapping by types of content; a result names its call with its own id."""
    role = event.name.split(".")[1]
    held = mapping_of(mapping_of(fields.get("content")) or {}) or {}
    text = text_of((mapping_of(held.get("text")) or {}).get("value"))
    told = fields if text is None else {**fields, "content": text}
    return message_of({"role": role, **told, "tool_call_id": fields.get("id")}, memo)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What a message that was sent asked, and what one that was listed, or the run itself, answered."""
    said = tuple(message for _, message in _spoken(span, memo))
    sent = span.attributes.get("gen_ai.operation.name") != "list_messages"  # which lists what earlier runs were asked
    return AgentFields(None, _genai.first_user_text(said) if sent else None, _genai.last_answer_text(said))


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What was said in a run that was streamed."""
    return Messages(None, tuple(message for _, message in _spoken(span, memo)) or None)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """The model, and the tokens of the whole run."""
    said = _genai.llm(span, memo)
    said.provider = None  # the API's name
    return said


def model_calls(span: RawSpan, memo: Memo) -> tuple[ModelCall, ...]:
    """Each step of a run that was streamed, by the event that told of its end."""
    model = first_text(span.attributes, "gen_ai.response.model")
    return tuple(
        ModelCall(
            LLMFields(
                model,
                None,
                first_int(event.attributes, "gen_ai.usage.input_tokens"),
                first_int(event.attributes, "gen_ai.usage.output_tokens"),
            ),
            event.time_ns,
        )
        for event, message in _spoken(span, memo)
        if message.role == "assistant"
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The thread is the session."""
    return ContextFields(first_text(span.attributes, _THREAD))


CONVENTION = Convention(
    name="azure_agents",
    title="Azure AI Agents",
    keys=(_THREAD,),
    kind=kind,
    llm=llm,
    model_calls=model_calls,
    messages=messages,
    agent=agent,
    context=context,
    content_switch="Set AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true.",
)
