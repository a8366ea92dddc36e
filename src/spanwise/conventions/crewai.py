"""CrewAI's own tracing: GenAI's attributes, and `crewai.*` beside them that say which event a span stands for.

The attributes of the event that ended a span overwrite those of the one that began it, so an event's name tells what
the span is by its beginning. An agent's `gen_ai.agent.name` is a hash, its role the name; `gen_ai.conversation.id` is
the id of a task or a kickoff, no session of the app.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._crewai import FAILED
from spanwise.conventions._payloads import documents
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_text, text_of
from spanwise.model.content import AgentFields, ContextFields, Memo, Message, Messages, Part, RetrievalFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_EVENT = "crewai.event_name"
_KINDS: Mapping[str, Kind] = {
    "tool_failure_detected": "other",
    "method_execution": "workflow",
    "agent_reasoning": "workflow",
    "knowledge_retrieval": "retrieval",
    "knowledge_search_query": "retrieval",
    "memory_query": "retrieval",
    "llm_guardrail": "guardrail",
    "mcp_connection": "setup",
}
"""What GenAI has no operation for, and a failing tool's second span, by how the event's name begins."""
_NOTHING = frozenset({"null", "{}", "None"})


def kind(span: RawSpan) -> Kind | None:
    """What the event says that the span stands for, else the operation."""
    event = span.attributes.get(_EVENT)
    if not isinstance(event, str):
        return None
    for begin, found in _KINDS.items():
        if event.startswith(begin):
            return found
    return _genai.kind(span) or "other"


def messages(span: RawSpan, memo: Memo) -> Messages:
    """GenAI's messages; in what was sent, results are texts without the ids of their calls, and calls are in quotes."""
    said = _genai.messages(span, memo)
    if said.input is None:
        return said
    sent: list[Message] = []
    waiting: deque[Part] = deque()
    for message in said.input:
        if message.role == "tool":
            call = waiting.popleft() if waiting else Part("tool_call")
            parts = tuple(_result(part, call) for part in message.parts)
        else:
            parts = tuple(map(_unquoted, message.parts))
            waiting = deque(part for part in parts if part.type == "tool_call")
        sent.append(Message(message.role, parts))
    return Messages(tuple(sent), said.output)


def _result(part: Part, call: Part) -> Part:
    """What a call returned: CrewAI sends one message for each call, in their order."""
    if part.type != "tool_result" or part.id is not None:
        return part
    failed = isinstance(part.value, str) and part.value.startswith(FAILED)
    return Part("tool_result", id=call.id, name=call.name, value=part.value, error=failed)


def _unquoted(part: Part) -> Part:
    if part.type != "tool_call":
        return part
    name, value = ((read_repr(one) if isinstance(one, str) else one) for one in (part.name, part.value))
    return Part("tool_call", id=part.id, name=text_of(name), value=value)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What GenAI's messages say; a crew's are its inputs, which its tasks put into their words, so it asks nothing."""
    said = _genai.agent(span, memo)
    said.name = agent_name(span) or said.name
    if "crewai.crew.num_tasks" in span.attributes or said.query in _NOTHING:
        said.query = ""
    return said


def agent_name(span: RawSpan) -> str | None:
    """The role of the agent."""
    return text_of(span.attributes.get("crewai.agent.role"))


def retrieval(span: RawSpan, memo: Memo) -> RetrievalFields:
    """Query and findings of a search in the knowledge or the memory."""
    attributes = span.attributes
    found = first_text(attributes, "crewai.knowledge.retrieved_knowledge", "crewai.memory.results")
    return RetrievalFields(
        first_text(attributes, "crewai.knowledge.query", "crewai.memory.query"),
        None if found is None else documents(memo.json(found), memo),
    )


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The session that the app named, not the conversation, which is a task."""
    return ContextFields(first_text(span.attributes, "session.id") or "")


CONVENTION = Convention(
    name="crewai",
    title="CrewAI's own tracing",
    keys=(_EVENT,),
    kind=kind,
    messages=messages,
    output=_genai.output,
    requests=_genai.requests,
    agent=agent,
    agent_name=agent_name,
    retrieval=retrieval,
    context=context,
)
