"""Mastra's AI tracing: `mastra.span.type` says what a span stands for, whatever other dialect its exporter speaks.

The exporters write GenAI's attributes or OpenInference's beside Mastra's own, and differ from release to release in
which span they call the model's. A generation is the agent's whole loop (its usage is the sum), a step is one call of
the model and the tools that it asked for, an inference the request alone, a chunk a piece of its stream. What a step
was sent is a preview: of tools and their results it has no more than the names.
"""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.conventions._langchain import as_json
from spanwise.conventions._messages import items, messages_of
from spanwise.conventions._payloads import answered, asked
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

_TYPE = "mastra.span.type"
_METADATA = "mastra.metadata."
_LOOPS = ("model_generation", "llm_generation")
_KINDS: Mapping[str, Kind] = {
    "agent_run": "agent",
    "model_step": "llm",
    "model_inference": "llm",
    **dict.fromkeys(("tool_call", "mcp_tool_call", "provider_tool_call"), "tool"),
    **dict.fromkeys((*_LOOPS, "workflow_run", "workflow_step"), "workflow"),
    **dict.fromkeys(("workflow_conditional", "workflow_parallel", "workflow_loop"), "workflow"),
    **dict.fromkeys(("scorer_run", "scorer_step", "classifier_evaluation"), "evaluation"),
    "rag_embedding": "embedding",
}
_PREVIEWS = ("[tool: ", "[tool-result: ")
_NOT_METADATA = frozenset({"runId", "threadId", "sessionId", "userId", "requestId", "headers", "body", "modelMetadata"})


def kind(span: RawSpan) -> Kind | None:
    """What the span's type says; a request that an MCP server was sent is told by its method."""
    found = span.attributes.get(_TYPE)
    if not isinstance(found, str) or found == "mcp_server_request":
        return None
    return _KINDS.get(found, "other")


def messages(span: RawSpan, memo: Memo) -> Messages:
    """What a model was sent and answered, from Mastra's own attributes where the exporter has no others for them."""
    said = _genai.messages(span, memo)
    own = _own(span, "input")
    sent = said.input if own is None else _spoken(messages_of(own, memo))
    return Messages(sent, output(span, memo))


def _own(span: RawSpan, side: str) -> object:
    return span.attributes.get(f"mastra.{span.attributes.get(_TYPE)}.{side}")


def _spoken(sent: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The messages that are more than the name of a tool."""
    return tuple(one for one in sent or () if one.role != "tool" and not one.text.startswith(_PREVIEWS)) or None


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """What a model answered: text, and the tools that it asked for."""
    fields = mapping_of(memo.json(_own(span, "output")))
    if fields is None:
        return _genai.output(span, memo)
    text, calls = text_of(fields.get("text")), items(fields.get("toolCalls"))
    if text is None and not calls:
        return None
    return messages_of([{"role": "assistant", "content": text, "tool_calls": calls}], memo)


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """Model and tokens; a loop's are those of its own calls, without those of the agents that it called as tools."""
    said = _genai.llm(span, memo)
    said.own = span.attributes.get(_TYPE) in _LOOPS
    return said


def requested(span: RawSpan, memo: Memo) -> Part | None:
    """The tool call that a piece of a stream asks for: a step that waits for somebody's leave records no answer."""
    if span.attributes.get(_TYPE) != "model_chunk":
        return None
    fields = mapping_of(memo.json(_own(span, "output"))) or {}
    name = text_of(fields.get("toolName"))
    if name is None or "toolInput" not in fields:
        return None
    return Part("tool_call", id=text_of(fields.get("toolCallId")), name=name, value=fields["toolInput"])


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent or a workflow."""
    given, got = _own(span, "input"), _own(span, "output")
    return AgentFields(
        agent_name(span),
        None if given is None else asked(given, memo),
        None if got is None else _returned(got, memo),
    )


def _returned(got: object, memo: Memo) -> str | None:
    """What an agent returned: an object that was asked for, else a text, which may be empty.

    A model of its own may have made the object of the text. Of a run that waits for somebody's leave the state is no
    answer.
    """
    fields = mapping_of(memo.json(got))
    if fields is None:
        return answered(got, memo)
    if fields.get("object") is not None:
        return as_json(fields["object"])
    return "" if fields.get("text") == "" or fields.get("status") == "suspended" else answered(got, memo)


def agent_name(span: RawSpan) -> str | None:
    """The agent's own name."""
    return first_text(span.attributes, "gen_ai.agent.name", "agent.name")


def failed(span: RawSpan) -> bool:
    """A model call that failed ends without an error status, and for that reason."""
    return "error" in str(span.attributes.get("gen_ai.response.finish_reasons", ""))


def context(span: RawSpan, memo: Memo) -> ContextFields:
    """The thread as the session, and what the app put into the metadata."""
    attributes = span.attributes
    metadata = {key.removeprefix(_METADATA): value for key, value in attributes.items() if key.startswith(_METADATA)}
    tags = items(memo.json(attributes.get("mastra.tags"))) or ()
    return ContextFields(
        first_text(attributes, "gen_ai.conversation.id") or first_text(metadata, "threadId", "sessionId"),
        first_text(metadata, "userId"),
        first_text(metadata, "requestId"),
        tuple(tag for tag in tags if isinstance(tag, str)),
        {key: value for key, value in metadata.items() if key not in _NOT_METADATA} or None,
    )


CONVENTION = Convention(
    name="mastra",
    title="Mastra",
    keys=(_TYPE,),
    kind=kind,
    failed=failed,
    llm=llm,
    asked=requested,
    messages=messages,
    output=output,
    agent=agent,
    agent_name=agent_name,
    context=context,
    strings_texts=True,
    content_switch="Leave hideInput and hideOutput of the tracing options off.",
)
