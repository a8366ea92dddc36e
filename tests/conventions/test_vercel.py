"""Vercel's AI SDK: `ai.*` attributes as releases 3 to 6 write them, and a recording of release 7."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from msgspec.structs import replace

from spanwise import conventions
from spanwise.assembly.tree import build_trace
from spanwise.conventions import vercel
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawEvent, RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.corpus.facts import differences, expected, observed
from tests.recordings_io import made, remade
from tests.recordings_io import spans as recorded

SYSTEM = "You are a careful research assistant. Use the tools."
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
PROMPT = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    {
        "role": "assistant",
        "content": [
            {
                "type": "tool-call",
                "toolCallId": "call_000004",
                "toolName": "calculator",
                "input": {"expression": "68.4 million * 0.1"},
            }
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "call_000004",
                "toolName": "calculator",
                "output": {"type": "error-text", "value": "cannot parse expression: '68.4 million * 0.1'"},
            }
        ],
    },
]
ASKED = (Message("system", (Part("text", SYSTEM),)), Message("user", (Part("text", QUESTION),)))


def of(operation: str, name: str = "span", **attributes: object) -> RawSpan:
    """A span of an operation as releases 3 to 6 write it; `__` in a name stands for a dot."""
    written = {f"ai.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return made(name, scope="ai", attributes={"ai.operationId": operation, **written})


def genai(name: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in the recording of release 7."""
    return [span for span in recorded("vercel-ai__genai") if span.name == name][at]


def test_kinds() -> None:
    """The outer operation is the agent, its steps are model calls; what is neither is nothing that is scored."""
    operations = (
        "ai.generateText", "ai.generateText.doGenerate", "ai.streamText", "ai.streamText.doStream", "ai.generateObject",
        "ai.streamObject.doStream", "ai.toolCall", "ai.embed", "ai.embedMany.doEmbed", "ai.rerank", "ai.transcribe",
    )  # fmt: skip
    found = [vercel.kind(of(operation)) for operation in operations]
    assert [
        "agent",
        "llm",
        "agent",
        "llm",
        "agent",
        "llm",
        "tool",
        "embedding",
        "embedding",
        "rerank",
        "other",
    ] == found


def test_kinds_of_release_7() -> None:
    """GenAI operations tell the kind; a span of another library in a scope of that name says nothing."""
    kinds = {span.name.partition(" ")[0]: vercel.kind(span) for span in recorded("vercel-ai__genai")}
    assert {"invoke_agent": "agent", "step": "workflow", "chat": "llm", "execute_tool": "tool"} == kinds
    assert "rerank" == vercel.kind(made(scope="gen_ai", attributes={"gen_ai.operation.name": "rerank"}))
    assert None is vercel.kind(made(scope="ai"))


def test_tool() -> None:
    """Arguments and result are JSON text; a tool that threw has no result."""
    call = {
        "toolCall__name": "calculator",
        "toolCall__id": "call_000006",
        "toolCall__args": '{"expression":"68400000 * 0.1"}',
    }
    expected = ToolFields("calculator", '{"expression":"68400000 * 0.1"}', "6840000", "call_000006")
    assert expected == vercel.tool(of("ai.toolCall", **call, toolCall__result="6840000"), Memo())
    assert None is vercel.tool(of("ai.toolCall", **call), Memo()).result


def test_usage_of_release_6() -> None:
    """Totals include what was cached; the details say how much."""
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.provider": "anthropic.messages",
        "ai.model.id": "claude-sonnet-4-5",
        "gen_ai.system": "anthropic.messages",
        "gen_ai.response.model": "claude-sonnet-4-5-20250929",
        "ai.usage.inputTokens": 100,
        "ai.usage.inputTokenDetails.noCacheTokens": 30,
        "ai.usage.inputTokenDetails.cacheReadTokens": 64,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 6,
        "ai.usage.outputTokenDetails.reasoningTokens": 5,
        "ai.usage.cachedInputTokens": 64,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 15,
    }
    expected = LLMFields("claude-sonnet-4-5-20250929", "anthropic.messages", 100, 15, 64, 6, 5)
    assert expected == vercel.llm(made(scope="ai", attributes=attributes), Memo())


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {"usage__inputTokens": 30, "usage__outputTokens": 15, "usage__cachedInputTokens": 64},
            (94, 15, 64, None),
        ),
        (
            {
                "usage__promptTokens": 30,
                "usage__completionTokens": 15,
                "response__providerMetadata": '{"anthropic":{"cacheReadInputTokens":64,"cacheCreationInputTokens":6}}',
            },
            (100, 15, 64, 6),
        ),
        (
            {
                "usage__promptTokens": 30,
                "response__providerMetadata": '{"anthropic":{"usage":{"cache_read_input_tokens":64}}}',
            },
            (94, None, 64, None),
        ),
        ({"usage__completionTokens": 15}, (None, 15, None, None)),
    ],
)
def test_usage_of_anthropic_up_to_release_5(attributes: dict[str, object], expected: tuple[int | None, ...]) -> None:
    """Anthropic's input leaves out what the cache held, so it is added."""
    span = of("ai.generateText.doGenerate", model__provider="anthropic.messages", **attributes)
    assert LLMFields(None, "anthropic.messages", *expected) == vercel.llm(span, Memo())


def test_usage_of_anthropic_in_objects_of_release_6() -> None:
    """`generateObject` tells no details: the provider's own count says whether the input holds the cache already."""
    own = {"usage": {"input_tokens": 34, "cache_read_input_tokens": 16, "cache_creation_input_tokens": 0}}
    for told, sent in ((34, 50), (50, 50)):
        counted = {"usage__promptTokens": told, "response__providerMetadata": json.dumps({"anthropic": own})}
        found = vercel.llm(of("ai.generateObject.doGenerate", model__provider="anthropic.messages", **counted), Memo())
        assert (sent, 16, 0) == (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens)


@pytest.mark.parametrize("key", ["google", "vertex"])
@pytest.mark.parametrize("told", [21, 24])
def test_usage_of_google_up_to_release_5(key: str, told: int) -> None:
    """Release 5 takes the candidates for the output, which lack what the model thought; later ones add it."""
    counts = {
        "promptTokenCount": 46,
        "candidatesTokenCount": 21,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 15,
    }
    counted = {
        "usage__promptTokens": 46,
        "usage__completionTokens": told,
        "response__providerMetadata": json.dumps({key: {"usageMetadata": counts}}),
    }
    found = vercel.llm(of("ai.generateObject.doGenerate", model__provider="google.generative-ai", **counted), Memo())
    assert (46, 24, 15, 3) == (found.input_tokens, found.output_tokens, found.cache_read_tokens, found.reasoning_tokens)


def test_usage_of_other_providers() -> None:
    """Elsewhere cached tokens are part of the input; release 3 wrote prompts' tokens, embeddings write tokens."""
    cached = of("x", model__provider="openai.chat", usage__inputTokens=100, usage__cachedInputTokens=64)
    older = made(scope="ai", attributes={"ai.operationId": "x", "gen_ai.usage.prompt_tokens": 7})
    embedding = of("ai.embed", model__id="embedder", usage__tokens=7)
    assert LLMFields(None, "openai.chat", 100, None, 64) == vercel.llm(cached, Memo())
    assert 7 == vercel.llm(older, Memo()).input_tokens
    assert LLMFields("embedder", None, 7) == vercel.llm(embedding, Memo())


def test_usage_of_release_7() -> None:
    """GenAI attributes hold the usage; reasoning is supplemental."""
    expected = LLMFields("gpt-4o-mini-2024-07-18", "fake.chat", 375, 15, 64)
    assert expected == vercel.llm(genai("chat gpt-4o-mini", at=1), Memo())
    attributes = {"gen_ai.operation.name": "chat", "ai.usage.outputTokenDetails.reasoningTokens": 5}
    assert 5 == vercel.llm(made(scope="gen_ai", attributes=attributes), Memo()).reasoning_tokens


def test_messages_of_a_step() -> None:
    """Calls and results have their ids, a failed result says so; the answer is text and calls."""
    span = of(
        "ai.generateText.doGenerate",
        prompt__messages=json.dumps(PROMPT),
        response__text="Let me see.",
        response__reasoning="It failed.",
        response__toolCalls='[{"toolCallId":"call_000006","toolName":"calculator","input":"{\\"expression\\":\\"1\\"}"}]',
    )
    call = Part("tool_call", "", "call_000004", "calculator", {"expression": "68.4 million * 0.1"})
    result = Part(
        "tool_result", "", "call_000004", "calculator", "cannot parse expression: '68.4 million * 0.1'", error=True
    )
    answer = (
        Part("reasoning", "It failed."),
        Part("text", "Let me see."),
        Part("tool_call", "", "call_000006", "calculator", {"expression": "1"}),
    )
    expected = Messages(
        (*ASKED, Message("assistant", (call,)), Message("tool", (result,))), (Message("assistant", answer),)
    )
    assert expected == vercel.messages(span, Memo())


def test_messages_of_release_3() -> None:
    """Release 3 wrote its results under other names as well, and arguments as `args`."""
    calls = [{"toolCallType": "function", "toolCallId": "c1", "toolName": "add", "args": '{"a":1}'}]
    expected = (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),)
    assert expected == vercel.output(of("ai.generateText.doGenerate", result__toolCalls=json.dumps(calls)), Memo())
    assert expected == vercel.output(of("ai.generateText.doGenerate", response__toolCalls=calls), Memo())


def test_messages_of_the_outer_operation() -> None:
    """What the caller passed: instructions, and a text or messages."""
    text = of("ai.generateText", prompt=json.dumps({"system": SYSTEM, "prompt": QUESTION}))
    listed = of(
        "ai.generateText", prompt=json.dumps({"system": SYSTEM, "messages": [{"role": "user", "content": QUESTION}]})
    )
    assert Messages(ASKED) == vercel.messages(text, Memo())
    assert Messages(ASKED) == vercel.messages(listed, Memo())
    bare = of("ai.generateText", prompt=json.dumps({"prompt": QUESTION}))
    assert Messages(ASKED[1:]) == vercel.messages(bare, Memo())
    assert Messages() == vercel.messages(of("ai.generateText", prompt="cut off"), Memo())


def test_definitions() -> None:
    """Each tool is JSON text of its own, its schema under a name that changed with release 5."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    for key in ("inputSchema", "parameters"):
        tool = {"type": "function", "name": "search_docs", "description": "Search.", key: schema}
        span = of("ai.generateText.doGenerate", prompt__tools=[json.dumps(tool)])
        assert (ToolDefinition("search_docs", "Search.", schema),) == vercel.definitions(span, Memo())


def test_agent() -> None:
    """The function's id names the agent; the last step's text is the answer unless it asks for tools."""
    given = {"prompt": json.dumps({"system": SYSTEM, "prompt": QUESTION}), "telemetry__functionId": "research_agent"}
    whole = of("ai.generateText", **given, response__text=ANSWER, response__finishReason="stop")
    cut = of("ai.streamText", **given, response__text="Let me see.", response__finishReason="tool-calls")
    typed = of("ai.generateObject", response__object='{"answer":42}', response__finishReason="stop")
    assert AgentFields("research_agent", QUESTION, ANSWER) == vercel.agent(whole, Memo())
    assert AgentFields("research_agent", QUESTION) == vercel.agent(cut, Memo())
    assert AgentFields(None, None, '{"answer":42}') == vercel.agent(typed, Memo())


def test_agent_of_release_7() -> None:
    """The root repeats the calls of all steps beside the final text, which is the answer all the same."""
    span = genai("invoke_agent gpt-4o-mini")
    dialect, _ = conventions.classify(span)
    assert AgentFields("research_agent", QUESTION, ANSWER) == conventions.agent(span, Memo(), dialect)


def test_agent_of_release_7_that_did_not_finish() -> None:
    """A root whose last step asked for tools, or that says nothing, has no answer."""
    message = {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}]}
    for reasons in (["tool-calls"], [], ["stop"]):
        text = json.dumps([message] if reasons != ["stop"] else [])
        attributes = {"gen_ai.response.finish_reasons": reasons, "gen_ai.output.messages": text}
        assert AgentFields() == vercel.agent(made(scope="gen_ai", attributes=attributes), Memo())


def test_an_empty_answer() -> None:
    """A model that said nothing is recorded with an empty text; beside requests for tools that is no part of it."""
    call = {"toolCallId": "call_1", "toolName": "search", "input": {"q": "a"}}
    step = of("ai.streamText.doStream", response__text="", response__toolCalls=json.dumps([call]))
    asked = Part("tool_call", "", "call_1", "search", {"q": "a"})
    silent = of("ai.generateText.doGenerate", response__text="")
    assert (Message("assistant", ()),) == vercel.output(silent, Memo())
    assert (Message("assistant", (asked,)),) == vercel.output(step, Memo())
    assert None is vercel.output(of("ai.generateText.doGenerate"), Memo())


def test_output_of_release_7() -> None:
    """GenAI attributes hold the answer."""
    call = Part("tool_call", "", "call_000002", "search_docs", {"query": "population of France 2024"})
    assert (Message("assistant", (call,)),) == vercel.output(genai("chat gpt-4o-mini"), Memo())


def test_context() -> None:
    """Session, user and tags stand in the telemetry settings' metadata, or in release 7's runtime context."""
    older = of(
        "x", telemetry__metadata__sessionId="s", telemetry__metadata__tags=["a"], telemetry__metadata__plan="pro"
    )
    newer = made(scope="gen_ai", attributes={"ai.settings.context.userId": "u", "ai.settings.context.requestId": "r"})
    assert ContextFields("s", None, None, ("a",), {"plan": "pro"}) == vercel.context(older, Memo())
    assert ContextFields(None, "u", "r") == vercel.context(newer, Memo())


@given(
    spans(
        vercel.CONVENTION,
        keys=(
            "ai.operationId", "ai.toolCall.name", "ai.toolCall.args", "ai.prompt", "ai.prompt.messages",
            "ai.prompt.tools",
            "ai.response.text", "ai.response.toolCalls", "ai.result.toolCalls", "ai.response.object",
            "ai.response.finishReason", "ai.response.providerMetadata", "ai.model.provider", "ai.usage.promptTokens",
            "ai.telemetry.metadata.tags", "gen_ai.system", "gen_ai.operation.name", "gen_ai.output.messages",
            "gen_ai.response.finish_reasons",
        ),
        words=(
            "anthropic", "usage", "cacheReadInputTokens", "system", "prompt", "messages", "role", "content",
            "toolCallId", "stop", "parts",
        ),
    )
)  # fmt: skip
def test_no_reader_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader answers."""
    assert 7 == read_all(vercel.CONVENTION, span)


@pytest.mark.parametrize(
    ("more", "events", "failed"),
    [
        ({}, (), False),
        ({}, ("exception",), True),
        ({}, ("gen_ai.choice",), False),
        ({"ai.response.finishReason": "error"}, (), True),
        ({"ai.response.finishReason": "stop"}, (), False),
    ],
)
def test_an_error_of_another_span(more: dict[str, str], events: tuple[str, ...], failed: bool) -> None:
    """OpenInference's processor writes a trace's first error on other spans, which record no exception."""
    own = {"ai.operationId": "ai.toolCall"}
    span = made("span", scope="ai", attributes={**own, "openinference.span.kind": "TOOL", **more})
    span.status_code, span.status_message = 2, "division by zero"
    span.events = tuple(RawEvent(name, 1, {}) for name in events)
    dialect, _ = conventions.classify(span)
    assert failed == conventions.failed(span, dialect)
    for other in ({"attributes": own}, {"status_message": ""}, {"dropped": 1}):
        assert conventions.failed(replace(span, **other), dialect)


@pytest.mark.parametrize(
    ("more", "message", "events", "failed"),
    [
        ({"gen_ai.tool.name": "add"}, "division by zero", (), False),
        ({"gen_ai.tool.name": "add"}, "division by zero", ("exception",), True),
        ({"gen_ai.tool.name": "add"}, "", (), False),
        ({"gen_ai.response.finish_reasons": ["stop"]}, "", (), False),
        ({"gen_ai.response.finish_reasons": ["error"]}, "", (), True),
        ({}, "", (), True),
    ],
)
def test_an_error_of_another_span_in_release_7(
    more: dict[str, object], message: str, events: tuple[str, ...], failed: bool
) -> None:
    """There it is written without a message where outputs are off, as a tool's own may be: that is not told."""
    span = made("span", scope="gen_ai", attributes={"openinference.span.kind": "LLM", **more})
    span.attributes = {
        "gen_ai.operation.name": "execute_tool" if "gen_ai.tool.name" in more else "chat",
        **span.attributes,
    }
    span.status_code, span.status_message = 2, message
    span.events = tuple(RawEvent(name, 1, {}) for name in events)
    assert failed == conventions.failed(span, conventions.classify(span)[0])


def test_the_apps_own_tracer_behind_openinference() -> None:
    """OpenInference's processor calls every span with a model's name LLM, where it does not know the tracer's name."""
    raws = [
        remade(span, scope=Scope("my-app", "", {}), attributes={**span.attributes, "openinference.span.kind": "LLM"})
        for span in recorded("vercel-ai__genai")
    ]
    (run,) = build_trace(raws[0].trace_id, raws).runs
    assert [] == list(differences(observed(run), expected("vercel-ai__genai", logs=False)[0]))
