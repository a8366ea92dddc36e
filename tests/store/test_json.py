"""Values as a database takes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.store._json import Encoded, clean, encoded, key, moment, serialize, whole

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=10,
)


@given(JSON)
def test_any_value_becomes_json_that_databases_take(value: object) -> None:
    """Whatever a trace holds becomes JSON without NUL and without lone surrogates."""
    text = encoded(value)
    read = json.loads(text)
    shown = json.dumps(read, ensure_ascii=False)
    shown.encode()
    assert "\x00" not in text
    assert "\\u0000" not in shown.replace("\\\\", "")


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_becomes_text_that_databases_take(text: str) -> None:
    """A cleaned text can be encoded, holds no NUL, and cleaning it again changes nothing."""
    found = clean(text)
    found.encode()
    assert ("\x00" in found, found) == (False, clean(found))


def test_what_json_does_not_know_is_named() -> None:
    """Deep values, other types and endless numbers do not stop the rest."""
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    text = encoded({"deep": deep, "kind": {1}, "nan": float("nan"), "huge": 10**5000, "plain": "\ud800\x00"})
    read = json.loads(text)
    assert {"kind": "<set>", "nan": None, "huge": "<int>", "plain": "\\xd800\\x00"} == {
        name: read[name] for name in ("kind", "nan", "huge", "plain")
    }
    assert "<list>" in text


def test_backslashes_before_a_nul_are_kept() -> None:
    """Text that only looks like an escaped NUL stays as it is."""
    assert ["\\u0000", "a\\\\x00b"] == [json.loads(encoded("\\u0000")), json.loads(encoded("a\\\x00b"))]


def test_what_is_json_already_is_not_encoded_again() -> None:
    """Encoded text is written as it is, other values are encoded."""
    assert ('{"a":1}', '"x"') == (serialize(Encoded('{"a":1}')), serialize("x"))


def test_long_ids_stay_different() -> None:
    """Very long ids are shortened to what an index takes, and differ where they differed."""
    one, other = key("x" * 5000 + "1"), key("x" * 5000 + "2")
    assert (True, True, "short") == (one != other, len(one) <= 200, key("short"))


@pytest.mark.parametrize("number", [2**64, -(2**64), 5, 0])
def test_whole_numbers_fit(number: int) -> None:
    """Numbers beyond 64 bits become the nearest that fits."""
    assert max(-(2**63 - 1), min(number, 2**63 - 1)) == whole(number)


def test_times_beyond_the_calendar_are_none() -> None:
    """A time that is not recorded, or that no calendar has, is none."""
    assert [None, None, None] == [moment(0), moment(-5), moment(2**70)]
    assert datetime(2026, 11, 18, 13, 6, 40, 1, tzinfo=UTC) == moment(1_795_007_200_000_001_999)
