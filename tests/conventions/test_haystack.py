"""Haystack's own tracer: components by their class, an agent's steps, several calls in one span."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import haystack
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

CALL = {"tool_call": {"tool_name": "add", "arguments": {"a": 1}, "id": "c1", "extra": None}}
ORIGIN = {"tool_name": "add", "arguments": {"a": 1}, "id": "c1", "extra": None}
ASKED = {"role": "user", "meta": {}, "name": None, "content": [{"text": "add one"}]}
META = {
    "model": "m-1",
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}
SAYS = {"role": "assistant", "meta": META, "name": None, "content": [{"text": "Two."}]}
CALLS = {"role": "assistant", "meta": META, "name": None, "content": [CALL]}


def told(result: str, *, error: bool = False) -> Mapping[str, object]:
    """The message that holds a tool's result."""
    held = {"tool_call_result": {"result": result, "origin": ORIGIN, "error": error}}
    return {"role": "tool", "meta": {}, "name": None, "content": [held]}


def component(kind: str, given: object = None, returned: object = None, name: str = "part") -> RawSpan:
    """A component's run."""
    attributes: dict[str, object] = {"haystack.component.type": kind, "haystack.component.name": name}
    if given is not None:
        attributes["haystack.component.input"] = json.dumps(given)
    if returned is not None:
        attributes["haystack.component.output"] = json.dumps(returned)
    return made("haystack.component.run", scope="my_app", attributes=attributes)


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("haystack.pipeline.run", {"haystack.pipeline.metadata": "{}"}, "workflow"),
        ("haystack.agent.run", {"haystack.agent.max_steps": 9}, "agent"),
        ("haystack.agent.step.llm", {"haystack.agent.step.llm.input": "{}"}, "llm"),
        ("haystack.agent.step.tool", {"haystack.tool.name": "add"}, "tool"),
        ("haystack.component.run", {"haystack.component.type": "Agent"}, "agent"),
        ("haystack.component.run", {"haystack.component.type": "OpenAIChatGenerator"}, "llm"),
        ("haystack.component.run", {"haystack.component.type": "HuggingFaceLocalGenerator"}, "llm"),
        ("haystack.component.run", {"haystack.component.type": "InMemoryBM25Retriever"}, "retrieval"),
        ("haystack.component.run", {"haystack.component.type": "OpenAITextEmbedder"}, "embedding"),
        ("haystack.component.run", {"haystack.component.type": "SentenceTransformersSimilarityRanker"}, "rerank"),
        ("haystack.component.run", {"haystack.component.type": "ToolInvoker"}, "tool"),
        ("haystack.component.run", {"haystack.component.type": "ChatPromptBuilder"}, "other"),
    ],
)
def test_kinds(name: str, attributes: dict[str, object], kind: str) -> None:
    """The operation tells the kind, of a component its class; the scope is the app's."""
    span = made(name, scope="my_app", attributes=attributes)
    index, found = conventions.classify(span)
    assert ("haystack", kind) == (conventions.CONVENTIONS[index].name, found)


def test_what_is_not_haystacks() -> None:
    """The probe that switches tracing on is no run; spans of other names are not Haystack's."""
    assert ["setup", None] == [
        haystack.kind(made("haystack.tracing.auto_enable", scope="haystack")),
        haystack.kind(made("other", scope="haystack")),
    ]


def test_tools() -> None:
    """A tool's span has name, arguments and result; a failure is marked beside them."""
    attributes = {
        "haystack.tool.name": "add",
        "haystack.agent.step.tool.input": '{"a": 1}',
        "haystack.agent.step.tool.output": "2.5",
    }
    done = made("haystack.agent.step.tool", attributes=attributes)
    assert ToolFields("add", '{"a": 1}', 2.5) == haystack.tool(done, Memo())
    failure = {**attributes, "haystack.tool.error": True, "haystack.agent.step.tool.output": '{"error": "no number"}'}
    failed = made("haystack.agent.step.tool", attributes=failure)
    expected = ToolFields("add", '{"a": 1}', "no number", failed=True, message="no number")
    assert expected == haystack.tool(failed, Memo())


def test_several_calls() -> None:
    """The invoker's messages give each call with its result; one without a result may have failed."""
    other = {"tool_call": {"tool_name": "sub", "arguments": {"b": 2}, "id": "c2"}}
    sent = {"role": "assistant", "content": [CALL, other]}
    span = component("ToolInvoker", {"messages": [sent]}, {"tool_messages": [told("no number", error=True)]})
    expected = (
        ToolFields("add", {"a": 1}, "no number", "c1", failed=True, message="no number"),
        ToolFields("sub", {"b": 2}, None, "c2", uncertain=True),
    )
    assert expected == haystack.several(span, Memo())
    assert () == haystack.several(component("ToolInvoker"), Memo())
    assert haystack.several(component("Agent"), Memo()) is None


def test_models() -> None:
    """Model and usage stand in the reply's metadata; messages are Haystack's own."""
    span = component("OpenAIChatGenerator", {"messages": [ASKED]}, {"replies": [CALLS]})
    assert LLMFields("m-1", None, 9, 2, 4, None, 1) == haystack.llm(span, Memo())
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    )
    assert expected == haystack.messages(span, Memo())


def test_generators_of_text() -> None:
    """A generator without messages has a prompt, replies of text and its metadata beside them."""
    span = component("OpenAIGenerator", {"prompt": "add one"}, {"replies": ["Two."], "meta": [META]})
    assert LLMFields("m-1", None, 9, 2, 4, None, 1) == haystack.llm(span, Memo())
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),), (Message("assistant", (Part("text", "Two."),)),)
    )
    assert expected == haystack.messages(span, Memo())
    several = component("OpenAIGenerator", {"prompt": "add one"}, {"replies": ["Two.", "2"]})
    assert 2 == len(haystack.output(several, Memo()) or ())


def test_results_in_messages() -> None:
    """A tool's message names the call that it answers, and whether it failed."""
    span = component("OpenAIChatGenerator", {"messages": [ASKED, CALLS, told("no number", error=True)]})
    sent = haystack.messages(span, Memo()).input
    assert sent is not None
    assert (Part("tool_result", "", "c1", "add", "no number", error=True),) == sent[-1].parts


def test_agents() -> None:
    """An agent is asked and answers in messages, and bears its component's name."""
    span = component("Agent", {"messages": [ASKED], "tools": None}, {"messages": [ASKED, CALLS, SAYS]}, "helper")
    assert AgentFields("helper", "add one", "Two.") == haystack.agent(span, Memo())
    attributes = {
        "haystack.agent.input": json.dumps({"messages": [ASKED]}),
        "haystack.agent.output": json.dumps({"messages": [ASKED, CALLS]}),
    }
    assert AgentFields(None, "add one", None) == haystack.agent(made(attributes=attributes), Memo())


@pytest.mark.parametrize(
    ("given", "returned", "expected"),
    [
        ({"agent": {"messages": [ASKED]}}, {"agent": {"messages": [ASKED, SAYS]}}, ("add one", "Two.")),
        (
            {"retriever": {"query": "who"}, "prompt": {"question": "who?"}},
            {"llm": {"replies": [SAYS]}},
            ("who", "Two."),
        ),
        ({"retriever": {"query": "who"}}, {"builder": {"answers": [{"data": "she"}]}}, ("who", "she")),
        ({"prompt": {"question": "who?"}}, {"llm": {"replies": ["she"]}}, ("who?", "she")),
        ({}, {}, (None, None)),
    ],
)
def test_pipelines(given: object, returned: object, expected: tuple[object, object]) -> None:
    """The question stands among the inputs of some component, the answer among the outputs of the last."""
    attributes = {
        "haystack.pipeline.input_data": json.dumps(given),
        "haystack.pipeline.output_data": json.dumps(returned),
    }
    found = haystack.agent(made("haystack.pipeline.run", attributes=attributes), Memo())
    assert expected == (found.query, found.answer)


def test_retrievers() -> None:
    """Query and documents, with scores of any range."""
    returned = {"documents": [{"id": "d1", "content": "text", "score": 5.9, "embedding": None}]}
    span = component("InMemoryBM25Retriever", {"query": "who", "top_k": None}, returned)
    assert RetrievalFields("who", (Document("d1", 5.9, "text"),)) == haystack.retrieval(span, Memo())
    assert RetrievalFields() == haystack.retrieval(component("InMemoryBM25Retriever"), Memo())


def test_definitions() -> None:
    """Tools are listed singly or in sets, each with its class."""
    schema = {"type": "object", "properties": {}}
    add = {"type": "haystack.tools.tool.Tool", "data": {"name": "add", "description": "Adds.", "parameters": schema}}
    kit = {"type": "haystack.tools.toolset.Toolset", "data": {"tools": [add]}}
    expected = (ToolDefinition("add", "Adds.", schema),)
    assert expected == haystack.definitions(made(attributes={"haystack.agent.tools": json.dumps([add])}), Memo())
    assert expected == haystack.definitions(component("OpenAIChatGenerator", {"tools": kit}), Memo())
    assert haystack.definitions(component("OpenAIChatGenerator", {"tools": None}), Memo()) is None


KEYS = (
    "haystack.component.type", "haystack.component.name", "haystack.component.input", "haystack.component.output",
    "haystack.agent.step.llm.input", "haystack.agent.step.llm.output", "haystack.agent.tools", "haystack.tool.error",
    "haystack.pipeline.input_data", "haystack.pipeline.output_data", "haystack.agent.step.tool.output",
)  # fmt: skip
WORDS = (
    "messages", "replies", "meta", "usage", "tools", "data", "answers", "content", "tool_call", "tool_call_result",
    "origin", "result", "error", "role", "documents", "query", "prompt", "ToolInvoker", "Agent", "tool_messages",
)  # fmt: skip


@given(spans(haystack.CONVENTION, keys=KEYS, words=WORDS, names=("haystack.component.run", "haystack.agent.run")))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    haystack.several(span, Memo())
    assert read_all(haystack.CONVENTION, span) > 0


def test_tools_that_are_printed() -> None:
    """One tool that cannot be serialised leaves the list printed: the names of all are there, no schema."""
    printed = (
        "[ComponentTool(name='ask', description='d', parameters={'$defs': {'name': {'type': 'x'}}}), "
        "Tool(name='add', description='', parameters={})]"
    )
    span = made("haystack.agent.run", attributes={"haystack.agent.tools": printed})
    assert (ToolDefinition("ask"), ToolDefinition("add")) == haystack.definitions(span, Memo())
    assert None is haystack.definitions(made("haystack.agent.run", attributes={"haystack.agent.tools": "[]x"}), Memo())
