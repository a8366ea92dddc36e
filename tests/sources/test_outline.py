"""The outline of a JSON text: its keys and where they stand, from as much of it as there is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.sources._outline import ITEM, below, outline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'[{"role": 1, "content": [{"ty', {(ITEM,), (ITEM, "role"), (ITEM, "content"), (ITEM, "content", ITEM)}),
        (b'{"a": "x\\"b\\": {", "c": 1}', {("a",), ("c",)}),
        (b'{"a": "cut off {\\"b\\": 1', {("a",)}),
        (b'{"a": 1}\n{"b": 2}', {("a",)}),
        (b'\xef\xbb\xbf{"a" : [1, "b", {"c": 2}]}', {("a",), ("a", ITEM), ("a", ITEM, "c")}),
        (b'[[{"a": 1}]]', {(ITEM,), (ITEM, ITEM), (ITEM, ITEM, "a")}),
        (b'word {"a": 1}', set()),
        (b'}{"a": 1}', set()),
        (b'{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}', {("a", "b", "c", "d", "e")[:n] for n in range(1, 6)}),
    ],
)
def test_outlines(text: bytes, expected: set[tuple[str, ...]]) -> None:
    """Keys of the first value are found down to five levels; strings, cut or not, hold none."""
    assert expected == outline(text)


def test_keys_below_a_path() -> None:
    """The keys directly below a path are given, and none of deeper levels."""
    paths = outline(b'{"data": [{"id": {"x": 1}}, {"name": 2}], "id": 3}')
    assert ({"data", "id"}, {"id", "name"}, set()) == (
        below(paths), below(paths, "data", ITEM), below(paths, "nothing")
    )  # fmt: skip


def paths_of(value: object, here: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The paths that an outline is expected to have."""
    if isinstance(value, dict):
        pairs = [(key, (*here, key), item) for key, item in value.items()]
        found = {path for _, path, _ in pairs}
        return found.union(*(paths_of(item, path) for _, path, item in pairs)) if pairs else found
    if isinstance(value, list):
        found = {(*here, ITEM)} if any(isinstance(item, dict | list) for item in value) else set()
        return found.union(*(paths_of(item, (*here, ITEM)) for item in value)) if value else found
    return set()


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='\\"'), max_size=3)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=12,
    ),
    st.sampled_from([None, 1]),
)
def test_the_outline_of_any_json(value: object, indent: int | None) -> None:
    """The outline of any JSON holds exactly its paths of up to five levels."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert {path for path in paths_of(value) if len(path) <= 5} == outline(text)


@given(st.binary(max_size=60))
def test_noise_has_an_outline_too(noise: bytes) -> None:
    """Whatever the bytes are, there is an outline."""
    assert isinstance(outline(noise), frozenset)
