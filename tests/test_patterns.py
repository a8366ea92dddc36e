"""Regexes that users write run under RE2, or are refused before anything is read."""

from __future__ import annotations

import sys
import time

import pytest

from spanwise import patterns
from spanwise.errors import SpecError
from spanwise.patterns import MOST, compile_finder, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("wea(ther)?", "the weather", True),
        ("Weather", "weather", False),
        ("(?i)Weather", "weather", True),
        ("^a$", "a", True),
        (r"\bcaf[ée]", "un café noir", True),
        (r"\pL+\z", "é", True),
        ("[[:alpha:]]", "1a", True),
        ("(a+){2,5}b*", "aa", True),
        ("(a|b)*c+", "abc", True),
        ("x", "a \ud800 x", True),
        ("x", "", False),
    ],
)
def test_found_anywhere(pattern: str, text: str, expected: bool) -> None:
    """A pattern is looked for anywhere in the text, in RE2's syntax."""
    assert expected == compile_pattern(pattern)(text)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a(", "'a\\(' is not a regex: missing \\)"),
        ("a++", "bad repetition operator"),
        ("a{1,2000}", "invalid repetition size"),
        ("\ud800", "is not a regex: "),
        (r"(a)\1", "not a regex that RE2 can run .*backreferences"),
        ("(?P<x>a)(?P=x)", "not a regex that RE2 can run"),
        ("(?<=a)b", "not a regex that RE2 can run .*lookarounds"),
        ("a(?!b)", "not a regex that RE2 can run"),
        ("(?>a)", "not a regex that RE2 can run"),
        ("(a+)+$", "repeats without bound what repeats without bound .*write one repeat for the two"),
        ("(?:a*)*", "repeats without bound"),
        ("(?i:x(?:a|b+?)?)*", "repeats without bound"),
        ("(?P<n>a{2,})+", "repeats without bound"),
        ("x" * 3000, "read a regex of 3000 characters, expected at most 2000"),
    ],
)
def test_what_is_refused(pattern: str, words: str) -> None:
    """What is no regex, what RE2 cannot run, and what is catastrophic elsewhere, each says why and what to do."""
    with pytest.raises(SpecError, match=words):
        compile_pattern(pattern)


def test_long_texts_are_cut() -> None:
    """The first 10,000 characters are looked at."""
    assert compile_pattern("x")("a" * (MOST - 1) + "x")
    assert not compile_pattern("x")("a" * MOST + "x")


def test_time_is_bounded() -> None:
    """What takes a backtracking engine years takes RE2 no time."""
    begun = time.perf_counter()
    assert not compile_pattern("(a?){25}(a|aa)+(a|a?)+b")("a" * MOST)
    assert time.perf_counter() - begun < 5.0


def test_deep_nesting() -> None:
    """A regex that Python's own parser is too shallow for is left to RE2."""
    assert compile_pattern("(" * 900 + "a" + ")" * 900)("a")


def test_without_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings the engine is named."""
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(SpecError, match=r"regexes need google-re2: pip install 'spanwise\[cli\]'"):
        compile_pattern("a")


def test_memory_is_bounded() -> None:
    """A pattern whose program would be large is refused."""
    assert patterns._MEMORY == 1 << 20
    with pytest.raises(SpecError, match="is not a regex: pattern too large"):
        compile_pattern(r"((\pL{1,100}){1,10})\pN{1,500}")


def test_places() -> None:
    """A finder tells every place of a regex in a text of any length and any script, from left to right."""
    find = compile_finder(r"\d+")
    assert [(0, 1), (4, 6)] == list(find("1 \ud800\u4e2d23"))
    assert [(20_000, 20_001)] == list(find("x" * 20_000 + "1"))
    with pytest.raises(SpecError, match="is not a regex"):
        compile_finder("(")
