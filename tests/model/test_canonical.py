"""Values made comparable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.canonical import canonical, shown
from spanwise.model.raw import RawEvent

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def nested(depth: int, core: object = "core") -> object:
    """A value inside so many lists."""
    for _ in range(depth):
        core = [core]
    return core


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"n": 1.0}, {"n": 1}),
        ({"q": " a "}, {"q": "a"}),
        ([{"q": "a "}], ({"q": "a"},)),
        (" a", "a"),
        (-0.0, 0),
    ],
)
def test_the_same_value(one: object, other: object) -> None:
    """The order of keys, whole floats, space around text and the kind of sequence make no difference."""
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ([1, 2], [2, 1]),
        ("1", 1),
        (1.5, 1),
        (True, 1),
        (None, "null"),
        ({"q": "a b"}, {"q": "ab"}),
        ("A", "a"),
    ],
)
def test_different_values(one: object, other: object) -> None:
    """What is not the same value has other bytes, also where it reads alike."""
    assert canonical(one) != canonical(other)


def test_what_json_does_not_know() -> None:
    """Values of any type are told apart."""
    assert canonical(object) == canonical(object)
    assert canonical({"a": object}) != canonical({"a": int})
    assert canonical("\ud800") != canonical("\ud801")


def test_nested_beyond_recursion() -> None:
    """Values nested deeper than any recursion goes are compared all the same."""
    assert canonical(nested(50_000)) == canonical(nested(50_000))
    assert canonical(nested(50_000)) != canonical(nested(50_000, "other"))
    assert canonical(nested(50_000)) != canonical(nested(49_999))


def test_shown_is_the_repr() -> None:
    """What repr can show is shown by repr."""
    value = {"a": [1, "x", None]}
    assert repr(value) == shown(value)


def test_shown_beyond_recursion() -> None:
    """What is nested too deep for repr is shown leaf by leaf: mappings, sequences, structs and whatever else."""
    value = nested(50_000, {"a": (1, RawEvent("e", 1, {"k": "v"}))})
    text = shown(value)
    assert ("list( " * 50_000 + "dict( 'a' tuple( 1 RawEvent( 'e' 1 dict( 'k' 'v' ) None ) ) )" + " )" * 50_000) == text


def test_a_value_inside_itself() -> None:
    """A container that holds itself below much else is shown once."""
    inner: list[object] = []
    inner.append(inner)
    assert shown(nested(50_000, inner)).endswith("list( ... )" + " )" * 50_000)


class Odd:
    """Something whose repr recurses without end."""

    def __repr__(self) -> str:
        return repr(self)


def test_a_leaf_that_cannot_be_shown() -> None:
    """A leaf whose repr fails is shown by its type."""
    assert "Odd" == shown(Odd())


@given(JSON)
def test_json_text_and_its_value_agree(value: object) -> None:
    """A value has the bytes that it has after a round through JSON text."""
    assert canonical(value) == canonical(json.loads(json.dumps(value)))


@given(JSON)
def test_canonical_twice(value: object) -> None:
    """Canonical bytes are JSON whose value has the same canonical bytes."""
    assert canonical(value) == canonical(json.loads(canonical(value)))
