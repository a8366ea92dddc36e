"""Splunk's instrumentations of agent frameworks, all written through its fork of OpenTelemetry's GenAI util.

Whatever the framework, the scope is the fork's handler, and `gen_ai.framework` or `gen_ai.system` names the framework.
The root of every run is said to be an agent: a chain and a crew too. Of LangChain the fork says of every message that a
user said it, writes `ToolCall` in the place of the calls that a model asked for, and prints the message that a tool
returned. What CrewAI's and LlamaIndex's tools returned is not recorded, and of the latter not whether they failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._genai_scopes import SPLUNK, is_plumbing
from spanwise.conventions._payloads import answered, asked
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, Memo, Part, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_FAILED = "An error occurred while running the tool."
"""How the text begins that the OpenAI Agents SDK tells the model of a tool that raised."""
_CLASSES = frozenset({"FunctionAgent", "ReActAgent", "CodeActAgent", "AgentWorkflow"})
"""LlamaIndex's classes of agents, in whose name the run of an agent is recorded around the agent itself."""
_STATE = frozenset({"input", "question", "query", "context", "chat_history"})


def _framework(span: RawSpan) -> object:
    return span.attributes.get("gen_ai.framework") or span.attributes.get("gen_ai.system")


def kind(span: RawSpan) -> Kind | None:
    """The kind that the operation names, unless what is said to be an agent is what runs one."""
    attributes = span.attributes
    if "mcp.method.name" in attributes:
        return None
    if attributes.get("gen_ai.operation.name") == "generate_text":
        return "llm"
    found = _genai.kind(span)
    return "workflow" if found == "agent" and _is_around(span) else found


def _is_around(span: RawSpan) -> bool:
    """A crew, LangChain's chain of pieces, or the run of one of LlamaIndex's agents."""
    framework = _framework(span)
    if framework == "crewai":
        return span.attributes.get("gen_ai.conversation_root") is True
    if framework == "llamaindex":
        return text_of(span.attributes.get("gen_ai.agent.name")) in _CLASSES
    return framework == "langchain" and is_plumbing(span)


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """Name, arguments, result and id of a call, taken out of what each framework hands to the fork."""
    said = _genai.tool(span, memo)
    result = said.result
    if _framework(span) == "crewai":
        said.call_id = None  # where the tool lay in memory
        said.arguments = _given(said.arguments)
    elif result is None:
        said.uncertain = said.arguments is not None and not said.failed
    elif isinstance(result, str) and result.startswith(_FAILED):
        said.failed, said.message = True, result
    return said


def _given(printed: object) -> object:
    """What CrewAI gave to a tool, without what it adds about agent and task; of what was not named nothing is told."""
    value = read_repr(printed) if isinstance(printed, str) else printed
    fields = mapping_of(value)
    if fields is None:
        return value
    fields = mapping_of(fields.get("input")) or fields
    return {name: held for name, held in fields.items() if name != "security_context"} or None


def requests(span: RawSpan, memo: Memo) -> Sequence[Part] | None:
    """The calls that a model asked for; None where no more is told than that it asked for some."""
    got = _genai.output(span, memo)
    return None if got is None else [p for message in got for p in message.parts if p.type == "tool_call" and p.name]


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer; CrewAI's task stands before what is expected of the answer."""
    found = _genai.messages(span, memo)
    framework = _framework(span)
    query, answer = _genai.first_user_text(found.input), _genai.last_answer_text(found.output)
    if framework == "crewai" and found.input:
        query = found.input[0].text or None
    elif framework == "langchain":
        query = asked(query, memo) if query and query[0] == "{" else query
        answer = _told(answer, memo) if answer and answer[0] == "{" else answer
    return AgentFields(_genai.agent_name(span), query, answer)


def _told(state: str, memo: Memo) -> str | None:
    """The answer in what a chain returned; text that a model may have written in JSON stays as it is."""
    fields = mapping_of(memo.json(state))
    if fields is None or not (fields.keys() <= {"output", "result"} or not _STATE.isdisjoint(fields)):
        return state
    return answered(fields, memo)


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The conversation, and the user of whom the app tells the fork or LangChain."""
    attributes = span.attributes
    return ContextFields(
        first_text(attributes, "gen_ai.conversation.id"),
        first_text(attributes, "gen_ai.association.properties.user_id", "user.id", "user_id"),
    )


CONVENTION = Convention(
    name="splunk",
    title="Splunk",
    scopes=(SPLUNK,),
    kind=kind,
    tool=tool,
    output=_genai.output,
    requests=requests,
    agent=agent,
    agent_name=_genai.agent_name,
    context=context,
    content_switch=(
        "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY; documents, and results of tools under "
        "CrewAI and LlamaIndex, are never recorded."
    ),
)
