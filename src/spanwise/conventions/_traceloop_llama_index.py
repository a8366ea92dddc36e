"""LlamaIndex as Traceloop records it: a span per call of a method, named after its class, content as it was passed.

Up to 0.5x the steps of an agent are named after their methods, and each object within the content is JSON text of its
own, within the JSON that holds it: a step's output is a text that holds an object, messages are a list of such texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spanwise.conventions._langchain import structured_response
from spanwise.conventions._messages import definitions_of
from spanwise.conventions._openinference_tools import outcome
from spanwise.conventions._payloads import answered, asked, call_arguments, conversation, reply
from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import AgentFields, Memo, Message, Messages, ToolDefinition, ToolFields
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind

LLAMA_INDEX = "opentelemetry.instrumentation.llamaindex"

_INPUT = "traceloop.entity.input"
_OUTPUT = "traceloop.entity.output"
_QUERIED = re.compile(r'\{"(?:str_or_query_bundle"|\w+": \{"query_str")')
"""How the input of a retriever's or query engine's method begins: the public one's, and that of the class's own."""
_SPLITTERS = ("Splitter", "NodeParser")
"""How classes end that take documents apart: nobody asks, nothing is answered."""
_CALLED = ('{"tool_name"', '"{\\"tool_name\\"')
"""How the output of the step around a tool begins, also where it is JSON within JSON."""


def kind(span: RawSpan) -> Kind | None:
    """What a span without an operation is; None where its class and content do not tell."""
    attributes = span.attributes
    if "tool.name" in attributes:  # the agent's step around the tool: it has the name, the id and the failure
        return "tool"
    if "llm.request.type" in attributes:
        return "llm"
    name, _, role = span.name.rpartition(".")
    if "embedding.model_name" in attributes or name.endswith("Embedding"):
        return "embedding"
    if name.endswith("Tool"):
        return "tool"
    if name.endswith("Retriever") or name == "retrieve":
        return "retrieval"
    given, returned = attributes.get(_INPUT), attributes.get(_OUTPUT)
    # A retriever returns a list of nodes; a query engine, called with the same argument, one response.
    if isinstance(given, str) and isinstance(returned, str) and _QUERIED.match(given):
        return "retrieval" if returned.startswith("[") else None
    return _step_kind(name, role, returned)


def _step_kind(name: str, role: str, returned: object) -> Kind | None:
    """What an agent or one of its steps is, by what it returned.

    Among several agents each step names whose it is; the model is called in the one that returns a response.
    """
    if role == "workflow" and name.endswith("Agent"):
        return "agent"
    if name == "run_agent_step":
        return "agent"
    if role != "task" or not isinstance(returned, str):
        return None
    if returned.startswith(_CALLED) and "tool_output" in returned:
        return "tool"
    opening = {"run": '{"result"', "AgentWorkflow": '{"response"'}.get(name)  # `run`: run by another agent's tool
    return "agent" if opening and returned.startswith(opening) and '"current_agent_name"' in returned else None


def _returned(span: RawSpan, memo: Memo) -> Mapping[str, object] | None:
    """The object that a method returned, also where it is JSON within JSON."""
    decoded = memo.json(span.attributes.get(_OUTPUT))
    return mapping_of(memo.json(decoded))


def tool(span: RawSpan, memo: Memo) -> ToolFields:
    """A tool: from the step that called it, else from the tool's own call, whose name is in what it returned."""
    attributes = span.attributes
    returned = _returned(span, memo)
    called = attributes.get("tool.arguments")
    if called is None and attributes.get(_INPUT) is not None:
        called = call_arguments(attributes.get(_INPUT), memo)
    call_id = None
    result: object = attributes.get(_OUTPUT) if returned is None else returned
    if returned is not None and "tool_output" in returned:
        call_id = first_text(returned, "tool_id")
        called = returned.get("tool_kwargs") if called is None else called
        result = returned["tool_output"]
    found = outcome(result, memo)
    name = first_text(attributes, "tool.name") or (first_text(returned, "tool_name") if returned is not None else None)
    # That the tool failed stands in what it returned only: where that was left out or cut, nobody knows.
    uncertain = returned is None
    return ToolFields(name, called, found.value, call_id, found.failed, control=found.control, uncertain=uncertain)


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The messages as they were passed: the GenAI attributes leave out requested tool calls."""
    return Messages(conversation(memo.json(span.attributes.get(_INPUT)), memo), output(span, memo))


def output(span: RawSpan, memo: Memo) -> tuple[Message, ...] | None:
    """The response as it was returned."""
    returned = _returned(span, memo)
    return reply(returned, memo) if returned is not None and "message" in returned else None


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """The agent that was at work last, which the events name, and its response."""
    attributes = span.attributes
    if span.name.rpartition(".")[0].endswith(_SPLITTERS):
        return AgentFields()
    returned = _returned(span, memo)
    inner = mapping_of((returned or {}).get("result")) or returned or {}
    name = first_text(inner, "current_agent_name")
    if name is None and attributes.get("traceloop.span.kind") == "agent":
        name = first_text(attributes, "traceloop.entity.name")
    given = attributes.get(_INPUT)
    answer = structured_response(inner) or answered(returned, memo)
    return AgentFields(name, None if given is None else asked(given, memo), answer)


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools passed to the model."""
    given = mapping_of(memo.json(span.attributes.get(_INPUT)))
    settings = mapping_of((given or {}).get("kwargs")) or {}
    return definitions_of(settings["tools"], memo) if "tools" in settings else None
