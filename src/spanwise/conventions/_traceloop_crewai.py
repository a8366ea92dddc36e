"""CrewAI as Traceloop records it: no span for a tool, and the crew's whole conversation printed on the crew's span.

Up to 0.5x neither a crew nor a model call says what it is, and a model call has no content.
"""

from __future__ import annotations

import re

from spanwise.conventions._crewai import FAILED, coworker_tools, in_words, total
from spanwise.conventions._messages import definitions_of, items, messages_of
from spanwise.conventions._payloads import answered
from spanwise.conventions._reprs import read_repr
from spanwise.conventions._values import first_text, int_of, mapping_of, text_of
from spanwise.model.content import AgentFields, LLMFields, Memo, Message, Messages, ToolDefinition
from spanwise.model.raw import Attributes, RawSpan
from spanwise.model.span import Kind

_COUNT = re.compile(r"(\w+)=(\d{1,15})")


def kind(attributes: Attributes) -> Kind | None:
    """What a span is that has neither an operation nor a role."""
    if "crewai.crew.id" in attributes:
        return "workflow"
    return "llm" if "crewai.llm.model" in attributes else None


def llm(span: RawSpan, memo: Memo) -> LLMFields:
    """The tokens of all model calls of the crew; of one call its model only."""
    attributes = span.attributes
    text = attributes.get("crewai.crew.token_usage")
    counts = {name: int_of(number) for name, number in _COUNT.findall(text if isinstance(text, str) else "")}
    if not counts:
        return LLMFields(model=text_of(attributes.get("crewai.llm.model")))
    printed = attributes.get("crewai.crew.tasks_output")
    tasks = read_repr(printed) if isinstance(printed, str) else None
    return total(counts, tasks, memo.json(attributes.get("crewai.crew.agents")))


def messages(span: RawSpan, memo: Memo) -> Messages:
    """The conversations of the tasks, out of the printed `TaskOutput` objects; nothing where they cannot be read."""
    printed = span.attributes.get("crewai.crew.tasks_output")
    tasks = items(read_repr(printed)) if isinstance(printed, str) else None
    sent: list[Message] = []
    for task in tasks or ():
        fields = mapping_of(task)
        if fields is not None:
            sent += map(in_words, messages_of(fields.get("messages"), memo) or ())
    for part in (part for message in sent for part in message.parts):
        if part.type == "tool_result" and isinstance(part.value, str) and part.value.startswith(FAILED):
            part.error = True
    got = tuple(message for message in sent if message.role == "assistant")
    return Messages(tuple(sent) or None, got or None)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """What a crew was to do at first, or a task, and what came of it; neither is an agent."""
    attributes = span.attributes
    listed = items(memo.json(attributes.get("crewai.crew.tasks"))) or ()
    tasks = [first_text(mapping_of(task) or {}, "description") for task in listed]
    query = next((task for task in tasks if task), None) or text_of(attributes.get("crewai.task.description"))
    result = attributes.get("crewai.crew.result")
    output = attributes.get("traceloop.entity.output") if result is None else result
    return AgentFields(None, query, _typed(attributes) or answered(output, memo))


def _typed(attributes: Attributes) -> str | None:
    """What the model answered where the last task made a typed object of it, as which the crew's result is printed."""
    printed = attributes.get("crewai.crew.tasks_output")
    tasks = items(read_repr(printed)) if isinstance(printed, str) else None
    last = mapping_of(tasks[-1]) if tasks else None
    return first_text(last, "raw") if last is not None and (last.get("pydantic") or last.get("json_dict")) else None


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools of an agent or a task, or of all agents and tasks of a crew."""
    attributes = span.attributes
    for key in ("crewai.agent.tools", "crewai.task.tools"):
        if key in attributes:
            return definitions_of(attributes[key], memo)
    found: dict[str, ToolDefinition] = {}
    known = False
    for key in ("crewai.crew.agents", "crewai.crew.tasks"):
        for owner in items(memo.json(attributes.get(key))) or ():
            offered = definitions_of((mapping_of(owner) or {}).get("tools"), memo)
            known = known or offered is not None
            for item in offered or ():
                found.setdefault(item.name, item)
    crew, tasks = (memo.json(attributes.get(f"crewai.crew.{name}")) for name in ("agents", "tasks"))
    for name in coworker_tools(crew, tasks):
        found.setdefault(name, ToolDefinition(name))
    return tuple(found.values()) if known else None
