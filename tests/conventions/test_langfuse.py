"""Langfuse's SDKs: the LangChain handler, `@observe`, and the OpenAI wrapper."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import langfuse
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
    HandoffFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    RetrievalFields,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

RECORDING = "langgraph__langfuse"
SYSTEM = "You are a careful research assistant. Use the tools."
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
CALL = Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})
TEXTS = (
    ("doc-fr-1", "INSEE estimates that 68.4 million people lived in France on 1 January 2024.", 0.91),
    ("doc-fr-2", "Paris, the capital of France, has about 2.1 million inhabitants.", 0.64),
    ("doc-fr-3", "France produces more than 1,000 kinds of cheese.", 0.22),
)


def named(name: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in the recording."""
    return [span for span in recorded(RECORDING) if span.name == name][at]


def observation(kind: str, name: str = "span", *, status: int = 0, **fields: object) -> RawSpan:
    """An observation, its fields written as the SDK writes them: text as it is, all else as JSON."""
    attributes: dict[str, object] = {"langfuse.observation.type": kind}
    for key, value in fields.items():
        attributes[f"langfuse.observation.{key}"] = value if isinstance(value, str) else json.dumps(value)
    return made(name, scope="langfuse-sdk", attributes=attributes, status=status)


def test_tool_before_observations_had_types_of_their_own() -> None:
    """What a tool was given is printed, its result a message that bears the id of the call."""
    message = {"type": "tool", "name": "add", "tool_call_id": "c1", "content": "2", "status": "success"}
    span = observation("span", "add", input="{'a': 1}", output=message, **{"metadata.color": "green"})
    assert ToolFields("add", {"a": 1}, 2, "c1") == langfuse.tool(span, Memo())


def test_tool_of_langchain() -> None:
    """The result is taken out of the tool message, the id out of the metadata."""
    result = [{"content": text, "id": number, "score": score} for number, text, score in TEXTS]
    expected = ToolFields("search_docs", {"query": "population of France 2024"}, result, "call_000002")
    assert expected == langfuse.tool(named("search_docs"), Memo())


def test_failed_tool_of_langchain() -> None:
    """A failure is a level and a message."""
    message = "cannot parse expression: '68.4 million * 0.1'"
    arguments = {"expression": "68.4 million * 0.1"}
    expected = ToolFields("calculator", arguments, None, "call_000004", failed=True, message=message)
    assert expected == langfuse.tool(named("calculator"), Memo())
    assert SpanError(message=message) == langfuse.error(named("calculator"))
    assert None is langfuse.error(named("search_docs"))


def test_tool_of_observe() -> None:
    """A decorated function's call is unpacked; what it returned stays as it is."""
    lone = observation("tool", "add", input={"args": ["1 + 1"], "kwargs": {}}, output="2")
    by_name = observation("tool", "add", input={"args": [], "kwargs": {"a": 1}}, output={"sum": 2})
    assert ToolFields("add", "1 + 1", 2) == langfuse.tool(lone, Memo())
    assert ToolFields("add", {"a": 1}, {"sum": 2}) == langfuse.tool(by_name, Memo())
    assert ToolFields("add") == langfuse.tool(observation("tool", "add"), Memo())


def test_functions_that_are_said_to_be_agents() -> None:
    """A function in a graph's node, or one that names the next node, is no agent for the word in its name."""

    def kind(name: str, node: str, output: object) -> object:
        metadata = {"metadata.langgraph_node": f'"{node}"'}
        return langfuse.kind(observation("agent", name, output=output, **metadata))

    spoken = {"messages": [{"type": "ai", "content": "7"}]}
    assert "workflow" == kind("route_to_active_agent", "__start__", "research_agent")
    assert "workflow" == kind("call_agent", "research_agent", spoken)
    assert "agent" == kind("maths_agent", "__start__", spoken)
    assert "agent" == kind("maths_agent", "maths_agent", "seven")
    assert "agent" == kind("maths_agent", "tools", "It is seven.")


def test_tool_that_waits_for_a_human() -> None:
    """LangGraph's pause is no failure and no success: the message says what is waited for, nothing was returned."""
    waiting = "(Interrupt(value={'question': 'which year?'}, id='80'),)"
    assert langfuse.tool(observation("tool", "ask", level="DEFAULT", status_message=waiting), Memo()).paused
    assert not langfuse.tool(observation("tool", "ask", status_message=waiting, output="2024"), Memo()).paused
    assert not langfuse.tool(observation("tool", "ask", status_message="cut short"), Memo()).paused


def test_record_of_a_graph() -> None:
    """What the graph returned holds what was told of the last calls, which no model was sent any more."""
    told = {"type": "tool", "content": "Returning structured response: a=1", "tool_call_id": "c1"}
    asked = {"type": "ai", "content": "", "tool_calls": [{"name": "Out", "args": {"a": 1}, "id": "c1"}]}
    (said, heard) = langfuse.record(observation("agent", "g", output={"messages": [asked, told]}), Memo()) or ()
    assert ("c1", "c1") == (said.parts[0].id, heard.parts[0].id)
    assert langfuse.record(observation("agent", "g", output="done"), Memo()) is None


def test_what_a_function_threw_is_no_result() -> None:
    """In JavaScript the error stands in the place of the result; an error that a tool returned stays its result."""
    thrown = {"error": "Error: no such city"}
    failed = {"level": "ERROR", "status_message": "no such city"}
    found = langfuse.tool(observation("tool", "f", output=thrown, **failed), Memo())
    assert (None, True, "no such city") == (found.result, found.failed, found.message)
    for returned in ({"error": "Error: another"}, {"error": 7}, {"error": "no such city", "code": 4}):
        assert returned == langfuse.tool(observation("tool", "f", output=returned, **failed), Memo()).result
    assert thrown == langfuse.tool(observation("tool", "f", output=thrown), Memo()).result


def test_text_in_quotes() -> None:
    """Release 3.0.0 wrote all text as JSON, in quotes; it reads like bare text."""
    attributes = {
        "langfuse.observation.type": "tool",
        "langfuse.observation.input": json.dumps({"args": ["1 + 1"], "kwargs": {}}),
        "langfuse.observation.output": json.dumps("two"),
        "langfuse.observation.metadata.tool_call_id": json.dumps("call_1"),
    }
    assert ToolFields("add", "1 + 1", "two", "call_1") == langfuse.tool(made("add", attributes=attributes), Memo())
    generation = observation("generation", input=json.dumps("Why?"), output=json.dumps("Because."))
    asked, said = Message("user", (Part("text", "Why?"),)), Message("assistant", (Part("text", "Because."),))
    assert Messages((asked,), (said,)) == langfuse.messages(generation, Memo())


def test_exception_names_the_type_of_a_failure() -> None:
    """The type comes from an exception event, the message from the observation."""
    attributes = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "no b"}
    events = [("exception", {"exception.type": "ValueError", "exception.message": "no b given"})]
    assert SpanError(type="ValueError", message="no b") == langfuse.error(made(attributes=attributes, events=events))


def test_usage_of_langchain_is_summed_up() -> None:
    """The handler takes what was cached out of the input: all kinds of a side make up its total."""
    expected = LLMFields("gpt-4o-mini-2024-07-18", "openai", 327, 15, 64, None, 0)
    assert expected == langfuse.llm(named("ChatOpenAI", at=1), Memo())


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 10, "output": 5, "total": 15, "input_cache_read": 4}, (10, 5, 4, None, None)),
        ({"input": 6, "output": 5, "total": 15, "input_cache_read": 4}, (10, 5, 4, None, None)),
        (
            {
                "input": 6, "output": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2,
                "cache_creation_ephemeral_5m_input_tokens": 2, "input_priority": 9, "output_reasoning": 2,
            },
            (12, 5, 4, 2, 2),
        ),
        (
            {
                "input": 0, "output": 0, "total": 15, "input_modality_TEXT": 6, "cached_modality_TEXT": 4,
                "output_modality_TEXT": 5,
            },
            (10, 5, None, None, None),
        ),
        ({"input": 7}, (7, None, None, None, None)),
        (
            {
                "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            (10, 5, 4, None, 2),
        ),
        (
            {
                "input_tokens": 10, "output_tokens": 5, "output_tokens_details": None,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            },
            (10, 5, 4, 1, None),
        ),
        ({}, (None, None, None, None, None)),
    ],
)  # fmt: skip
def test_usage(usage: dict[str, object], expected: tuple[int | None, ...]) -> None:
    """Langfuse's kinds exclude each other unless the total says otherwise; a provider's details are in its totals."""
    found = langfuse.llm(observation("generation", usage_details=usage), Memo())
    assert LLMFields(None, None, *expected) == found


@pytest.mark.parametrize(
    ("details", "cost"),
    [
        ({"input": 0.1, "output": 0.2, "total": 0.3}, 0.3),
        ({"input": 0.25, "output": 0.5}, 0.75),
        ({}, None),
        ([], None),
    ],
)
def test_cost(details: object, cost: float | None) -> None:
    """The total counts, else the sum."""
    assert cost == langfuse.llm(observation("generation", cost_details=details), Memo()).cost_usd


@pytest.mark.parametrize(
    ("moment", "waited"),
    [
        ('"2026-01-31T12:00:00.250000Z"', 250.0),
        ("2026-01-31T12:00:00.250+00:00", 250.0),
        ("2026-01-31T12:00:00.25", 250.0),
        ("2026-01-31T11:59:59Z", None),
        ("soon", None),
        (3, None),
    ],
)
def test_time_to_first_token(moment: object, waited: float | None) -> None:
    """When the answer began, in quotes or without, tells how long it took to begin; not before the call."""
    one = made(attributes={"langfuse.observation.completion_start_time": moment})
    one.start_ns = 1_769_860_800_000_000_000
    assert waited == langfuse.llm(one, Memo()).ttft_ms


def test_messages_of_langchain() -> None:
    """The tools that the handler puts among the messages are no messages, but what the model was offered."""
    span = named("ChatOpenAI")
    sent = (Message("system", (Part("text", SYSTEM),)), Message("user", (Part("text", QUESTION),)))
    assert Messages(sent, (Message("assistant", (CALL,)),)) == langfuse.messages(span, Memo())
    schema = {"properties": {"expression": {"type": "string"}}, "required": ["expression"], "type": "object"}
    expected = ToolDefinition("calculator", "Evaluate an arithmetic expression.", schema)
    found = langfuse.definitions(span, Memo()) or ()
    assert ["search_docs", "calculator"] == [tool.name for tool in found]
    assert expected == found[1]


def test_messages_join_results_to_calls() -> None:
    """A real tool message has the id of its call and stays."""
    sent = langfuse.messages(named("ChatOpenAI", at=1), Memo()).input or ()
    assert ["system", "user", "assistant", "tool"] == [message.role for message in sent]
    assert ("tool_result", "call_000002") == (sent[3].parts[0].type, sent[3].parts[0].id)


def test_messages_of_the_openai_wrapper() -> None:
    """Chat's messages stand beside the tools; Responses' input may be text, with instructions beside it."""
    tools = [{"type": "function", "function": {"name": "add", "description": "Add."}}]
    chat = observation(
        "generation", input={"messages": [{"role": "user", "content": "1 + 1?"}], "tools": tools}, output="2"
    )
    responses = observation(
        "generation",
        input={"instructions": "Be brief.", "input": "1 + 1?", "tools": []},
        output={"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
    )
    listed = observation("generation", input={"input": [{"role": "user", "content": "1 + 1?"}]})
    plain = observation("generation", input="1 + 1?")
    asked = Message("user", (Part("text", "1 + 1?"),))
    assert Messages((asked,), (Message("assistant", (Part("text", "2"),)),)) == langfuse.messages(chat, Memo())
    assert (ToolDefinition("add", "Add."),) == langfuse.definitions(chat, Memo())
    assert Messages(
        (Message("system", (Part("text", "Be brief."),)), asked),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {}),)),),
    ) == langfuse.messages(responses, Memo())
    assert Messages((asked,)) == langfuse.messages(listed, Memo())
    assert Messages((asked,)) == langfuse.messages(plain, Memo())
    assert Messages() == langfuse.messages(observation("generation", input=""), Memo())
    assert Messages() == langfuse.messages(observation("generation", input={"input": 7}), Memo())
    assert None is langfuse.definitions(plain, Memo())


def test_agent_of_langchain() -> None:
    """The question is the state's user message, the answer the final state's last word; a node is no agent."""
    assert AgentFields("research_agent", QUESTION, ANSWER) == langfuse.agent(named("research_agent"), Memo())
    assert AgentFields(None, QUESTION) == langfuse.agent(named("model"), Memo())


def test_agent_of_observe() -> None:
    """Question and answer are what the function was called with and returned; what failed has no answer."""
    call = {"args": [QUESTION], "kwargs": {}}
    assert AgentFields("helper", QUESTION, ANSWER) == langfuse.agent(
        observation("agent", "helper", input=call, output=ANSWER), Memo()
    )
    assert AgentFields("helper", QUESTION) == langfuse.agent(
        observation("agent", "helper", input=call, output="ValueError", level="ERROR"), Memo()
    )


def test_question_and_answer_of_the_trace() -> None:
    """Where the span's own tell nothing, what the app set on the trace does."""
    attributes = {
        "langfuse.observation.type": "span",
        "langfuse.observation.input": '{"args": [], "kwargs": {}}',
        "langfuse.trace.input": json.dumps({"question": QUESTION}),
        "langfuse.trace.output": ANSWER,
    }
    assert AgentFields(None, QUESTION, ANSWER) == langfuse.agent(made("handle", attributes=attributes), Memo())


def test_retrieval() -> None:
    """Documents have their ids and scores in the metadata."""
    documents = tuple(Document(number, score, text) for number, text, score in TEXTS)
    expected = RetrievalFields("population of France 2024", documents)
    assert expected == langfuse.retrieval(named("kb_retriever"), Memo())
    assert RetrievalFields() == langfuse.retrieval(observation("retriever"), Memo())


def test_context() -> None:
    """Session, user, tags and the trace's metadata, also through the other dialects of the span."""
    metadata = {"ls_integration": "langchain_create_agent", "lc_agent_name": "research_agent"}
    expected = ContextFields("sess-42", "user-7", None, ("demo",), metadata)
    assert expected == langfuse.context(named("research_agent"), Memo())
    assert expected == conventions.context(named("research_agent"), Memo())


def test_context_under_other_names() -> None:
    """Metadata that is no mapping of names stands under one name; tags may be JSON text."""
    attributes = {
        "langfuse.session.id": "s",
        "langfuse.user.id": "u",
        "langfuse.trace.tags": '["a", 7]',
        "langfuse.trace.metadata": '{"plan": "pro"}',
    }
    assert ContextFields("s", "u", None, ("a",), {"plan": "pro"}) == langfuse.context(
        made(attributes=attributes), Memo()
    )


@given(
    spans(
        langfuse.CONVENTION,
        keys=(
            *(
                f"langfuse.observation.{name}"
                for name in (
                    "type", "input", "output", "level", "status_message", "usage_details", "cost_details", "model.name",
                    "metadata.tool_call_id", "metadata.lc_agent_name", "metadata.ls_provider",
                )
            ),
            *(f"langfuse.trace.{name}" for name in ("input", "output", "tags", "metadata", "metadata.plan")),
            "session.id",
        ),
        words=(
            "messages", "role", "tool", "content", "args", "kwargs", "input", "instructions", "tools", "output",
            "total", "prompt_tokens", "prompt_tokens_details", "input_cache_read", "documents", "metadata", "score",
        ),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 9 == read_all(langfuse.CONVENTION, span)


def test_who_passed_control() -> None:
    """LangGraph's metadata names the node of the tool that passes control, and where it leads."""
    places = {
        "metadata.langgraph_checkpoint_ns": '"supervisor:74ff|tools:6755"',
        "metadata.__handoff_destination": '"research_agent"',
    }
    span = observation("tool", "transfer_to_research_agent", **places)
    assert HandoffFields("supervisor", "research_agent") == langfuse.handoff(span, Memo())
    assert None is langfuse.handoff(observation("tool", "add"), Memo())
