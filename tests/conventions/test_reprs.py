"""Printed Python values and message objects: read where they are literals, left alone where they are not."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions._reprs import LIMIT, is_dump, is_object, read_repr

CALL = "ToolCall(tool_name='add', arguments={'a': 1}, id='call_1', extra=None)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'a': 1, 2: -3.5}", {"a": 1, "2": -3.5}),
        ("['x', (1, None), {True}]", ["x", [1, None], [True]]),
        ("'text'", "text"),
        ("TextContent(text='hi')", {"text": "hi", "type": "text"}),
        (
            "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')], _meta={})",
            {"role": "user", "content": [{"text": "hi", "type": "text"}], "meta": {}},
        ),
        (
            "llama.TextBlock(block_type='text', text='hi')",
            {"block_type": "text", "text": "hi", "type": "text"},
        ),
        (CALL, {"tool_name": "add", "arguments": {"a": 1}, "id": "call_1", "extra": None, "type": "tool_call"}),
        (
            f"ToolCallResult(result='3', origin={CALL}, error=True)",
            {
                "result": "3",
                "origin": {
                    "tool_name": "add",
                    "arguments": {"a": 1},
                    "id": "call_1",
                    "extra": None,
                    "type": "tool_call",
                },
                "error": True,
                "type": "tool_result",
                "id": "call_1",
                "name": "add",
                "is_error": True,
            },
        ),
        (
            "ToolCallResult(result='3')",
            {"result": "3", "type": "tool_result", "id": None, "name": None, "is_error": None},
        ),
        ("Level(value=<Level.LOW: 1>)", {"value": 1}),
    ],
)
def test_printed_values(text: str, expected: object) -> None:
    """Literals, containers, enumerations and objects made by keywords are read; classes of parts become types."""
    assert expected == read_repr(text)


@pytest.mark.parametrize(
    "text",
    [
        "How many people lived in France?",
        "",
        "{'a': <app.Context object at 0x7f>}",
        "ChatMessage(role='user', content='cut in the mid",
        "print('hi')",
        "Tool(**{'a': 1})[0]",
        "{**{'a': 1}}",
        "{None: 1}",
        "[-'a']",
        "[a]",
        "[1 + 2]",
        r"'\d'",
        "(" * 300,
        "[" + "1," * LIMIT,
        "[" * 80 + "]" * 80,
    ],
)
def test_other_text_stays(text: str) -> None:
    """Words, cut text, and text that would have to be run are given back as they are."""
    assert text == read_repr(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_every_literal_is_read_back(value: object) -> None:
    """What Python prints of a JSON value in a container is read back as that value."""
    assert [value] == read_repr(repr([value]))


@given(st.text(alphabet="[]{}()'\"\\,:=1aN .<>"))
def test_reading_never_warns(text: str) -> None:
    """No text makes the parser raise or warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_repr(text)


def test_dumps_and_objects() -> None:
    """Printed objects are told from words, and those without any value from those with fields."""
    texts = {
        "<app.Context object at 0x7f3b>": (True, True),
        "<FunctionTool object>": (True, True),
        "<function add at 0x7f3b>": (False, True),
        "AgentWorkflowStartEvent()": (True, False),
        "StopEvent(result=AgentOutput(": (True, False),
        "id='1' source='user'": (True, False),
        "content='hi' name='add'": (True, False),
        "How many?": (False, False),
        "<b>bold</b>": (False, False),
        "Paris (France)": (False, False),
    }
    assert texts == {text: (is_dump(text), is_object(text)) for text in texts}
    assert not is_object(5)


@pytest.mark.parametrize("text", [r"['\ud83d']", r"'\uDE00'", r"{'a': '\U0000dfff'}"])
def test_half_of_a_character_is_not_read(text: str) -> None:
    """What UTF-8 cannot hold stays the text that was recorded; other escapes, and backslashes before a u, are read."""
    assert text == read_repr(text)
    assert "\ud7ff" == read_repr(r"'\ud7ff'")
    assert r"\ud83d" == read_repr(r"'\\ud83d'")
