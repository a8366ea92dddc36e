"""Pydantic AI: formats 1 to 6, retries, deferred tools, and what Logfire adds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from spanwise.conventions import pydantic_ai
from spanwise.model.content import (
    AgentFields,
    LLMFields,
    Memo,
    Message,
    Messages,
    Part,
    ToolDefinition,
    ToolFields,
)
from spanwise.model.raw import EMPTY, RawSpan, Scope
from spanwise.model.span import SpanError
from tests.conventions.robustness import read_all, spans
from tests.recordings_io import made, remade
from tests.recordings_io import spans as recorded

SCOPE = "pydantic-ai"
QUESTION = "How many people lived in France in 2024, and what is 10% of that?"
ANSWER = "France had about 68.4 million inhabitants in 2024 (doc-fr-1), so 10% of that is about 6.84 million people."
RETRY_ERROR = "pydantic_ai.exceptions.ToolRetryError"


def named(name: str, recording: str, *, at: int = 0) -> RawSpan:
    """The span of that name, by order, in a recording."""
    return [span for span in recorded(recording) if span.name == name][at]


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("invoke_agent helper", {"gen_ai.operation.name": "invoke_agent"}, "agent"),
        ("invoke_agent helper", {}, "agent"),
        ("agent run", {}, "agent"),
        ("chat m", {"gen_ai.operation.name": "chat"}, "llm"),
        ("running tool", {"gen_ai.tool.name": "add"}, "tool"),
        ("running tools", {"tools": ("add",)}, None),
        ("model request attempt m", {"gen_ai.request.model": "m"}, None),
        ("chat m", {"gen_ai.operation.name": "chat", "logfire.span_type": "pending_span"}, "other"),
    ],
)
def test_kinds(name: str, attributes: dict[str, object], kind: str | None) -> None:
    """Operations tell the kind, names where there is no operation; a notice that a span began is none."""
    assert kind == pydantic_ai.kind(made(name, scope=SCOPE, attributes=attributes))


def test_tool() -> None:
    """Arguments and result stand under the names of GenAI, before format 3 under names of their own."""
    documents = [
        json.loads(str(pydantic_ai.tool(named(name, recording), Memo()).result))
        for name, recording in (
            ("execute_tool search_docs", "pydantic-ai__builtin"),
            ("running tool", "pydantic-ai__builtin_v2"),
        )
    ]
    assert ["doc-fr-1", "doc-fr-1"] == [found[0]["id"] for found in documents]
    expected = ToolFields("calculator", '{"expression": "68400000 * 0.1"}', "6840000.0", "call_000006")
    assert expected == pydantic_ai.tool(named("running tool", "pydantic-ai__builtin_v2", at=2), Memo())


def test_retry() -> None:
    """A tool that asks for another attempt has not failed yet, in all formats."""
    newest = pydantic_ai.tool(named("execute_tool calculator", "pydantic-ai__builtin"), Memo())
    older = pydantic_ai.tool(named("running tool", "pydantic-ai__builtin_v2", at=1), Memo())
    error = "cannot parse expression: '68.4 million * 0.1'"
    arguments = '{"expression":"68.4 million * 0.1"}'
    assert ToolFields("calculator", arguments, error, "call_000004", retry=True) == newest
    assert (f"{error}\n\nFix the errors and try again.", True) == (older.result, older.retry)


def test_what_is_a_retry() -> None:
    """The exception tells it, or the words to the model, or a cause with an attempt; a spent budget is a failure."""

    def retries(
        *, status: int = 2, events: tuple[tuple[str, dict[str, object]], ...] = (), **attributes: object
    ) -> bool:
        fields = {key.replace("__", "."): value for key, value in attributes.items()}
        return pydantic_ai.tool(made(scope=SCOPE, attributes=fields, events=events, status=status), Memo()).retry

    cause = {"pydantic_ai__tool__retry__cause": "model_retry"}
    raised = ("exception", {"exception.type": RETRY_ERROR})
    other = ("exception", {"exception.type": "ValueError"})
    assert [True, True, True, False, False, False] == [
        retries(events=(raised,)),
        retries(tool_response="no\n\nFix the errors and try again.", status=0),
        retries(**cause, pydantic_ai__tool__retry__attempt=1),
        retries(**cause, events=(raised,)),
        retries(events=(other, ("note", {"exception.type": RETRY_ERROR}))),
        retries(tool_response=7),
    ]


def test_tokens_of_the_cache_in_older_releases() -> None:
    """Before 1.0 what came from a cache, or went there, is counted under the provider's own names."""

    def cached(**details: int) -> tuple[int | None, int | None]:
        usage = {f"gen_ai.usage.details.{name}": count for name, count in details.items()}
        said = pydantic_ai.llm(made(scope=SCOPE, attributes={"gen_ai.usage.input_tokens": 9, **usage}), Memo())
        return said.cache_read_tokens, said.cache_write_tokens

    assert (4, None) == cached(cached_tokens=4)
    assert (5, 2) == cached(cache_read_input_tokens=5, cache_creation_input_tokens=2)
    assert (6, None) == cached(cached_content_tokens=6)
    assert (7, None) == cached(cache_read_tokens=7, cached_tokens=4)
    assert (None, None) == cached()
    both = {
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.details.cached_tokens": 4,
    }
    assert 3 == pydantic_ai.llm(made(scope=SCOPE, attributes=both), Memo()).cache_read_tokens


def test_deferred_tool() -> None:
    """A call that was put off for approval or an external result neither failed nor succeeded."""
    span = made(scope=SCOPE, attributes={"pydantic_ai.tool.deferral.name": "ApprovalRequired"})
    assert ToolFields(uncertain=True) == pydantic_ai.tool(span, Memo())


def test_errors_of_retries_have_their_words() -> None:
    """The words of a retry are in the result where the exception has none."""
    error = "cannot parse expression: '68.4 million * 0.1'"
    older = named("running tool", "pydantic-ai__builtin_v2", at=1)
    assert SpanError(type=RETRY_ERROR, message=f"{error}\n\nFix the errors and try again.") == pydantic_ai.error(older)
    newest = named("execute_tool calculator", "pydantic-ai__builtin")
    assert SpanError(type=RETRY_ERROR, message=error) == pydantic_ai.error(newest)
    assert SpanError(type=RETRY_ERROR) == pydantic_ai.error(
        made(status=2, events=[("exception", {"exception.type": RETRY_ERROR})])
    )
    assert pydantic_ai.error(named("agent run", "pydantic-ai__builtin_v2")) is None


def test_total_of_an_agent() -> None:
    """An agent's total has names of its own; a model call counts under the names of GenAI."""
    agent = named("invoke_agent research_agent", "pydantic-ai__builtin")
    expected = LLMFields(input_tokens=2138, output_tokens=86, cache_read_tokens=256, reasoning_tokens=0)
    assert expected == pydantic_ai.llm(agent, Memo())
    call = LLMFields("gpt-4o-mini-2024-07-18", "openai", 192, 15, reasoning_tokens=0, cost_usd=3.78e-05)
    assert call == pydantic_ai.llm(named("chat gpt-4o-mini", "pydantic-ai__builtin"), Memo())


def test_agent() -> None:
    """Name, question and answer stand on the agent in all formats, also behind Logfire."""
    expected = AgentFields("research_agent", QUESTION, ANSWER)
    agents = [
        ("invoke_agent research_agent", "pydantic-ai__builtin"),
        ("invoke_agent research_agent", "pydantic-ai__builtin__v6"),
        ("invoke_agent research_agent", "pydantic-ai__logfire"),
        ("agent run", "pydantic-ai__builtin_v2"),
    ]
    assert [expected] * 4 == [pydantic_ai.agent(named(name, recording), Memo()) for name, recording in agents]


def test_question_after_a_history() -> None:
    """A run that was given a history asks what comes after it."""
    second = named("invoke_agent research_agent", "pydantic-ai__builtin__remote-parent", at=1)
    assert "And what is 10% of that again?" == pydantic_ai.agent(second, Memo()).query


def said(role: str, *texts: str) -> dict[str, object]:
    """A message of texts."""
    return {"role": role, "parts": [{"type": "text", "content": text} for text in texts]}


def asked(history: list[dict[str, object]], *, version: str = "2.66.0", **attributes: object) -> str | None:
    """The question read from an agent's messages."""
    fields = {"pydantic_ai.all_messages": json.dumps(history), **attributes}
    span = made("agent run", scope=SCOPE, attributes=fields)
    return pydantic_ai.agent(remade(span, scope=Scope(SCOPE, version, EMPTY)), Memo()).query


def test_where_a_run_begins() -> None:
    """The index counts requests and responses; releases that do not count are asked for their last question."""
    again = "plain text is no answer\n\nFix the errors and try again."
    history = [
        said("system", "Be brief."), said("user", "first?"), said("assistant", "1"), said("user", "second?"),
        said("assistant", "2"), said("user", again), said("assistant", "3"),
    ]  # fmt: skip
    index = {"pydantic_ai.new_message_index": 2}
    assert ["second?", "first?", "second?", "first?"] == [
        asked(history, **index),
        asked(history),
        asked(history, version="1.0.18"),
        asked(history, version=""),
    ]
    assert asked(history[:3], **index) is None
    assert asked([said("user", "[Scrubbed due to 'password']")]) is None


def test_answers() -> None:
    """A structured result is the answer; requests for approval, and what was scrubbed, are none."""
    finals = ['{"population": 68400000}', '{"calls": [], "approvals": [{}]}', "[Scrubbed due to 'auth']", None, ""]
    spans_with = [made("agent run", scope=SCOPE, attributes={"final_result": final}) for final in finals]
    assert ['{"population": 68400000}', None, None, None, None] == [
        pydantic_ai.agent(span, Memo()).answer for span in spans_with
    ]


def test_messages() -> None:
    """From format 2 on messages are GenAI's."""
    found = pydantic_ai.messages(named("chat gpt-4o-mini", "pydantic-ai__builtin_v2", at=2), Memo())
    assert found.input is not None
    error = "cannot parse expression: '68.4 million * 0.1'\n\nFix the errors and try again."
    assert Message("user", (Part("tool_result", "", "call_000004", "calculator", error),)) == found.input[-1]
    call = Part("tool_call", "", "call_000006", "calculator", {"expression": "68400000 * 0.1"})
    assert (Message("assistant", (call,)),) == found.output
    assert found.output == pydantic_ai.output(named("chat gpt-4o-mini", "pydantic-ai__builtin_v2", at=2), Memo())


CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
EVENTS = [
    {"event.name": "gen_ai.system.message", "role": "system", "content": "Be brief.", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.user.message", "role": "user", "content": "add one", "gen_ai.message.index": 0},
    {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [CALL], "gen_ai.message.index": 1},
    {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c1", "name": "add", "content": {"sum": 2}},
]
TOLD = (
    Message("system", (Part("text", "Be brief."),)),
    Message("user", (Part("text", "add one"),)),
    Message("assistant", (Part("tool_call", "", "c1", "add", {"a": 1}),)),
    Message("tool", (Part("tool_result", "", "c1", "add", {"sum": 2}),)),
)


def test_format_1() -> None:
    """Format 1 lists events in an attribute of the model call, and of the agent."""
    thought = [{"kind": "thinking", "text": "hm"}, {"kind": "text", "text": "Two."}]
    choice = {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": thought}}
    span = made("chat m", scope=SCOPE, attributes={"events": json.dumps([*EVENTS, choice, "odd"])})
    answer = (Message("assistant", (Part("reasoning", "hm"), Part("text", "Two."))),)
    assert Messages(TOLD, answer) == pydantic_ai.messages(span, Memo())
    agent = made(
        "agent run",
        scope=SCOPE,
        attributes={"agent_name": "helper", "final_result": "Two.", "all_messages_events": json.dumps(EVENTS)},
    )
    assert AgentFields("helper", "add one", "Two.") == pydantic_ai.agent(agent, Memo())
    assert Messages() == pydantic_ai.messages(made("chat m", scope=SCOPE, attributes={"events": "[]"}), Memo())


def test_format_1_in_log_events() -> None:
    """Format 1 can send its events as log records, whose name is an attribute."""
    events = [("", {**event, "event.name": event["event.name"]}) for event in EVENTS]
    choice = {"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "Two."}}
    span = made("chat m", scope=SCOPE, events=[*events, ("", choice)])
    assert Messages(TOLD, (Message("assistant", (Part("text", "Two."),)),)) == pydantic_ai.messages(span, Memo())


def test_definitions() -> None:
    """Tools stand in the definitions, in older releases in the parameters of the request."""
    schema = {"additionalProperties": False, "properties": {"expression": {"type": "string"}}}
    defined = ToolDefinition(
        "calculator", "Evaluate an arithmetic expression.", {**schema, "required": ["expression"], "type": "object"}
    )
    for recording in ("pydantic-ai__builtin", "pydantic-ai__builtin_v2"):
        found = pydantic_ai.definitions(named("chat gpt-4o-mini", recording), Memo())
        assert found is not None
        assert defined == found[1]
    output = {"function_tools": [], "output_tools": [{"name": "final_result"}, {}]}
    span = made(attributes={"model_request_parameters": json.dumps(output)})
    assert (ToolDefinition("final_result"),) == pydantic_ai.definitions(span, Memo())
    assert pydantic_ai.definitions(named("agent run", "pydantic-ai__builtin_v2"), Memo()) is None


KEYS = (
    "gen_ai.operation.name", "gen_ai.tool.name", "tool_arguments", "tool_response", "events", "all_messages_events",
    "pydantic_ai.all_messages", "pydantic_ai.new_message_index", "final_result", "agent_name", "gen_ai.agent.name",
    "model_request_parameters", "gen_ai.tool.definitions", "gen_ai.input.messages", "gen_ai.output.messages",
    "pydantic_ai.tool.retry.cause", "gen_ai.aggregated_usage.input_tokens", "exception.type", "logfire.span_type",
)  # fmt: skip
WORDS = (
    "event.name", "role", "content", "message", "parts", "type", "text", "tool_calls", "function", "arguments",
    "name", "user", "assistant", "function_tools", "output_tools", "parameters_json_schema", "calls", "approvals",
    "gen_ai.choice",
)  # fmt: skip


@given(
    spans(
        pydantic_ai.CONVENTION,
        keys=KEYS,
        words=WORDS,
        names=("agent run", "running tool", "chat m"),
        events=("gen_ai.choice", "gen_ai.user.message"),
    )
)
def test_never_raises(span: RawSpan) -> None:
    """Whatever the attributes hold, every reader returns."""
    assert read_all(pydantic_ai.CONVENTION, span) == 7


def test_the_question_of_a_later_turn_in_format_1() -> None:
    """Format 1 does not say where a run begins: the last question counts that is no request to try again."""
    again = {"role": "user", "content": "Wrong.\n\nFix the errors and try again.", "event.name": "gen_ai.user.message"}
    later = [*EVENTS, {"role": "user", "content": "and two?", "event.name": "gen_ai.user.message"}, again]
    agent = made("agent run", scope=SCOPE, attributes={"all_messages_events": json.dumps(later)})
    assert "and two?" == pydantic_ai.agent(agent, Memo()).query


def test_tools_that_returned_nothing_in_format_1() -> None:
    """A result of null was recorded; a result that content capture left out was not."""
    event = {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c1", "name": "note"}
    span = made("chat m", scope=SCOPE, attributes={"events": json.dumps([{**event, "content": None}, event])})
    sent = pydantic_ai.messages(span, Memo()).input
    assert ["null", None] == [message.parts[0].value for message in sent or ()]


def test_calls_whose_result_no_span_tells() -> None:
    """Early releases record what a tool was given, neither what it returned nor that it asked for another try."""
    given = {"gen_ai.tool.name": "add", "tool_arguments": "{}"}
    uncertain = [
        pydantic_ai.tool(made("running tool", scope=SCOPE, attributes=attributes, status=status), Memo()).uncertain
        for attributes, status in (
            (given, 0),
            ({**given, "tool_response": "3"}, 0),
            ({"gen_ai.tool.name": "add"}, 0),
            (given, 2),
        )
    ]
    assert [True, False, False, False] == uncertain
