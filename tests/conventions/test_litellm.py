"""LiteLLM's callback: requests on their own spans or on the app's, and what went over the wire below them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import litellm
from spanwise.model.content import AgentFields, ContextFields, LLMFields, Memo, Message, Messages, Part
from spanwise.model.raw import RawSpan
from tests.conventions.robustness import read_all, spans
from tests.making import run_of
from tests.recordings_io import made

TYPE = "llm.request.type"
CALL = "litellm.call_id"
SENT = "gen_ai.input.messages"
GOT = "gen_ai.output.messages"
APP = "my.app"
USER = Message("user", (Part("text", "add"),))
ASKED = Part("tool_call", "", "c1", "add", {"n": 1})
OPENAI = {
    "llm.openai.messages": "[{'role': 'user', 'content': 'add'}]",
    "llm.openai.choices": "[{'index': 0, 'message': {'role': 'assistant', 'content': None, 'tool_calls': "
    "[{'id': 'c1', 'type': 'function', 'function': {'name': 'add', 'arguments': '{\"n\": 1}'}}]}}]",
    "llm.openai.model": "m-1",
    "llm.openai.usage": "{'prompt_tokens': 7, 'completion_tokens': 2, 'prompt_tokens_details': {'cached_tokens': 3}, "
    "'completion_tokens_details': {'reasoning_tokens': 1}}",
}
ANTHROPIC = {
    "llm.anthropic.messages": "[{'role': 'user', 'content': [{'type': 'text', 'text': 'add'}]}]",
    "llm.anthropic.content": "[{'type': 'tool_use', 'id': 'c1', 'name': 'add', 'input': {'n': 1}}]",
    "llm.anthropic.model": "m-1",
    "llm.anthropic.usage": "{'input_tokens': 4, 'cache_read_input_tokens': 3, 'cache_creation_input_tokens': 2, "
    "'output_tokens': 2}",
}


def parts(role: str, *texts: str) -> dict[str, object]:
    """A message as LiteLLM writes it."""
    return {"role": role, "parts": [{"type": "text", "content": text} for text in texts]}


@pytest.mark.parametrize(
    ("scope", "name", "attributes", "kind"),
    [
        ("litellm", "litellm_request", {TYPE: "completion"}, "llm"),
        ("litellm", "litellm_request", {TYPE: "acompletion", "gen_ai.operation.name": "acompletion"}, "llm"),
        ("litellm", "Received Proxy Server Request", {TYPE: "anthropic_messages", CALL: "1"}, "llm"),
        ("litellm", "litellm_request", {TYPE: "aresponses"}, "llm"),
        ("litellm", "litellm_request", {TYPE: "aembedding"}, "embedding"),
        ("litellm", "litellm_request", {TYPE: "rerank"}, "rerank"),
        ("litellm", "raw_gen_ai_request", {}, "llm"),
        ("litellm", "my generation", OPENAI, "llm"),
        (APP, "handle", {TYPE: "acompletion", CALL: "1", "gen_ai.operation.name": "acompletion"}, "workflow"),
        (APP, "handle", {TYPE: "aembedding", CALL: "1"}, "embedding"),
    ],
)
def test_kinds(scope: str, name: str, attributes: dict[str, object], kind: str) -> None:
    """The type of the call tells; an app's span that requests were written onto holds them."""
    index, found = conventions.classify(made(scope=scope, name=name, attributes=attributes))
    assert ("litellm", kind) == (conventions.CONVENTIONS[index].name, found)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("self", {"service": "redis"}), ("litellm_request", {TYPE: "aimage_generation"}), ("x", {"llm.a.b.input": "y"})],
)
def test_spans_of_no_model(name: str, attributes: dict[str, object]) -> None:
    """What the proxy does besides is read as nothing."""
    assert "other" == conventions.classify(made(scope="litellm", name=name, attributes=attributes))[1]


def test_usage_of_a_request() -> None:
    """Tokens as GenAI's, cached and reasoning ones from the printed usage, and the cost that LiteLLM reckoned."""
    attributes = {
        TYPE: "completion",
        "gen_ai.request.model": "m",
        "gen_ai.system": "openai",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.cost.total_cost": 0.5,
        "metadata.usage_object": OPENAI["llm.openai.usage"],
    }
    assert LLMFields("m", "openai", 7, 2, 3, None, 1, 0.5) == litellm.llm(made(attributes=attributes), Memo())
    told = {**attributes, "gen_ai.usage.cache_read.input_tokens": 5, "gen_ai.usage.cache_write.input_tokens": 4}
    told["gen_ai.usage.reasoning_tokens"] = 3
    assert LLMFields("m", "openai", 7, 2, 5, 4, 3, 0.5) == litellm.llm(made(attributes=told), Memo())


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (OPENAI, LLMFields("m-1", None, 7, 2, 3, None, 1, whole=True)),
        (ANTHROPIC, LLMFields("m-1", None, 9, 2, 3, 2, whole=True)),
        ({"llm.gemini.usage": "{'total': 3}"}, LLMFields(whole=True)),
        ({}, LLMFields(whole=True)),
    ],
)
def test_usage_over_the_wire(attributes: dict[str, object], expected: LLMFields) -> None:
    """What a provider counted, input with what its cache took part in; nothing is on the span of a stream."""
    assert expected == litellm.llm(made(scope="litellm", name="raw_gen_ai_request", attributes=attributes), Memo())


@pytest.mark.parametrize("attributes", [OPENAI, ANTHROPIC])
def test_messages_over_the_wire(attributes: dict[str, object]) -> None:
    """Both providers' messages are read from Python's text of them, with the ids of calls."""
    span = made(scope="litellm", name="raw_gen_ai_request", attributes=attributes)
    assert Messages((USER,), (Message("assistant", (ASKED,)),)) == litellm.messages(span, Memo())
    assert [ASKED] == litellm.requests(span, Memo())


def test_responses_over_the_wire() -> None:
    """Items of OpenAI's Responses, a structured value as well as text; nothing for the span of a stream."""
    items = [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"n": 1}'}]
    span = made(scope="litellm", name="raw_gen_ai_request", attributes={"llm.openai.output": items})
    assert [ASKED] == litellm.requests(span, Memo())
    assert None is litellm.requests(made(scope="litellm", name="raw_gen_ai_request"), Memo())


def test_calls_beside_the_answer() -> None:
    """Calls that a request's answer leaves out stand apart; calls that it has are not told twice."""
    apart = {"gen_ai.completion.0.function_call.name": "add", "gen_ai.completion.0.function_call.arguments": '{"n": 1}'}
    silent = {TYPE: "completion", SENT: json.dumps([parts("user", "add")]), GOT: json.dumps([parts("assistant")])}
    span = made(scope="litellm", attributes={**silent, **apart, "gen_ai.completion.1.role": "assistant"})
    (call,) = litellm.requests(span, Memo()) or ()
    assert (None, "add", {"n": 1}) == (call.id, call.name, call.value)
    assert (USER,) == litellm.messages(span, Memo()).input
    assert [] == litellm.requests(made(scope="litellm", attributes=silent), Memo())
    asked = json.dumps(
        [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"n": 1}}]}]
    )
    assert [ASKED] == litellm.requests(made(scope="litellm", attributes={**silent, **apart, GOT: asked}), Memo())


def test_an_apps_span() -> None:
    """It tells question and answer of its last request, and no calls or tokens: an earlier request's may be left."""
    attributes = {
        TYPE: "completion",
        CALL: "1",
        "llm.user": "ann",
        "gen_ai.agent.name": "no agent",
        "gen_ai.usage.input_tokens": 7,
        SENT: json.dumps([parts("user", "add")]),
        GOT: json.dumps([parts("assistant", "Two.")]),
        "gen_ai.completion.0.function_call.name": "add",
    }
    span = made(scope=APP, attributes=attributes)
    assert AgentFields(None, "add", "Two.") == litellm.agent(span, Memo())
    assert LLMFields(whole=True) == litellm.llm(span, Memo())
    assert [] == litellm.requests(span, Memo())
    assert ContextFields(user_id="ann") == litellm.context(span, Memo())


def test_requests_that_were_overwritten() -> None:
    """Without spans of their own neither their number nor their tokens are known."""
    attributes = {TYPE: "completion", CALL: "1", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2}
    run = run_of(made(scope=APP, attributes=attributes))
    assert ((), None) == (run.llm_calls, run.tokens)
    told = {item.field: item.switch for item in run.missing}
    assert [litellm.REQUEST_SWITCH] * 2 == [told["llm_calls"], told["tokens"]]


KEYS = (
    TYPE, CALL, SENT, GOT, "llm.openai.messages", "llm.openai.choices", "llm.openai.content", "llm.openai.usage",
    "llm.openai.output", "metadata.usage_object", "gen_ai.completion.0.function_call.name",
    "gen_ai.completion.0.function_call.arguments", "gen_ai.cost.total_cost", "llm.user",
)  # fmt: skip
WORDS = ("completion", "aembedding", "role", "content", "message", "prompt_tokens", "input_tokens", "[{'message': 1}]")


@given(spans(litellm.CONVENTION, keys=KEYS, words=WORDS, names=(litellm.RAW, "litellm_request")))
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(litellm.CONVENTION, span) == 7
