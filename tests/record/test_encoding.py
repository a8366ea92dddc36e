"""Values as text: whole where they fit, marked where they are cut, and never an exception."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.content import Memo, state_of
from spanwise.record.encoding import (
    LIMIT,
    MARK,
    cut,
    documents_of,
    mapping_text,
    messages_of,
    said,
    text_of,
    tool_calls_of,
)


class Silent:
    """Raises when asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError


class Modelled:
    """A model of pydantic's, as far as it matters here."""

    def __init__(self, fields: object) -> None:
        self.fields = fields

    def model_dump(self, mode: str) -> object:
        """Its fields."""
        if isinstance(self.fields, Exception):
            raise self.fields
        return self.fields

    def __str__(self) -> str:
        return "modelled"


@dataclass
class Point:
    """A dataclass."""

    x: int


LOOP: list[object] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("sunny", "sunny"),
        ('{"a": 1}', '{"a": 1}'),
        ({"a": [1, None, True, 0.5]}, '{"a":[1,null,true,0.5]}'),
        (None, "null"),
        (Point(1), '{"x":1}'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00Z"'),
        ({"o": SimpleNamespace(a=1)}, '{"o":"namespace(a=1)"}'),
        ([Modelled({"a": 1}), Modelled(ValueError())], '[{"a":1},"modelled"]'),
        ([Silent()], '["<Silent>"]'),
        ({("a", 1): 2}, "{\"('a', 1)\":2}"),
        ([float("nan")], "[null]"),
        ({"s": "a\ud800b"}, '{"s":"a?b"}'),
        ("a\ud800b", "a?b"),
    ],
)
def test_values(value: object, text: str) -> None:
    """Text is itself, anything else JSON; what JSON does not know is what it says of itself."""
    assert text == text_of(value)


def test_large_numbers() -> None:
    """Numbers of any size are written, as numbers or as text."""
    assert str(2**70) == text_of([2**70]).strip('[]"')
    assert "<int>" in text_of([10**5000, LOOP])


def test_a_cycle_ends() -> None:
    """A list that holds itself is written as deep as it is reasonable."""
    assert text_of(LOOP).endswith(MARK)


@pytest.mark.parametrize(
    "value",
    [
        "x" * (LIMIT + 1),
        ["x" * LIMIT, 1],
        list(range(LIMIT)),
        {f"key {n}": n for n in range(LIMIT)},
        {"deep": {"list": [{"text": "é\n" * LIMIT}]}},
        [Point(1)] * LIMIT,
        b"x" * LIMIT,
        [SimpleNamespace(text="y" * LIMIT)],
        ["\x00" * (LIMIT - 10)],
        [[[]] * 10] * LIMIT,
    ],
)
def test_large_values_are_cut_and_marked(value: object) -> None:
    """What is larger than the limit is cut, says so, and is read as truncated."""
    text = text_of(value)
    assert LIMIT + len(MARK) >= len(text)
    assert text.endswith(MARK)
    assert "truncated" == state_of(text, Memo().json(text))


def test_what_fits_is_whole() -> None:
    """A value of exactly the limit is not cut."""
    assert "x" * LIMIT == text_of("x" * LIMIT)
    assert "ab" + MARK == cut("abc", 2)
    assert "present" == state_of("x" * LIMIT, "x" * LIMIT)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Silent),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.tuples(inner),
)


@given(json_values, st.integers(8, 200))
def test_any_value(value: object, limit: int) -> None:
    """Whatever is given, the text is bounded, can be sent, and is whole JSON or marked, or was text before."""
    text = text_of(value, limit=limit)
    text.encode()
    assert limit + len(MARK) >= len(text)
    if not isinstance(value, str) and not text.endswith(MARK):
        json.loads(text)


@given(json_values)
def test_any_messages_and_documents(value: object) -> None:
    """Whatever is given as messages, requests or documents, JSON comes out, or nothing."""
    for text in (messages_of(value), documents_of(value, content=True), documents_of([value], content=False)):
        assert text is None or isinstance(json.loads(text), list)
    assert isinstance(tool_calls_of(value), list)


def test_messages() -> None:
    """Messages of OpenAI's form, of the conventions' form and as objects become roles and parts."""
    sent = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "url": "u"}, "see"]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": "{"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        SimpleNamespace(role="assistant", content="done"),
        {"role": "user", "parts": [{"type": "text", "content": "thanks"}]},
        "bye",
    ]
    parts = [
        {"role": "system", "parts": [{"type": "text", "content": "be kind"}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "look"},
                {"type": "image_url", "url": "u"},
                {"type": "text", "content": "see"},
            ],
        },
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "t", "arguments": "{"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "found"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "done"}]},
        {"role": "user", "parts": [{"type": "text", "content": "thanks"}]},
        {"role": "user", "parts": [{"type": "text", "content": "bye"}]},
    ]
    assert parts == json.loads(messages_of(sent) or "")
    assert None is messages_of(None)
    assert None is messages_of([])
    assert [{"role": "user", "parts": [{"type": "text", "content": "7"}]}] == json.loads(messages_of(7) or "")


def test_long_conversations_keep_their_end() -> None:
    """Of too many messages the newest are kept, whole, behind a mark; of one that is too long its beginning."""
    many = [{"role": "user", "content": f"{number} " + "x" * 1000} for number in range(200)]
    text = messages_of(many) or ""
    kept = json.loads(text)
    assert LIMIT + 200 > len(text)
    assert MARK in kept[0]["parts"][0]["content"]
    assert "199 " == kept[-1]["parts"][0]["content"][:4]
    for huge in ("x" * 10 * LIMIT, "\x00" * 10 * LIMIT):
        (single,) = json.loads(messages_of(huge) or "")
        assert single["parts"][0]["content"].endswith(MARK)
        assert LIMIT >= len(messages_of(huge) or "")


def test_documents() -> None:
    """Documents are mappings, objects, pairs with a score, or text; scores that are no numbers are left out."""
    Hit = namedtuple("Hit", "id score")
    given_ = [
        {"id": 7, "score": "0.5", "content": "a"},
        (SimpleNamespace(page_content="b", doc_id="x"), 0.25),
        SimpleNamespace(text={"k": 1}, relevance_score=float("nan")),
        "plain",
        Hit("h", 0.75),
        (1, 2, 3),
    ]
    assert [
        {"id": "7", "score": 0.5, "content": "a"},
        {"id": "x", "score": 0.25, "content": "b"},
        {"content": '{"k":1}'},
        {"content": "plain"},
        {"id": "h", "score": 0.75},
        {},
    ] == json.loads(documents_of(given_, content=True) or "")
    assert [
        {"id": "7", "score": 0.5},
        {"id": "x", "score": 0.25},
        {},
        {},
        {"id": "h", "score": 0.75},
        {},
    ] == json.loads(documents_of(given_, content=False) or "")
    assert [None, None] == [documents_of(odd, content=True) for odd in (3, "text")]


def test_many_documents_share_the_room() -> None:
    """Long documents are cut so that all ids and scores are there."""
    found = [{"id": str(number), "score": 0.5, "content": "é" * 5000} for number in range(100)]
    text = documents_of(found, content=True) or ""
    assert LIMIT >= len(text)
    kept = json.loads(text)
    assert [one["id"] for one in found] == [one["id"] for one in kept]
    assert all(one["content"].endswith(MARK) for one in kept)
    assert 1000 == len(json.loads(documents_of(({"id": n} for n in range(5000)), content=True) or ""))


def test_mappings_that_are_too_large() -> None:
    """Of a mapping the entries that fit are kept, and it stays JSON."""
    assert '{"a":1}' == mapping_text({"a": 1}, limit=20)
    assert '{"a":1,"c":2}' == mapping_text({"a": 1, "b": "x" * 50, "c": 2}, limit=20)


def test_what_cannot_say_anything() -> None:
    """An object that raises when printed is named by its type."""
    assert "<Silent>" == said(Silent())
