"""Records read from attributes: compiled and in Python alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.conventions import _fields
from spanwise.conventions._fields import (
    amount,
    any_of,
    below,
    converted,
    count,
    fixed,
    is_text,
    lowered,
    marked,
    may_hold,
    reader,
    text,
    written,
)
from spanwise.native import core


class Record(msgspec.Struct):
    """One field of each sort."""

    anything: object = None
    words: str | None = None
    number: int | None = None
    dollars: float | None = None
    always: object = None
    length: int | None = None
    bad: bool = False
    small: str | None = None
    id: str | None = None


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, str | list) else None


FIELDS = (
    any_of("a", "b"),
    text("a", "b", "c"),
    count("b", "c"),
    amount("c", "d"),
    fixed("word"),
    converted(_length, "a", "d"),
    marked("error", True, among=("b", "d")),
    lowered("e", "f"),
    written("e", "f"),
)
NOTHING = Record(always="word")


def read(attributes: Mapping[str, object]) -> Record:
    """The record, read in both ways, which agree to the types of the values."""
    either = reader(Record, *FIELDS)(attributes)
    slow = _fields.reader_in_python(Record, *FIELDS)(attributes)
    assert [(type(one), one) for one in msgspec.structs.astuple(slow)] == [
        (type(one), one) for one in msgspec.structs.astuple(either)
    ]
    return either


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, NOTHING),
        ({"a": None, "b": None}, NOTHING),
        ({"a": "x"}, Record("x", "x", None, None, "word", 1)),
        ({"a": "", "b": "y"}, Record("", "y", None, None, "word", 0)),
        ({"a": 5, "b": 6}, Record(5, None, 6, None, "word")),
        ({"b": -1, "c": 7}, Record(-1, None, 7, 7, "word")),
        ({"b": True, "c": "12"}, Record(True, "12", 12, 12.0, "word", None, True)),
        ({"b": 3.0, "c": 0.5}, Record(3.0, None, 3, 0.5, "word")),
        ({"b": 3.5, "c": float("nan"), "d": 0.25}, Record(3.5, None, None, 0.25, "word")),
        ({"c": float("inf"), "d": -0.5}, NOTHING),
        ({"c": 10**400}, Record(None, None, 10**400, None, "word")),
        ({"d": "error"}, Record(None, None, None, None, "word", 5, True)),
        ({"b": 1, "d": ["error"]}, Record(1, None, 1, None, "word", 1)),
        ({"e": "OpenAI"}, Record(always="word", small="openai", id="OpenAI")),
        ({"e": "", "f": "É-x"}, Record(always="word", small="é-x", id="É-x")),
        ({"e": 7, "f": "aws.bedrock"}, Record(always="word", small="aws.bedrock", id="7")),
        ({"e": True, "f": 0}, Record(always="word", id="0")),
    ],
)
def test_each_field_is_the_first_that_tells(attributes: Mapping[str, object], expected: Record) -> None:
    """A value of another type, or one that tells nothing, makes room for the next attribute."""
    assert expected == read(attributes)
    assert expected == read(MappingProxyType(dict(attributes)))


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["error", "7", "0.5", "-2", "007", "1_0", " 7", "٣", "9" * 15, "9" * 16, "Big", "É"]),
    st.lists(st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from("abcdef"), _VALUES))
def test_both_ways_agree(attributes: dict[str, object]) -> None:
    """Whatever the attributes hold, both ways read the same."""
    read(attributes)


@given(st.dictionaries(st.text("abλ😀", max_size=4), st.none()), st.text("abλ😀", max_size=2))
def test_names_below_a_prefix(attributes: dict[str, object], prefix: str) -> None:
    """The names that begin with a prefix, in their order, whatever letters they are of."""
    found = below(attributes, prefix)
    assert found == below(MappingProxyType(attributes), prefix)
    assert found == [name for name in attributes if name[: len(prefix)] == prefix]


def test_what_a_plain_mapping_tells_of_its_texts() -> None:
    """Of decoded attributes the type of a value is known at once, and any text is to be looked into."""
    attributes = {"a": "x", "b": 1}
    assert [True, False, False] == [is_text(attributes, name) for name in "abc"]
    assert may_hold(attributes, "a", ('"error"',))


def test_what_a_reader_raises_comes_out() -> None:
    """An error in what converts a value is nobody's value."""

    def broken(value: object) -> object:
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        reader(Record, converted(broken, "a"))({"a": 1})


@pytest.mark.skipif(core is None, reason="the compiled part was not built here")
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (((99, ("a",), None),), ValueError),
        (((6, ("a",), None),), TypeError),
        (((0, "a", None),), TypeError),
        (((0, ("a",), None),) * 17, ValueError),
    ],
)
def test_impossible_fields_are_refused(fields: tuple[tuple[int, tuple[str, ...], object], ...], error: type) -> None:
    """A reader of fields that there are none of is an error when it is made."""
    assert core is not None
    with pytest.raises(error):
        core.Reader(Record, fields, dict)
    with pytest.raises(TypeError):
        core.Reader(Record, (), dict)()
