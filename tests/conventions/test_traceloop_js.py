"""LangChain and LlamaIndex under OpenLLMetry in JavaScript."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from spanwise import conventions
from spanwise.conventions import traceloop
from spanwise.model.content import Memo
from spanwise.model.raw import RawSpan, Scope
from tests.making import run_of, says, span, user
from tests.recordings_io import made

LLAMA_INDEX_JS = Scope("@traceloop/instrumentation-llamaindex", "0.27.0", {})
LANGCHAIN_JS = "@traceloop/instrumentation-langchain"


def of_javascript(**attributes: object) -> RawSpan:
    """A span of LangChain's instrumentation in JavaScript."""
    return made(
        "x", scope=LANGCHAIN_JS, attributes={key.replace("__", "."): value for key, value in attributes.items()}
    )


def test_langchain_in_javascript_holds_nothing() -> None:
    """Its spans never become the current one: a chain or an agent among them is a run of nothing, so it is none."""
    for operation in ("workflow", "invoke_agent"):
        chain = of_javascript(gen_ai__operation__name=operation, traceloop__span__kind="workflow")
        assert "other" == conventions.classify(chain)[1]
    tool = of_javascript(gen_ai__operation__name="execute_tool", traceloop__span__kind="task")
    assert "tool" == conventions.classify(tool)[1]
    assert "llm" == conventions.classify(of_javascript(gen_ai__operation__name="chat", traceloop__span__kind="x"))[1]
    assert "other" == conventions.classify(of_javascript(traceloop__span__kind="workflow"))[1]


def test_tools_of_langchain_in_javascript() -> None:
    """A tool's span is named after its class; the message that it returned bears its name. One that raised has none."""
    message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"]}
    kwargs = {"status": "success", "content": "4", "tool_call_id": "c1", "name": "add"}
    given = {
        "traceloop__entity__name": "DynamicStructuredTool",
        "traceloop__entity__input": json.dumps({"args": [json.dumps({"x": 2})]}),
    }
    found = traceloop.tool(
        of_javascript(**given, traceloop__entity__output=json.dumps(message | {"kwargs": kwargs})), Memo()
    )
    assert ("add", "c1", 4) == (found.name, found.call_id, found.result)
    assert "DynamicStructuredTool" == traceloop.tool(of_javascript(**given), Memo()).name
    passed = {"lg_name": "Command", "update": {"messages": [message | {"kwargs": kwargs | {"name": "transfer_to_b"}}]}}
    command = json.dumps({**passed, "goto": ["b"]})
    found = traceloop.tool(of_javascript(**given, traceloop__entity__output=command), Memo())
    assert ("transfer_to_b", "c1", 4) == (found.name, found.call_id, found.result)


def step(at: int, *given: dict[str, object]) -> RawSpan:
    """A step of LangChain's in JavaScript beside the others, with the conversation that it was given."""
    attributes = {"gen_ai.operation.name": "workflow", "traceloop.entity.input": json.dumps({"messages": list(given)})}
    return span(at, parent=1, attributes=attributes, scope=Scope(LANGCHAIN_JS, "0.27.0", {}))


def test_requests_that_only_steps_were_given() -> None:
    """Its model calls leave out what they asked for: a tool that raised gets its name from the state of a step."""
    asked = {"role": "assistant", "content": "", "tool_calls": [call("c1", "add", {"x": 2}), call("c2", "find", {})]}
    back = {"role": "assistant", "content": "", "tool_calls": [call("c3", "transfer_back_to_boss", {})]}
    typed = {"role": "assistant", "content": "", "tool_calls": [call("c4", "extract-1", {"city": "Paris"})]}
    taken = {"role": "tool", "tool_call_id": "c4", "content": '{"city": "Paris"}'}
    raised = {
        "gen_ai.operation.name": "execute_tool",
        "traceloop.entity.name": "DynamicStructuredTool",
        "traceloop.entity.input": json.dumps({"args": ['{"x": 2}']}),
    }
    asking = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([user("Q")]),
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":""}]}]',
    }
    scope = Scope(LANGCHAIN_JS, "0.27.0", {})
    question = {"role": "user", "content": "Q"}
    run = run_of(
        span(1, end=999),
        step(20, question),
        span(30, parent=1, attributes=asking, scope=scope),
        step(40, question, asked),
        span(50, parent=1, attributes=raised, scope=scope, status=2, message="no"),
        step(60, question, asked, back, typed, taken),
        step(70, typed),
    )
    assert [("find", "c2", "message"), ("add", "c1", "span")] == [
        (one.name, one.call_id, one.origin) for one in run.tool_calls
    ]


def call(call_id: str, name: str, arguments: object) -> dict[str, object]:
    """A request for a tool, as OpenAI spells it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def llama_index(
    at: int, *, sent: Sequence[object], got: str, reason: str | None = "stop", parent: int | None = 1
) -> RawSpan:
    """A model call of LlamaIndex's instrumentation in JavaScript."""
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(sent),
        "gen_ai.output.messages": json.dumps([{**says(got), "finish_reason": reason or ""}], separators=(",", ":")),
    }
    if reason is not None:
        attributes["gen_ai.response.finish_reasons"] = [reason]
    return span(at, parent=parent, name="chat gpt-4o-mini", attributes=attributes, scope=LLAMA_INDEX_JS)


def test_results_that_no_user_said() -> None:
    """LlamaIndex hands tools' results over as a user's words: those are not what the run was asked."""
    wordless = {"role": "assistant", "parts": [{"type": "text", "content": ""}]}
    talking = says("I look.")
    for asking, results in ((wordless, [user("42")]), (talking, [user("a"), user("Error: b")])):
        history = [user("Q"), asking, *results]
        assert "Q" == run_of(llama_index(20, sent=history, got="A", parent=None)).query
    assert "And?" == run_of(llama_index(20, sent=[user("Q"), talking, user("And?")], got="A", parent=None)).query


def test_an_answer_of_llama_index_without_its_requests() -> None:
    """Of what a model asked for only the reason is recorded, of a stream not even that: calls are not measurable."""
    run = run_of(llama_index(20, sent=[user("Q")], got="I look.", reason="tool_call", parent=None))
    assert (None, {"answer", "tool_calls"}) == (
        run.answer,
        {"answer", "tool_calls"} & {one.field for one in run.missing},
    )
    run = run_of(llama_index(20, sent=[user("Q")], got="A", reason=None, parent=None))
    assert ("A", True) == (run.answer, "tool_calls" in {one.field for one in run.missing})
    run = run_of(llama_index(20, sent=[user("Q")], got="A", parent=None))
    assert ("A", False) == (run.answer, "tool_calls" in {one.field for one in run.missing})


def test_the_retriever_of_llama_index() -> None:
    """Its methods are told by their names; the query engine's retrieves through the index's, which is one retrieval."""
    found = [{"node": {"id_": "n1", "text": "Paris"}, "score": 0.5}]
    content = {
        "traceloop.span.kind": "task",
        "traceloop.entity.input": json.dumps({"args": ["Q"], "kwargs": {}}),
        "traceloop.entity.output": json.dumps(found),
    }
    role = {"traceloop.span.kind": "workflow"}
    run = run_of(
        span(1, name="retriever_query_engine.query", attributes=role, scope=LLAMA_INDEX_JS),
        span(2, parent=1, name="retriever_query_engine.retrieve", attributes=content, scope=LLAMA_INDEX_JS, end=90),
        span(3, parent=2, name="vector_index_retriever.retrieve", attributes=content, scope=LLAMA_INDEX_JS, end=80),
        span(4, parent=3, name="base_embedding.get_query_embedding", attributes=content, scope=LLAMA_INDEX_JS, end=70),
    )
    assert ["workflow", "retrieval", "retrieval", "embedding"] == [one.kind for one in run.spans]
    assert [("Q", [("n1", 0.5)])] == [
        (one.query, [(it.id, it.score) for it in one.documents or ()]) for one in run.retrievals
    ]


def test_a_typed_answer_of_langchain_in_javascript() -> None:
    """The model's last answer asks for the tool that types it: what the step that ended last returned is the answer."""
    returned = {"messages": [{"role": "user", "content": "?"}], "structuredResponse": {"n": 4}}
    state = {"gen_ai.operation.name": "workflow", "traceloop.entity.output": json.dumps(returned)}
    scope = Scope(LANGCHAIN_JS, "0.27.0", {})
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]),
        "gen_ai.response.finish_reasons": ("tool_call",),
    }
    run = run_of(
        span(1, end=100, attributes={}),
        span(2, parent=1, end=90, attributes=state, scope=scope),
        span(3, parent=1, end=30, attributes=asked, scope=scope),
        step(40, {"role": "user", "content": "?"}),
    )
    assert '{"n":4}' == run.answer


@pytest.mark.parametrize(("ran", "answer"), [(2_000_000, None), (1_000_000, "Let me see.")])
def test_a_run_of_langchain_in_javascript_that_ended_on_a_request(ran: int, answer: str | None) -> None:
    """Answers lack what was asked for beside their text: a tool that ran behind the last one tells that it asked."""
    scope = Scope(LANGCHAIN_JS, "0.27.0", {})
    said = json.dumps([{**says("Let me see."), "finish_reason": ""}])
    asked = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    run = run_of(
        span(1, end=9_000_000),
        span(2, parent=1, start=1_000_000, end=2_700_000, attributes=asked, scope=scope),
        span(3, parent=1, start=ran, end=3_500_000, attributes=tool, scope=scope),
    )
    assert answer == run.answer
    whys = {one.field: one.why for one in run.missing}
    assert answer is not None or "The run ended on a request for tools: no answer followed." == whys["answer"]


def test_who_passed_control_in_javascript() -> None:
    """No agent has a span: who asked for the tool that passes control is told by the message in a step's state."""
    scope = Scope(LANGCHAIN_JS, "0.27.0", {})
    asked = {"content": "", "tool_calls": [{"id": "c1", "name": "transfer_to_expert", "args": {}}], "name": "triage"}
    message = {"lc": 1, "id": ["AIMessage"], "kwargs": asked}
    state = {"output": [{"lg_name": "Command", "update": {"messages": [message]}}]}
    told = {"lc": 1, "kwargs": {"content": "Done.", "tool_call_id": "c1", "name": "transfer_to_expert"}}
    tool = {"gen_ai.operation.name": "execute_tool", "traceloop.entity.output": json.dumps(told)}
    step_of = {"gen_ai.operation.name": "workflow", "traceloop.entity.output": json.dumps(state)}

    def passed(returned: dict[str, object]) -> list[tuple[str | None, str | None]]:
        run = run_of(
            span(1, end=99),
            span(10, parent=1, attributes=returned, scope=scope),
            span(20, parent=1, name="execute_tool DynamicStructuredTool", attributes=tool, scope=scope),
        )
        return [(one.source, one.target) for one in run.handoffs]

    assert [("triage", "expert")] == passed(dict(step_of))
    del asked["name"]
    assert [(None, "expert")] == passed({**step_of, "traceloop.entity.output": json.dumps(state)})
