"""The fields of Langfuse's observations become the attributes that its SDK writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanwise.model.raw import RawSpan, Scope
from tests.sources.exports import observation, observation_v2
from tests.sources.otlp import Outcome


def one(row: object) -> RawSpan:
    """The span of a row of observations."""
    (span,) = Outcome(json.dumps([row]).encode()).records
    assert isinstance(span, RawSpan)
    return span


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({"usage": {"input": 5, "output": 2, "total": 7, "unit": "TOKENS"}}, {"input": 5, "output": 2, "total": 7}),
        ({"usage": {"promptTokens": 5, "completionTokens": 2}}, {"input": 5, "output": 2}),
        ({"usage": None, "promptTokens": 5, "completionTokens": 2}, {"input": 5, "output": 2}),
        ({"usage": {"input": 50, "output": 20, "unit": "CHARACTERS"}}, None),
        ({"usage": {"input": 0, "output": 0, "total": 0, "unit": "TOKENS"}}, None),
        ({"usage": None, "inputUsage": 5, "outputUsage": 2, "input": "text"}, {"input": 5, "output": 2}),
    ],
    ids=["usage", "old names", "flat", "characters", "nothing", "table"],
)
def test_usage_of_older_servers(fields: dict[str, Any], usage: object) -> None:
    """Tokens are read from each generation of fields; characters are no tokens, and zeros count nothing."""
    span = one(observation("answer", "GENERATION", 0, **fields))
    assert usage == span.attributes.get("langfuse.observation.usage_details")


@pytest.mark.parametrize(
    ("fields", "cost"),
    [
        ({"calculatedTotalCost": 0.5}, {"total": 0.5}),
        ({"calculatedTotalCost": 0}, None),
        ({"costDetails": {"input": 0.25}, "totalCost": 0.5}, {"input": 0.25, "total": 0.5}),
        ({"usage": {"inputCost": 0.25, "totalCost": 0.5}}, {"input": 0.25, "total": 0.5}),
    ],
    ids=["calculated", "nothing", "details", "in usage"],
)
def test_cost_of_older_servers(fields: dict[str, Any], cost: object) -> None:
    """Cost is read from each generation of fields; a cost of nothing was never computed."""
    span = one(observation("answer", "GENERATION", 0, **fields))
    assert cost == span.attributes.get("langfuse.observation.cost_details")


def test_metadata_as_text() -> None:
    """Metadata that is written as the text of an object is an object; other text stays itself."""
    taken, kept, broken = (one(observation("x", "SPAN", 0, metadata=text)) for text in ('{"a": 1}', "note", "{note"))
    assert (1, "note", "{note") == (
        taken.attributes["langfuse.observation.metadata.a"],
        kept.attributes["langfuse.observation.metadata"],
        broken.attributes["langfuse.observation.metadata"],
    )


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (
            {"openinference.span.kind": "TOOL", "tool.name": "search"},
            {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "in", "output.value": "out"},
        ),
        (
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"},
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.tool.call.arguments": "in",
                "gen_ai.tool.call.result": "out",
            },
        ),
        (
            {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": "12"},
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.usage.input_tokens": "12",
                "gen_ai.input.messages": "in",
                "gen_ai.output.messages": "out",
            },
        ),
    ],
    ids=["OpenInference", "GenAI tool", "GenAI model"],
)
def test_spans_of_other_instrumentations(theirs: dict[str, object], expected: dict[str, object]) -> None:
    """What another instrumentation sent to Langfuse speaks its own dialect again, under its own scope."""
    metadata = {
        "attributes": theirs,
        "resourceAttributes": {"service.name": "shop"},
        "scope": {"name": "their.scope", "version": "2", "attributes": {}},
    }
    span = one(observation("execute_tool search", "TOOL", 0, input="in", output="out", metadata=metadata))
    assert {
        **expected,
        "langfuse.environment": "default",
        "langfuse.observation.level": "DEFAULT",
    } == span.attributes
    assert Scope("their.scope", "2", {"service.name": "shop"}) == span.scope


def test_the_servers_own_metadata_is_no_metadata() -> None:
    """What the server adds to metadata becomes scope and resource; a user's key of the same name stays."""
    metadata = {"resourceAttributes": {"service.name": "shop"}, "scope": "mine", "scopeAttributes": {}}
    span = one(observation("x", "SPAN", 0, metadata=metadata))
    assert ({"service.name": "shop"}, "mine") == (
        span.scope.resource, span.attributes["langfuse.observation.metadata.scope"]
    )  # fmt: skip
    assert "langfuse.observation.metadata.resourceAttributes" not in span.attributes


def test_tool_definitions_by_name() -> None:
    """Tools that are kept by name, as text, as objects or as broken text, or in a list, become definitions."""
    held = {"a": {"parameters": {}}, "b": "{broken", "c": "Says hello."}
    found = [
        {"name": "a", "parameters": {}},
        {"name": "b", "description": "{broken"},
        {"name": "c", "description": "Says hello."},
    ]
    by_name, listed = (one(observation_v2(toolDefinitions=tools)) for tools in (held, found))
    assert (found, found) == (
        by_name.attributes["gen_ai.tool.definitions"],
        listed.attributes["gen_ai.tool.definitions"],
    )
