"""LlamaIndex as Traceloop records it: classes in names, content as it was passed."""

from __future__ import annotations

import json

import pytest

from spanwise import conventions
from spanwise.conventions import _traceloop_llama_index as llama_index
from spanwise.conventions import traceloop
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
from tests.making import run_of
from tests.recordings_io import made, remade
from tests.recordings_io import spans as recorded

RECORDING = "llama-index__traceloop"
SCOPE = "opentelemetry.instrumentation.llamaindex"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."


def of_kind(kind: str, *, at: int = 0) -> RawSpan:
    """The span of that kind, by order, in the recording."""
    return [span for span in recorded(RECORDING) if traceloop.kind(span) == kind][at]


def task(name: str, **content: object) -> RawSpan:
    """A span as the instrumentation makes it, with `given`, `returned` or other attributes."""
    names = {"given": "traceloop.entity.input", "returned": "traceloop.entity.output"}
    attributes: dict[str, object] = {"traceloop.span.kind": name.rpartition(".")[2], "traceloop.entity.name": name}
    attributes |= {names.get(key, key): json.dumps(value) for key, value in content.items()}
    return made(name, scope=SCOPE, attributes=attributes)


def test_kinds_of_a_recording() -> None:
    """One agent; of three spans of a model the innermost is its call; the step around a failed tool tells of it."""
    kinds = [traceloop.kind(span) for span in recorded(RECORDING)]
    counted = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert {"agent": 1, "workflow": 30, "llm": 5, "tool": 7, "retrieval": 4} == counted


def test_kinds_by_class_and_content() -> None:
    """Without content the class tells; a query engine that was called like a retriever returns a response."""
    spans = {
        "FunctionTool.task": task("FunctionTool.task"),
        "VectorIndexRetriever.task": task("VectorIndexRetriever.task"),
        "retrieve.task": task("retrieve.task"),
        "KB.task": task("KB.task", given={"str_or_query_bundle": "x"}, returned=[]),
        "RetrieverQueryEngine.task": task(
            "RetrieverQueryEngine.task", given={"str_or_query_bundle": "x"}, returned={"response": "y"}
        ),
        "ReActAgent.workflow": task("ReActAgent.workflow"),
        "AgentWorkflow.workflow": task("AgentWorkflow.workflow"),
        "OpenAI.task": task("OpenAI.task"),
        "run.task": task("run.task", returned={"result": {"current_agent_name": "worker"}}),
        "call.task": task("run.task", returned={"value": 1}),
    }
    assert {
        "FunctionTool.task": "tool",
        "VectorIndexRetriever.task": "retrieval",
        "retrieve.task": "retrieval",
        "KB.task": "retrieval",
        "RetrieverQueryEngine.task": "workflow",
        "ReActAgent.workflow": "agent",
        "AgentWorkflow.workflow": "workflow",
        "OpenAI.task": "workflow",
        "run.task": "agent",
        "call.task": "workflow",
    } == {name: traceloop.kind(span) for name, span in spans.items()}


def within(value: object) -> str:
    """An object as releases up to 0.5x write it into JSON: as a text that holds JSON."""
    return json.dumps(value)


def test_kinds_of_older_releases() -> None:
    """Steps had the names of their methods, and what they returned was a text: the one around a tool tells of it."""
    called = {"tool_name": "add", "tool_kwargs": {"a": 1}, "tool_id": "c1", "tool_output": {"blocks": []}}
    spans = (
        task("call_tool.task", returned=within(called)),
        task("call_tool.task", returned=within({"tool_name": "add", "tool_kwargs": {}})),
        task("run_agent_step.task", returned=within({"response": {}, "current_agent_name": "worker"})),
        task("OpenAILike.task", **{"llm.request.type": "chat"}),
        task("BaseRetriever.workflow", given={"str_or_query_bundle": "x"}, returned=[within({"node": {}})]),
        task("KB.task", given={"bundle": {"query_str": "x"}}, returned=[within({"node": {}})]),
        task("KB.task", given={"nodes": [], "bundle": {"query_str": "x"}}, returned=[within({"node": {}})]),
    )
    expected = ["tool", "workflow", "agent", "llm", "retrieval", "retrieval", "workflow"]
    assert expected == [traceloop.kind(span) for span in spans]


def test_content_of_older_releases() -> None:
    """Arguments, result, id, failure, messages, answer and agent are read where JSON stands within JSON."""
    text = {"block_type": "text", "text": "no number: 'x'"}
    output = {"blocks": [text], "tool_name": "add", "raw_output": "no number: 'x'", "is_error": True}
    called = {"tool_name": "add", "tool_kwargs": {"a": "x"}, "tool_id": "c1", "tool_output": output}
    step = task("call_tool.task", returned=within(called))
    assert ToolFields("add", {"a": "x"}, "no number: 'x'", "c1", failed=True) == traceloop.tool(step, Memo())
    response = {"role": "assistant", "blocks": [{"block_type": "text", "text": "Two."}]}
    asked = within({"role": "user", "blocks": [{"block_type": "text", "text": "1 + 1?"}]})
    chat = task("OpenAILike.task", given={"messages": [asked]}, returned=within({"message": response, "raw": {}}))
    said = traceloop.messages(chat, Memo())
    assert (["1 + 1?"], ["Two."]) == ([one.text for one in said.input or ()], [one.text for one in said.output or ()])
    done = task("FunctionAgent.workflow", returned=within({"response": response, "current_agent_name": "worker"}))
    assert AgentFields("worker", None, "Two.") == traceloop.agent(done, Memo())


def test_agents_of_a_workflow_are_the_steps_that_called_the_model() -> None:
    """Of the steps of an `AgentWorkflow`, those that returned a response name the agent that gave it."""
    response = {"role": "assistant", "blocks": [{"block_type": "text", "text": "Done."}]}
    step = task("AgentWorkflow.task", returned={"response": response, "current_agent_name": "triage_agent"})
    other = task("AgentWorkflow.task", returned={"input": [], "current_agent_name": "triage_agent"})
    silent = task("AgentWorkflow.task")
    assert ["agent", "workflow", "workflow"] == [traceloop.kind(span) for span in (step, other, silent)]
    assert AgentFields("triage_agent", None, "Done.") == traceloop.agent(step, Memo())


def test_agent() -> None:
    """The name and the answer stand in the event that stopped the workflow; the question was not recorded."""
    assert AgentFields("research_agent", None, ANSWER) == traceloop.agent(of_kind("agent"), Memo())


def test_agent_of_older_releases() -> None:
    """Older releases made a span of the role `agent`, named after the class."""
    span = task("OpenAIAgent.agent", given={"args": [QUESTION], "kwargs": {}}, returned={"response": ANSWER})
    assert AgentFields("OpenAIAgent.agent", QUESTION, ANSWER) == traceloop.agent(span, Memo())


def test_tool_by_its_step() -> None:
    """The step around a tool has its name, id and arguments, and the tool's own value as the result."""
    documents = [
        {
            "id": "doc-fr-1",
            "content": "INSEE estimates that 68.4 million people lived in France on 1 January 2024.",
            "score": 0.91,
        },
        {
            "id": "doc-fr-2",
            "content": "Paris, the capital of France, has about 2.1 million inhabitants.",
            "score": 0.64,
        },
        {"id": "doc-fr-3", "content": "France produces more than 1,000 kinds of cheese.", "score": 0.22},
    ]
    expected = ToolFields("search_docs", '{"query": "population of France 2024"}', documents, "call_000002")
    assert expected == traceloop.tool(of_kind("tool"), Memo())


def test_failed_tool_by_its_step() -> None:
    """The span of a tool that raised never ends; the step around it says that it failed, and how."""
    expected = ToolFields(
        "calculator",
        '{"expression": "68.4 million * 0.1"}',
        "cannot parse expression: '68.4 million * 0.1'",
        "call_000004",
        failed=True,
    )
    assert expected == traceloop.tool(of_kind("tool", at=2), Memo())


def test_tool_by_itself() -> None:
    """A tool's own span has its name only in what it returned, and none without content."""
    expected = ToolFields("calculator", {"expression": "68400000 * 0.1"}, 6840000.0)
    assert expected == traceloop.tool(of_kind("tool", at=4), Memo())
    assert ToolFields(uncertain=True) == traceloop.tool(task("FunctionTool.task"), Memo())


def test_tool_whose_arguments_stand_in_the_result_only() -> None:
    """The step's result repeats the arguments."""
    returned = {"tool_name": "add", "tool_kwargs": {"a": 1}, "tool_id": "call_1", "tool_output": {"content": "2"}}
    span = task("BaseWorkflowAgent.task", returned=returned)
    assert ToolFields("add", {"a": 1}, 2, "call_1") == llama_index.tool(span, Memo())


def test_messages_hold_the_tool_calls() -> None:
    """The GenAI attributes leave the calls out; what was passed and returned has them, with their ids."""
    span = of_kind("llm", at=1)
    found = traceloop.messages(span, Memo())
    call = Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})
    second = Part("tool_call", "", "call_000004", "calculator", {"expression": "68.4 million * 0.1"})
    sent = found.input or ()
    assert ["system", "user", "assistant", "tool"] == [message.role for message in sent]
    assert Message("assistant", (call,)) == sent[2]
    assert ("call_000002", "tool_result") == (sent[3].parts[0].id, sent[3].parts[0].type)
    assert (Message("assistant", (second,)),) == found.output
    assert found.output == traceloop.output(span, Memo())
    assert None is traceloop.requests(span, Memo())
    assert [second] == conventions.requests(span, Memo(), conventions.classify(span)[0])


def test_messages_without_content_are_left_to_genai() -> None:
    """Without what was passed, the GenAI attributes are all there is."""
    answer = '[{"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}]'
    span = made("OpenAI.task", scope=SCOPE, attributes={"gen_ai.output.messages": answer})
    assert Messages() == traceloop.messages(span, Memo())
    assert (Message("assistant", (Part("text", "Hi."),)),) == traceloop.output(span, Memo())


def test_definitions_are_what_was_passed_to_the_model() -> None:
    """The tools stand among the settings of the call."""
    schema = {
        "properties": {"expression": {"title": "Expression", "type": "string"}},
        "required": ["expression"],
        "type": "object",
        "additionalProperties": False,
    }
    expected = ToolDefinition(
        "calculator", "calculator(expression: str) -> float\nEvaluate an arithmetic expression.", schema
    )
    found = traceloop.definitions(of_kind("llm"), Memo()) or ()
    assert ["search_docs", "calculator"] == [tool.name for tool in found]
    assert expected == found[1]
    assert None is traceloop.definitions(task("OpenAI.task"), Memo())


def test_retrieval() -> None:
    """Nodes are documents: id, score and text."""
    found = traceloop.retrieval(of_kind("retrieval"), Memo())
    text = "INSEE estimates that 68.4 million people lived in France on 1 January 2024."
    first = Document("doc-fr-1", 0.91, text, ("France demographics",))
    assert ("population of France 2024", 3) == (found.query, len(found.documents or ()))
    assert first == (found.documents or ())[0]
    empty = task("KB.task", given={"str_or_query_bundle": {"query_str": "x"}}, returned=[])
    assert RetrievalFields("x", ()) == traceloop.retrieval(empty, Memo())


def test_documents_that_are_split() -> None:
    """What is indexed is no question, and what comes of it no answer."""
    given = {"text": "68 million lived there.", "metadata_str": ""}
    for name in ("SentenceSplitter.task", "MarkdownNodeParser.workflow"):
        assert AgentFields() == traceloop.agent(task(name, given=given, returned=["68 million lived there."]), Memo())


def test_what_is_indexed_is_no_question() -> None:
    """Texts that are embedded, by the class of the embedding, were asked by nobody."""
    for name in ("OpenAIEmbedding.workflow", "HuggingFaceEmbedding.task"):
        assert "embedding" == traceloop.kind(task(name, given={"texts": ["Paris is big."]}, returned=[[0.5]]))


def test_the_agent_of_a_stream() -> None:
    """Of a stream no response is recorded: the step that sets the agent up names it."""
    ready = {"input": [{"role": "user", "blocks": []}], "current_agent_name": "helper"}
    root = task("FunctionAgent.workflow")
    step = remade(
        task("BaseWorkflowAgent.task", given={"ctx": {}}, returned=ready), span_id="a", parent_id=root.span_id
    )
    assert ["helper"] == [agent.name for agent in run_of(root, step).agents]


@pytest.mark.parametrize(
    ("returned", "uncertain"), [(None, True), ('{"tool_name": "s", "tool_ou', True), ('{"a": 1}', False)]
)
def test_a_tool_of_which_nothing_whole_is_recorded(returned: str | None, uncertain: bool) -> None:
    """That it failed stands in what it returned only: where that was left out or cut, nobody knows."""
    attributes: dict[str, object] = {"tool.name": "search", "tool.arguments": "{}"}
    if returned is not None:
        attributes["traceloop.entity.output"] = returned
    span = made("BaseWorkflowAgent.task", attributes=attributes)
    assert uncertain is llama_index.tool(span, Memo()).uncertain
