"""The facts that are read for a run: definitions, whose request it was, and how a span went."""

from __future__ import annotations

import json

import pytest

from spanwise.assembly.facts import definitions
from spanwise.model.calls import Who
from spanwise.model.content import ToolDefinition
from spanwise.model.raw import RawEvent
from spanwise.model.span import SpanError
from tests.making import agent, chat, run_of, span, tool, trace_of


def offers(*tools: object) -> dict[str, object]:
    """The attribute that says which tools a model was offered."""
    return {"gen_ai.tool.definitions": json.dumps(tools)}


def test_definitions_of_all_spans() -> None:
    """Each tool stands once, by first appearance, with its schema wherever that was recorded."""
    schema = {"type": "object"}
    run = run_of(
        agent(1, **offers("a")),
        chat(2, parent=1, **offers({"name": "a", "parameters": schema}, {"name": "b", "parameters": schema})),
        chat(3, parent=1, **offers({"name": "b", "parameters": {"type": "null"}}, "a")),
    )
    assert (ToolDefinition("a", "", schema), ToolDefinition("b", "", schema)) == run.tool_definitions


def test_no_definitions() -> None:
    """Not recorded is None; recorded and empty is empty."""
    assert None is run_of(agent(1), chat(2, parent=1)).tool_definitions
    assert () == run_of(agent(1, **offers())).tool_definitions


def test_definitions_of_a_tools_span_do_not_count() -> None:
    """What a tool's own span describes is not what the model was offered."""
    one = tool(2, parent=1)
    one.attributes = {**one.attributes, **offers("search")}
    trace = trace_of(agent(1), one)
    assert [None] == [definitions(run) for run in trace.runs]


def test_whose_request() -> None:
    """Ids are collected over the run's spans, the first of each kind."""
    run = run_of(
        agent(1, **{"session.id": "s1"}),
        chat(2, parent=1, **{"user.id": "u1", "session.id": "s2"}),
        chat(3, parent=1, **{"request.id": "r1"}),
        chat(4, parent=1, **{"request.id": "r2"}),
    )
    assert Who(session_id="s1", user_id="u1", request_id="r1") == run.who


def test_whose_request_from_the_spans_around() -> None:
    """What the run's spans do not name the spans above it may."""
    around = span(1, end=5000, attributes={"user.id": "u1", "session.id": "around"})
    assert Who(session_id="s1", user_id="u1") == run_of(around, agent(2, parent=1, **{"session.id": "s1"})).who


def test_what_the_app_said_counts_first() -> None:
    """What `spanwise.context` wrote, above the run too, counts before ids that a framework made up."""
    around = span(1, end=5000, attributes={"spanwise.session_id": "chat", "spanwise.tags": ["beta"], "user.id": "u1"})
    made_up = {"gen_ai.conversation.id": "c1", "request.id": "r1"}
    inner = chat(3, parent=2, **{"spanwise.session_id": "inner", "spanwise.metadata": '{"plan":"pro"}'})
    who = run_of(around, agent(2, parent=1, **made_up), inner).who
    assert ("chat", "u1", "r1", ("beta",), {"plan": "pro"}) == (
        who.session_id,
        who.user_id,
        who.request_id,
        who.tags,
        who.metadata,
    )


def test_nobodys_request() -> None:
    """A run without a root and without ids is nobody's."""
    assert Who() == run_of(chat(1, parent=None)).who


@pytest.mark.parametrize(
    ("code", "message", "status"),
    [
        (0, "", "unset"),
        (1, "", "ok"),
        (2, "boom", "error"),
        (2, "", "error"),
        (2, "Request timed out.", "timeout"),
        (2, "DEADLINE_EXCEEDED", "timeout"),
        (1, "timeout of 3 s was not reached", "ok"),
    ],
)
def test_status(code: int, message: str, status: str) -> None:
    """A failed span that names a deadline timed out; any other failed span is an error."""
    trace = trace_of(span(1, status=code, message=message))
    assert status == trace.facts.status(trace.spans[0])


def test_status_by_type() -> None:
    """The type of a failure may name the deadline too."""
    event = RawEvent("exception", 1, {"exception.type": "asyncio.TimeoutError"})
    trace = trace_of(span(1, status=2, events=[event]))
    assert "timeout" == trace.facts.status(trace.spans[0])


def test_span_error() -> None:
    """Only a failed span has a failure to tell of."""
    trace = trace_of(span(1, status=2, message="boom"), span(2, parent=1, status=1, message="fine"))
    assert [SpanError(message="boom"), None] == [trace.facts.span_error(one) for one in trace.spans]


def test_definitions_that_were_cut() -> None:
    """A list that was cut leaves the tools unknown: one that is left out would pass for one that does not exist."""
    whole, cut = agent(1, **offers("a")), chat(2, parent=1, **{"gen_ai.tool.definitions": '[{"name": "b", "descr'})
    assert None is run_of(whole, cut).tool_definitions
