"""OpenLIT: GenAI's attributes with values as Python prints them, graph nodes called agents, costs of nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import openlit
from spanwise.model.content import AgentFields, LLMFields, Memo, Message, Messages, Part, ToolFields
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

LANGCHAIN = "openlit.instrumentation.langchain"
OPERATION = "gen_ai.operation.name"


@pytest.mark.parametrize(
    ("scope", "attributes", "kind"),
    [
        (LANGCHAIN, {OPERATION: "invoke_agent"}, "agent"),
        (openlit.GRAPH, {OPERATION: "invoke_agent"}, "workflow"),
        (openlit.GRAPH, {OPERATION: "invoke_workflow"}, "workflow"),
        (LANGCHAIN, {OPERATION: "chat", "gen_ai.tool.name": "add"}, "llm"),
        (LANGCHAIN, {OPERATION: "create_agent"}, "setup"),
    ],
)
def test_kinds(scope: str, attributes: dict[str, object], kind: str) -> None:
    """A node of a graph is no agent; a model's span that names a tool is none."""
    index, found = conventions.classify(made(scope=scope, attributes=attributes))
    assert ("openlit", kind) == (conventions.CONVENTIONS[index].name, found)


@pytest.mark.parametrize(
    ("arguments", "result", "expected"),
    [
        ("{'a': 1}", "content='2' name='add' tool_call_id='c1'", ToolFields("add", {"a": 1}, 2, "c0")),
        (
            '{"a": 1}',
            "content='no number' name='add' tool_call_id='c1' status='error'",
            ToolFields("add", {"a": 1}, "no number", "c0", failed=True),
        ),
        ("x y", "plain", ToolFields("add", "x y", "plain", "c0")),
    ],
)
def test_tools(arguments: str, result: str, expected: ToolFields) -> None:
    """Printed arguments and messages are read."""
    attributes = {
        OPERATION: "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "c0",
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
    }
    assert expected == openlit.tool(made(attributes=attributes), Memo())


def test_tools_without_content() -> None:
    """What is not recorded stays unknown; a framework's message of a failure is kept."""
    attributes = {"gen_ai.tool.name": "add", "gen_ai.framework.error.message": "no number"}
    assert ToolFields("add", message="no number") == openlit.tool(made(attributes=attributes), Memo())


@pytest.mark.parametrize(("cost", "expected"), [(0, None), (0.0, None), (0.25, 0.25), (None, None)])
def test_costs(cost: object, expected: float | None) -> None:
    """A cost of 0 is what OpenLIT writes for a model without a price."""
    attributes = {OPERATION: "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5}
    if cost is not None:
        attributes["gen_ai.usage.cost"] = cost
    span = made(scope=LANGCHAIN, attributes=attributes)
    said = conventions.llm(span, Memo(), conventions.classify(span)[0])
    assert LLMFields("m", None, 5, cost_usd=expected, whole=cost == 0) == said


@pytest.mark.parametrize(
    ("client", "counted", "expected"),
    [
        ("anthropic", (60, 5, 90, 10, None), (160, 5, 90, 10, None)),
        ("bedrock", (60, 5, 90, 0, None), (150, 5, 90, 0, None)),
        ("google_ai_studio", (60, 5, 9, 0, 3), (60, 8, 9, 0, 3)),
        ("openai", (60, 5, 9, 0, 3), (60, 5, 9, 0, 3)),
        ("groq", (0, 0, 0, 0, None), (None, None, None, None, None)),
    ],
)
def test_usage_of_clients(client: str, counted: tuple[int | None, ...], expected: tuple[int | None, ...]) -> None:
    """Tokens that a provider counts beside the others are added; of a stream whose tokens are all 0 none are known."""
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read.input_tokens",
        "cache_creation.input_tokens",
        "reasoning_tokens",
    )
    usage = {f"gen_ai.usage.{name}": count for name, count in zip(names, counted, strict=True) if count is not None}
    attributes = {OPERATION: "chat", "gen_ai.usage.cost": 0, **usage}
    span = made(scope=f"openlit.instrumentation.{client}", attributes=attributes)
    read = conventions.llm(span, Memo(), conventions.classify(span)[0])
    assert None is read.cost_usd
    assert expected == (
        *(read.input_tokens, read.output_tokens),
        *(read.cache_read_tokens, read.cache_write_tokens, read.reasoning_tokens),
    )


def test_answers_that_leave_requests_out() -> None:
    """Of some clients an answer without a part may have asked for anything, and a text may stand beside a request."""
    for client, told in (("ollama", None), ("bedrock", None), ("groq", None), ("openai", [])):
        attributes = {OPERATION: "chat", "gen_ai.output.messages": '[{"role": "assistant", "parts": []}]'}
        span = made(scope=f"openlit.instrumentation.{client}", attributes=attributes)
        dialect = conventions.classify(span)[0]
        assert told == conventions.requests(span, Memo(), dialect)
        assert conventions.tells_requests(span, dialect) is (told is not None)


def test_agents() -> None:
    """The question stands in what the agent was called with; its printed output is no answer."""
    attributes = {
        OPERATION: "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.workflow.input": json.dumps({"messages": [{"role": "user", "content": "add one"}]}),
        "gen_ai.workflow.output": json.dumps({"messages": ["content='add one' additional_kwargs={}"]}),
    }
    assert AgentFields("helper", "add one") == openlit.agent(made(scope=LANGCHAIN, attributes=attributes), Memo())
    assert AgentFields(None, "add one") == openlit.agent(made(scope=openlit.GRAPH, attributes=attributes), Memo())


def test_agents_with_messages() -> None:
    """A question in messages of GenAI's own comes before what the workflow was called with."""
    attributes = {
        OPERATION: "invoke_agent",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "add two"}]}]),
        "gen_ai.workflow.input": json.dumps({"messages": [{"role": "user", "content": "add one"}]}),
    }
    assert AgentFields(None, "add two") == openlit.agent(made(scope=LANGCHAIN, attributes=attributes), Memo())


def test_calls_of_responses() -> None:
    """The message has the id of the response's item; the span has the calls' own ids, which their results have."""
    calls = [{"type": "tool_call", "id": f"fc_{n}", "name": "add", "arguments": {"n": n}} for n in (1, 2)]
    answered = json.dumps([{"role": "assistant", "parts": calls}])

    def ids(said: str | None) -> list[str | None]:
        attributes = {OPERATION: "chat", "gen_ai.output.messages": answered, "gen_ai.tool.call.id": said}
        span = made(scope="openlit.instrumentation.openai", attributes=attributes)
        asked = openlit.requests(span, Memo())
        assert asked == [p for m in openlit.messages(span, Memo()).output or () for p in m.parts]
        return [part.id for part in asked or ()]

    assert ["call_1", "call_2"] == ids("call_1, call_2")
    assert ["fc_1", "fc_2"] == ids("call_1") == ids(None)
    assert None is openlit.requests(made(scope="openlit.instrumentation.openai"), Memo())


KEYS = (
    OPERATION, "gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.usage.cost",
    "gen_ai.workflow.input", "gen_ai.agent.name",
)  # fmt: skip
WORDS = ("execute_tool", "invoke_agent", "messages", "content", "content='x' tool_call_id='c'")


@given(spans(openlit.CONVENTION, keys=KEYS, words=WORDS))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(openlit.CONVENTION, span) == 6


def test_time_to_first_token() -> None:
    """OpenLIT counts seconds; the name of the conventions goes before its own."""
    key = "gen_ai.server.time_to_first_token"
    waits: tuple[dict[str, object], ...] = ({key: 0.25}, {}, {key: 0.25, "gen_ai.response.time_to_first_chunk": 0.5})
    assert [250.0, None, 500.0] == [openlit.llm(made(attributes=wait), Memo()).ttft_ms for wait in waits]


def test_what_former_releases_print() -> None:
    """Before 1.35 a conversation is printed, and the calls that a model asked for are texts with commas."""
    attributes = {
        OPERATION: "chat",
        "gen_ai.prompt": "system: Be good.\nuser: Who?\nAnd why?",
        "gen_ai.completion": "",
        "gen_ai.tool.name": "search, add",
        "gen_ai.tool.call.id": "c1, c2",
        "gen_ai.tool.args": '{"query": "a, b"}, {"a": 1}',
    }
    calls = (
        Part("tool_call", id="c1", name="search", value={"query": "a, b"}),
        Part("tool_call", id="c2", name="add", value={"a": 1}),
    )
    sent = (Message("system", (Part("text", "Be good."),)), Message("user", (Part("text", "Who?\nAnd why?"),)))
    found = openlit.messages(made(scope="openlit", attributes=attributes), Memo())
    assert Messages(sent, (Message("assistant", calls),)) == found
    later = [{"role": "user", "content": "Who?"}, {"role": "tool", "tool_call_id": "c1", "content": "x"}]
    attributes = {OPERATION: "chat", "gen_ai.prompt": f"user: Who?\nuser: {later!r}", "gen_ai.completion": "Me."}
    found = openlit.messages(made(scope="openlit", attributes=attributes), Memo())
    assert ["text", "tool_result"] == [part.type for message in found.input or () for part in message.parts]
    assert (Message("assistant", (Part("text", "Me."),)),) == found.output
    assert Messages(None, None) == openlit.messages(made(scope="openlit", attributes={OPERATION: "chat"}), Memo())
