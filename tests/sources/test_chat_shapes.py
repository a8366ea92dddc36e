"""Transcripts in the shapes in which frameworks keep their messages."""

from __future__ import annotations

import json

import pytest

from spanwise.model.trace import Run
from tests.sources.transcripts import run_of

Q, A = "How warm is Oslo?", "3 degrees."
GIVEN = {"city": "Oslo"}


def told(run: Run) -> list[tuple[str, object, object, str]]:
    """Name, arguments, result and status of each call."""
    return [(call.name, call.arguments, call.result, call.status) for call in run.tool_calls]


def read(content: object) -> Run:
    """The only run of a transcript, with its question and answer as they should be."""
    run = run_of(content)
    assert (Q, A) == (run.query, run.answer)
    return run


CALL = {"name": "weather", "args": GIVEN, "id": "c1", "type": "tool_call"}
LANGCHAIN = [
    ("human", {"content": Q}),
    (
        "ai",
        {
            "content": "",
            "tool_calls": [CALL, {**CALL, "id": "c2"}],
            "usage_metadata": {"input_tokens": 9, "output_tokens": 3, "input_token_details": {"cache_read": 4}},
            "response_metadata": {"model_name": "gpt-4o"},
        },
    ),
    ("tool", {"content": "3 degrees", "tool_call_id": "c1", "status": "success"}),
    ("tool", {"content": "timed out", "tool_call_id": "c2", "status": "error"}),
    ("ai", {"content": A, "response_metadata": {"token_usage": {"prompt_tokens": 1, "completion_tokens": 1}}}),
]
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}


@pytest.mark.parametrize(
    "content",
    [
        [{"type": kind, "data": said} for kind, said in LANGCHAIN],
        [{"type": kind, "additional_kwargs": {}, **said} for kind, said in LANGCHAIN],
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", "messages", CLASSES[kind]], "kwargs": said}
            for kind, said in LANGCHAIN
        ],
        {"messages": [{"type": kind, "additional_kwargs": {}, **said} for kind, said in LANGCHAIN]},
    ],
    ids=["messages_to_dict", "model_dump", "dumps", "state"],
)
def test_langchain(content: object) -> None:
    """LangChain's messages, however they were written: calls, failures, tokens and models."""
    run = read(content)
    assert [("weather", GIVEN, "3 degrees", "ok"), ("weather", GIVEN, "timed out", "error")] == told(run)
    assert run.tokens is not None
    assert (10, 4, 4, ("gpt-4o",)) == (run.tokens.input, run.tokens.output, run.tokens.cache_read, run.models)


def test_pydantic_ai() -> None:
    """Requests and responses, one of which asks the model to try again."""
    call = {"tool_name": "weather", "args": json.dumps(GIVEN), "part_kind": "tool-call"}
    run = read(
        [
            {
                "parts": [
                    {"content": "Be brief.", "part_kind": "system-prompt"},
                    {"content": Q, "part_kind": "user-prompt"},
                ],
                "kind": "request",
            },
            {
                "parts": [{**call, "tool_call_id": "c1"}, {**call, "tool_call_id": "c2"}],
                "kind": "response",
                "model_name": "gpt-4o",
                "usage": {"input_tokens": 9, "output_tokens": 3},
            },
            {
                "parts": [
                    {"tool_name": "weather", "content": 3, "tool_call_id": "c1", "part_kind": "tool-return"},
                    {"tool_name": "weather", "content": "No.", "tool_call_id": "c2", "part_kind": "retry-prompt"},
                ],
                "kind": "request",
            },
            {"parts": [{"content": A, "part_kind": "text"}], "kind": "response"},
        ]
    )
    again = "No.\n\nFix the errors and try again."
    assert [("weather", GIVEN, 3, "ok"), ("weather", GIVEN, again, "retry")] == told(run)
    assert run.tokens is not None
    assert (9, 3, ("gpt-4o",)) == (run.tokens.input, run.tokens.output, run.models)


def test_an_answer_to_be_given_again() -> None:
    """Pydantic AI asks for another answer as the user."""
    run = read(
        [
            {"parts": [{"content": Q, "part_kind": "user-prompt"}], "kind": "request"},
            {"parts": [{"content": "?", "part_kind": "text"}], "kind": "response"},
            {"parts": [{"content": "No JSON.", "part_kind": "retry-prompt"}], "kind": "request"},
            {"parts": [{"content": A, "part_kind": "text"}], "kind": "response"},
        ]
    )
    assert 2 == len(run.llm_calls)


@pytest.mark.parametrize("since_5", [True, False])
def test_messages_of_a_user_interface(*, since_5: bool) -> None:
    """Of the Vercel AI SDK: a call and its result are one part, and those of one step ran side by side."""

    def ran(call_id: str, state: str, **more: object) -> dict[str, object]:
        if since_5:
            return {"type": "tool-weather", "toolCallId": call_id, "state": state, "input": GIVEN, **more}
        held = {
            "toolCallId": call_id,
            "toolName": "weather",
            "state": "result",
            "args": GIVEN,
            "result": more.get("output"),
        }
        return {"type": "tool-invocation", "toolInvocation": held}

    parts = [
        {"type": "step-start"},
        ran("c1", "output-available", output="3 degrees"),
        ran("c2", "output-error", errorText="timed out", output=None if since_5 else "late"),
        {"type": "step-start"},
        {"type": "text", "text": A},
    ]
    run = read([{"role": "user", "parts": [{"type": "text", "text": Q}]}, {"role": "assistant", "parts": parts}])
    last = ("weather", GIVEN, "timed out", "error") if since_5 else ("weather", GIVEN, "late", "ok")
    assert [("weather", GIVEN, "3 degrees", "ok"), last] == told(run)
    assert 2 == len(run.llm_calls)


def test_a_call_that_waits() -> None:
    """A call of the user interface's that has no result yet is asked for only."""
    part = {"type": "tool-weather", "toolCallId": "c1", "state": "input-available", "input": GIVEN}
    run = run_of([{"role": "user", "content": Q}, {"role": "assistant", "parts": [part]}])
    assert [("weather", GIVEN, None)] == [(call.name, call.arguments, call.result) for call in run.tool_calls]
    assert "message" == run.tool_calls[0].origin


def test_gemini() -> None:
    """A request with its contents and instructions, and the answer to it."""
    parts = [{"functionCall": {"name": "weather", "args": GIVEN}}]
    result = {"functionResponse": {"name": "weather", "response": {"result": "3 degrees"}}}
    run = read(
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": Q}]},
                {"role": "model", "parts": parts},
                {"role": "user", "parts": [result]},
            ],
            "candidates": [{"content": {"role": "model", "parts": [{"text": A}]}}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
        }
    )
    assert [("weather", GIVEN, "3 degrees", "ok")] == told(run)
    assert run.tokens is not None
    assert (9, 5, 2) == (run.tokens.input, run.tokens.output, run.tokens.reasoning)
    assert ["Be brief."] == [given.text for given in run.given if given.role == "system"]


def test_tools_of_openais() -> None:
    """A custom tool takes text, and a call over MCP brings its result or its error with it."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "weather", "input": "Oslo"}}
    run = read(
        {
            "messages": [
                {"role": "user", "content": Q},
                {"role": "assistant", "content": None, "tool_calls": [custom]},
                {"role": "tool", "tool_call_id": "c1", "content": "3 degrees"},
                {"role": "assistant", "content": A},
            ]
        }
    )
    assert [("weather", "Oslo", "3 degrees", "ok")] == told(run)
    over_mcp = {
        "type": "mcp_call",
        "id": "m1",
        "name": "weather",
        "arguments": json.dumps(GIVEN),
        "output": "3 degrees",
    }
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": A}]}
    failed = {**over_mcp, "id": "m2", "output": None, "error": "timed out"}
    run = read({"input": Q, "output": [over_mcp, failed, answer]})
    assert [("weather", GIVEN, "3 degrees", "ok"), ("weather", GIVEN, "timed out", "error")] == told(run)
