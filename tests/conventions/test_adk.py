"""Google's ADK: schema 2, schema 1, and the spans of the first releases."""

from __future__ import annotations

import json

from hypothesis import given
from msgspec.structs import replace

from spanwise.conventions import adk
from spanwise.model.content import (
    AgentFields,
    ContextFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    ModelCall,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import RawSpan, Scope
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made, remade, with_logs
from tests.recordings_io import spans as recorded

SCOPE = "gcp.vertex.agent"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
SYSTEM = (
    "You are a careful research assistant. Use the tools.\n\n"
    'You are an agent. Your internal name is "research_agent". The description about you is "Researches facts".'
)


def named(name: str, recording: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


def test_kinds() -> None:
    """Operations tell the kind in schema 2, names where there is no operation; the sum of parallel calls is no call."""
    kinds = {
        name: adk.kind(made(name, scope=SCOPE, attributes=attributes))
        for name, attributes in {
            "invoke_workflow a": {"gen_ai.operation.name": "invoke_workflow"},
            "generate_content m": {"gen_ai.operation.name": "generate_content"},
            "execute_tool (merged)": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"},
            "execute_tool add": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"},
            "invocation": {},
            "call_llm": {},
            "agent_run [helper]": {},
            "tool_call [add]": {},
            "tool_response [add]": {},
            "invoke_agent a": {"llm.token_count.prompt": 1},
            "invoke_node start": {"gen_ai.operation.name": "invoke_node"},
        }.items()
    }
    assert {
        "invoke_workflow a": "workflow",
        "generate_content m": "llm",
        "execute_tool (merged)": "other",
        "execute_tool add": "tool",
        "invocation": "workflow",
        "call_llm": "llm",
        "agent_run [helper]": "agent",
        "tool_call [add]": "tool",
        "tool_response [add]": None,
        "invoke_agent a": "agent",
        "invoke_node start": None,
    } == kinds


def test_tool_of_schema_1() -> None:
    """A failure that the tool handled itself is told by its result alone."""
    span = named("execute_tool calculator", "google-adk__builtin-schema1")
    expected = ToolFields(
        "calculator",
        '{"expression": "68.4 million * 0.1"}',
        {"status": "error", "error_message": "ValueError: cannot parse expression: '68.4 million * 0.1'"},
        failed=True,
    )
    assert expected == adk.tool(span, Memo())


def test_tool_of_schema_2_with_content() -> None:
    """With content captured, arguments and result are under the names of GenAI."""
    span = named("execute_tool calculator", "google-adk__builtin-genai-latest", at=1)
    expected = ToolFields("calculator", '{"expression": "68400000 * 0.1"}', {"value": 6840000.0})
    assert expected == adk.tool(span, Memo())


def test_tool_without_content_is_uncertain() -> None:
    """Without a result neither success nor failure is known, unless the status says that it failed."""
    span = named("execute_tool calculator", "google-adk__builtin")
    assert ToolFields("calculator", uncertain=True) == adk.tool(span, Memo())
    assert ToolFields("calculator") == adk.tool(remade(span, status_code=2), Memo())


def test_switched_off_content_of_schema_1_is_no_content() -> None:
    """Empty arguments with an empty result are what schema 1 writes for content that is switched off."""
    off = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}
    without_arguments = {**off, "gcp.vertex.agent.tool_response": '{"result": "done"}'}
    assert ToolFields(uncertain=True) == adk.tool(made(attributes=off), Memo())
    assert ToolFields(None, "{}", "done") == adk.tool(made(attributes=without_arguments), Memo())


def test_results_are_unwrapped() -> None:
    """What a tool returned stands under `result` unless it is a mapping; placeholders stand for nothing."""
    results = {
        text: adk.unwrapped(text, Memo())
        for text in (
            '{"result": "[1, 2]"}',
            '{"result": [1, 2]}',
            '{"result": null}',
            '{"result": "<not specified>"}',
            '{"result": 1, "status": "success"}',
            "<not serializable>",
        )
    }
    assert {
        '{"result": "[1, 2]"}': "[1, 2]",
        '{"result": [1, 2]}': [1, 2],
        '{"result": null}': "null",
        '{"result": "<not specified>"}': None,
        '{"result": 1, "status": "success"}': {"result": 1, "status": "success"},
        "<not serializable>": None,
    } == results


def test_errors_in_results() -> None:
    """A status of error and a report under `error` are failures, an empty `error` is none, data may be either."""
    told = [adk.says_error(result) for result in ({"status": "error"}, {"error": "x"}, {"error": None}, "error", None)]
    assert [True, True, False, False, False] == told
    table = {"error": {"404": 3, "500": 1}, "hours": 24}
    assert [None, None, True] == [adk.says_error(one) for one in (table, {"error": 0.02}, {"error": {"message": "x"}})]
    span = made("execute_tool count", scope=SCOPE, attributes={"gen_ai.tool.call.result": json.dumps(table)})
    assert ToolFields("count", None, table, uncertain=True) == adk.tool(span, Memo())


def test_first_releases() -> None:
    """The name of an agent or tool stood in the span's name."""
    span = made("tool_call [add]", scope=SCOPE, attributes={"gcp.vertex.agent.tool_call_args": '{"a": 1}'})
    assert ToolFields("add", '{"a": 1}', uncertain=True) == adk.tool(span, Memo())
    assert AgentFields("helper") == adk.agent(made("agent_run [helper]", scope=SCOPE), Memo())
    assert AgentFields() == adk.agent(made("agent_run []", scope=SCOPE), Memo())


def test_llm_of_schema_1() -> None:
    """Usage is taken from the model's own report, for some releases wrote the total as output."""
    span = named("call_llm", "google-adk__builtin-schema1", at=1)
    wrong = remade(span, attributes={**span.attributes, "gen_ai.usage.output_tokens": 265})
    assert LLMFields(input_tokens=240, output_tokens=25, cache_read_tokens=64) == adk.llm(wrong, Memo())


def test_thoughts_and_tool_prompts_are_counted() -> None:
    """Tokens of thoughts are output, those of tool prompts are input."""
    usage = {"prompt_token_count": 10, "tool_use_prompt_token_count": 2}
    usage |= {"candidates_token_count": 3, "thoughts_token_count": 4}
    span = made(attributes={"gcp.vertex.agent.llm_response": json.dumps({"usage_metadata": usage})})
    assert LLMFields(input_tokens=12, output_tokens=7, reasoning_tokens=4) == adk.llm(span, Memo())
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}  # in JavaScript
    span = made(attributes={"gcp.vertex.agent.llm_response": json.dumps({"usageMetadata": usage})})
    assert LLMFields(input_tokens=9, output_tokens=7, reasoning_tokens=4) == adk.llm(span, Memo())


def test_a_tool_that_raised_in_javascript() -> None:
    """Its span has a name and nothing else."""
    span = made("execute_tool add", scope=SCOPE)
    said = adk.tool(span, Memo())
    assert ("tool", "add", True) == (adk.kind(span), said.name, said.uncertain)
    assert None is adk.tool(made("execute_tool ", scope=SCOPE), Memo()).name


def test_thoughts_in_go() -> None:
    """ADK for Go records what the model thought beside what it answered: both are output."""
    used: dict[str, object] = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.experimental.reasoning_tokens": 5,
    }
    of_go = Scope("gcp.vertex.agent", "1.2.0", {"telemetry.sdk.language": "go"})
    said = adk.llm(replace(made("x", scope="gcp.vertex.agent", attributes=used), scope=of_go), Memo())
    assert (9, 8, 5) == (said.input_tokens, said.output_tokens, said.reasoning_tokens)
    del used["gen_ai.usage.output_tokens"]
    assert None is adk.llm(replace(made("x", attributes=used), scope=of_go), Memo()).output_tokens
    del used["gen_ai.usage.experimental.reasoning_tokens"]
    assert None is adk.llm(replace(made("x", attributes=used), scope=of_go), Memo()).reasoning_tokens


def test_llm_without_report() -> None:
    """Schema 2 counts under the names of GenAI, which the generic dialect reads."""
    assert LLMFields() == adk.llm(named("generate_content gemini-2.5-flash", "google-adk__builtin"), Memo())


def test_messages_of_schema_1() -> None:
    """The request tells what was sent, the response what came back, tool results as the tools returned them."""
    span = named("call_llm", "google-adk__builtin-schema1", at=2)
    failed = {"status": "error", "error_message": "ValueError: cannot parse expression: '68.4 million * 0.1'"}
    found = adk.messages(span, Memo())
    assert found.input is not None
    assert (
        Message("system", (Part("text", SYSTEM),)),
        Message("user", (Part("text", QUESTION),)),
        Message("assistant", (Part("tool_call", "", "fc-1", "search_docs", {"query": "population of France 2024"}),)),
    ) == found.input[:3]
    assert (
        Message("assistant", (Part("tool_call", "", "fc-2", "calculator", {"expression": "68.4 million * 0.1"}),)),
        Message("user", (Part("tool_result", "", "fc-2", "calculator", failed, True),)),
    ) == found.input[4:]
    assert (
        Message("assistant", (Part("tool_call", "", "fc-3", "calculator", {"expression": "68400000 * 0.1"}),)),
    ) == found.output


def test_messages_of_schema_2_from_log_events() -> None:
    """Content that stands in log events only is read from there."""
    gone = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions")
    first, *_, last = [
        span
        for span in with_logs("google-adk__builtin-genai-latest", strip=gone)
        if span.name.startswith("generate_content")
    ]
    assert Messages(
        (
            Message("system", (Part("text", SYSTEM),)),
            Message("user", (Part("text", QUESTION),)),
        ),
        (
            Message(
                "assistant", (Part("tool_call", "", "fc-1", "search_docs", {"query": "population of France 2024"}),)
            ),
        ),
    ) == adk.messages(first, Memo())
    assert (Message("assistant", (Part("text", ANSWER),)),) == adk.output(last, Memo())
    assert ["search_docs", "calculator"] == [tool.name for tool in adk.definitions(first, Memo()) or ()]
    assert ContextFields(None, "user-7") == adk.context(first, Memo())


def test_elided_messages_are_none() -> None:
    """Log events whose content was elided say nothing."""
    spans_with_logs = with_logs("google-adk__builtin-schema1")
    span = next(span for span in spans_with_logs if span.name.startswith("generate_content"))
    assert len(span.events) > 0
    assert Messages() == adk.messages(span, Memo())


def test_stable_log_events_hold_whole_contents() -> None:
    """Log events of schema 1 hold Gemini's content objects as they are."""
    call = {"text": None, "function_call": {"id": "c1", "name": "add", "args": {"a": 1}}}
    sent = {"content": {"role": "user", "parts": [{"text": "add one", "function_call": None}]}}
    got = {"index": 0, "content": {"role": "model", "parts": [call]}}
    span = made(scope=SCOPE, events=[("gen_ai.user.message", sent), ("gen_ai.choice", got)])
    expected = Messages(
        (Message("user", (Part("text", "add one"),)),),
        (Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),),
    )
    assert expected == adk.messages(span, Memo())


def streamed(*texts: str) -> RawSpan:
    """A model call whose answer is recorded piece by piece."""
    pieces = [{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in texts]
    return made(scope=SCOPE, attributes={"gen_ai.output.messages": json.dumps(pieces)})


def test_streamed_answers_are_put_together() -> None:
    """The pieces of a stream are one message; a last piece that repeats them all stands alone."""
    whole = (Message("assistant", (Part("text", "Hello world"),)),)
    assert [whole, whole, whole] == [
        adk.output(streamed(*texts), Memo())
        for texts in (("Hello ", "world"), ("Hello ", "world", "Hello world"), ("Hello world",))
    ]


def test_a_stream_keeps_its_calls_apart() -> None:
    """Calls among the pieces stay parts of their own."""
    pieces = [
        {"role": "assistant", "parts": [{"type": "text", "content": "Let me "}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "add."}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}}]},
    ]
    span = made(scope=SCOPE, attributes={"gen_ai.output.messages": json.dumps(pieces)})
    expected = (Message("assistant", (Part("text", "Let me add."), Part("tool_call", "", "c1", "add", {"a": 1}))),)
    assert expected == adk.output(span, Memo())


def test_several_calls_on_one_span() -> None:
    """Where OpenInference lets all calls end on one span, their log events tell each."""
    ask = {"role": "user", "parts": [{"type": "text", "content": "add one"}]}
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}}]}
    told = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"result": [2]}}]}
    say = {"role": "assistant", "parts": [{"type": "text", "content": "Two."}]}
    first = {"gen_ai.input.messages": [ask], "gen_ai.output.messages": [call], "gen_ai.usage.input_tokens": 5}
    second = {"gen_ai.input.messages": [ask, call, told], "gen_ai.output.messages": [say]}
    usage = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.cache_read.input_tokens": 1}
    attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 7,
    }
    events = [(adk.DETAILS, first), (adk.DETAILS, {**second, **usage})]
    span = made("invoke_agent helper", scope=SCOPE, attributes=attributes, events=events)
    called = Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),))
    expected = Messages(
        (
            Message("user", (Part("text", "add one"),)),
            called,
            Message("user", (Part("tool_result", "", "c1", None, [2]),)),
        ),
        (called, Message("assistant", (Part("text", "Two."),))),
    )
    assert expected == adk.messages(span, Memo())
    assert "agent" == adk.kind(span)
    assert LLMFields("m", whole=True) == adk.llm(span, Memo())
    each = (ModelCall(LLMFields("m", input_tokens=5), 0), ModelCall(LLMFields("m", None, 7, None, 1), 1))
    assert each == adk.model_calls(span, Memo())
    assert () == adk.model_calls(made("generate_content m", scope=SCOPE, attributes=attributes, events=events), Memo())


def test_agents_carry_their_name_only() -> None:
    """ADK puts no messages on agents."""
    assert AgentFields("research_agent") == adk.agent(
        named("invoke_agent research_agent", "google-adk__builtin"), Memo()
    )


def test_definitions_of_schema_1() -> None:
    """The functions declared in a request are the tools; Gemini's own schemas name types in upper case."""
    span = named("call_llm", "google-adk__builtin-schema1")
    schema = {
        "type": "object",
        "properties": {"expression": {"title": "Expression", "type": "string"}},
        "required": ["expression"],
        "title": "calculatorParams",
    }
    found = adk.definitions(span, Memo())
    assert found is not None
    assert ToolDefinition("calculator", "Evaluate an arithmetic expression.", schema) == found[1]
    gemini = {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "INTEGER", "enum": [1]}}}}
    lowered = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer", "enum": [1]}}}}
    for key in ("function_declarations", "functionDeclarations"):  # Python's, and JavaScript's from release 2
        request = {"config": {"tools": [{key: [{"name": "add", "parameters": gemini}]}, {"googleSearch": {}}, {}]}}
        span = made(attributes={"gcp.vertex.agent.llm_request": json.dumps(request)})
        assert (ToolDefinition("add", "", lowered),) == adk.definitions(span, Memo())


def test_a_schema_without_end_is_left_as_it_is() -> None:
    """Deeper than 32 levels a schema is not looked into."""
    deep: dict[str, object] = {"type": "OBJECT"}
    for _ in range(40):
        deep = {"items": deep}
    request = {"config": {"tools": [{"function_declarations": [{"name": "add", "parameters": deep}]}]}}
    found = adk.definitions(made(attributes={"gcp.vertex.agent.llm_request": json.dumps(request)}), Memo())
    assert (ToolDefinition("add", "", deep),) == found


def test_context_of_schema_1() -> None:
    """The session stands on each model call."""
    assert ContextFields("sess-42") == adk.context(named("call_llm", "google-adk__builtin-schema1"), Memo())


KEYS = (
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.usage.input_tokens",
    "gcp.vertex.agent.event_id",
    "gcp.vertex.agent.tool_call_args",
    "gcp.vertex.agent.tool_response",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
    "user.id",
    "content",
)
WORDS = (
    "contents", "config", "tools", "function_declarations", "name", "parameters", "type", "system_instruction",
    "content", "parts", "role", "text", "function_call", "function_response", "response", "result", "usage_metadata",
    "prompt_token_count", "error", "status", "<elided>",
)  # fmt: skip


@given(
    spans(
        adk.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("call_llm", "invocation", "agent_run [a]", "tool_call ["),
        events=(adk.DETAILS, "gen_ai.choice", "gen_ai.user.message"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(adk.CONVENTION, span) == 7
