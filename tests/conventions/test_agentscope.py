"""AgentScope's spans: results in printed objects, which tell of failures, and what release 1 writes otherwise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise import conventions
from spanwise.conventions import agentscope
from spanwise.model.content import ContextFields, LLMFields, Memo, Message, Part, ToolFields
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.trace import Run
from tests import making
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made

KEYS = (
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.result", "gen_ai.conversation.id",
    "agentscope.function.input", "agentscope.usage.cache_input_tokens", "gen_ai.usage.input_tokens",
)  # fmt: skip
WORDS = ("chat", "execute_tool", "ToolResponse(content=[])", "args", "anthropic", '"s"', "Error: x")


def span(operation: str, **attributes: object) -> RawSpan:
    """A span of an operation."""
    return made(scope="agentscope", attributes={"gen_ai.operation.name": operation, **attributes})


def ran(result: str) -> ToolFields:
    """What is read of a tool's span whose result is an object in this printed form."""
    told = {"gen_ai.tool.name": "add", "gen_ai.tool.call.result": json.dumps(result)}
    return agentscope.tool(span("execute_tool", **told), Memo())


@pytest.mark.parametrize(
    ("state", "failed"),
    [("SUCCESS: 'success'", False), ("ERROR: 'error'", True), ("DENIED: 'denied'", True)],
)
def test_results(state: str, failed: bool) -> None:
    """The text is taken out of the object, whose state tells whether the tool failed."""
    block = "TextBlock(type='text', text='[1, 2]', id='b1', created_at='2026-11-20', finished_at=None)"
    printed = f"ToolResponse(content=[{block}], state=<ToolResultState.{state}>, metadata={{}}, id='c1')"
    assert ToolFields("add", None, [1, 2], None, failed) == ran(printed)


@pytest.mark.parametrize(
    ("text", "failed"),
    [("6.5", False), ("Error: no such city", True), ("FunctionNotFoundError: Cannot find it", True), ("Errors", False)],
)
def test_results_of_release_1(text: str, failed: bool) -> None:
    """Release 1 tells of failures by the text alone."""
    said = ran(f"ToolResponse(content=[{{'type': 'text', 'text': {text!r}}}], metadata=None, is_last=True, id='r')")
    assert (json.loads(text) if text == "6.5" else text, failed) == (said.result, said.failed)


def test_results_that_cannot_be_read() -> None:
    """An object with a part that has no value gives no result, but its state; other results stay."""
    said = ran("ToolResponse(content=[<app.Picture object at 0x7f>], state=<ToolResultState.ERROR: 'error'>)")
    assert (None, True) == (said.result, said.failed)
    assert '"plain"' == ran("plain").result


@pytest.mark.parametrize(("provider", "expected"), [("openai", 9), ("anthropic", 14)])
def test_cached_tokens(provider: str, expected: int) -> None:
    """What a cache took part in has names of AgentScope's own, and is inside the input but for Anthropic's."""
    used = {"gen_ai.provider.name": provider, "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    cached = {"agentscope.usage.cache_input_tokens": 4, "agentscope.usage.cache_creation_input_tokens": 1}
    assert LLMFields(None, provider, expected, 2, 4, 1) == agentscope.llm(span("chat", **used, **cached), Memo())


def test_what_a_model_of_release_1_was_sent() -> None:
    """It is the first argument of the function's call."""
    called: object = {"args": [[{"role": "user", "content": [{"type": "text", "text": "Q"}]}]], "kwargs": {}}
    one = span("chat", **{"agentscope.function.input": json.dumps(called)})
    assert (Message("user", (Part("text", "Q"),)),) == agentscope.messages(one, Memo()).input
    assert agentscope.messages(span("chat"), Memo()).input is None


@pytest.mark.parametrize("written", ["s1", '"s1"'])
def test_sessions(written: str) -> None:
    """The conversation is the session, in quotes or not."""
    assert ContextFields("s1") == agentscope.context(span("chat", **{"gen_ai.conversation.id": written}), Memo())


def test_kinds_and_switch() -> None:
    """GenAI's operations tell kinds; formatting messages is nobody's step."""
    assert "tool" == conventions.classify(span("execute_tool"))[1]
    assert "other" == conventions.classify(span("format"))[1]
    assert agentscope.CONVENTION.content_switch == conventions.content_switch(span("chat"), some=False)


@given(spans(agentscope.CONVENTION, keys=KEYS, words=WORDS))
def test_reading_never_raises(one: RawSpan) -> None:
    """Whatever the attributes hold, reading gives an answer."""
    assert read_all(agentscope.CONVENTION, one)


def test_the_calls_of_a_step_in_java() -> None:
    """They are one span, of which nobody knows how each of them ended; no switch records content."""
    scope = Scope(agentscope.JAVA, "", {})
    step = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a, b", "gen_ai.tool.call.id": "2,1"}
    both = made_in_a_run(step | {"gen_ai.tool.call.count": 2}, scope)
    assert [("a", None, "unknown"), ("b", None, "unknown")] == [(c.name, c.call_id, c.status) for c in both.tool_calls]
    one = made_in_a_run(
        step | {"gen_ai.tool.name": "a", "gen_ai.tool.call.id": "1", "gen_ai.tool.call.count": 1}, scope
    )
    assert [("a", "1", "unknown")] == [(call.name, call.call_id, call.status) for call in one.tool_calls]
    assert "never" in one.content_switch


def made_in_a_run(attributes: dict[str, object], scope: Scope) -> Run:
    """A run with one step."""
    root = making.span(1, attributes={"gen_ai.operation.name": "invoke_agent"}, end=90, scope=scope)
    return making.run_of(root, making.span(2, parent=1, attributes=attributes, scope=scope))
