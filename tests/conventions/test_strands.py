"""Strands Agents: content in events, in the newest form, in attributes only, and in the first releases."""

from __future__ import annotations

import json

from hypothesis import given

from spanwise import conventions
from spanwise.conventions import strands
from spanwise.model.content import (
    AgentFields,
    Document,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import run_of
from tests.recordings_io import made, remade
from tests.recordings_io import spans as recorded

SCOPE = "strands.telemetry.tracer"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
BEGUN = {"gen_ai.event.start_time": "2025-06-01T00:00:00+00:00"}


def named(name: str, recording: str = "strands__builtin", *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


def test_time_to_first_token() -> None:
    """Strands counts whole milliseconds under the name that others use for seconds; 0 is no time, and not read."""
    key = "gen_ai.server.time_to_first_token"
    waits: tuple[dict[str, object], ...] = (
        {key: 29}, {key: 0}, {}, {key: 29, "gen_ai.response.time_to_first_chunk": 0.03}
    )  # fmt: skip
    assert [29, None, None, 30.0] == [strands.llm(made(attributes=wait), Memo()).ttft_ms for wait in waits]
    assert [389, 29, 28, 28, 29] == [
        strands.llm(span, Memo()).ttft_ms for span in recorded("strands__builtin") if span.name == "chat"
    ]


def test_kinds() -> None:
    """Operations tell the kind; memory is searched or kept; the first releases tell it by name."""
    kinds = {
        name: strands.kind(made(name, scope=SCOPE, attributes=attributes))
        for name, attributes in {
            "invoke_agent a": {"gen_ai.operation.name": "invoke_agent"},
            "invoke_swarm": {"gen_ai.operation.name": "invoke_swarm"},
            "invoke_graph": {"gen_ai.operation.name": "invoke_graph"},
            "execute_event_loop_cycle": {"gen_ai.operation.name": "execute_event_loop_cycle"},
            "memory.search": {"gen_ai.operation.name": "memory.search"},
            "memory.add": {"gen_ai.operation.name": "memory.add"},
            "Model invoke": BEGUN,
            "Tool: add": BEGUN,
            "Cycle 1": BEGUN,
            "my agent": {**BEGUN, "agent.name": "my agent"},
            "anything": BEGUN,
            "nothing": {},
            "unknown operation": {**BEGUN, "gen_ai.operation.name": "dance"},
        }.items()
    }
    assert {
        "invoke_agent a": "agent",
        "invoke_swarm": "workflow",
        "invoke_graph": "workflow",
        "execute_event_loop_cycle": "workflow",
        "memory.search": "retrieval",
        "memory.add": "other",
        "Model invoke": "llm",
        "Tool: add": "tool",
        "Cycle 1": "workflow",
        "my agent": "agent",
        "anything": None,
        "nothing": None,
        "unknown operation": None,
    } == kinds


def test_tool_by_events() -> None:
    """Arguments and result stand in events, the result in blocks."""
    assert ToolFields("calculator", '{"expression": "68400000 * 0.1"}', 6840000.0, "call_000006") == strands.tool(
        named("execute_tool calculator", at=1), Memo()
    )


def test_failed_tool() -> None:
    """A failed tool says so in its status, and its text is kept in both forms."""
    error = "Error: cannot parse expression: '68.4 million * 0.1'"
    expected = ToolFields("calculator", '{"expression": "68.4 million * 0.1"}', error, "call_000004", failed=True)
    assert [expected, expected] == [
        strands.tool(named("execute_tool calculator", recording), Memo())
        for recording in ("strands__builtin", "strands__builtin-genai-latest")
    ]


def test_tool_with_attributes_only() -> None:
    """Where events are off, the failure's text stands in the message that the tool gives as output."""
    answered = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": [{"text": "no"}]}]}]
    attributes = {
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.arguments": "{}",
        "gen_ai.output.messages": json.dumps(answered),
    }
    assert ToolFields("add", "{}", "no") == strands.tool(made(scope=SCOPE, attributes=attributes), Memo())


def test_cancelled_tool() -> None:
    """A cancelled call did not do its work, though its status is unset."""
    span = made(scope=SCOPE, attributes={"strands.cancellation.type": "CancelledError"})
    assert ToolFields(failed=True) == strands.tool(span, Memo())


def test_lists_in_typescript() -> None:
    """A list, which Strands for TypeScript passes on inside an object, is the list; any other object stays."""
    assert [1] == strands.unwrapped('[{"json": {"$value": [1]}}]', Memo())
    assert {"$value": 1, "a": 2} == strands.unwrapped('[{"json": {"$value": 1, "a": 2}}]', Memo())


def test_results_are_unwrapped() -> None:
    """Blocks of text or JSON around a result are taken off, anything else is left."""
    results = {
        text: strands.unwrapped(text, Memo())
        for text in (
            '[{"text": "[1, 2]"}]',
            '[{"text": "a"}, {"text": "b"}]',
            '[{"json": {"a": 1}}]',
            '[{"image": {}}]',
            "[]",
            "plain",
        )
    }
    assert {
        '[{"text": "[1, 2]"}]': [1, 2],
        '[{"text": "a"}, {"text": "b"}]': "a\nb",
        '[{"json": {"a": 1}}]': {"a": 1},
        '[{"image": {}}]': [{"image": {}}],
        "[]": "[]",
        "plain": "plain",
    } == results


def test_messages_by_events() -> None:
    """Each message is an event; calls and results keep their ids."""
    found = strands.messages(named("chat", at=2), Memo())
    assert found.input is not None
    error = "Error: cannot parse expression: '68.4 million * 0.1'"
    assert (
        Message("system", (Part("text", "You are a careful research assistant. Use the tools."),)),
        Message("user", (Part("text", QUESTION),)),
        Message(
            "assistant", (Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"}),)
        ),
    ) == found.input[:3]
    assert Message("tool", (Part("tool_result", "", "call_000004", None, error, True),)) == found.input[5]
    assert (
        Message("assistant", (Part("tool_call", "", "call_000006", "calculator", {"expression": "68400000 * 0.1"}),)),
    ) == found.output


def test_messages_of_the_newest_form() -> None:
    """With the newest conventions an event holds all messages of a side."""
    found = strands.messages(named("chat", "strands__builtin-genai-latest"), Memo())
    call = Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})
    system = Message("system", (Part("text", "You are a careful research assistant. Use the tools."),))
    expected = Messages((system, Message("user", (Part("text", QUESTION),))), (Message("assistant", (call,)),))
    assert expected == found


def test_agent() -> None:
    """Question and answer of an agent, without the line break at the end."""
    expected = AgentFields("research_agent", QUESTION, ANSWER)
    assert [expected, expected] == [
        strands.agent(named("invoke_agent research_agent", recording), Memo())
        for recording in ("strands__builtin", "strands__builtin-genai-latest")
    ]


def test_answers_are_text() -> None:
    """An answer that looks like JSON stays text; what an interrupted agent prints, or was redacted, is no answer."""

    def answered(message: str, **more: str) -> str | None:
        attributes = {"gen_ai.operation.name": "invoke_agent"}
        event = ("gen_ai.choice", {"message": message, **more})
        return strands.agent(made(scope=SCOPE, attributes=attributes, events=[event]), Memo()).answer

    assert '{"population": 68400000}' == answered('{"population": 68400000}\n')
    assert "42" == answered("42\n", finish_reason="end_turn")
    assert answered("[{'id': 'i1'}]", finish_reason="interrupt") is None
    assert answered("[REDACTED]") is None
    assert answered("\n") is None


def test_a_cycle_answers_nothing_but_text() -> None:
    """A cycle of the event loop holds blocks: a request for a tool is no answer."""
    assert AgentFields(None, QUESTION) == strands.agent(named("execute_event_loop_cycle"), Memo())


def test_flat_blocks_of_javascript() -> None:
    """In JavaScript what a model asks for is a block with a type, not a block named after its kind."""
    blocks = [{"type": "toolUse", "name": "add", "toolUseId": "t1", "input": {"a": 1}}]
    choice = ("gen_ai.choice", {"finish_reason": "toolUse", "message": json.dumps(blocks)})
    chat = made("chat", scope="strands-agents", attributes={"gen_ai.operation.name": "chat"}, events=(choice,))
    dialect, _ = conventions.classify(chat)
    assert [Part("tool_call", "", "t1", "add", {"a": 1})] == list(conventions.requests(chat, Memo(), dialect) or ())


def test_first_releases() -> None:
    """Before 0.2 everything was an attribute, the parameters of a tool being its arguments."""
    blocks = [{"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}}]
    prompt = [{"role": "user", "content": [{"text": "add one"}]}]
    model = made(
        "Model invoke",
        scope="strands-agents",
        attributes={"gen_ai.prompt": json.dumps(prompt), "gen_ai.completion": json.dumps(blocks)},
    )
    call = Part("tool_call", "", "t1", "add", {"a": 1})
    expected = Messages((Message("user", (Part("text", "add one"),)),), (Message("assistant", (call,)),))
    assert expected == strands.messages(model, Memo())
    fields = {
        "tool.name": "add",
        "tool.id": "t1",
        "tool.parameters": '{"a": 1}',
        "tool.result": '[{"text": "2"}]',
        "tool.status": "error",
    }
    assert ToolFields("add", '{"a": 1}', 2, "t1", failed=True) == strands.tool(made(attributes=fields), Memo())
    fields = {"agent.name": "helper", "gen_ai.prompt": "add one", "gen_ai.completion": "Two.\n"}
    assert AgentFields("helper", "add one", "Two.") == strands.agent(made(attributes=fields), Memo())


def test_memory_is_a_retrieval() -> None:
    """A search of the memory tells its query and what it found, in events or, without query, in an attribute."""
    found = [
        {"content": "Paris", "store_name": "facts", "metadata": {"id": "m1", "score": 0.5, "title": "t"}},
        "odd",
        {},
    ]
    documents = (Document("m1", 0.5, "Paris", ("t",)),)
    events = [("memory.query", {"content": "capital"}), ("memory.results", {"content": json.dumps(found)})]
    assert RetrievalFields("capital", documents) == strands.retrieval(made(scope=SCOPE, events=events), Memo())
    span = made(scope=SCOPE, attributes={"content": json.dumps(found)})
    assert RetrievalFields(None, documents) == strands.retrieval(span, Memo())
    assert RetrievalFields("capital") == strands.retrieval(made(scope=SCOPE, events=events[:1]), Memo())


def test_definitions() -> None:
    """Agents name their tools, or define them when told to; a tool's span has the schema of one."""
    schema = {
        "properties": {"expression": {"description": "Parameter expression", "type": "string"}},
        "required": ["expression"],
        "type": "object",
    }
    defined = ToolDefinition("calculator", "Evaluate an arithmetic expression.", schema)
    agent, tool = named("invoke_agent research_agent"), named("execute_tool calculator")
    assert (ToolDefinition("search_docs"), ToolDefinition("calculator")) == strands.definitions(agent, Memo())
    newest = strands.definitions(named("invoke_agent research_agent", "strands__builtin-genai-latest"), Memo())
    assert newest is not None
    assert [defined, (defined,)] == [newest[1], strands.definitions(tool, Memo())]
    nameless = remade(tool, attributes={"gen_ai.tool.json_schema": "{}"})
    assert [None, None] == [strands.definitions(span, Memo()) for span in (nameless, named("chat"))]


KEYS = (
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "tool.id",
    "gen_ai.tool.call.result", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion",
    "gen_ai.agent.tools", "gen_ai.tool.json_schema", "gen_ai.tool.status", "tool.result", "message", "content", "id",
)  # fmt: skip
WORDS = (
    "toolUse", "toolResult", "toolUseId", "name", "input", "text", "json", "status", "content", "parts", "role",
    "metadata", "score", "invoke_agent", "memory.search", "tool_call_response", "type", "response",
)  # fmt: skip


@given(
    spans(
        strands.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("Model invoke", "Tool: x"),
        events=("gen_ai.choice", "gen_ai.tool.message", "gen_ai.user.message", "memory.results", "memory.query"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(strands.CONVENTION, span) == 7


def test_the_tool_that_takes_a_typed_answer() -> None:
    """Strands runs a tool of the schema's name, which says that it took the output and did no work of its own."""
    for text, control in (
        ("Successfully validated Out structured output", True),
        ("Successfully validated 3 rows", False),
    ):
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Out"}
        events = [("gen_ai.choice", {"message": json.dumps([{"text": text}])})]
        (call,) = run_of(made(scope=SCOPE, attributes=attributes, events=events)).tool_calls
        assert ("ok", control) == (call.status, call.control)
