"""What calls should not do."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise.errors import ModelError
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.calls import ToolCall


def found(pattern: AntiPattern, names: str, *, long: int = 1) -> list[int]:
    """The places at which calls, each a letter and starting a moment after the one before, do it."""
    calls = [ToolCall(name, "ok", at) for at, name in enumerate(names)]
    return [call.span for call in pattern.found(calls, [(at, at + long) for at in range(len(calls))])]


def test_repeats() -> None:
    """A tool right after itself, any or a certain one; not where the two ran at the same time."""
    assert [1, 2, 5] == found(AntiPattern(kind="repeat"), "aaabcc")
    assert [5] == found(AntiPattern(kind="repeat", tool="c"), "aaabcc")
    assert [] == found(AntiPattern(kind="repeat"), "abab")
    assert [] == found(AntiPattern(kind="repeat"), "aaabcc", long=2)


def test_before_and_after() -> None:
    """The first call of each tool decides, where one ended before the other began."""
    assert [0] == found(AntiPattern(kind="before", first="a", then="b"), "axb")
    assert [] == found(AntiPattern(kind="before", first="a", then="b"), "bab")
    assert [1] == found(AntiPattern(kind="after", first="a", then="b"), "bab")
    assert [] == found(AntiPattern(kind="after", first="a", then="b"), "aba")
    assert [] == found(AntiPattern(kind="after", first="a", then="b"), "ba", long=2)
    assert [] == found(AntiPattern(kind="before", first="a", then="b"), "aa")
    assert [] == found(AntiPattern(kind="before", first="a", then="b"), "bb")


def test_more_than() -> None:
    """Each call beyond the limit; a limit of 0 is one."""
    assert [2, 4] == found(AntiPattern(kind="more_than", tool="a", n=1), "abaca")
    assert [0] == found(AntiPattern(kind="more_than", tool="b"), "b")


def test_words() -> None:
    """What was found is told once per tool."""
    calls = [ToolCall(name) for name in "aab"]
    assert ("a was called again at once, 2 times.", "b was called again at once.") == (
        AntiPattern(kind="repeat").told(calls)
    )
    assert ("a was called 5 times, more than 2.",) == AntiPattern(kind="more_than", tool="a", n=2).told(calls)
    assert ("a was called after b.",) == AntiPattern(kind="after", first="a", then="b").told(calls[:1])
    assert () == AntiPattern(kind="more_than", tool="a", n=2).told([])
    assert ("a", "b") == AntiPattern(kind="before", first="a", then="b").named


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "twice"}, "kind: read 'twice', expected one of repeat, before, after, more_than"),
        ({"kind": "repeat", "penalty": 0.0}, "penalty: read 0.0, expected a number above 0, at most 1"),
        ({"kind": "repeat", "penalty": float("nan")}, "penalty"),
        ({"kind": "repeat", "penalty": 1.5}, "penalty"),
        ({"kind": "repeat", "n": 2}, "n given, expected tool"),
        ({"kind": "before", "first": "a"}, "then not given, expected first and then"),
        ({"kind": "after", "tool": "a"}, "tool given, expected first and then"),
        ({"kind": "more_than", "n": 2}, "tool not given, expected tool and n"),
        ({"kind": "more_than", "tool": "a", "n": -1}, "n: read -1, expected 0 or more"),
        ({"kind": "before", "first": "a", "then": "a"}, "read 'a' twice, expected two tools"),
    ],
)
def test_what_cannot_be_meant(fields: dict[str, Any], words: str) -> None:
    """Fields that do not go together are refused."""
    with pytest.raises(ModelError, match=words):
        AntiPattern(**fields)
