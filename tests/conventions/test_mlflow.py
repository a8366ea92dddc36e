"""MLflow's tracing as its OTLP exporter writes it: every value is JSON text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from msgspec.structs import replace

from spanwise.conventions import mlflow
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
from spanwise.model.raw import STATUS_ERROR, RawEvent, RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

SCOPE = "mlflow.tracing.provider"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
NAMES = {
    "inputs": "mlflow.spanInputs",
    "outputs": "mlflow.spanOutputs",
    "usage": "mlflow.chat.tokenUsage",
    "tools": "mlflow.chat.tools",
    "llm_model": "mlflow.llm.model",
    "provider": "mlflow.llm.provider",
    "cost": "mlflow.llm.cost",
    "function": "mlflow.spanFunctionName",
    "root": "mlflow.openai.agent_run_root",
    "session": "session.id",
    "user": "user.id",
    "object_name": "name",
}


def span(kind: str, name: str = "span", *, status: int = 0, **content: object) -> RawSpan:
    """A span as MLflow exports it: each value as JSON text, strings in quotes."""
    attributes = {NAMES.get(key, key): json.dumps(value) for key, value in content.items()}
    given = {"mlflow.traceRequestId": '"tr-1"', "mlflow.spanType": json.dumps(kind), **attributes}
    return made(name, scope=SCOPE, attributes=given, status=status)


def test_kinds() -> None:
    """Each type has its kind; parsers, memories and types of the app's own are none that is scored."""
    types = (
        "AGENT", "CHAIN", "WORKFLOW", "TASK", "UNKNOWN", "LLM", "CHAT_MODEL", "TOOL", "RETRIEVER", "RERANKER",
        "EMBEDDING",
        "GUARDRAIL", "EVALUATOR", "PARSER", "MEMORY", "MINE",
    )  # fmt: skip
    expected = [
        "agent", "workflow", "workflow", "workflow", "workflow", "llm", "llm", "tool", "retrieval", "rerank",
        "embedding",
        "guardrail", "evaluation", "other", "other", "other",
    ]  # fmt: skip
    assert expected == [mlflow.kind(span(kind)) for kind in types]
    assert expected == [mlflow.kind(made(attributes={"mlflow.spanType": kind})) for kind in types]
    assert None is mlflow.kind(made(attributes={"mlflow.spanType": ["TOOL"]}))


def test_agents_of_frameworks() -> None:
    """The runner around OpenAI's agents is none of them; LangChain's agent is the chain of its name."""
    metadata = {"lc_agent_name": "research_agent", "langgraph_node": "model"}
    found = [
        mlflow.kind(one)
        for one in (
            span("AGENT", "AgentRunner.run", root=True),
            span("CHAIN", "research_agent", metadata=metadata),
            span("CHAIN", "model", metadata=metadata),
            made("research_agent", attributes={"mlflow.spanType": "CHAIN", "metadata": metadata}),
            span("CHAIN", "Handoff", inputs={"from_agent": "triage_agent"}),
            span("CHAIN", "Handoff"),
        )
    ]
    assert ["workflow", "agent", "workflow", "agent", "handoff", "workflow"] == found


def test_tool_of_langchain() -> None:
    """The tool message around the result is taken off, and has the id of the call."""
    message = {
        "content": '[{"id": "doc-fr-1"}]',
        "type": "tool",
        "name": "search_docs",
        "tool_call_id": "call_1",
        "status": "success",
    }
    found = span(
        "TOOL", "search_docs", inputs={"query": "France"}, outputs=message, tool_call_id="call_1", color="green"
    )
    assert ToolFields("search_docs", {"query": "France"}, [{"id": "doc-fr-1"}], "call_1") == mlflow.tool(found, Memo())


def test_tool_of_a_decorated_function() -> None:
    """Arguments are bound to their names; the result is what the function returned."""
    found = span("TOOL", "calculator", function="calculator", inputs={"expression": "1 + 1"}, outputs=2)
    assert ToolFields("calculator", {"expression": "1 + 1"}, 2) == mlflow.tool(found, Memo())
    failed = span("TOOL", "calculator", function="calculator", inputs={"expression": "x"}, status=STATUS_ERROR)
    assert ToolFields("calculator", {"expression": "x"}) == mlflow.tool(failed, Memo())


def test_tool_of_crewai() -> None:
    """The tool's name stands beside its arguments, which may be JSON text."""
    given = {"tool_name": "add", "tool_args": '{"a": 1}'}
    found = span("TOOL", "add", inputs=given, outputs={"result": "2"})
    assert ToolFields("add", {"a": 1}, 2) == mlflow.tool(found, Memo())


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("add_1", {"function": "add"}, "add"),
        ("add_2", {"outputs": {"name": "add", "content": "2", "tool_call_id": "c"}}, "add"),
        ("add_one", {"function": "add"}, "add_one"),
        ("sum", {"function": "add"}, "sum"),
        ("add_1", {}, "add_1"),
        ("", {}, None),
    ],
)
def test_tool_names_without_their_number(name: str, content: dict[str, object], expected: str | None) -> None:
    """Older releases numbered spans of one name; the number goes where the tool's own name is known."""
    assert expected == mlflow.tool(span("TOOL", name, **content), Memo()).name


def test_llm() -> None:
    """Model, provider, usage and cost; the input includes what was cached."""
    found = span(
        "CHAT_MODEL",
        llm_model="gpt-4o-mini-2024-07-18",
        provider="openai",
        usage={
            "input_tokens": 303,
            "output_tokens": 51,
            "cache_read_input_tokens": 64,
            "cache_creation_input_tokens": 2,
        },
        cost={"input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3},
    )
    expected = LLMFields("gpt-4o-mini-2024-07-18", "openai", 303, 51, 64, 2, None, 0.3)
    assert expected == mlflow.llm(found, Memo())


def test_model_of_older_releases() -> None:
    """Without an attribute for it the model is the response's, the request's, or the client's parameter."""
    assert "m1" == mlflow.llm(span("LLM", outputs={"model": "m1"}, inputs={"model": "m2"}), Memo()).model
    assert "m2" == mlflow.llm(span("LLM", inputs={"model": "m2"}, model="m3"), Memo()).model
    assert "m3" == mlflow.llm(span("LLM", model="m3"), Memo()).model
    assert LLMFields() == mlflow.llm(span("LLM"), Memo())


ASKED = Message("user", (Part("text", QUESTION),))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"inputs": {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}}, (ASKED,)),
        ({"inputs": [{"role": "user", "content": QUESTION}]}, (ASKED,)),
        (
            {"inputs": {"input": QUESTION, "instructions": "Be brief."}},
            (Message("system", (Part("text", "Be brief."),)), ASKED),
        ),
        ({"inputs": {"prompt": QUESTION}}, (ASKED,)),
        ({"inputs": [QUESTION]}, (ASKED,)),
        ({"inputs": QUESTION, "instructions": "Be brief."}, (Message("system", (Part("text", "Be brief."),)), ASKED)),
        ({"inputs": {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}}, (ASKED,)),
        (
            {
                "inputs": {
                    "system": "Be brief.",
                    "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": QUESTION}],
                }
            },
            (Message("system", (Part("text", "x"),)), ASKED),
        ),
        ({"inputs": {"model": "m"}}, None),
        ({}, None),
    ],
)
def test_messages_sent(content: dict[str, object], expected: object) -> None:
    """The conversation is read in every client's form, with the instructions that stand beside it."""
    assert expected == mlflow.messages(span("CHAT_MODEL", **content), Memo()).input


@pytest.mark.parametrize(
    "returned",
    [
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}, "finish_reason": None}]},
        {"id": "r", "output": [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}]},
        [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}', "id": "fc_1"}],
        {"content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}], "role": "assistant"},
    ],
)
def test_output(returned: object) -> None:
    """The answer is read out of every client's response."""
    expected = (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),)
    assert Messages(None, expected) == mlflow.messages(span("CHAT_MODEL", outputs=returned), Memo())


def test_definitions() -> None:
    """The tools have an attribute of their own; older releases only had the request."""
    tools = [{"type": "function", "function": {"name": "add", "description": "Add.", "parameters": {"type": "object"}}}]
    expected = (ToolDefinition("add", "Add.", {"type": "object"}),)
    assert expected == mlflow.definitions(span("CHAT_MODEL", tools=tools), Memo())
    assert expected == mlflow.definitions(span("CHAT_MODEL", inputs={"tools": tools}), Memo())
    assert None is mlflow.definitions(span("CHAT_MODEL", inputs=[]), Memo())


def test_agent() -> None:
    """An agent has its span's name; a failed one has no answer, a chain no name."""
    content = {"inputs": {"question": QUESTION}, "outputs": ANSWER}
    assert AgentFields("research_agent", QUESTION, ANSWER) == mlflow.agent(
        span("AGENT", "research_agent", **content), Memo()
    )
    assert AgentFields(None, QUESTION, ANSWER) == mlflow.agent(span("CHAIN", "pipeline", **content), Memo())
    failed = span("AGENT", "research_agent", status=STATUS_ERROR, **content)
    assert AgentFields("research_agent", QUESTION) == mlflow.agent(failed, Memo())
    assert AgentFields("x") == mlflow.agent(span("AGENT", "x", outputs={"output_type": "str"}), Memo())


def test_retrieval() -> None:
    """LangChain's and LlamaIndex's documents become MLflow's, scores in the metadata."""
    documents = [{"page_content": "a", "metadata": {"score": 0.91}, "id": "doc-fr-1"}]
    found = span("RETRIEVER", inputs="France", outputs=documents)
    assert RetrievalFields("France", (Document("doc-fr-1", 0.91, "a"),)) == mlflow.retrieval(found, Memo())
    assert RetrievalFields() == mlflow.retrieval(span("RETRIEVER"), Memo())


def test_handoff() -> None:
    """Source and target stand in what came in and what went out."""
    found = span("CHAIN", "Handoff", inputs={"from_agent": "triage_agent"}, outputs={"to_agent": "research_agent"})
    assert HandoffFields("triage_agent", "research_agent") == mlflow.handoff(found, Memo())
    assert None is mlflow.handoff(span("CHAIN"), Memo())


def test_context() -> None:
    """Session and user may stand in quotes; LangChain's thread is a session; the trace's tags are metadata."""
    root = made(attributes={"session.id": '"s"', "user.id": "u", "mlflow.traceTag.env": "demo"})
    chain = span("CHAIN", metadata={"thread_id": "t", "user_id": "v"})
    assert ContextFields("s", "u", None, (), {"env": "demo"}) == mlflow.context(root, Memo())
    assert ContextFields("t", "v", "tr-1") == mlflow.context(chain, Memo())


@given(
    spans(
        mlflow.CONVENTION,
        keys=(
            "mlflow.spanType", "mlflow.traceRequestId", "metadata", "tool_call_id", "model", "instructions",
            *NAMES.values(),
        ),
        words=(
            "CHAIN", "AGENT", "messages", "role", "content", "input", "prompt", "contents", "choices", "message",
            "output",
            "generations", "candidates", "tool_name", "tool_args", "name", "from_agent", "lc_agent_name", "tools",
        ),
        names=("Handoff", "add_1"),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 9 == read_all(mlflow.CONVENTION, span)


def test_methods_of_llama_index() -> None:
    """Spans named after methods: tool and agent by the fields beside, the model's preparation no call of the model."""
    blocks = {"blocks": [{"block_type": "text", "text": "6840000.0"}]}
    called = span("TOOL", "FunctionTool.acall", inputs={"kwargs": {"x": 1}}, outputs=blocks, object_name="calculator")
    assert ToolFields("calculator", {"x": 1}, 6840000.0) == mlflow.tool(called, Memo())
    assert "other" == mlflow.kind(span("LLM", "OpenAILike._prepare_chat_with_tools"))
    found = {"result": {"response": {"role": "assistant", "blocks": []}, "current_agent_name": "research_agent"}}
    assert "research_agent" == mlflow.agent(span("AGENT", "FunctionAgent.run", outputs=found), Memo()).name
    usage = {"prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 3}}
    said = mlflow.llm(span("CHAT_MODEL", usage={"input_tokens": 5, "output_tokens": 2}), Memo())
    assert (5, 2, None, None) == (said.input_tokens, said.output_tokens, said.cache_read_tokens, said.reasoning_tokens)
    counted = span("CHAT_MODEL")
    counted.attributes |= {"usage": json.dumps(usage)}
    said = mlflow.llm(counted, Memo())
    assert (64, 3) == (said.cache_read_tokens, said.reasoning_tokens)


def test_methods_of_smolagents() -> None:
    """The tool's call without the wrapper's own switch, its result out of the wrapper; the name of the agent."""
    inputs = {"sanitize_inputs_outputs": True, "kwargs": {"query": "x"}}
    called = span("TOOL", "SimpleTool.__call__", inputs=inputs, outputs={"_value": '[{"id": "d"}]'})
    assert ToolFields(None, {"query": "x"}, [{"id": "d"}]) == mlflow.tool(called, Memo())
    silent = span("TOOL", "SimpleTool.__call__", inputs=inputs, outputs={"_value": None})
    assert "null" == mlflow.tool(silent, Memo()).result
    model = "<smolagents.models.OpenAIModel object at 0x7f0f8e9b7710>"
    run = span("AGENT", "ToolCallingAgent.run", object_name="research_agent", model=model, outputs={"_value": ANSWER})
    assert ("research_agent", ANSWER) == (mlflow.agent(run, Memo()).name, mlflow.agent(run, Memo()).answer)
    assert None is mlflow.llm(run, Memo()).model


FORM = "mlflow.message.format"


def test_pydantic_ai() -> None:
    """Messages in Pydantic AI's own form; a stream's result is printed, and no answer; a retry is one."""
    call = {"tool_name": "add", "args": '{"a": 1}', "tool_call_id": "c1", "part_kind": "tool-call"}
    asked = {"parts": [{"content": "Add.", "part_kind": "user-prompt"}], "kind": "request"}
    model = span("LLM", inputs={"messages": [asked]}, outputs={"parts": [call]}, **{FORM: "pydantic_ai"})
    assert Messages(
        (Message("user", (Part("text", "Add."),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    ) == mlflow.messages(model, Memo())
    printed = "{'_all_messages': [ModelRequest(parts=[UserPromptPart(content='Add.')])]}"
    assert mlflow.agent(span("AGENT", "Agent.run_stream", inputs={"q": "Add."}, outputs=printed), Memo()).answer is None
    again = span("TOOL", "fail", inputs={"x": "y"}, status=STATUS_ERROR)
    again.events = (RawEvent("exception", 1, {"exception.type": "pydantic_ai.exceptions.ToolRetryError"}),)
    assert mlflow.tool(again, Memo()).retry


def test_dspy() -> None:
    """Completions are a list of texts; ReAct's ask for tools, and what those returned stands in the next request."""
    text = '[[ ## next_tool_name ## ]]\nadd\n\n[[ ## next_tool_args ## ]]\n{"a": 1}\n\n[[ ## completed ## ]]'
    told = [{"role": "user", "content": "[[ ## observation_0 ## ]]\n3\n\n[[ ## tool_name_1 ## ]]"}]
    found = mlflow.messages(span("CHAT_MODEL", inputs={"messages": told}, outputs=[text], **{FORM: "dspy"}), Memo())
    assert found.input is not None
    assert Part("tool_result", value="3") == found.input[-1].parts[0]
    assert (Message("assistant", (Part("tool_call", name="add", value={"a": 1}),)),) == found.output
    plain = span("CHAT_MODEL", inputs="Q", outputs=["Paris."])
    assert (Message("assistant", (Part("text", "Paris."),)),) == mlflow.output(plain, Memo())


def test_a_stream_that_lost_its_calls() -> None:
    """Of what OpenAI's client streamed MLflow keeps the text alone: no word may be a request for tools."""
    empty = {"choices": [{"message": {"role": "assistant", "content": "", "tool_calls": None}}]}
    asked = {"messages": [{"role": "user", "content": "Add."}]}
    assert mlflow.output(span("CHAT_MODEL", inputs={**asked, "stream": True}, outputs=empty), Memo()) is None
    assert mlflow.output(span("CHAT_MODEL", inputs=asked, outputs=empty), Memo()) is not None


def test_the_answer_of_smolagents() -> None:
    """The tool by which an agent answers has a class of its own, which is its span's name."""
    final = span(
        "TOOL", "FinalAnswerTool.__call__", inputs={"sanitize_inputs_outputs": True, "kwargs": {"answer": "3"}}
    )
    assert "final_answer" == mlflow.tool(final, Memo()).name


def test_releases_before_3() -> None:
    """Model and usage stand where the client had them: in its response, of a stream in the event of its last piece."""
    answered = {"model": "gpt-4o-mini", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}
    said = mlflow.llm(span("CHAT_MODEL", outputs=answered), Memo())
    assert ("gpt-4o-mini", 5, 3) == (said.model, said.input_tokens, said.output_tokens)
    streamed = span("CHAT_MODEL", inputs={"model": "gpt-4o-mini"}, outputs="Three.")
    pieces = [{"choices": [{}]}, {"choices": [], "usage": answered["usage"]}, {"choices": []}]
    streamed.events = tuple(
        RawEvent(f"chunk_{at}", at, {"ChatCompletionChunk": json.dumps(json.dumps(one))})
        for at, one in enumerate(pieces)
    )
    assert LLMFields("gpt-4o-mini", None, 5, 3) == replace(mlflow.llm(streamed, Memo()), model="gpt-4o-mini")
    assert LLMFields() == mlflow.llm(span("AGENT", outputs=answered), Memo())
    state = {"messages": [{"content": "Three.", "type": "ai", "name": "calc"}]}
    assert "agent" == mlflow.kind(span("CHAIN", "calc", outputs=state))
