"""What a convention reads from one span."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model import content
from spanwise.model.content import Memo, Message, Part, ToolDefinition, is_mask, is_redacted, state_of


def test_text_of_a_message() -> None:
    """The text of a message is that of its text parts, and of no other."""
    parts = (Part("text", "a"), Part("reasoning", "b"), Part("text"), Part("tool_call", name="x"), Part("text", "c"))
    assert "a\nc" == Message("assistant", parts).text
    assert "" == Message("assistant", ()).text


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        ("__REDACTED__", True),
        ("<REDACTED>", True),
        ("[REDACTED]", True),
        ("[Scrubbed due to 'auth']", True),
        ("Error details are redacted", True),
        ("[redacted]", True),
        ("a field that is [redacted]", False),
        ("The word REDACTED alone", False),
        ("x" * 400 + "[REDACTED]", False),
        (["[REDACTED]"], False),
        (None, False),
    ],
)
def test_redacted(value: object, redacted: bool) -> None:
    """Short text with a mark of redaction stands for content; long text that mentions one is content."""
    assert redacted == is_redacted(value)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (None, "absent"),
        ("plain", "present"),
        ("", "present"),
        ('{"a": 1}', "present"),
        ('{"a": 1', "truncated"),
        ('[{"a": 1}, {"b"', "truncated"),
        ('["a", "b', "truncated"),
        ("[note] text", "present"),
        ("{curly", "present"),
        ("[REDACTED]", "redacted"),
        ("7", "present"),
        ("a long text…[truncated]", "truncated"),
        ("what [truncated] means", "present"),
    ],
)
def test_states(text: str | None, state: str) -> None:
    """Nothing, text, whole JSON, redacted content, and what was cut or says so are told apart."""
    assert state == state_of(text, Memo().json(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        (" [1]", [1]),
        ('"quoted"', "quoted"),
        ("-1.5", -1.5),
        ("true", True),
        ("null", None),
        ("nothing", "nothing"),
        ("nullable", "nullable"),
        ("false ", False),
        ("\n[1]", "\n[1]"),
        ("2 apples", "2 apples"),
        ("text", "text"),
        ("", ""),
        ("{broken", "{broken"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_json_text(text: str, value: object) -> None:
    """JSON text becomes its value; what does not parse stays the text that it is, however deep it pretends to be."""
    assert value == Memo().json(text)


class Text(str):
    """Text of an app's own type."""

    __slots__ = ()


def test_text_that_the_decoder_refuses() -> None:
    """Text of an app's own type is decoded like any other, and half of a character stays as it is."""
    assert {"a": 1} == Memo().json(Text('{"a": 1}'))
    assert '{"a": "\ud800"}' == Memo().json('{"a": "\ud800"}')


@pytest.mark.parametrize("value", [None, 3, [1], {"a": 1}, b"[1]"])
def test_values_are_left_alone(value: object) -> None:
    """What is no text is its own value."""
    memo = Memo()
    assert value is memo.json(value)
    assert memo.canonical([1]) == memo.canonical("[1]")


def test_decoded_once() -> None:
    """One text is decoded once, also where its value is null."""
    memo = Memo()
    assert memo.json('{"a": 1}') is memo.json('{"a": 1}')
    assert [None, None] == [memo.json("null"), memo.json("null")]
    assert memo.canonical('{"a": 1}') is memo.canonical('{"a": 1}')


def test_canonical_of_text_and_value() -> None:
    """JSON text and the value that it holds are the same, however either is written."""
    memo = Memo()
    assert memo.canonical('{"b": 1.0, "a": " x"}') == memo.canonical({"a": "x", "b": 1})
    assert memo.canonical("plain") == memo.canonical("plain ")


@given(st.text())
def test_no_text_raises(text: str) -> None:
    """Any text has a value and canonical bytes, the same each time."""
    memo = Memo()
    assert (memo.json(text), memo.canonical(text)) == (Memo().json(text), Memo().canonical(text))


def test_definitions_are_read_once_for_many_traces() -> None:
    """What was recorded of the offered tools is read once for all traces; what is too long, each time."""
    read: list[str] = []

    def reading(text: str) -> tuple[ToolDefinition, ...]:
        read.append(text)
        return (ToolDefinition(text[:5]),)

    short, long = "tools that no other test offers", "x" * 400_000
    for text in (short, short, long, long):
        assert (ToolDefinition(text[:5]),) == Memo().tools(text, lambda text=text: reading(text))
    assert [short, long, long] == read


def test_definitions_that_are_held_are_bounded() -> None:
    """Past the bound all are let go, and the newest is held."""
    for number in range(30):
        Memo().tools(f"{number:<100000}", lambda: None)
    assert sum(len(text) for text in content._OFFERED if isinstance(text, str)) <= content._OFFERED.most
    assert f"{29:<100000}" in content._OFFERED


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("***", True),
        ("********", True),
        ("[REDACTED]", True),
        ("[redacted]", True),
        ("**", False),
        ("*** x", False),
        ("a [REDACTED]", False),
    ],
)
def test_masks(text: str, mask: bool) -> None:
    """A mask is all of the text; asterisks around words are none."""
    assert mask == is_mask(text)
    assert not text.startswith("***") or mask == is_redacted(text)
