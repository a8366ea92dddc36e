"""Calls and results of every kind are told apart and joined."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.transcripts import asking, calls, read, run_of, said, spans


def test_a_call_without_a_result_has_no_span() -> None:
    """A call that nothing answered is known from the messages only, and the run has no answer."""
    run = run_of(said(asking("search")))
    assert ([("search", {}, "message")], None) == (
        [(call.name, call.arguments, call.origin) for call in run.tool_calls], run.answer
    )  # fmt: skip


def test_results_without_ids_are_joined_by_order() -> None:
    """Without ids, the first result answers the first call of the latest message that asked for any."""
    result = {"role": "tool", "content": "one"}
    run = run_of(said(asking("lost"), asking("a", "b"), result, {**result, "content": "two"}))
    assert [("a", "one"), ("b", "two")] == [
        (call.name, call.result) for call in run.tool_calls if call.origin == "span"
    ]


def test_results_without_ids_are_joined_by_name() -> None:
    """Without ids, a result that names its tool answers the first call of that tool."""
    result = {"role": "tool", "name": "b", "content": "two"}
    run = run_of(said(asking("a", "b"), result))
    assert [("b", "two")] == [(call.name, call.result) for call in run.tool_calls if call.origin == "span"]


def test_a_result_that_answers_nothing_stays_a_message() -> None:
    """A result of a call that is not in the transcript gives no span, and is in what the next call was sent."""
    found = read(said({"role": "tool", "tool_call_id": "gone", "content": "x"}, {"role": "assistant", "content": "a"}))
    assert ["invoke_agent", "chat"] == found.names
    sent = spans(found)[1].attributes["gen_ai.input.messages"]
    assert ["user", "tool"] == [message["role"] for message in sent]


def test_the_functions_of_older_apis() -> None:
    """A function_call and its function message are a call and its result."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    document = said(call, {"role": "function", "name": "f", "content": "done"}) | {"functions": [{"name": "f"}]}
    run = run_of(document)
    assert ([("f", {"a": 1}, "done", None)], ["f"]) == (calls(run), [tool.name for tool in run.tool_definitions or ()])


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "K2"}}],
            ("web_search", {"query": "K2"}, None, "ws_1"),
        ),
        (
            [
                {
                    "type": "mcp_call",
                    "id": "m_1",
                    "status": "completed",
                    "name": "f",
                    "arguments": "{}",
                    "output": "done",
                }
            ],
            ("f", {}, "done", "m_1"),
        ),
        (
            [
                {"type": "custom_tool_call", "call_id": "c_1", "name": "f", "input": "text", "status": "completed"},
                {"type": "custom_tool_call_output", "call_id": "c_1", "output": "done"},
            ],
            ("f", "text", "done", "c_1"),
        ),
        (
            [
                {"type": "local_shell_call", "call_id": "c_1", "action": {"command": ["ls"]}, "status": "completed"},
                {"type": "local_shell_call_output", "call_id": "c_1", "output": "a b"},
            ],
            ("local_shell", {"command": ["ls"]}, "a b", "c_1"),
        ),
    ],
    ids=["web search", "mcp", "custom", "shell"],
)
def test_other_tools_of_responses(items: list[dict[str, Any]], expected: tuple[object, ...]) -> None:
    """Tools that the provider runs itself carry their result; those of a client's own kind are joined by id."""
    run = run_of({"input": [{"role": "user", "content": "q"}, *items]})
    assert [(*expected, "span")] == [
        (call.name, call.arguments, call.result, call.call_id, call.origin) for call in run.tool_calls
    ]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "summary": "A sum."},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "A sum."}, 7]},
    ],
    ids=["text", "parts"],
)
def test_reasoning_of_responses(item: dict[str, Any]) -> None:
    """What the model thought is read from the summary or the content of an item, and is no answer."""
    found = read({"input": [{"role": "user", "content": "q"}, item]})
    (output,) = spans(found)[1].attributes["gen_ai.output.messages"]
    assert ([{"type": "reasoning", "content": "A sum."}], None) == (output["parts"], run_of({"input": [item]}).answer)


def test_a_failed_call_of_a_provider() -> None:
    """An error in a provider's own call fails it."""
    item = {"type": "mcp_call", "id": "m", "status": "failed", "name": "f", "arguments": "{}", "error": "no network"}
    (call,) = run_of({"input": [{"role": "user", "content": "q"}, item]}).tool_calls
    assert ("error", "no network") == (call.status, call.result)


@pytest.mark.parametrize(
    ("content", "status"),
    [([{"type": "web_search_result", "title": "K2"}], "ok"), ({"type": "web_search_tool_result_error"}, "error")],
)
def test_tools_that_anthropic_runs(content: object, status: str) -> None:
    """A server's tool and its result within one message are a call with that result; the text behind is the answer."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "K2"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": content},
            {"type": "text", "text": "8611 m"},
        ],
    }
    run = run_of(said(message))
    assert ([("web_search", {"query": "K2"}, status, "span")], "8611 m") == (
        [(call.name, call.arguments, call.status, call.origin) for call in run.tool_calls], run.answer
    )  # fmt: skip
