"""What LangGraph tells all instrumentations: who passed control to whom, and commands in the place of results."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import _genai, _genai_scopes, openinference, traceloop
from spanwise.conventions._langgraph import passed, told_by_command
from spanwise.model.content import HandoffFields, Memo
from spanwise.model.raw import RawSpan
from spanwise.model.span import Kind
from tests.conventions.test_openinference_runs import read
from tests.making import run_of
from tests.recordings_io import made

KIND = "openinference.span.kind"
LANGCHAIN = "openinference.instrumentation.langchain"
PLACE = "supervisor:74ff8a08-45c7|tools:6755004a-ebc0"
DONE = {"type": "tool", "content": "Successfully transferred to maths", "tool_call_id": "c1"}
COMMAND = {"graph": "__parent__", "update": {"messages": [{"type": "human", "content": "?"}, DONE]}, "goto": "maths"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"langgraph_checkpoint_ns": PLACE, "__handoff_destination": "maths"}, HandoffFields("supervisor", "maths")),
        ({"langgraph_checkpoint_ns": f"team:1|{PLACE}"}, HandoffFields("supervisor", None)),
        ({"langgraph_checkpoint_ns": "tools:6755004a-ebc0"}, None),
        ({"langgraph_checkpoint_ns": 7, "__handoff_destination": "maths"}, HandoffFields(None, "maths")),
        ({}, None),
    ],
)
def test_who_passed_control(metadata: dict[str, object], expected: HandoffFields | None) -> None:
    """The node of the parent graph in which a tool ran passes control; without a parent graph nobody does."""
    assert expected == passed(metadata)
    dotted = {f"traceloop.association.properties.{key}": value for key, value in metadata.items()}
    assert expected == traceloop.handoff(made("transfer_to_maths", attributes=dotted), Memo())
    attributes = {KIND: "TOOL", "tool.name": "transfer_to_maths", "metadata": json.dumps(metadata)}
    assert expected == openinference.handoff(made("transfer_to_maths", attributes=attributes), Memo())


def test_results_that_are_commands() -> None:
    """Of a command the model is told its last tool message; what is no command, or tells nothing, stays as it is."""
    told = [told_by_command(value, Memo()) for value in (COMMAND, json.dumps(COMMAND))]
    assert ["Successfully transferred to maths"] * 2 == told
    untold = [
        {"update": COMMAND["update"]},
        "text",
        json.dumps({**COMMAND, "more": 1}),
        '{"graph": 1',
        json.dumps({**COMMAND, "update": []}),
    ]
    assert [None] * 5 == [told_by_command(value, Memo()) for value in untold]
    answered = {**COMMAND, "update": {"messages": [DONE, {"type": "ai", "content": "7"}]}}
    assert DONE["content"] == told_by_command(json.dumps(answered), Memo())
    attributes = {"gen_ai.tool.name": "transfer_to_maths", "gen_ai.tool.call.result": json.dumps(COMMAND)}
    assert DONE["content"] == _genai.tool(made(scope=_genai_scopes.LANGCHAIN, attributes=attributes), Memo()).result
    assert json.dumps(COMMAND) == _genai.tool(made(attributes=attributes), Memo()).result


@pytest.mark.parametrize(
    ("name", "said", "metadata", "kind"),
    [
        ("route_to_active_agent", "maths", {"langgraph_node": "__start__"}, "workflow"),
        ("maths_agent", "maths", {"langgraph_node": "maths_agent"}, "agent"),
        ("maths_agent", "It is 7.", {"langgraph_node": "work"}, "agent"),
        ("maths_agent", "maths", {}, "agent"),
    ],
)
def test_a_function_that_names_the_next_node(name: str, said: str, metadata: dict[str, str], kind: Kind) -> None:
    """It is no agent, whatever it is called; a node is, and what answers in words."""
    attributes = {KIND: "AGENT", "output.value": said, "metadata": json.dumps(metadata)}
    assert kind == openinference.kind(made(name, scope=LANGCHAIN, attributes=attributes))


def test_prebuilt_agents_sign_what_they_say() -> None:
    """A graph whose messages bear its name is an agent; one that tools or other agents spoke in is none."""

    def kind(name: str, **attributes: object) -> Kind | None:
        dotted = {KIND: "CHAIN", **{key.replace("__", "."): value for key, value in attributes.items()}}
        return openinference.kind(made(name, scope=LANGCHAIN, attributes=dotted))

    data = {"content": "7", "type": "ai", "name": "supervisor"}
    state = json.dumps({"messages": [{"type": "ai", "data": data}]})
    assert ["agent", "workflow"] == [kind("supervisor", output__value=state), kind("team", output__value=state)]
    found = json.dumps({"messages": [{"type": "tool", "data": {**data, "type": "tool"}}]})
    assert "workflow" == kind("supervisor", output__value=found)
    said = "Command(update={'messages': [AIMessage(content='', name='supervisor', id='lc_run--01a1-0')]})"
    raised = {"exception.type": "langgraph.errors.ParentCommand", "exception.message": said}
    for name, text, expected in (
        ("supervisor", said, "agent"),
        ("team", said, "workflow"),
        ("supervisor", said.removeprefix("Command"), "workflow"),
    ):
        events = [("exception", {**raised, "exception.message": text})]
        span = made(name, scope=LANGCHAIN, attributes={KIND: "CHAIN"}, events=events)
        assert expected == openinference.kind(span)


def test_the_last_word_of_a_worker() -> None:
    """A worker that reports as a human of its own name has the last word; a human who only asked has none."""

    def answer(*spoken: dict[str, object]) -> str | None:
        state = {"messages": [{"type": "human", "data": {"type": "human", **data}} for data in spoken]}
        return read(scope="langchain", output__value=json.dumps(state)).answer

    asked = {"content": "How many?", "name": None}
    assert "7" == answer(asked, {"content": "7", "name": "coder"})
    assert [None, None] == [answer({"content": "7", "name": "coder"}), answer(asked, asked)]


@pytest.mark.parametrize("kind", ["langgraph.errors.GraphInterrupt", "NodeInterrupt"])
def test_a_tool_that_waits_for_a_human(kind: str) -> None:
    """What LangGraph raises to wait for somebody is no failure, and no success either."""
    raised = [("exception", {"exception.type": kind, "exception.message": "(Interrupt(value='?'),)"})]
    tools = {KIND: "TOOL", "tool.name": "send_mail"}
    assert openinference.tool(made(scope=LANGCHAIN, attributes=tools, events=raised), Memo()).paused
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send_mail"}
    waits = made(attributes={**named, "error.type": kind}, status=2)
    assert _genai.tool(waits, Memo()).paused
    assert not _genai.tool(made(attributes={**named, "error.type": "ValueError"}, status=2), Memo()).paused
    assert ["unknown"] == [call.status for call in run_of(waits).tool_calls]


def test_the_state_that_an_agent_returned() -> None:
    """Of a LangChain agent the returned state tells what no model was told any more."""
    told = {"type": "tool", "content": "Returning structured response: x", "tool_call_id": "c9"}
    attributes = {KIND: "AGENT", "output.value": json.dumps({"messages": [{"type": "tool", "data": told}]})}
    assert openinference.messages(made("a", scope=LANGCHAIN, attributes=attributes), Memo()).output is None
    (message,) = openinference.record(made("a", scope=LANGCHAIN, attributes=attributes), Memo()) or ()
    assert [("c9", "Returning structured response: x")] == [(part.id, part.value) for part in message.parts]
    (plain,) = openinference.record(made("a", attributes=attributes), Memo()) or ()
    assert message == plain


PRINTED = "content='2' name='add' tool_call_id='c1'"
PRINTED_COMMAND = (
    "Command(update={'messages': [HumanMessage(content='How many?', id='h'), "
    "ToolMessage(content='Transferred', tool_call_id='c1')]}, goto='maths')"
)
NUMBERED = '{"name": "add", "tool_call_id": 1, "content": 2}'


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (PRINTED, (2, "c1", False)),
        (json.dumps(PRINTED), (2, "c1", False)),
        (f"{PRINTED} status='error'", (2, "c1", True)),
        ('{"name": "add", "tool_call_id": "c1", "content": [1]}', ([1], "c1", False)),
        (PRINTED_COMMAND, ("Transferred", "c1", False)),
        ("content=[] name='add' tool_call_id='c1'", ([], "c1", False)),
        ("content=[{'type': 'text', 'text': '[2]'}] name='add' tool_call_id='c1'", ([2], "c1", False)),
        (
            "Command(update={'messages': [ToolMessage(content=[1], tool_call_id='c2', status='error')]})",
            ([1], "c2", True),
        ),
        ("content=[2] of 3", ("content=[2] of 3", None, False)),
        ("content='2' of 3", ("content='2' of 3", None, False)),
        ("Command(goto='maths')", ("Command(goto='maths')", None, False)),
        ('{"name": "add", "content": 2}', ('{"name": "add", "content": 2}', None, False)),
        (NUMBERED, (NUMBERED, None, False)),
        ('{"name": 1', ('{"name": 1', None, False)),
    ],
)
def test_messages_in_the_place_of_results(result: str, expected: tuple[object, str | None, bool]) -> None:
    """The message in which a tool tells its result to the model is opened; what only looks like one stays as it is."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.result": result}
    said = _genai.tool(made(attributes=attributes), Memo())
    assert expected == (said.result, said.call_id, said.failed)


def test_the_id_on_the_span_counts() -> None:
    """The id that the span tells stays, whatever the message in the result says."""
    attributes = {"gen_ai.tool.name": "add", "gen_ai.tool.call.result": PRINTED, "gen_ai.tool.call.id": "c0"}
    assert "c0" == _genai.tool(made(attributes=attributes), Memo()).call_id


def test_langchain_agents_before_operations() -> None:
    """Up to 0.5x a graph is a workflow or a task: it is an agent where its model speaks under its name."""

    def graph(name: str, *, scope: str = "opentelemetry.instrumentation.langchain") -> RawSpan:
        state = '{"outputs": {"messages": [{"kwargs": {"content": "Hi", "type": "ai", "name": "helper"}}]}}'
        said = {"traceloop.span.kind": "task", "traceloop.entity.name": name, "traceloop.entity.output": state}
        return made(f"{name}.task", scope=scope, attributes=said)

    kinds = [
        traceloop.kind(one) for one in (graph("helper"), graph("tools"), graph("helper", scope="traceloop.tracer"))
    ]
    assert ["agent", "workflow", "workflow"] == kinds
    assert ("helper", None) == (
        traceloop.agent(graph("helper"), Memo()).name,
        traceloop.agent(graph("tools"), Memo()).name,
    )


@pytest.mark.parametrize(
    ("raised", "message", "fails"),
    [
        ({"error.type": "langgraph.errors.ParentCommand"}, "Command(graph='team')", False),
        ({"error.type": "_OTHER"}, "Command(graph='team', update={})", False),
        ({"error.type": "ValueError"}, "no such Command(graph='team')", True),
    ],
)
def test_a_command_to_the_parent_graph_is_no_failure(raised: dict[str, object], message: str, fails: bool) -> None:
    """A node raises the command by which it passes control, which instrumentations take for an error."""
    attributes = {"gen_ai.operation.name": "invoke_agent", **raised}
    span = made(attributes=attributes, status=2, message=message)
    assert fails == conventions.failed(span, conventions.classify(span)[0])
    event = ("exception", {"exception.type": "langgraph.errors.ParentCommand"})
    raising = made(attributes={"traceloop.span.kind": "agent"}, events=[event], status=2)
    assert not conventions.failed(raising, conventions.classify(raising)[0])
