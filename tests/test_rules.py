"""Rules and anti-patterns as users write them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.errors import SpecError
from spanwise.model.antipatterns import AntiPattern
from spanwise.model.expectation import Rule
from spanwise.rules import anti_patterns_of, load_rules, rules_of

WEATHER = {
    "name": "weather",
    "words": ["weather", "Forecast*"],
    "pattern": "(?i)how (hot|cold)",
    "expected": ["get_weather"],
    "forbidden": ["web_search"],
}


def errors_of(value: object) -> list[str]:
    """The lines of what is wrong with some rules."""
    with pytest.raises(SpecError) as raised:
        rules_of(value, "rules")
    return str(raised.value).splitlines()


def test_a_rule(require: Callable[[str], str]) -> None:
    """Every key is read; the pattern is compiled."""
    require("re2")
    (rule,) = rules_of([WEATHER], "rules")
    assert Rule(
        name="weather", words=("weather", "forecast*"), pattern="(?i)how (hot|cold)", expected=("get_weather",),
        forbidden=("web_search",), matches=bool,
    ) == rule  # fmt: skip
    assert [True, True, True, False] == [
        rule.fits(query) for query in ("The weather?", "forecasts", "How cold is it", "Who?")
    ]


def test_what_is_not_given() -> None:
    """A rule without `expected` says nothing of it, an empty list says that no tool is needed."""
    silent, empty = rules_of([{"name": "a", "words": ["a"]}, {"name": "b", "words": ["b"], "expected": []}], "rules")
    assert (None, ()) == (silent.expected, empty.expected)
    assert () == rules_of([], "rules")


def test_all_errors_at_once(require: Callable[[str], str]) -> None:
    """Each error has its place, what was read and what is expected."""
    require("re2")
    assert [
        "rules[1].wrods: unknown key; known: name, words, pattern, expected, forbidden",
        "rules[1].name: read 3, expected text",
        "rules[1].words: read 'weather', expected a list of text, none of it empty",
        "rules[2]: read 'weather', expected a table",
        "rules[3].name: read None, expected a name",
        "rules[3].expected: read [1], expected a list of text, none of it empty",
        "rules[3].pattern: 'a(' is not a regex: missing ): a(",
        "rules[4]: Rule 'x': matches no query; give words or a pattern",
        "rules: the name 'y' stands 2 times",
    ] == errors_of(
        [
            {"wrods": [], "name": 3, "words": "weather"},
            "weather",
            {"pattern": "a(", "expected": [1]},
            {"name": "x"},
            {"name": "y", "words": ["y"]},
            {"name": "y", "words": ["z"]},
        ]
    )
    assert ["rules: read {}, expected a list of tables"] == errors_of({})


def test_anti_patterns() -> None:
    """They are tables too, of which all errors are told."""
    assert (
        AntiPattern(kind="repeat"),
        AntiPattern(kind="after", first="a", then="b", penalty=1),
        AntiPattern(kind="more_than", tool="a", n=2, penalty=0.5),
    ) == anti_patterns_of(
        [
            {"kind": "repeat"},
            {"kind": "after", "first": "a", "then": "b", "penalty": 1},
            {"kind": "more_than", "tool": "a", "n": 2, "penalty": 0.5},
        ],
        "anti_patterns",
    )
    with pytest.raises(SpecError) as raised:
        anti_patterns_of([{"kind": "twice"}, {"kind": "repeat", "penalty": "x", "n": 1.5}, {"kind": "before"}], "a")
    assert [
        "a[1]: AntiPattern: kind: read 'twice', expected one of repeat, before, after, more_than",
        "a[2].penalty: read 'x', expected a number",
        "a[2].n: read 1.5, expected a whole number",
        "a[3]: AntiPattern 'before': first and then not given, expected first and then",
    ] == str(raised.value).splitlines()


YAML = "- name: weather\n  words: [weather]\n  expected: [get_weather]\n"
TOML = '[[rules]]\nname = "weather"\nwords = ["weather"]\nexpected = ["get_weather"]\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.yaml", YAML),
        ("r.YML", "rules:\n" + YAML),
        ("r.toml", TOML),
        ("r.json", json.dumps([{"name": "weather", "words": ["weather"], "expected": ["get_weather"]}])),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    """A list of rules, or one under `rules`, in three languages."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert (Rule(name="weather", words=("weather",), expected=("get_weather",)),) == load_rules(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.txt", "", r"r.txt: read '.txt', expected one of .yaml, .yml, .toml, .json"),
        ("r", "", "read 'no suffix'"),
        ("r.yaml", "a: [", "r.yaml: is not YAML: while parsing"),
        ("r.yaml", "", "r.yaml, top: read None, expected a list of tables"),
        ("r.toml", "a = ", "r.toml: is not TOML: "),
        ("r.json", "[" * 100_000, "r.json: is not JSON: "),
        ("r.json", " " * 1_000_001, "r.json: is larger than 1000000 bytes"),
        ("r.yaml", "rule: []", "r.yaml, rule: unknown key; known: rules"),
        ("r.yaml", "rules: [{name: yes}]", r"r.yaml, rules\[1\].name: read True, expected text"),
        ("r.yaml", "!!python/object:os.system {}", "r.yaml: is not YAML: could not determine a constructor"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, text: str, words: str) -> None:
    """The file is named, with the place and the reason."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=words):
        load_rules(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The system's reason is told."""
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        load_rules(tmp_path / "r.yaml")


def test_without_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings the reader is named."""
    (tmp_path / "r.yaml").write_text(YAML, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SpecError, match=r"rules in YAML need pyyaml: pip install 'spanwise\[cli\]'"):
        load_rules(tmp_path / "r.yaml")
