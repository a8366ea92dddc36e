"""What the compiled part is sure of: that no two calls ask nearly the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.calls import ToolCall
from spanwise.model.content import Memo
from spanwise.model.repeats import Asked, asked_of, near_repeats_of, repeats_of
from spanwise.native import core

if core is None:
    pytest.skip("the compiled part was not built", allow_module_level=True)


def sure(*texts: object, names: str = "") -> bool:
    """Whether it is sure of calls with these arguments; of one tool, or of tools with one letter each."""
    assert core is not None
    return core.unlike(list(names) or ["search"] * len(texts), list(texts))


@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("{}",),
        ('{"q": "a"}', '{"q": "b"}'),
        ('{"q": "a"}', '{"r": "a"}'),
        ('{"q": 1}', '{"q": -1}', '{"q": true}', '{"q": null}', '{"q": "1"}'),
        ('{"q": [1, 2]}', '{"q": [2, 1]}', '{"q": [[1], 2]}', '{"q": []}', '{"q": {}}'),
        ('{"a": {"b": 1, "c": 2}}', '{"a": {"b": 2, "c": 1}}', '{"b": {"a": 1, "c": 2}}'),
        tuple(json.dumps({"query": f"question number {at}", "limit": at % 7}) for at in range(300)),
    ],
)
def test_it_is_sure(texts: tuple[str, ...]) -> None:
    """Plain arguments that differ in more than how they are written."""
    assert sure(*texts)
    assert not texts or not sure(*texts, texts[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"q": "a b"}', '{"q":"A, b."}'),
        ('{"a": 1, "b": {"c": 2, "d": [3, "x"]}}', '{"b": {"d": [3, "X"], "c": 2}, "a": 1}'),
        ('{"q": " a"}', '{"q": "a"}'),
    ],
)
def test_what_is_nearly_the_same(one: str, other: str) -> None:
    """The order of keys, case, space and punctuation make no difference; another tool does."""
    assert not sure(one, other)
    assert sure(one, other, names="fg")


@pytest.mark.parametrize(
    "text",
    [
        None, 5, {}, b"{}", "", "{", "}", "[1]", '"a"', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"a":1}x', ' {"a":1}',
        '{"a":01}', '{"a":-}', '{"a":-0}', '{"a":1.0}', '{"a":1e3}', '{"a":1234567890123456789}', '{"a":nul}',
        '{"a":"b', '{"a":"\\u0041"}', '{"a":"\u00e9"}', '{"a":"\n"}', '{"a":"\x7f"}', '{"a":1,"a":2}', '{"a":1 2}',
        '{"a":trues}', '{"a":[1,]}', '{"a":[1}', '{"a":[1', "{" + ",".join(f'"k{at}":{at}' for at in range(25)) + "}",
        '{"a":' * 30 + "1" + "}" * 30, '{"a":NaN}', '{"a":Infinity}',
    ],
)  # fmt: skip
def test_it_leaves_the_rest_to_its_twin(text: object) -> None:
    """What is not plain JSON is never sure."""
    assert not sure(text)
    assert not sure('{"q": 1}', text)


def test_it_takes_two_lists() -> None:
    """Anything else is an error, not a crash."""
    assert core is not None
    for wrong in (((), ()), ([], ["{}"]), ([],)):
        with pytest.raises(TypeError):
            core.unlike(*wrong)  # type: ignore[arg-type]  # what the checker forbids
    assert not core.unlike([7], ["{}"])  # type: ignore[list-item]  # what the checker forbids


SAID = st.sampled_from(["a", "A", "a.", " a", "a b", "ab", "a-b", "1", "\u00e9", '"', "[REDACTED]", "", "next"])
VALUE = st.recursive(
    SAID | st.integers(-2, 12) | st.booleans() | st.none() | st.sampled_from([1.0, 0.5, -0.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SAID, inner, max_size=3),
    max_leaves=4,
)
TEXT = st.builds(
    lambda value, spaced, turned: json.dumps(
        dict(reversed(value.items())) if turned else value, separators=None if spaced else (",", ":")
    ),
    st.dictionaries(st.sampled_from(["q", "Q", "page", "a b"]), VALUE, max_size=3),
    st.booleans(),
    st.booleans(),
)
TEXTS = st.lists(st.tuples(st.sampled_from("fg"), TEXT | st.sampled_from(["", "{", "{}", "not json"])), max_size=6)


@given(TEXTS)
def test_where_it_is_sure_nothing_repeats(made: list[tuple[str, str]]) -> None:
    """Its twin finds no repeat, no near repeat and nothing untold; and both say the same of every call."""
    memo = Memo()
    calls = [ToolCall(name, "ok", raw_arguments=text, memo=memo) for name, text in made]
    names, texts = [name for name, _ in made], [text for _, text in made]
    assert core is not None
    if core.unlike(names, list(texts)):
        asked = asked_of(calls)
        slow = Asked(calls, asked.given)
        assert asked.unlike
        assert slow.distinct
        repeats = repeats_of(calls, slow, frozenset)
        assert ((), (), ()) == (repeats.duplicates, repeats.exempt, near_repeats_of(calls, slow, repeats, frozenset))
        assert asked.keys == slow.keys
