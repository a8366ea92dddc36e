"""Monocle's spans, whose content stands in events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import monocle
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Part, RetrievalFields, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KEYS = ("span.type", "entity.1.name", "entity.1.type", "entity.2.name", "input", "response", "prompt_tokens")
WORDS = ("inference", "agentic.invocation", "tool_name", "args", "messages", '{"ai": [{"tool_name": "x"}]}')


def span(kind: object, given: object = None, got: object = None, *, name: str = "s", **attributes: object) -> RawSpan:
    """A span with what went in and out."""
    held = (("data.input", {"input": given}), ("data.output", {"response": got}))
    events = [(event, fields) for event, fields in held if None not in fields.values()]
    return made(name, scope="monocle_apptrace", attributes={"span.type": kind, **attributes}, events=events)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("workflow", "workflow"),
        ("agentic.turn", "workflow"),
        ("agentic.invocation", "agent"),
        ("agentic.tool.invocation", "tool"),
        ("agentic.mcp.invocation", "tool"),
        ("inference.framework", "llm"),
        ("inference.modelapi", "other"),
        ("http.send", "other"),
        (7, "other"),
    ],
)
def test_kinds(found: object, kind: str) -> None:
    """The type tells what a span is."""
    assert kind == conventions.classify(span(found))[1]


def test_tasks_are_no_agents() -> None:
    """A task of CrewAI's is said to be an agent: the agent works below it."""
    assert "workflow" == monocle.kind(span("agentic.invocation", name="crewai.task.Task.execute_sync"))


@pytest.mark.parametrize(
    ("told", "arguments"),
    [
        ("{'query': 'Q', 'k': 2}", {"query": "Q", "k": 2}),
        ('{"query": "Q"}', {"query": "Q"}),
        (["query: Q: R", "k: 2"], {"query": "Q: R", "k": 2}),
        (["Q"], "Q"),
        (None, None),
    ],
)
def test_arguments(told: object, arguments: object) -> None:
    """What a tool was given: as Python or JSON prints it, or of CrewAI a line for each argument."""
    one = span("agentic.tool.invocation", told, "{'sky': 'clear'}", **{"entity.1.name": "search"})
    dialect, _ = conventions.classify(one)
    assert ToolFields("search", arguments, {"sky": "clear"}) == conventions.tool(one, Memo(), dialect)


def test_model_calls() -> None:
    """Model, provider and tokens, which are texts."""
    used = {"prompt_tokens": "5", "completion_tokens": "2", "cache_read_input_tokens": "3"}
    named = {"span.type": "inference", "entity.1.type": "inference.openai", "entity.2.name": "m"}
    one = made("s", scope="monocle_apptrace", attributes=named, events=[("metadata", used)])
    assert LLMFields("m", "openai", 5, 2, 3) == monocle.llm(one, Memo())


CALL = Part("tool_call", id="c1", name="search", value={"query": "Q"})


@pytest.mark.parametrize(
    "answer",
    [
        {"assistant": [{"tool_id": "c1", "tool_name": "search", "tool_arguments": '{"query": "Q"}'}]},
        {"tools": [{"tool_id": "c1", "tool_name": "search", "tool_arguments": '{"query": "Q"}'}]},
        {"ai": {"name": "search", "args": {"query": "Q"}, "id": "c1", "type": "tool_call"}},
        {"assistant": {"tool_function": "search", "tool_arguments": {"query": "Q"}, "call_id": "c1"}},
    ],
)
def test_requests(answer: object) -> None:
    """A call as Monocle writes it, or as LangChain has it."""
    one = span("inference", "Q", json.dumps(answer))
    assert [CALL] == [part for message in monocle.output(one, Memo()) or () for part in message.parts]
    assert not conventions.tells_requests(one, conventions.classify(one)[0])


def test_requests_of_a_stream() -> None:
    """A stream of the Responses API has the id of the item for that of the call, and one of chat no arguments."""
    told = {"tools": [{"tool_id": "fc_1", "tool_name": "search", "tool_arguments": ""}]}
    ((part,),) = (message.parts for message in monocle.output(span("inference", "Q", json.dumps(told)), Memo()) or ())
    assert ("search", None, None) == (part.name, part.id, part.value)


def test_requests_without_arguments() -> None:
    """A call of a tool that takes none has none, and not unknown ones."""
    told = {"ai": {"name": "transfer_to_helper", "args": {}, "id": "c1", "type": "tool_call"}}
    ((part,),) = (message.parts for message in monocle.output(span("inference", "Q", json.dumps(told)), Memo()) or ())
    assert {} == part.value


def test_conversations() -> None:
    """Each message is a mapping from its role; calls and results of the Responses API are mappings of their own."""
    told = (
        {"system": "S"},
        {"human": "Q"},
        {"tool_function": "search", "tool_arguments": '{"query": "Q"}', "call_id": "c1"},
        {"call_id": "c1", "output": "R"},
        {"assistant": [json.dumps({"tool_function": "add", "tool_arguments": "{}"})]},
        {"tool": "3"},
    )
    said = monocle.messages(span("inference", [json.dumps(one) for one in told], '{"ai": "A"}'), Memo())
    assert ["system", "user", "assistant", "tool", "assistant", "tool"] == [one.role for one in said.input or ()]
    assert CALL == (said.input or ())[2].parts[0]
    assert "A" == (said.output or ())[0].parts[0].text
    assert "Q" == (monocle.messages(span("inference", "Q"), Memo()).input or ())[0].parts[0].text


def test_results_that_nobody_can_tell_apart() -> None:
    """Of several results without ids none is known to be whose: no more is told than that there were some."""
    told = [
        json.dumps(one) for one in ({"user": "Q"}, {"tool": "R1"}, {"tool": "R2"}, {"assistant": "A"}, {"tool": "R3"})
    ]
    said = monocle.messages(span("inference", told, "A"), Memo()).input or ()
    assert ["user", "tool", "tool", "assistant", "tool"] == [one.role for one in said]
    assert [None, None, "R3"] == [one.parts[0].value for one in said if one.role == "tool"]


def test_agents() -> None:
    """An agent by its entity's name; LangGraph's messages may be pairs, another's question a list of one."""
    pairs = '{"messages": [["user", "Q"]]}'
    one = span("agentic.invocation", pairs, "A", **{"entity.1.name": "helper"})
    assert AgentFields("helper", "Q", "A") == monocle.agent(one, Memo())
    assert AgentFields(None, "Q", None) == monocle.agent(span("agentic.turn", ["Q"]), Memo())
    state = json.dumps({"messages": [{"role": "user", "content": "Q"}]})
    assert "Q" == monocle.agent(span("agentic.turn", state), Memo()).query


def test_retrievals_and_context() -> None:
    """A retriever's query; a session, unless Monocle made it up."""
    assert RetrievalFields("Q") == monocle.retrieval(span("retrieval", "Q", "The beginning..."), Memo())
    assert ContextFields("s") == monocle.context(span("workflow", **{"scope.agentic.session": "s"}), Memo())
    assert ContextFields() == monocle.context(span("workflow", **{"scope.agentic.session": "0xab12"}), Memo())


@given(spans(monocle.CONVENTION, keys=KEYS, words=WORDS, events=("data.input", "data.output", "metadata")))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever attributes and events hold, reading gives an answer."""
    assert read_all(monocle.CONVENTION, one)
