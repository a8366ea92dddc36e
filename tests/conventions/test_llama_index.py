"""LlamaIndex's own spans: kinds from names, content from events, arguments from printed summaries."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions import llama_index
from spanwise.model.content import (
    AgentFields,
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
from tests.recordings_io import spans as recorded

SCOPE = "llamaindex.opentelemetry.tracer"
RECORDING = "llama-index__builtin"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
DOCUMENTS = (
    Document(
        "doc-fr-1",
        0.91,
        "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
        ("France demographics",),
    ),
    Document("doc-fr-2", 0.64, "Paris, the capital of France, has about 2.1 million inhabitants.", ("Paris",)),
    Document("doc-fr-3", 0.22, "France produces more than 1,000 kinds of cheese.", ("French cheese",)),
)


def named(name: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in the recording."""
    return [span for span in recorded(RECORDING) if span.name == name][at]


def calls() -> list[RawSpan]:
    """The spans of model calls that have events: the inner ones."""
    return [span for span in recorded(RECORDING) if span.name == "OpenAILike.achat" and span.events]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("FunctionAgent.run", "agent"),
        ("AgentWorkflow.run", "agent"),
        ("RagFlow.run", "workflow"),
        ("IngestionPipeline.run", None),
        ("ReActAgent.achat", "agent"),
        ("ContextChatEngine.chat", "workflow"),
        ("OpenAI.astream_chat", "llm"),
        ("OpenAI.complete", "llm"),
        ("OpenAI.achat_with_tools", "llm"),
        ("OpenAI._prepare_chat_with_tools", None),
        ("OpenAI.predict", None),
        ("RetrieverQueryEngine.aquery", "workflow"),
        ("RetrieverQueryEngine._query", None),
        ("KB.retrieve", "retrieval"),
        ("KB._retrieve", None),
        ("FunctionTool.acall", "tool"),
        ("LLMTextCompletionProgram.acall", None),
        ("Calculator.acall", None),
        ("OpenAIEmbedding.aget_query_embedding", "embedding"),
        ("LLMRerank._postprocess_nodes", "rerank"),
        ("SimilarityPostprocessor._postprocess_nodes", None),
        ("BaseWorkflowAgent.call_tool", None),
        ("no method", None),
        ("FunctionAgent.run-b8d9d196-4f7a-4dfe-9651-54e3b13b97c9", "agent"),
        ("OpenAI.achat-284c7053-6e63-72d7-a9ad-0fedcba98765", "llm"),
        ("KB._retrieve-284c7053-6e63-72d7-a9ad-0fedcba98765", None),
        ("FunctionTool.acall-284c7053-6e63-72d7-a9ad-0fedcba98765", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    """Class and method tell the kind; what is called inside a step is no step."""
    assert kind == llama_index.kind(made(name, scope=SCOPE))


def test_tools_of_any_class() -> None:
    """Inside a step that was given a tool call whatever is called is a tool, but for the adapters around it."""
    step = {"llamaindex.step.input_event": "ToolCall"}
    kinds = [
        llama_index.kind(made(name, scope=SCOPE, attributes=step))
        for name in ("Calculator.acall", "BaseToolAsyncAdapter.acall", "DefaultRefineProgram.call")
    ]
    assert ["tool", None, None] == kinds


def test_tool() -> None:
    """Name, arguments and id come from the printed tool call."""
    expected = ToolFields("calculator", {"expression": "68.4 million * 0.1"}, call_id="call_000004")
    assert expected == llama_index.tool(named("FunctionTool.acall", at=1), Memo())


def summarised(text: str) -> ToolFields:
    """What is read from a printed tool call."""
    attributes = {"llamaindex.step.input_event": "ToolCall", llama_index.SUMMARY: text}
    return llama_index.tool(made("FunctionTool.acall", scope=SCOPE, attributes=attributes), Memo())


def test_cut_summaries() -> None:
    """Only fields that are surely whole are read."""
    assert ToolFields("add", None, call_id="c1") == summarised(
        "ToolCall(tool_name='add', tool_kwargs={4 keys}, tool_id='c1')"
    )
    assert ToolFields("add") == summarised("ToolCall(tool_name='add', tool_kwargs={'a': 'it is 1, b=2, and c...")
    assert ToolFields() == summarised(f"ToolCall(tool_name='{'a' * 50}...', tool_kwargs=")
    assert ToolFields("add", {"a": 'it\'s "b"', "n": [1, None]}) == summarised(
        """ToolCall(tool_name='add', tool_kwargs={'a': 'it\\'s "b"', 'n': (1, None)}, tool_id=None)"""
    )
    assert ToolFields() == summarised("ToolCall")


def test_tool_of_older_agents() -> None:
    """Agents before workflows tell of a call in an event."""
    event = ("AgentToolCallEvent", {"tool.name": "add", "arguments": '{"a": 1}'})
    span = made("FunctionTool.call", scope=SCOPE, events=[event])
    assert ToolFields("add", '{"a": 1}') == llama_index.tool(span, Memo())


def test_llm() -> None:
    """Model and usage come from the provider's response."""
    expected = LLMFields("gpt-4o-mini-2024-07-18", None, 375, 15, 64, None, 0)
    assert expected == llama_index.llm(calls()[1], Memo())


def test_usage_of_other_providers() -> None:
    """Anthropic counts cached tokens beside the input, Gemini has names of its own, some only LlamaIndex counts."""

    def usage(**fields: object) -> LLMFields:
        raw = {f"response.{key.replace('__', '.')}": value for key, value in fields.items()}
        events = [("LLMChatStartEvent", {"model_dict.model_name": "unknown"}), ("LLMChatEndEvent", raw)]
        return llama_index.llm(made(scope=SCOPE, events=events), Memo())

    anthropic = usage(
        raw__model="claude-sonnet-4-5",
        raw__usage__input_tokens=10,
        raw__usage__output_tokens=6,
        raw__usage__cache_read_input_tokens=30,
        raw__usage__cache_creation_input_tokens=5,
    )
    gemini = usage(
        raw__usage_metadata__prompt_token_count=7,
        raw__usage_metadata__candidates_token_count=2,
        raw__usage_metadata__cached_content_token_count="null",
        raw__usage_metadata__thoughts_token_count=1,
    )
    counted = usage(raw="null", additional_kwargs__prompt_tokens=3, additional_kwargs__completion_tokens=1)
    assert [
        LLMFields("claude-sonnet-4-5", None, 45, 6, 30, 5),
        LLMFields(None, None, 7, 2, reasoning_tokens=1),
        LLMFields(None, None, 3, 1),
    ] == [anthropic, gemini, counted]


def test_messages() -> None:
    """Blocks become parts; a printed result becomes its value; calls keep their ids."""
    found = llama_index.messages(calls()[2], Memo())
    assert found.input is not None
    documents = [{"id": one.id, "content": one.content, "score": one.score} for one in DOCUMENTS]
    error = "cannot parse expression: '68.4 million * 0.1'"
    assert (
        Message("user", (Part("text", QUESTION),)),
        Message(
            "assistant", (Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"}),)
        ),
        Message("tool", (Part("tool_result", "", "call_000002", None, documents),)),
    ) == found.input[1:4]
    assert Message("tool", (Part("tool_result", "", "call_000004", None, error),)) == found.input[5]
    assert (
        Message("assistant", (Part("tool_call", "", "call_000006", "calculator", {"expression": "68400000 * 0.1"}),)),
    ) == found.output
    assert (Message("assistant", (Part("text", ANSWER),)),) == llama_index.output(calls()[-1], Memo())


def test_messages_of_completions() -> None:
    """A prompt is what the user said, the completion's text the answer."""
    events = [
        ("LLMCompletionStartEvent", {"prompt": "Capital of France?"}),
        ("LLMCompletionEndEvent", {"prompt": "Capital of France?", "response.text": "Paris"}),
    ]
    expected = Messages(
        (Message("user", (Part("text", "Capital of France?"),)),), (Message("assistant", (Part("text", "Paris"),)),)
    )
    assert expected == llama_index.messages(made("OpenAI.complete", scope=SCOPE, events=events), Memo())


def test_spans_without_events_say_nothing() -> None:
    """The outer span of a model call has no messages, nor has a streamed call an answer."""
    outer = named("OpenAILike.achat")
    assert ((), Messages()) == (outer.events, llama_index.messages(outer, Memo()))


def ended(output: str) -> str | None:
    """The answer in a workflow's last event."""
    event = ("workflow.output", {"output": output})
    return llama_index.agent(made("FunctionAgent.run", scope=SCOPE, events=[event]), Memo()).answer


def test_answers_of_workflows() -> None:
    """An answer is taken from the printed end of a workflow only if all of it is there."""
    message = "ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={}, blocks=["
    start = f"StopEvent(result=AgentOutput(response={message}"
    assert "It is 4." == ended(f"{start}TextBlock(block_type='text', text='It is 4.')]), structured_resp...")
    assert "It\nis" == ended(f"{start}TextBlock(block_type='text', text='It'), TextBlock(text='is')]))")
    assert ended(f"{start}TextBlock(block_type='text', text='France had about 68.4 million inhabitan...") is None
    assert ended(f"{start}ToolCallBlock(tool_call_id='c1', tool_name='add')]))") is None
    assert "done" == ended("StopEvent(result='done')")
    assert ended(f"StopEvent(result='{'a' * 50}...')") is None
    assert ended("StopEvent(result=[1, 2])") is None
    assert ended("AgentSetup(input=[4 items])") is None


def test_agent() -> None:
    """The name of an agent is not recorded, nor an answer that the summary cuts."""
    assert AgentFields() == llama_index.agent(named("FunctionAgent.run"), Memo())


def test_query_engine() -> None:
    """A query engine tells its question and its answer, whatever form the question had."""
    expected = AgentFields(None, "population?", "68.4 million")
    for key in ("query", "query.query_str"):
        events = [("QueryStartEvent", {key: "population?"}), ("QueryEndEvent", {"response.response": "68.4 million"})]
        span = made("RetrieverQueryEngine.query", scope=SCOPE, events=events)
        assert expected == llama_index.agent(span, Memo())


def test_retrieval() -> None:
    """Query and scored documents; the inner span of a retriever has neither."""
    expected = RetrievalFields("population of France 2024", DOCUMENTS)
    assert expected == llama_index.retrieval(named("KB.retrieve"), Memo())
    assert RetrievalFields() == llama_index.retrieval(named("KB._retrieve"), Memo())


def test_text_in_a_resource() -> None:
    """Newer nodes keep their text one level down; a bundle carries the query's text in a field."""
    nodes = [{"node": {"id_": "d1", "text_resource": {"text": "Paris"}}, "score": 1.5}, {"node": None}, 3]
    attributes = {"str_or_query_bundle.query_str": "capital", "nodes": json.dumps(nodes)}
    span = made("KB.retrieve", scope=SCOPE, events=[("RetrievalEndEvent", attributes)])
    expected = RetrievalFields("capital", (Document("d1", 1.5, "Paris"), Document()))
    assert expected == llama_index.retrieval(span, Memo())


def test_definitions() -> None:
    """The tools stand with a model call's start."""
    found = llama_index.definitions(calls()[0], Memo())
    schema = {
        "properties": {"expression": {"title": "Expression", "type": "string"}},
        "required": ["expression"],
        "type": "object",
        "additionalProperties": False,
    }
    assert found is not None
    text = "calculator(expression: str) -> float\nEvaluate an arithmetic expression."
    assert ToolDefinition("calculator", text, schema) == found[1]
    assert llama_index.definitions(named("OpenAILike.achat"), Memo()) is None


LITERALS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), LITERALS, max_size=4), st.integers(0, 200))
def test_fields_of_what_python_prints(fields: dict[str, object], cut: int) -> None:
    """Of a printed object every field is found as printed; of cut text the same fields up to the cut, none made up."""
    printed = {name: repr(value) for name, value in fields.items()}
    text = f"Thing({', '.join(f'{name}={value}' for name, value in printed.items())})"
    assert printed == llama_index.fields_of(text)
    found = llama_index.fields_of(text[:cut])
    whole = {name: value for name, value in found.items() if not value.endswith("…")}
    assert list(found)[: len(whole)] == list(printed)[: len(whole)]
    assert whole == {name: printed[name] for name in whole}


KEYS = (
    "llamaindex.step.input_event", "llamaindex.step.input_summary", "messages", "prompt", "response.text",
    "response.message.role", "response.message.blocks", "response.message.additional_kwargs.tool_calls", "output",
    "query", "response.response", "nodes", "str_or_query_bundle", "additional_kwargs.tools", "response.raw.model",
    "response.raw.usage.prompt_tokens", "response.raw.usage.cache_read_input_tokens", "model_dict.model_name",
    "tool.name",
)  # fmt: skip
WORDS = (
    "role", "blocks", "block_type", "text", "tool_call", "tool_call_id", "tool_name", "tool_kwargs",
    "additional_kwargs", "node", "id_", "score", "ToolCall", "ToolCall(tool_name='a', tool_kwargs={",
    "StopEvent(result=AgentOutput(response=",
)  # fmt: skip


@given(
    spans(
        llama_index.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("FunctionAgent.run", "FunctionTool.acall", "OpenAI.chat", "KB.retrieve"),
        events=("LLMChatStartEvent", "LLMChatEndEvent", "RetrievalEndEvent", "workflow.output", "QueryStartEvent"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(llama_index.CONVENTION, span) == 7


def test_what_the_react_agent_thought_is_no_answer() -> None:
    """A ReAct agent's text holds its thought and its answer, or a call that it asks for."""
    said = []
    for text in ("Thought: I know.\nAnswer: Paris", "Thought: I look.\nAction: search\nAction Input: {}", "Paris"):
        span = made("OpenAI.achat", scope=SCOPE, events=[("LLMChatEndEvent", {"response.message.content": text})])
        said.append(
            [(part.type, part.text) for message in llama_index.output(span, Memo()) or () for part in message.parts]
        )
    assert [("reasoning", " I know."), ("text", "Paris")] == said[0]
    assert [["other"], ["text"]] == [[kind for kind, _ in parts] for parts in said[1:]]


def test_a_typed_output_is_no_tool() -> None:
    """The function by which an agent's output is made into a type is no tool of the agent's; others are."""
    steps = ("AgentOutput", "ToolCall", "StartEvent")
    kinds = [
        llama_index.kind(made("FunctionTool.acall", scope=SCOPE, attributes={"llamaindex.step.input_event": step}))
        for step in steps
    ]
    assert [None, "tool", "tool"] == kinds
