"""Pydantic AI's own messages, as MLflow writes them."""

from __future__ import annotations

from spanwise.conventions._pydantic_messages import messages_of
from spanwise.model.content import Memo, Message, Part

CALL = {"tool_name": "add", "args": '{"a": 1}', "tool_call_id": "c1", "part_kind": "tool-call"}


def test_a_request_is_what_each_side_said() -> None:
    """Instructions, the user's words, results, and what has to be tried again, each by who said it."""
    parts = [
        {"content": "Be kind.", "part_kind": "system-prompt"},
        {"content": ["Add.", {"kind": "image-url"}], "part_kind": "user-prompt"},
        {"tool_name": "add", "content": "3", "tool_call_id": "c1", "part_kind": "tool-return"},
        {"tool_name": "none", "content": None, "tool_call_id": "c2", "part_kind": "tool-return"},
        {"tool_name": "bad", "content": "no", "tool_call_id": "c3", "part_kind": "retry-prompt"},
        {"tool_name": None, "content": "Answer again.", "part_kind": "retry-prompt"},
    ]
    assert (
        Message("system", (Part("text", "Be brief."),)),
        Message("system", (Part("text", "Be kind."),)),
        Message("user", (Part("text", "Add."),)),
        Message(
            "tool",
            (
                Part("tool_result", "", "c1", "add", 3),
                Part("tool_result", "", "c2", "none", "null"),
                Part("tool_result", "", "c3", "bad", "no", error=True),
            ),
        ),
        Message("user", (Part("text", "Answer again."),)),
    ) == messages_of([{"kind": "request", "instructions": "Be brief.", "parts": parts}], Memo())


def test_a_response() -> None:
    """Thoughts, text and calls are one message of the model's; what has no text is a part nevertheless."""
    parts = [{"content": "Hm.", "part_kind": "thinking"}, {"content": "Yes.", "part_kind": "text"}, CALL, {"id": 1}]
    expected = (
        Part("reasoning", "Hm."),
        Part("text", "Yes."),
        Part("tool_call", "", "c1", "add", {"a": 1}),
        Part("other"),
    )
    assert (Message("assistant", expected),) == messages_of({"kind": "response", "parts": parts}, Memo())


def test_no_messages() -> None:
    """Whatever else is recorded holds none."""
    assert (None, None, None) == (messages_of(None, Memo()), messages_of([3], Memo()), messages_of({}, Memo()))
