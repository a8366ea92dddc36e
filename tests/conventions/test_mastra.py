"""Mastra's AI tracing, under whatever dialect its exporter speaks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import mastra
from spanwise.model.content import AgentFields, ContextFields, Memo, Messages, Part
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import run_of
from tests.making import span as at_place
from tests.recordings_io import made
from tests.recordings_io import spans as recorded

OUTPUT, STEP = "mastra.agent_run.output", "mastra.model_step.output"
RECORDING = "mastra__builtin__workflow"
KEYS = (
    "mastra.span.type", "mastra.model_step.input", "mastra.model_step.output", "mastra.agent_run.input",
    "mastra.agent_run.output", "mastra.tags", "mastra.metadata.userId", "gen_ai.output.messages",
)  # fmt: skip
WORDS = ("model_step", "agent_run", "role", "content", "text", "toolCalls", "toolName", "args", "messages", "tool")


def span(kind: object, **attributes: object) -> RawSpan:
    """A span of Mastra's."""
    return made("x", scope="@mastra/otel-exporter", attributes={"mastra.span.type": kind, **attributes})


def named(name: str, at: int = 0) -> RawSpan:
    """A recorded span by its name."""
    return [one for one in recorded(RECORDING) if one.name == name][at]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("agent_run", "agent"),
        ("workflow_run", "workflow"),
        ("model_generation", "workflow"),
        ("model_step", "llm"),
        ("model_inference", "llm"),
        ("model_chunk", "other"),
        ("mcp_tool_call", "tool"),
        ("client_tool_call", "other"),
        ("scorer_run", "evaluation"),
        ("rag_embedding", "embedding"),
        ("mcp_server_request", None),
        (7, None),
    ],
)
def test_kinds(found: object, kind: str | None) -> None:
    """The type tells what a span is; what an MCP server was sent is told by others."""
    assert kind == mastra.kind(span(found))


@pytest.mark.parametrize(
    "others",
    [{"gen_ai.operation.name": "chat"}, {"openinference.span.kind": "LLM"}, {"openinference.span.kind": "CHAIN"}],
)
def test_its_own_type_is_believed_first(others: dict[str, object]) -> None:
    """Exporters call the loop, a step, and a piece of a stream the model's; Mastra's type says which is which."""
    assert "workflow" == conventions.classify(span("model_generation", **others))[1]
    assert "llm" == conventions.classify(span("model_inference", **others))[1]
    assert "other" == conventions.classify(span("model_chunk", **others))[1]


def test_a_step_tells_what_was_asked_for() -> None:
    """The request for a tool stands in the step's output; the exporter left it out of the model's messages."""
    inference, step, memo = named("chat gpt-4o-mini"), named("agent_step research_agent"), Memo()
    assert ["assistant"] == [message.role for message in mastra.output(inference, memo) if not message.text]
    (message,) = mastra.output(step, memo)
    asked = Part("tool_call", id="call_000225", name="search_docs", value={"query": "population of France 2024"})
    assert (asked,) == message.parts


def test_previews_are_nothing_that_was_said() -> None:
    """Of tools a step's input has no more than names: that is neither a text nor a result."""
    sent = mastra.messages(named("agent_step research_agent", 1), Memo()).input
    assert ["system", "user"] == [message.role for message in sent]
    told = [{"role": "assistant", "content": "Hello!"}, {"role": "tool", "content": "[tool-result: f]"}]
    (message,) = mastra.messages(span("model_step", **{"mastra.model_step.input": json.dumps(told)}), Memo()).input
    assert "Hello!" == message.text
    nothing = span("model_step", **{"mastra.model_step.input": "[]", "mastra.model_step.output": '{"files": []}'})
    assert Messages() == mastra.messages(nothing, Memo()) == mastra.messages(span("model_step"), Memo())


def test_agents() -> None:
    """An agent's question and answer, its name in either dialect; of a workflow the only text."""
    asked = "How many people lived in France in 2024, and what is 10% of that?"
    found = mastra.agent(named("invoke_agent research_agent"), Memo())
    assert ("research_agent", asked) == (found.name, found.query)
    assert found.answer.startswith("France had about 68.4 million")
    workflow = mastra.agent(named("invoke_workflow wf"), Memo())
    assert (None, asked, found.answer) == (workflow.name, workflow.query, workflow.answer)
    assert AgentFields("helper") == mastra.agent(span("agent_run", **{"agent.name": "helper"}), Memo())


def test_context() -> None:
    """The thread is the session; of the metadata, what Mastra does not put there itself."""
    said = span(
        "agent_run",
        **{f"mastra.metadata.{key}": key[0] for key in ("runId", "threadId", "userId", "requestId", "team")},
        **{"mastra.tags": '["a", 7]'},
    )
    assert ContextFields("t", "u", "r", ("a",), {"team": "t"}) == mastra.context(said, Memo())
    assert "c" == mastra.context(span("agent_run", **{"gen_ai.conversation.id": "c"}), Memo()).session_id
    assert ContextFields() == mastra.context(span("agent_run"), Memo())


def test_tokens_of_a_loop_count_where_its_calls_have_none() -> None:
    """Exporters that write the usage on the whole loop leave the calls without; the sum is the run's."""
    loop = {"mastra.span.type": "model_generation", "openinference.span.kind": "LLM", "llm.token_count.prompt": 30}
    step = {"mastra.span.type": "model_step", "openinference.span.kind": "LLM"}
    inner = {"mastra.span.type": "model_inference", "openinference.span.kind": "CHAIN"}
    tree = [
        at_place(1, end=99, attributes={"mastra.span.type": "agent_run"}),
        at_place(2, parent=1, end=90, attributes=loop),
        *(at_place(n, parent=2, attributes=step) for n in (3, 5)),
        *(at_place(n + 1, parent=n, attributes=inner) for n in (3, 5)),
    ]
    (run,) = build_trace("0" * 32, tree).runs
    assert (2, 30) == (len(run.llm_calls), run.tokens.input)


def test_an_answer_without_a_word() -> None:
    """What an agent returned is no answer where its text is empty, whatever dialect beside Mastra's repeats it."""
    silent = '{"text":"","files":[]}'
    other = {"openinference.span.kind": "AGENT", "output.value": silent}
    found = span("agent_run", **{"mastra.agent_run.output": silent}, **other)
    assert "" == conventions.agent(found, Memo(), conventions.classify(found)[0]).answer


def test_tokens_of_an_agent_called_as_a_tool() -> None:
    """A loop's usage is that of its own calls: an agent below one of its tools counts besides."""
    loop = {"mastra.span.type": "model_generation", "gen_ai.operation.name": "chat"}
    tree = [
        at_place(1, end=99, attributes={"mastra.span.type": "agent_run"}),
        at_place(2, parent=1, end=90, attributes={**loop, "gen_ai.usage.input_tokens": 30}),
        at_place(3, parent=2, end=80, attributes={"mastra.span.type": "tool_call", "gen_ai.tool.name": "agent-b"}),
        at_place(4, parent=3, end=70, attributes={"mastra.span.type": "agent_run"}),
        at_place(5, parent=4, end=60, attributes={**loop, "gen_ai.usage.input_tokens": 12}),
    ]
    assert 42 == run_of(*tree).tokens.input


def test_an_answer_that_is_an_object() -> None:
    """A typed answer is what the agent returned, not the text that a model made it of."""
    returned = json.dumps({"text": "It is 7.", "object": {"n": 7}, "files": []})
    assert AgentFields(answer='{"n":7}') == mastra.agent(span("agent_run", **{OUTPUT: returned}), Memo())


def test_a_call_that_waits_for_leave() -> None:
    """A step that waits for somebody's leave has no answer: the piece of its stream tells what was asked for."""
    asked_for = {"toolName": "pay", "toolCallId": "c2", "toolInput": {"usd": 3}}
    waiting = {"status": "suspended", "reason": "tool-call-approval", "toolName": "pay", "toolCallId": "c2"}
    piece = {"mastra.span.type": "model_chunk", "mastra.model_chunk.output": json.dumps(asked_for)}
    repeated = {"mastra.span.type": "model_chunk", "mastra.model_chunk.output": '{"toolName":"pay","args":{"usd":3}}'}
    run = run_of(
        at_place(1, attributes={"mastra.span.type": "agent_run", OUTPUT: json.dumps(waiting)}),
        at_place(2, parent=1, end=9, attributes={"mastra.span.type": "model_step"}),
        at_place(3, parent=2, end=8, attributes={"mastra.span.type": "model_inference"}),
        at_place(4, parent=3, end=5, attributes=piece),
        at_place(5, parent=3, end=6, attributes=repeated),
    )
    assert [("pay", {"usd": 3}, "c2", "unknown")] == [
        (call.name, call.arguments, call.call_id, call.status) for call in run.tool_calls
    ]
    assert run.answer is None
    why = {one.field: one.why for one in run.missing}
    assert "The run ended on a request for tools: no answer followed." == why["answer"]
    assert "The run ended on a request for tools: no result followed." == why["results"]


@pytest.mark.parametrize(
    ("recorded_text", "last", "answer"),
    [
        ("I look.It is 42.", {"text": "It is 42."}, "It is 42."),
        ("It is 42.", {"text": "42"}, "It is 42."),
        ("I look.More.", {"text": "More.", "toolCalls": [{"toolCallId": "c2", "toolName": "add", "args": {}}]}, None),
    ],
)
def test_an_answer_is_the_text_of_the_last_step(
    recorded_text: str, last: dict[str, object], answer: str | None
) -> None:
    """Mastra strings the texts of all steps together: what was said beside requests for tools is no answer."""
    first = {"text": "I look.", "toolCalls": [{"toolCallId": "c1", "toolName": "add", "args": {}}]}
    run = run_of(
        at_place(1, attributes={"mastra.span.type": "agent_run", OUTPUT: json.dumps({"text": recorded_text})}),
        *(
            at_place(at, parent=1, attributes={"mastra.span.type": "model_step", STEP: json.dumps(said)})
            for at, said in ((20, first), (40, last))
        ),
    )
    assert answer == run.answer


def test_a_model_call_that_failed() -> None:
    """Its status is OK; the reason of its end says that it failed. Its tokens are not missed."""
    ends = {"mastra.span.type": "model_inference", "gen_ai.response.finish_reasons": '["error"]'}
    root = at_place(1, end=99, attributes={"mastra.span.type": "agent_run"})
    asked = at_place(2, parent=1, attributes={"mastra.span.type": "model_inference", "gen_ai.usage.input_tokens": 3})
    (run,) = build_trace("0" * 32, [root, asked, at_place(5, parent=1, attributes=ends)]).runs
    assert [False, True] == [call.failed for call in run.llm_calls]
    assert "tokens" not in [one.field for one in run.missing]


@given(spans(mastra.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(mastra.CONVENTION, one)
