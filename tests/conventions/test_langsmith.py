"""LangSmith's runs: kinds by their type, content as JSON of inputs and outputs, failures by the exception event."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import langsmith
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    Document,
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
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KIND = "langsmith.span.kind"
GLUED = "ValueError('no such number')Traceback (most recent call last):\n\n\n  File \"app.py\", line 1, in run\n"


def run(kind: str, name: str = "span", given: object = None, returned: object = None, **more: object) -> RawSpan:
    """A run of LangSmith; keywords are metadata."""
    attributes: dict[str, object] = {KIND: kind, **{f"langsmith.metadata.{key}": value for key, value in more.items()}}
    if given is not None:
        attributes["gen_ai.prompt"] = json.dumps(given)
    if returned is not None:
        attributes["gen_ai.completion"] = json.dumps(returned)
    return made(name, scope="langsmith", attributes=attributes, status=1)


def crashed(span: RawSpan, message: str = GLUED) -> RawSpan:
    """The run ended by an exception, with the status that LangSmith leaves."""
    event = {"exception.type": "Exception", "exception.message": message}
    return made(span.name, attributes=span.attributes, events=[("exception", event)], status=1)


@pytest.mark.parametrize(
    ("kind", "operation", "expected"),
    [
        ("chain", "chain", "workflow"),
        ("llm", "chat", "llm"),
        ("tool", "execute_tool", "tool"),
        ("retriever", "embeddings", "retrieval"),
        ("embedding", "embeddings", "embedding"),
        ("prompt", "chat", "other"),
        ("parser", "parser", "other"),
        ("of the app", "chat", "other"),
    ],
)
def test_kinds(kind: str, operation: str, expected: str) -> None:
    """The run's type is right where the operation's name is not."""
    span = made(attributes={KIND: kind, "gen_ai.operation.name": operation})
    assert expected == langsmith.kind(span)
    assert ("langsmith", expected) == (conventions.CONVENTIONS[conventions.classify(span)[0]].name, expected)


def test_agents() -> None:
    """The chain that bears its agent's name is the agent; a node of its graph is a step."""
    assert ["agent", "workflow", None] == [
        langsmith.kind(run("chain", "helper", lc_agent_name="helper")),
        langsmith.kind(run("chain", "model", lc_agent_name="helper")),
        langsmith.kind(made(attributes={KIND: 7})),
    ]


def test_stand_ins_are_no_tools() -> None:
    """What LangChain runs in the place of a tool that does not exist is not one."""
    assert ["other", "other"] == [langsmith.kind(run("tool", name)) for name in ("invalid_tool", "_Exception")]


@pytest.mark.parametrize(
    ("given", "returned", "expected"),
    [
        ({"a": 1}, {"output": "2"}, ToolFields("add", {"a": 1}, 2)),
        ({"input": "x y"}, {"output": None}, ToolFields("add", "x y", None)),
        (
            {"a": 1},
            {"output": {"content": "no number", "type": "tool", "tool_call_id": "c1", "status": "error"}},
            ToolFields("add", {"a": 1}, "no number", "c1", failed=True),
        ),
        (None, None, ToolFields("add")),
    ],
)
def test_tools(given: object, returned: object, expected: ToolFields) -> None:
    """Arguments have their names, a message around the result is taken off and tells whether the tool failed."""
    assert expected == langsmith.tool(run("tool", "add", given, returned), Memo())


def test_a_tool_that_raised() -> None:
    """The status says OK, the exception event does not."""
    span = crashed(run("tool", "add", {"a": 1}))
    assert ToolFields("add", {"a": 1}, failed=True) == langsmith.tool(span, Memo())
    assert conventions.failed(span, conventions.classify(span)[0])
    error = langsmith.error(span)
    assert error is not None
    assert ("ValueError", "no such number") == (error.type, error.message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("it broke", ("Exception", "it broke")),
        ("Broken(code=3)Traceback (most recent call last):\n", ("Broken", "code=3")),
        ("what (is) that?", ("Exception", "what (is) that?")),
    ],
)
def test_errors(message: str, expected: tuple[str, str]) -> None:
    """The exception as Python prints it is taken apart; other text stays as it is."""
    error = langsmith.error(crashed(run("chain"), message))
    assert error is not None
    assert expected == (error.type, error.message)


def lc(kind: str, **kwargs: object) -> Mapping[str, object]:
    """A message as LangChain serialises it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def generated(**kwargs: object) -> Mapping[str, object]:
    """A chat model's result."""
    return {"generations": [[{"text": "", "type": "ChatGeneration", "message": lc("AIMessage", **kwargs)}]]}


def test_models() -> None:
    """Model, usage and messages of a model's run; what it answered to no one is nothing."""
    call = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    usage = {
        "input_tokens": 9,
        "output_tokens": 2,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 1},
    }
    returned = generated(content="", tool_calls=[call], response_metadata={"model_name": "m-1"})
    span = run(
        "llm", "ChatOpenAI", {"messages": [[lc("HumanMessage", content="add one")]]}, returned,
        usage_metadata=json.dumps(usage), ls_provider="openai",
    )  # fmt: skip
    assert LLMFields("m-1", "openai", 9, 2, 4, None, 1) == langsmith.llm(span, Memo())
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    )
    assert expected == langsmith.messages(span, Memo())
    assert langsmith.output(crashed(span), Memo()) is None


def test_the_wrapped_client() -> None:
    """The OpenAI client's own request and response are read too."""
    returned = {"model": "m-2", "choices": [{"message": {"role": "assistant", "content": "Two."}}]}
    span = run("llm", "ChatOpenAI", {"messages": [{"role": "user", "content": "add one"}], "model": "m"}, returned)
    assert LLMFields("m-2") == langsmith.llm(span, Memo())
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),), (Message("assistant", (Part("text", "Two."),)),)
    )
    assert expected == langsmith.messages(span, Memo())


def test_agents_and_chains() -> None:
    """What an agent or a chain was given holds the question, what it returned the answer, unless it failed."""
    state = [{"type": "human", "content": "add one"}, {"type": "ai", "content": "Two."}]
    span = run("chain", "helper", {"messages": state[:1]}, {"messages": state}, lc_agent_name="helper")
    assert AgentFields("helper", "add one", "Two.") == langsmith.agent(span, Memo())
    assert AgentFields("helper", "add one", None) == langsmith.agent(crashed(span), Memo())
    chain = run("chain", "AgentExecutor", {"input": "add one"}, {"output": "Two."})
    assert AgentFields(None, "add one", "Two.") == langsmith.agent(chain, Memo())


def test_a_typed_answer() -> None:
    """An agent whose last message only requests its output answers what the state has as structured response."""
    asked = {"type": "ai", "content": "", "tool_calls": [{"name": "Report", "args": {"n": 1}, "id": "c1"}]}
    taken = {"type": "tool", "content": "Returning structured response: n=1", "tool_call_id": "c1"}
    state = {"messages": [{"type": "human", "content": "?"}, asked, taken], "structured_response": {"n": 1}}
    span = run("chain", "helper", {"messages": []}, state)
    assert '{"n":1}' == langsmith.agent(span, Memo()).answer
    record = langsmith.record(span, Memo()) or ()
    assert ["user", "assistant", "tool"] == [message.role for message in record]


def test_retrievers() -> None:
    """Query, and documents with the scores in their metadata."""
    found = {"id": "d1", "metadata": {"score": 0.5}, "page_content": "text", "type": "Document"}
    span = run("retriever", "KB", {"query": "who"}, {"documents": [found]})
    assert RetrievalFields("who", (Document("d1", 0.5, "text"),)) == langsmith.retrieval(span, Memo())
    assert RetrievalFields() == langsmith.retrieval(run("retriever"), Memo())


def test_context() -> None:
    """The session stands in the metadata; `session_name` is a project; LangGraph's own tags are none of the app."""
    span = made(
        attributes={
            "langsmith.trace.session_name": "project",
            "langsmith.metadata.thread_id": "s1",
            "langsmith.metadata.user_id": "u1",
            "langsmith.span.tags": "graph:step:1, seq:step:2, map:key:x, beta",
        }
    )
    assert ContextFields("s1", "u1", None, ("beta",)) == langsmith.context(span, Memo())


def test_tools_of_a_wrapped_client() -> None:
    """What a wrapped client was given says which tools the model was offered."""
    given = json.dumps({"messages": [], "tools": [{"type": "function", "function": {"name": "add"}}]})
    offered = [
        langsmith.definitions(made(attributes={KIND: kind, "gen_ai.prompt": given}), Memo())
        for kind in ("llm", "chain")
    ]
    assert [(ToolDefinition("add"),), None] == offered
    assert None is langsmith.definitions(made(attributes={KIND: "llm", "gen_ai.prompt": "{}"}), Memo())


KEYS = (
    KIND, "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.name", "gen_ai.tool.call.id", "exception.message",
    "langsmith.span.tags", "langsmith.metadata.lc_agent_name", "langsmith.metadata.usage_metadata",
)  # fmt: skip
WORDS = (
    "chain", "llm", "tool", "messages", "content", "output", "input", "generations", "message", "kwargs", "lc", "id",
    "status", "error", "documents", "query", "input_token_details", "response_metadata", "choices", "type",
)  # fmt: skip


@given(spans(langsmith.CONVENTION, keys=KEYS, words=WORDS, names=("helper", "invalid_tool")))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(langsmith.CONVENTION, span) > 0
    assert langsmith.failed(span) in {True, False}


def test_a_request_of_the_responses_api() -> None:
    """What was sent stands in `input`, calls and results among it, with the instructions beside it."""
    sent = [
        {"role": "user", "content": "Add."},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "4"},
    ]
    found = langsmith.messages(run("llm", given={"instructions": "Be brief.", "input": sent}), Memo()).input or ()
    assert ["system", "user", "assistant", "tool"] == [message.role for message in found]
    assert ("c1", 4) == (found[3].parts[0].id, found[3].parts[0].value)
    found = langsmith.messages(run("llm", given={"input": sent[:1]}), Memo()).input or ()
    assert ["user"] == [message.role for message in found]


def test_parallel_calls_of_a_stream_in_javascript() -> None:
    """Strung together they are taken apart by the tools that were offered."""
    call = {"id": "call_1call_2", "type": "function", "function": {"name": "addadd", "arguments": '{"a":1}{"a":2}'}}
    offered = [{"type": "function", "function": {"name": "add"}}]
    answer = {"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": [call]}}]}
    span = run("llm", given={"messages": [{"role": "user", "content": "Add."}], "tools": offered}, returned=answer)
    calls = [part for message in langsmith.output(span, Memo()) or () for part in message.parts if part.name]
    assert [("call_1", "add", {"a": 1}), ("call_2", "add", {"a": 2})] == [
        (one.id, one.name, one.value) for one in calls
    ]


def test_what_the_sdk_was_told_to_hide() -> None:
    """An empty mapping in the place of what was hidden is neither arguments nor a result."""
    hidden = run("tool", "search", {}, {}, LANGSMITH_HIDE_INPUTS="true", LANGSMITH_HIDE_OUTPUTS="true")
    assert ToolFields("search") == langsmith.tool(hidden, Memo())
    assert ToolFields("search") == langsmith.tool(run("tool", "search", {}, {}), Memo())
    failed = langsmith.tool(crashed(run("tool", "search", {}, LANGSMITH_HIDE_INPUTS="true")), Memo())
    assert (None, True) == (failed.arguments, failed.failed)
    assert ToolFields("now", {}, 7) == langsmith.tool(run("tool", "now", {}, {"output": 7}), Memo())


def test_documents_of_a_function() -> None:
    """What a traced function returned that is no mapping stands under `output`."""
    found = run("retriever", "kb", {"query": "q"}, {"output": [{"id": "d", "content": "text", "score": 0.5}]})
    assert RetrievalFields("q", (Document("d", 0.5, "text"),)) == langsmith.retrieval(found, Memo())
