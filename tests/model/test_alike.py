"""What the compiled part is sure of: that calls ask nothing that another one asks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model import repeats as repeats_module
from spanwise.model.calls import ToolCall
from spanwise.model.content import Memo
from spanwise.model.repeats import asked_of, near_repeats_of, repeats_of
from spanwise.native import core

if core is None:
    pytest.skip("the compiled part was not built", allow_module_level=True)


def sure(*texts: object, names: str = "") -> bool:
    """Whether it is sure of calls with these arguments; of one tool, or of tools with one letter each."""
    assert core is not None
    return not core.alike(list(names) or ["search"] * len(texts), list(texts))


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
        None, 5, b"{}", "", "{", "}", "[1]", '"a"', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"a":1}x', ' {"a":1}',
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


@pytest.mark.parametrize(
    "value",
    [
        {}, {"q": "a b"}, {"q": "\n\t\\\"/", "p": ""}, {"q": [], "r": {}, "s": [[1, {"t": None}], True, False]},
        {"n": 0, "m": -7, "o": 999_999_999_999_999_999, "p": -999_999_999_999_999_999}, {"a b": 1, "ab1": 2},
    ],
)  # fmt: skip
def test_decoded_arguments(value: object) -> None:
    """What is recorded as a value is like the same as JSON, and unlike what differs."""
    assert not sure(value, json.dumps(value))
    assert not sure(value, json.dumps(value, separators=(",", ":")))
    assert sure(value, {"q": "other"}, '{"q":"another"}')


@pytest.mark.parametrize(
    "value",
    [
        {"q": 1.0}, {"q": "\u00e9"}, {"q": 10**18}, {"q": 2**70}, {"q": b""}, {"q": (1,)}, {1: "q"}, {"\u00e9": 1},
        {"a": 1, "A": 2}, {f"k{at}": at for at in range(25)}, {"q": object()}, {"q": {1: 2}}, {"q": [[2.5]]},
    ],
)  # fmt: skip
def test_decoded_arguments_that_it_leaves_to_its_twin(value: object) -> None:
    """What is no plain value of JSON is never sure, nor is what lies in itself or is nested deep."""
    assert not sure(value)
    inner: dict[str, object] = {}
    inner["q"] = [inner]
    assert not sure(inner)


def test_it_takes_two_lists() -> None:
    """Anything else is an error, not a crash."""
    assert core is not None
    for wrong in (((), ()), ([], ["{}"]), ([],)):
        with pytest.raises(TypeError):
            core.alike(*wrong)  # type: ignore[arg-type]  # what the checker forbids
    assert core.alike([7], ["{}"]) is None  # type: ignore[list-item]  # what the checker forbids


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


@given(TEXTS, st.integers(0, 6), st.sampled_from([0, 30]), st.integers(0, 2))
def test_what_it_leaves_out_repeats_nothing(made: list[tuple[str, str]], at: int, many: int, decoded: int) -> None:
    """By the calls that it names the same repeats, near repeats and untold tools are found as by all calls."""
    memo = Memo()
    made = [*made[:at], *(("h", f'{{"n": {number}}}') for number in range(many)), *made[at:]]
    recorded: list[object] = [
        memo.json(text) if (number + decoded) % 3 == 0 else text for number, (_, text) in enumerate(made)
    ]
    names = [name for name, _ in made]
    pairs = zip(names, recorded, strict=True)
    calls = [ToolCall(name, "ok", raw_arguments=given, memo=memo) for name, given in pairs]
    fast, slow = asked_of(calls), repeats_module._asked(calls, range(len(calls)), recorded, names)
    assert slow.untold == fast.untold
    for acting in ((), ("f",)):
        found = [(asked, repeats_of(calls, asked, lambda: acting)) for asked in (fast, slow)]  # noqa: B023
        told = [
            (repeats.duplicates, repeats.exempt, near_repeats_of(calls, asked, repeats, lambda: acting))  # noqa: B023
            for asked, repeats in found
        ]
        assert told[0] == told[1]


def test_the_calls_that_may_be_alike() -> None:
    """Those that equal another one, and all of a tool of which some call cannot be told; of many calls, too."""
    assert core is not None
    texts: list[object] = [f'{{"q": "number {at}"}}' for at in range(60)]
    texts[7], texts[50], texts[3] = '{"q": "one"}', '{"q":"One."}', None
    names = ["search"] * 60
    names[3] = names[40] = "book"
    for many in (60, 51):
        assert [3, 7, 40, 50] == core.alike(names[:many], texts[:many])
    assert [3, 40] == core.alike(names[:45], [*texts[:7], "{}", *texts[8:45]])
    assert [1, 2] == core.alike(["f"] * 3, ['{"q": 1}', '{"q": 2}', '{"q": 2}'])
    assert [0, 2] == core.alike(["f", "g", "f"], [None, "{}", "{}"])
