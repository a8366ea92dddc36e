"""OpenInference: the tools that a model was offered, on recorded spans and on made ones."""

from __future__ import annotations

import json

import pytest

from spanwise.conventions import openinference
from spanwise.model.content import Memo, ToolDefinition
from tests.recordings_io import made
from tests.recordings_io import spans as recorded


@pytest.mark.parametrize(
    ("recording", "name", "expected"),
    [
        ("langgraph__openinference", "ChatOpenAI", ["search_docs", "calculator"]),
        ("openai-agents__openinference__handoff", "response", ["transfer_to_research_agent"]),
        ("smolagents__openinference", "research_agent.run", ["search_docs", "calculator", "final_answer"]),
        ("crewai__openinference", "population_crew.kickoff", ["search_docs", "calculator"]),
        ("langgraph__openinference", "research_agent", None),
    ],
)
def test_definitions_of_recordings(recording: str, name: str, expected: list[str] | None) -> None:
    """The tools offered to a model, or the names that an agent's or a crew's span lists."""
    span = next(span for span in recorded(recording) if span.name == name)
    found = openinference.definitions(span, Memo())
    assert expected == (None if found is None else [tool.name for tool in found])


def test_definitions_made_by_hand() -> None:
    """Schemas in a client's form, names beside a bare schema, schemas that were cut, and lists in one value."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    function = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": schema}}

    def read(**attributes: object) -> object:
        dotted = {key.replace("__", "."): value for key, value in attributes.items()}
        return openinference.definitions(made(attributes=dotted), Memo())

    expected = (ToolDefinition("add", "Adds.", schema),)
    assert expected == read(llm__tools__0__tool__json_schema=json.dumps(function))
    assert expected == read(llm__tools__0__tool__json_schema=function)
    assert expected == read(llm__tools=json.dumps([function]))
    assert expected == read(llm__tools=[{"tool": {"json_schema": function}}])
    assert expected == read(llm__invocation_parameters=json.dumps({"tools": [function]}))
    bare = {"llm__tools__0__tool__name": "add", "llm__tools__0__tool__description": "Adds."}
    assert expected == read(**bare, llm__tools__0__tool__json_schema=json.dumps(schema))
    assert (ToolDefinition("plus", "Adds.", schema),) == read(
        llm__tools__0__tool__name="plus", llm__tools__0__tool__json_schema=json.dumps(function)
    )
    assert (ToolDefinition("add"),) == read(llm__tools__0__tool__json_schema=json.dumps(function)[:60])
    assert None is read(llm__tools__0__tool__json_schema=json.dumps(function)[:20])
    managed = (ToolDefinition("final_answer"), ToolDefinition("helper"))
    assert managed == read(smolagents__tools_names=["final_answer"], smolagents__managed_agents__0__name="helper")
    assert () == read(crew_agents="[1, {}]", crew_tasks='[{"tools_names": []}]')
    assert None is read(crew_agents="[1, {}]")


def test_a_schema_that_was_printed() -> None:
    """What a listener to CrewAI's events printed of a schema, as Python does, is read as what it was."""
    printed = {
        "properties": {"query": "{'title': 'Query', 'type': 'string'}", "limit": "{'anyOf': [{'type': 'null'}]}"},
        "required": ["'query'"],
        "type": "object",
        "additionalProperties": False,
    }
    offered = [{"type": "function", "function": {"name": "search", "description": "Finds.", "parameters": printed}}]
    schema = {
        "properties": {"query": {"title": "Query", "type": "string"}, "limit": {"anyOf": [{"type": "null"}]}},
        "required": ["query"],
        "type": "object",
        "additionalProperties": False,
    }
    found = openinference.definitions(made(attributes={"llm.tools": json.dumps(offered)}), Memo())
    assert (ToolDefinition("search", "Finds.", schema),) == found


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_number_that_is_left_out(at: int) -> None:
    """Definitions behind a number that is missing are read, too."""
    schemas = {f"llm.tools.{n}.tool.json_schema": json.dumps({"name": f"t{n}"}) for n in range(4) if n != at}
    found = openinference.definitions(made(attributes=schemas), Memo())
    assert [f"t{n}" for n in range(4) if n != at] == [tool.name for tool in found or ()]


def test_a_schema_that_is_no_text() -> None:
    """A value that is no text takes nothing from the definitions beside it."""
    schemas: dict[str, object] = {f"llm.tools.{n}.tool.json_schema": json.dumps({"name": f"t{n}"}) for n in range(3)}
    schemas["llm.tools.1.tool.json_schema"] = 7
    found = openinference.definitions(made(attributes=schemas), Memo())
    assert ["t0", "t2"] == [tool.name for tool in found or ()]


def test_tools_of_autogen_are_never_all() -> None:
    """Its instrumentation leaves out the tools that are schemas: the rest would pass for all."""
    attributes = {"llm.tools.0.tool.json_schema": '{"name": "transfer_to_triage", "parameters": {"type": "object"}}'}
    assert openinference.definitions(made(attributes=attributes), Memo()) is not None
    scope = "openinference.instrumentation.autogen_agentchat"
    assert openinference.definitions(made(scope=scope, attributes=attributes), Memo()) is None


@pytest.mark.parametrize(
    ("request_sent", "expected"),
    [
        (json.dumps({"tools": [{"name": "add"}]}), (ToolDefinition("add"),)),
        ({"tools": [{"name": "add"}]}, (ToolDefinition("add"),)),
        (json.dumps({"tools": [{"name": "add"}, {"type": "web_search"}]}), None),
        (json.dumps({"tools": []}), None),
        (json.dumps({"messages": []}), None),
        ('"tools" in words', None),
        (None, None),
    ],
)
def test_definitions_in_the_request(request_sent: object, expected: object) -> None:
    """Mistral's tools stand only in the request as it was sent; of an agent's input nothing is taken."""
    attributes = {"llm.invocation_parameters": "{}", "input.value": request_sent}
    assert expected == openinference.definitions(made(attributes=attributes), Memo())
    agent = {"openinference.span.kind": "AGENT", "crew_agents": "[{}]", "input.value": request_sent}
    assert openinference.definitions(made(attributes=agent), Memo()) is None
