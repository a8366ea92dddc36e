"""JSON that is always written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from spanwise.report.encode import to_line

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@given(st.dictionaries(ANY_TEXT, JSON_LIKE))
def test_anything_becomes_one_line_of_json(document: dict[str, object]) -> None:
    """Whatever a trace held, the line is valid JSON without a line break, in characters that can be printed."""
    line = to_line(document)
    line.encode()
    assert ({str(key) for key in document}, 1) == (set(json.loads(line)), len(line.splitlines() or [""]))


def test_lone_surrogates_survive() -> None:
    """Text that is no valid Unicode is written as escapes and read back as it was."""
    assert {"a": "\ud800"} == json.loads(to_line({"a": "\ud800"}))


def test_numbers_that_are_none_become_null() -> None:
    """NaN and the infinities are null, also where the fast way is not taken."""
    assert '{"a":null,"b":["\\ud800",null]}' == to_line({"a": float("nan"), "b": ["\ud800", float("inf")]})


def test_depth_and_size_are_bounded() -> None:
    """What is nested beyond reason, of an unknown type or an enormous number is named by its type."""
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    found = json.loads(to_line({"deep": deep, "odd": object(), "big": 10**5000}))
    assert ("<object>", "<int>", True) == (found["odd"], found["big"], "<list>" in json.dumps(found["deep"]))
