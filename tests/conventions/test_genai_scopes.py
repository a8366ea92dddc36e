"""What single instrumentations write otherwise than the GenAI conventions that they follow."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from spanwise import conventions
from spanwise.conventions import _genai, _genai_scopes
from spanwise.conventions._genai_scopes import LANGCHAIN, leaves_requests_out
from spanwise.model.content import Memo
from spanwise.model.raw import RawEvent, RawSpan, Scope
from spanwise.model.trace import Run
from tests.making import chat, returns, run_of, says, span, user
from tests.recordings_io import made

GOOGLE = "opentelemetry.instrumentation.google_genai"


def invoked(name: object, scope: str = LANGCHAIN, *, sent: object = None) -> RawSpan:
    """An agent's span of LangChain."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    if sent is not None:
        attributes["gen_ai.input.messages"] = json.dumps(sent)
    return made("invoke_agent", scope=scope, attributes=attributes)


@pytest.mark.parametrize(
    ("name", "scope", "kind"),
    [
        ("RunnableAssign<agent_scratchpad>", LANGCHAIN, "workflow"),
        ("ToolsAgentOutputParser", LANGCHAIN, "workflow"),
        ("AgentExecutor", LANGCHAIN, "agent"),
        (None, LANGCHAIN, "agent"),
        ("RunnableAssign<agent_scratchpad>", "other", "workflow"),
        ("ChatPromptTemplate", "other", "workflow"),
        ("StrOutputParser", "other", "workflow"),
        ("call_agent", LANGCHAIN, "workflow"),
        ("call_agent", "other", "agent"),
    ],
)
def test_langchains_pieces_are_no_agents(name: object, scope: str, kind: str) -> None:
    """What LangChain puts around an agent is a step of its work."""
    assert kind == _genai.kind(invoked(name, scope))


@pytest.mark.parametrize(
    ("text", "scope", "query"),
    [
        ('{"input": "How many?"}', LANGCHAIN, "How many?"),
        ('{"other": "How many?"}', LANGCHAIN, '{"other": "How many?"}'),
        ('{"cut": ', LANGCHAIN, '{"cut": '),
        ("How many?", LANGCHAIN, "How many?"),
        ('{"input": "How many?"}', "other", '{"input": "How many?"}'),
        ('{"input": ""}', LANGCHAIN, None),
    ],
)
def test_question_of_an_executor(text: str, scope: str, query: str | None) -> None:
    """The question stands in what the executor was called with, which is written as if the user had said it."""
    assert query == _genai.agent(invoked("AgentExecutor", scope, sent=[user(text)]), Memo()).query


def test_results_without_googles_envelope() -> None:
    """Google's API wants a mapping for every function's response; the tool returned what stands in it."""
    results = [{"result": [1]}, {"output": None}, {"error": "no"}, {"result": 1, "more": 2}, "text"]
    sent = [user("go"), *(returns((f"c{at}", result)) for at, result in enumerate(results))]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(sent)}
    read = _genai.messages(made("chat", scope=GOOGLE, attributes=attributes), Memo()).input or ()
    values = [part.value for message in read for part in message.parts if part.type == "tool_result"]
    assert [[1], "null", {"error": "no"}, {"result": 1, "more": 2}, "text"] == values
    read = _genai.messages(made("chat", scope="other", attributes=attributes), Memo()).input or ()
    assert {"result": [1]} == read[1].parts[0].value
    alone = {"gen_ai.input.messages": json.dumps([user("go")])}
    assert 1 == len(_genai.messages(made("chat", scope=GOOGLE, attributes=alone), Memo()).input or ())
    assert _genai.messages(made("chat", scope=GOOGLE), Memo()).input is None


def test_answer_behind_googles_calls() -> None:
    """A stream in which the client ran the tools is one message; its text is the answer nevertheless."""
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}
    text = {"type": "text", "content": "A"}

    def answer(*parts: object, scope: str = GOOGLE) -> str | None:
        got = [{"role": "assistant", "parts": list(parts)}] if parts else []
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(got)}
        span = made("chat", scope=scope, attributes=attributes)
        assert _genai.output(span, Memo()) == _genai.messages(span, Memo()).output
        return _genai.last_answer_text(_genai.output(span, Memo()))

    assert "A" == answer(call, call, text) == answer(text)
    assert None is answer(text, call) is answer(call, text, scope="other") is answer()


def test_printed_objects_are_no_result() -> None:
    """A result that was printed as Python objects without a value is not recorded."""
    said = {"gen_ai.tool.call.result": "[<app.Content object at 0x7efd8ca2bd10>]"}
    assert _genai.tool(made(attributes=said), Memo()).result is None
    said = {"gen_ai.tool.call.result": "[<b>bold</b>]"}
    assert "[<b>bold</b>]" == _genai.tool(made(attributes=said), Memo()).result


@pytest.mark.parametrize(
    ("scope", "asked"),
    [
        ("opentelemetry.instrumentation.bedrock", 160),
        ("opentelemetry.instrumentation.botocore.bedrock-runtime", 160),
        ("opentelemetry.instrumentation.genai.bedrock", 160),
        ("opentelemetry.instrumentation.anthropic", 60),
    ],
)
def test_usage_of_bedrock(scope: str, asked: int) -> None:
    """Bedrock counts cached tokens beside the input, and these instrumentations write what it counts."""
    usage = {"input_tokens": 60, "output_tokens": 5, "cache_read.input_tokens": 90, "cache_creation.input_tokens": 10}
    attributes = {"gen_ai.operation.name": "chat", **{f"gen_ai.usage.{key}": count for key, count in usage.items()}}
    read = _genai.llm(made("chat", scope=scope, attributes=attributes), Memo())
    assert (asked, 5, 90, 10) == (
        read.input_tokens,
        read.output_tokens,
        read.cache_read_tokens,
        read.cache_write_tokens,
    )
    assert _genai.llm(made("chat", scope=scope), Memo()).input_tokens is None


@pytest.mark.parametrize("scope", sorted(_genai_scopes.SPARING))
def test_empty_values_that_are_left_out(scope: str) -> None:
    """Where content is recorded, arguments and results that are left out are empty; elsewhere they are unknown."""
    call = {"id": "c1", "type": "function", "function": {"name": "now"}}

    def read(scope: str, **content: str) -> list[object]:
        one = made("chat", scope=scope, attributes={"gen_ai.operation.name": "chat"})
        one.events = [
            RawEvent("gen_ai.user.message", 1, {}, {**content}),
            RawEvent("gen_ai.tool.message", 1, {}, {"id": "c0"}),
            RawEvent("gen_ai.choice", 2, {}, {"message": {"role": "assistant", "tool_calls": [call]}}),
        ]
        found = _genai.messages(one, Memo())
        assert found.output == _genai.output(one, Memo())
        said = (*(found.input or ()), *(found.output or ()))
        return [part.value for message in said for part in message.parts if part.type != "text"]

    assert ["", {}] == read(scope, content="?")
    assert [None, None] == read(scope) == read("other", content="?")


@pytest.mark.parametrize(("total", "output", "thoughts"), [(320, 20, 5), (315, 15, None), (None, 15, None)])
@pytest.mark.parametrize("scope", [_genai_scopes.OPENLLMETRY_GOOGLE, _genai_scopes.GOOGLE_JS])
def test_thoughts_that_google_counts_apart(total: int | None, output: int, thoughts: int | None, scope: str) -> None:
    """OpenLLMetry leaves the model's thoughts out of the output; the total of all tokens holds them."""
    usage = {"input_tokens": 300, "output_tokens": 15, "total_tokens": total}
    counted = {f"gen_ai.usage.{key}": count for key, count in usage.items() if count is not None}
    one = made("chat", scope=scope, attributes={"gen_ai.operation.name": "chat", **counted})
    read = _genai.llm(one, Memo())
    assert (300, output, thoughts) == (read.input_tokens, read.output_tokens, read.reasoning_tokens)


def test_calls_that_stand_printed_among_words() -> None:
    """OpenTelemetry's first instrumentation of OpenAI's agents prints what a model asked for as if it were a text."""
    printed = """ResponseFunctionToolCall(arguments='{"q": "a"}', call_id='c1', name='search', type='function_call')"""
    parts = [{"type": "text", "content": text} for text in ("I look.", printed, "ResponseFunctionToolCall(cut")]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
    }
    one = made("chat", scope=_genai_scopes.PRINTING, attributes=attributes)
    dialect, _ = conventions.classify(one)
    assert None is conventions.answer_text(one, dialect)
    assert [("c1", "search", {"q": "a"})] == [
        (part.id, part.name, part.value) for part in conventions.requests(one, Memo(), dialect) or ()
    ]
    assert None is _genai.agent(one, Memo()).answer


OPENAI_JS = "@traceloop/instrumentation-openai"
EMPTY_TEXT = [{"role": "assistant", "finish_reason": "stop", "parts": [{"type": "text", "content": ""}]}]


def answered_in_javascript(sent: object, got: object) -> RawSpan:
    """A call of OpenAI's client under OpenLLMetry in JavaScript, which writes JSON without blanks."""
    sent = [{"role": "user", "parts": [{"type": "text", "content": sent}]}]
    written = {"gen_ai.input.messages": sent, "gen_ai.output.messages": got}
    attributes = {key: json.dumps(value, separators=(",", ":")) for key, value in written.items()}
    return made("chat", scope=OPENAI_JS, attributes={"gen_ai.operation.name": "chat", **attributes})


def test_what_a_user_is_recorded_to_have_said_in_javascript() -> None:
    """The Responses API's list of what was sent stands printed as a user's text: it is read as the list."""
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "4"}
    told = json.dumps([{"role": "user", "content": "Add."}, call, result], separators=(",", ":"))
    sent = _genai.messages(answered_in_javascript(told, EMPTY_TEXT), Memo()).input
    assert ["user", "assistant", "tool"] == [message.role for message in sent]
    assert "Add." == _genai.first_user_text(sent)
    for said in ("Add.", '[{"cut'):
        (message,) = _genai.messages(answered_in_javascript(said, EMPTY_TEXT), Memo()).input
        assert said == message.text


def test_an_answer_without_its_calls_in_javascript() -> None:
    """An answer that is an empty text was a request for tools, which were left out: it is not told, not empty."""
    silent = answered_in_javascript("Add.", EMPTY_TEXT)
    assert (None, None) == (_genai.output(silent, Memo()), _genai.messages(silent, Memo()).output)
    assert None is _genai.requests(silent, Memo())
    spoken = answered_in_javascript("Add.", [{"role": "assistant", "parts": [{"type": "text", "content": "4"}]}])
    assert ("4", ()) == (_genai.output(spoken, Memo())[0].text, _genai.requests(spoken, Memo()))
    assert None is _genai.output(made("chat", scope=OPENAI_JS), Memo())


def test_requests_that_are_left_out_in_javascript() -> None:
    """LangChain's answers, and the Responses API's, have no requests beside their text: it tells of none."""
    calls = '[{"role":"assistant","parts":[{"type":"text","content":""}],"finish_reason":"tool_call"}]'
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": calls}
    asking = made("chat", scope="@traceloop/instrumentation-langchain", attributes=attributes)
    assert (None, None) == (_genai.requests(asking, Memo()), _genai.output(asking, Memo()))
    telling = {
        ("@traceloop/instrumentation-langchain", "r"): False,
        (OPENAI_JS, "resp_1"): False,
        (OPENAI_JS, "chatcmpl-1"): True,
        ("other", "resp_1"): True,
    }
    for (scope, answered), tells in telling.items():
        span = made("chat", scope=scope, attributes={"gen_ai.response.id": answered})
        assert tells != leaves_requests_out(span)


def test_arguments_of_a_stream_in_javascript() -> None:
    """Anthropic's streamed requests are recorded as they began: their arguments are not told."""
    for reason, value in (("", None), ("tool_call", {})):
        part = {"type": "tool_call", "id": "t1", "name": "search", "arguments": {}}
        text = json.dumps([{"role": "assistant", "finish_reason": reason, "parts": [part]}], separators=(",", ":"))
        span = made("chat", scope="@traceloop/instrumentation-anthropic", attributes={"gen_ai.output.messages": text})
        assert [("search", value)] == [(one.name, one.value) for one in _genai.requests(span, Memo()) or ()]


def test_cached_tokens_counted_apart_in_javascript() -> None:
    """What Anthropic's client read from a cache or wrote to one is part of the input."""
    usage = {"input_tokens": 100, "cache_read.input_tokens": 10, "cache_creation.input_tokens": 5}
    attributes = {f"gen_ai.usage.{key}": value for key, value in usage.items()}
    said = _genai.llm(made("chat", scope="@traceloop/instrumentation-anthropic", attributes=attributes), Memo())
    assert (115, 10, 5) == (said.input_tokens, said.cache_read_tokens, said.cache_write_tokens)


def test_an_error_of_a_tool_on_its_workflow() -> None:
    """ADOT puts the error of a tool that the model was told of on the whole workflow, which did not fail by it."""
    told = "Error running tool (non-fatal): Tool execution failed."
    whole = made("invoke_workflow w", attributes={"gen_ai.operation.name": "invoke_workflow"}, status=2, message=told)
    crash = made("invoke_workflow w", attributes={"gen_ai.operation.name": "invoke_workflow"}, status=2, message="no")
    tool = made("execute_tool t", attributes={"gen_ai.operation.name": "execute_tool"}, status=2, message=told)
    assert [False, True, True] == [
        conventions.failed(one, conventions.classify(one)[0]) for one in (whole, crash, tool)
    ]


def test_functions_of_semantic_kernel() -> None:
    """Every function is written as a tool's execution: what the app called by itself, a prompt above all, is none."""
    scope = "semantic_kernel.functions.kernel_function"
    asked = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "m-add"}
    for fields, kind in ((asked, "workflow"), ({**asked, "gen_ai.tool.call.id": "c1"}, "tool")):
        assert kind == conventions.classify(made(scope=scope, attributes=fields))[1]
        assert "tool" == conventions.classify(made(scope="other", attributes=fields))[1]


def test_first_operations_of_semantic_kernel() -> None:
    """Its model calls were `chat.completions` before GenAI's conventions had a name for them."""
    for operation in ("chat.completions", "chat.streaming_completions", "text.completions"):
        assert "llm" == conventions.classify(made(attributes={"gen_ai.operation.name": operation}))[1]


def test_switches_of_their_own() -> None:
    """Scopes that speak the generic dialect and have a switch of their own name that one."""
    for scope, switch in _genai_scopes.CONTENT_SWITCHES.items():
        one = span(1, attributes={"gen_ai.operation.name": "chat"}, scope=Scope(scope, "1", {}))
        assert switch == conventions.content_switch(one, some=False)
    of_go = Scope("gcp.vertex.agent", "1", {"telemetry.sdk.language": "go"})
    assert "=true and export the log events" in conventions.content_switch(span(1, scope=of_go), some=False)
    of_javascript = Scope("gcp.vertex.agent", "1", {"telemetry.sdk.language": "nodejs"})
    capture = "Set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true."
    assert capture == conventions.content_switch(span(1, scope=of_javascript), some=False)
    generic = conventions.content_switch(made(attributes={"gen_ai.operation.name": "chat"}), some=False)
    assert generic.startswith("Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=")


def test_the_switch_of_openllmetrys_clients_in_javascript() -> None:
    """They record all content or none: where some shows, the switch is on and would give no more."""
    one = made(scope=_genai_scopes.OPENAI_JS, attributes={"gen_ai.operation.name": "chat"})
    assert "TRACELOOP_TRACE_CONTENT" in conventions.content_switch(one, some=False)
    assert "" == conventions.content_switch(one, some=True)


def test_requests_of_bedrocks_streams() -> None:
    """OpenLLMetry writes `{}` for whatever a model of Bedrock's asks for in a stream: that is not told, not empty."""
    called = {"type": "tool_call", "id": "c", "name": "search", "arguments": {}}
    attributes = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [called]}])}
    for scope, given in (("opentelemetry.instrumentation.bedrock", None), ("opentelemetry.instrumentation.openai", {})):
        asked = _genai.requests(made("chat", scope=scope, attributes=attributes), Memo())
        assert [given] == [part.value for part in asked or ()]


def test_the_end_of_a_stream_of_googles() -> None:
    """Of a stream OpenLLMetry records the last piece: where its text cannot be all of the answer, it is none."""
    scope = Scope(_genai_scopes.OPENLLMETRY_GOOGLE, "", {})

    def answered(text: str) -> Run:
        got = [says(text)]
        return run_of(replace(chat(5, parent=None, sent=[user("Q")], got=got, tokens=(9, 15)), scope=scope))

    found = {one.field: (one.why, one.switch) for one in answered("million.").missing}
    assert ("The last model call was streamed, and only the end of its answer is recorded.", "") == found["answer"]
    assert "About 6.84 million." == answered("About 6.84 million.").answer


def test_the_switch_of_openllmetrys_clients() -> None:
    """Those that write GenAI's attributes alone have OpenLLMetry's switch all the same."""
    one = made(scope=_genai_scopes.OPENLLMETRY_GOOGLE, attributes={"gen_ai.operation.name": "chat"})
    assert "Set TRACELOOP_TRACE_CONTENT=true." == conventions.content_switch(one, some=False)
    assert "" == conventions.content_switch(one, some=True)
