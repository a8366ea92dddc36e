"""OpenInference's tool definitions: a schema for each tool in most spans, and what frameworks write otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import cast

from spanwise.conventions._crewai import coworker_tools
from spanwise.conventions._messages import CUT_NAME, definition_of, definitions_of, items
from spanwise.conventions._openinference_messages import entries, is_model
from spanwise.conventions._values import mapping_of, text_of
from spanwise.model.content import Memo, ToolDefinition
from spanwise.model.raw import Attributes, RawSpan

MANAGED = "smolagents.managed_agents."
TOOLS = "llm.tools."
TOOL_NAMES = ("smolagents.tools_names", "agno.tools", "agent.tools")
_OFFERS = ("llm.tools", "llm.invocation_parameters", MANAGED, *TOOL_NAMES, "crew_agents", "crew_tasks")


AUTOGEN = "openinference.instrumentation.autogen_agentchat"
"""Of the tools that its client was given it writes those that are objects, and leaves out those that are schemas."""
_SCHEMAS = tuple(f"llm.tools.{at}.tool.json_schema" for at in range(128))
_OTHER_FORMS = ("llm.tools", "llm.tools.0.tool.name", "llm.tools.0.tool.description", "llm.tools.0.name")


def definitions(span: RawSpan, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools that the model was offered; on an agent's or a crew's own span only their names."""
    if span.scope.name == AUTOGEN:
        return None
    attributes = span.attributes
    schemas = _schemas(attributes)
    if schemas:
        return memo.tools(schemas, lambda: _whole([_definition({"json_schema": schema}, memo) for schema in schemas]))
    if not any(key.startswith(_OFFERS) for key in attributes):
        return None
    listed = items(memo.json(attributes.get("llm.tools")))
    if listed is not None:
        held = [mapping_of(item) or {} for item in listed]
        return _whole([_definition(mapping_of(item.get("tool")) or {"json_schema": item}, memo) for item in held])
    leaves = tuple(one for one in entries(attributes, TOOLS, memo) if isinstance(one[2], str | Mapping))
    if leaves:
        is_text = all(type(value) is str for _, _, value in leaves)  # what is no text is not remembered
        return memo.tools(leaves, lambda: _flattened(leaves, memo)) if is_text else _flattened(leaves, memo)
    parameters = mapping_of(memo.json(attributes.get("llm.invocation_parameters"))) or {}
    found = definitions_of(parameters.get("tools"), memo) or _named_tools(attributes, memo)
    return _requested(attributes, memo) if found is None and is_model(attributes) else found


def _requested(attributes: Attributes, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    """The tools in the request as it was sent: Mistral's instrumentation records them nowhere else."""
    request = attributes.get("input.value")
    if isinstance(request, str) and '"tools"' not in request:
        return None
    offered = items((mapping_of(memo.json(request)) or {}).get("tools"))
    return _whole([definition_of(memo.json(item)) for item in offered]) if offered else None


def _schemas(attributes: Attributes) -> tuple[str, ...]:
    """The schemas of tools of which nothing else is recorded, which is the rule; empty for any other form."""
    if _SCHEMAS[0] not in attributes or any(key in attributes for key in _OTHER_FORMS):
        return ()
    found = tuple(takewhile(lambda schema: type(schema) is str, map(attributes.get, _SCHEMAS)))
    ahead = _SCHEMAS[len(found) : len(found) + 2]  # a number left out, or what is no text
    return () if any(key in attributes for key in ahead) else cast("tuple[str, ...]", found)


def _flattened(leaves: Iterable[tuple[int, str, object]], memo: Memo) -> tuple[ToolDefinition, ...] | None:
    found: dict[int, dict[str, object]] = {}
    for at, rest, value in leaves:
        found.setdefault(at, {})[rest.removeprefix("tool.")] = value
    return _whole([_definition(found[at], memo) for at in sorted(found)])


def _whole(read: list[ToolDefinition | None]) -> tuple[ToolDefinition, ...] | None:
    """The definitions, unless one of them is not known: a tool left out would pass for one that does not exist."""
    known = tuple(item for item in read if item is not None)
    return known if len(known) == len(read) else None


def _definition(fields: Mapping[str, object], memo: Memo) -> ToolDefinition | None:
    schema = memo.json(fields.get("json_schema", fields))
    if isinstance(schema, str):  # a schema that was cut: its name stands near its beginning
        named = CUT_NAME.search(schema)
        schema = {"name": named.group(1)} if named is not None else None
    found = definition_of(schema)
    if found is not None and found.schema is not None:
        found = ToolDefinition(found.name, found.description, _unprinted(found.schema, memo), found.hints)
    name = text_of(fields.get("name"))
    if name is None:
        return found
    if found is None:  # the name has an attribute of its own, and the schema is that of the arguments alone
        return ToolDefinition(name, text_of(fields.get("description")) or "", mapping_of(schema))
    return ToolDefinition(name, text_of(fields.get("description")) or found.description, found.schema, found.hints)


def _unprinted(schema: Mapping[str, object], memo: Memo) -> Mapping[str, object]:
    """A schema of which what lies deep was printed as Python does, by the listener to CrewAI's events, as it was."""
    fields = mapping_of(schema.get("properties")) or {}
    if not any(isinstance(one, str) for one in fields.values()):
        return schema
    required = items(schema.get("required")) or ()
    named = [one[1:-1] if isinstance(one, str) and one[1:-1] in fields else one for one in required]
    return {**schema, "properties": {name: memo.json(one) for name, one in fields.items()}, "required": named}


def _named_tools(attributes: Attributes, memo: Memo) -> tuple[ToolDefinition, ...] | None:
    listed = [found for key in TOOL_NAMES if (found := items(memo.json(attributes.get(key)))) is not None]
    listed.append([value for _, rest, value in entries(attributes, MANAGED, memo) if rest == "name"])
    for key in ("crew_agents", "crew_tasks"):
        for item in items(memo.json(attributes.get(key))) or ():
            fields = mapping_of(item)
            found = items(fields.get("tools_names")) if fields is not None else None
            if found is not None:
                listed.append(found)
    own = coworker_tools(memo.json(attributes.get("crew_agents")), memo.json(attributes.get("crew_tasks")))
    listed += [own] if own else []
    names = dict.fromkeys(name for found in listed for name in found if isinstance(name, str) and name)
    return tuple(ToolDefinition(name) for name in names) if len(listed) > 1 or names else None
