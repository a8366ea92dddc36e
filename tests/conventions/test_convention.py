"""What a convention is, and how the table of them is asked."""

from __future__ import annotations

import dataclasses

import pytest

from spanwise import conventions
from spanwise.conventions import _genai
from spanwise.conventions._convention import Convention
from spanwise.model.content import Memo
from spanwise.model.raw import Scope
from tests.making import span
from tests.recordings_io import FOLDER, made
from tests.recordings_io import spans as recorded


def test_a_convention_needs_a_kind_only() -> None:
    """What a convention does not read it leaves to the next one."""
    bare = Convention(name="x", title="X", kind=lambda span: None)
    readers = [field.name for field in dataclasses.fields(bare) if field.default is None]
    assert {"tool", "llm", "messages", "agent", "retrieval", "handoff", "definitions", "context"} <= set(readers)
    assert ((), (), ()) == (bare.scopes, bare.keys, bare.hints)


def test_names_are_their_own() -> None:
    """No two conventions share a name or a title, and the generic one is the last."""
    names = [one.name for one in conventions.CONVENTIONS]
    titles = [one.title for one in conventions.CONVENTIONS]
    assert len(set(names)) == len(names)
    assert len(set(titles)) == len(titles)
    assert _genai.CONVENTION is conventions.CONVENTIONS[-1]


@pytest.mark.parametrize("convention", conventions.CONVENTIONS, ids=lambda one: one.name)
def test_every_convention_can_be_reached(convention: Convention) -> None:
    """A span of a convention's scope, or with one of its keys, is offered to it, and to the generic one last."""
    assert convention.scopes or convention.keys or convention.hints
    for scope in convention.scopes:
        spoken = conventions.dialects(span(1, scope=Scope(scope, "1", {})))
        assert convention in spoken
        assert _genai.CONVENTION is spoken[-1]
    for key in (*convention.keys, *convention.hints):
        spoken = conventions.dialects(span(1, attributes={key: "x"}))
        assert convention in spoken
        assert _genai.CONVENTION is spoken[-1]


def test_a_span_of_no_dialect() -> None:
    """A span that no convention knows is `other`, and reading it finds nothing."""
    one = span(1, attributes={"http.method": "GET"})
    dialect, kind = conventions.classify(one)
    memo = Memo()
    assert (conventions.UNKNOWN, "other") == (dialect, kind)
    assert (None, None, None) == (
        conventions.tool(one, memo, dialect).name,
        conventions.messages(one, memo, dialect).input,
        conventions.agent(one, memo, dialect).query,
    )


def test_one_dialect_fills_what_another_leaves_open() -> None:
    """A span that speaks two dialects is read by the specific one, field by field, then by the generic one."""
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "search",
        "gen_ai.tool.name": "other",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.status": "error",
        "input.value": '{"q": 1}',
        "input.mime_type": "application/json",
    }
    one = span(1, attributes=attributes)
    dialect, kind = conventions.classify(one)
    found = conventions.tool(one, Memo(), dialect)
    assert ("openinference", "tool") == (conventions.CONVENTIONS[dialect].name, kind)
    assert ("search", "c1", True) == (found.name, found.call_id, found.failed)


def test_names_are_those_of_the_agent() -> None:
    """On every recorded span the name read alone is the agent's, where nothing but the name was read as well."""
    memo = Memo()
    names = [path.name.removesuffix(".json") for path in FOLDER.glob("*.json") if path.name.count(".") == 1]
    for one in (one for name in names for one in recorded(name)):
        dialect, kind = conventions.classify(one)
        if kind == "agent" and conventions.CONVENTIONS[dialect].agent_name_tells_all:
            assert conventions.agent_name(one, memo, dialect) == conventions.agent(one, memo, dialect).name, one.name


def test_another_dialect_names_an_agent() -> None:
    """An agent that its own dialect has no name for has the name that another one on the span gives it."""
    said = {"openinference.span.kind": "AGENT"}
    named = made("CodeAgent.run", attributes={**said, "gen_ai.agent.name": "helper"})
    nameless = made("CodeAgent.run", attributes=said)
    assert ("helper", None) == (
        conventions.agent_name(named, Memo(), conventions.classify(named)[0]),
        conventions.agent_name(nameless, Memo(), conventions.classify(nameless)[0]),
    )
