"""Settings of a project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.catalog import CLASSIC, EVALUATORS, PROFILES, default_evaluators
from spanwise.config import KEYS, Settings, SinkSettings, load
from spanwise.errors import SpecError
from spanwise.evaluators.overall import DEFAULT
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.masking import DEFAULT as DEFAULT_MASKING
from spanwise.masking import Masking
from spanwise.model.expectation import Rule, Rules
from spanwise.run import THRESHOLDS

KNOWN = ", ".join(KEYS)


def write(folder: Path, text: str, name: str = "spanwise.toml") -> Path:
    """A file of settings."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str, name: str = "spanwise.toml") -> list[str]:
    """The lines of the error that a text gives, without the path."""
    with pytest.raises(SpecError) as caught:
        load(write(folder, text, name))
    return [line.removeprefix(str(folder / name)).lstrip(":, ") for line in str(caught.value).splitlines()]


# Where settings are


def test_without_a_file_everything_runs(tmp_path: Path) -> None:
    """The defaults are all evaluators of the default profile and the built-in thresholds."""
    (tmp_path / ".git").mkdir()
    found = load(start=tmp_path)
    assert Settings(evaluators=default_evaluators(), thresholds=dict(THRESHOLDS)) == found
    assert (*EVALUATORS, "overall") == found.score_names


def test_settings_are_read(tmp_path: Path) -> None:
    """Evaluators and thresholds are what the file says, and what it does not say stays."""
    path = write(tmp_path, 'evaluators = ["cost"]\n[thresholds.redundancy]\nok = 1\n[thresholds.mine]\nalert = 0.1\n')
    found = load(path)
    assert (["cost"], (1.0, 0.85), (0.8, 0.1), THRESHOLDS["recovery"], str(path)) == (
        list(found.evaluators),
        found.thresholds["redundancy"],
        found.thresholds["mine"],
        found.thresholds["recovery"],
        found.source,
    )


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    """A file is looked for from the folder upwards; a pyproject.toml without settings is passed over."""
    write(tmp_path, '[tool.spanwise]\nevaluators = ["recovery"]', "pyproject.toml")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(inner.parent, "[tool.other]\nx = 1", "pyproject.toml")
    assert ["recovery"] == list(load(start=inner).evaluators)


def test_a_repository_is_not_left(tmp_path: Path) -> None:
    """What lies above the folder that holds the repository is not read."""
    write(tmp_path, 'evaluators = ["recovery"]')
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert "" == load(start=tmp_path / "repository").source


def test_spanwise_toml_goes_first(tmp_path: Path) -> None:
    """Of two files in a folder, the one of its own counts."""
    write(tmp_path, 'evaluators = ["cost"]')
    write(tmp_path, '[tool.spanwise]\nevaluators = ["recovery"]', "pyproject.toml")
    assert ["cost"] == list(load(start=tmp_path).evaluators)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    """A file that was asked for and cannot be read is an error; it is not text, likewise."""
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="is not TOML"):
        load(tmp_path / "bytes.toml")


def test_a_named_pyproject_without_settings_gives_the_defaults(tmp_path: Path) -> None:
    """A pyproject.toml that was asked for may have nothing to say."""
    path = write(tmp_path, "", "pyproject.toml")
    assert (list(EVALUATORS), str(path)) == (list(load(path).evaluators), load(path).source)


# What settings are


def test_everything_that_can_be_set(tmp_path: Path) -> None:
    """Profile, budget, rules, parameters, weights and thresholds together."""
    text = """
profile = "default"
budget_ms = 2.5
rules = [{ name = "weather", words = ["rain"], expected = ["get_weather"] }]

[evaluators]
cost = false
redundancy = { near_duplicates = "count" }
redundancy_off = { use = "redundancy", near_duplicates = "off" }
selection = { use = "spanwise.evaluators.tool_selection:ToolSelection", expected = ["search"] }

[weights]
redundancy_off = 0.3
latency = 0

[thresholds.redundancy_off]
ok = 0.5
alert = 0.4
"""
    found = load(write(tmp_path, text))
    rules = (Rule(name="weather", words=("rain",), expected=("get_weather",)),)
    assert Redundancy(near_duplicates="count") == found.evaluators["redundancy"]
    assert Redundancy(near_duplicates="off") == found.evaluators["redundancy_off"]
    assert ToolSelection(expected=("search",), rules=rules) == found.evaluators["selection"]
    assert [name for name in EVALUATORS if name != "cost"] + ["redundancy_off", "selection"] == list(found.evaluators)
    assert (2_500_000, Rules(rules), (0.5, 0.4)) == (found.budget_ns, found.rules, found.thresholds["redundancy_off"])
    assert found.overall is not None
    assert {**DEFAULT, "redundancy_off": 0.3, "latency": 0.0} == dict(found.overall.weights)


def test_rules_are_for_tool_selection(tmp_path: Path, require: Callable[[str], str]) -> None:
    """The project's rules are those of every tool_selection that has none of its own; they may be in a file."""
    require("yaml")
    write(tmp_path, "- {name: news, words: [news], expected: [web_search]}\n", "rules.yaml")
    text = """
rules = "rules.yaml"
[evaluators]
first = { use = "spanwise.evaluators.tool_selection:ToolSelection" }
second = { use = "spanwise.evaluators.tool_selection:ToolSelection", rules = [{ name = "a", words = ["a"] }] }
"""
    found = load(write(tmp_path, text))
    assert ["news", "a"] == [found.evaluators[name].rules[0].name for name in ("first", "second")]
    assert "news" == found.rules.match("The news?").query_type


def test_anti_patterns_are_for_tool_sequence(tmp_path: Path) -> None:
    """Anti-patterns are read as tables."""
    text = """
[evaluators.order]
use = "spanwise.evaluators.tool_sequence:ToolSequence"
anti_patterns = [{ kind = "repeat", tool = "search" }]
"""
    assert "search" == load(write(tmp_path, text)).evaluators["order"].anti_patterns[0].tool


def test_the_classic_profile(tmp_path: Path) -> None:
    """A profile decides what runs and how it is weighed; what is named goes before it; an argument before the file."""
    path = write(tmp_path, 'profile = "classic"\n[evaluators]\ncost = true\n[weights]\nrecovery = 0.1\n')
    found = load(path)
    assert ("classic", [*CLASSIC, "cost"]) == (found.profile, list(found.evaluators))
    assert found.overall is not None
    assert {**PROFILES["classic"].overall.weights, "recovery": 0.1} == dict(found.overall.weights)
    assert {"retrieval_relevance": 1.0} == dict(found.overall.without)
    assert list(CLASSIC) == list(load(write(tmp_path, ""), profile="classic").evaluators)
    with pytest.raises(SpecError, match="read 'odd', expected a profile: default, classic"):
        load(path, profile="odd")


def test_an_overall_score_when_it_is_wanted(tmp_path: Path) -> None:
    """Without a list there is one, unless it is switched off; a list has to name it."""
    texts = ("", "evaluators = {overall = false}", 'evaluators = ["cost"]', 'evaluators = ["cost", "overall"]')
    assert [True, False, False, True] == [load(write(tmp_path, text)).overall is not None for text in texts]


def test_only_some_evaluators(tmp_path: Path) -> None:
    """Evaluators are chosen by name, as they are configured; one that is not known is an error that lists the known."""
    found = load(write(tmp_path, 'evaluators = {strict = {use = "redundancy", near_duplicates = "count"}}'))
    chosen = found.only(["cost", "strict", "redundancy"])
    assert ["redundancy", "cost", "strict"] == list(chosen.evaluators)
    assert (Redundancy(near_duplicates="count"), None) == (chosen.evaluators["strict"], chosen.overall)
    assert ("strict", "overall") == found.only(["strict", "overall"]).score_names
    with pytest.raises(SpecError, match="unknown evaluator 'x'; known: "):
        found.only(["x"])


# What is wrong with settings


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    """Each error names its place, what was read and what was expected."""
    text = """
evalutors = 1
profile = "modern"
budget_ms = -1
rules = [{ name = "x", words = ["a"], expects = ["b"] }]
[evaluators]
nope = { x = 1 }
redundancy = { near_duplicates = "maybe", near = 1 }
recovery = 3
latency_2 = { use = 5 }
overall = { weights = 1 }
cost = { budget_usd = "ten", budget_tokens = 1.5 }
[weights]
redundancy = -1
redundant = 1
recovery = true
cost = nan
[thresholds]
x = 3
[thresholds.redundancy]
ok = 0.5
alert = 0.9
[thresholds.cost]
ok = true
warn = 1
"""
    found = refused(tmp_path, text)
    known = ", ".join(EVALUATORS)
    assert [
        f"evalutors: unknown key; known: {KNOWN}",
        "profile: read 'modern', expected 'default' or 'classic'",
        "rules[1].expects: unknown key; known: name, words, pattern, expected, forbidden",
        "evaluators.redundancy.near_duplicates: read 'maybe', expected 'issue' or 'count' or 'off'",
        "evaluators.redundancy.near: unknown key; known: near_duplicates",
        "evaluators.recovery: read 3, expected a table of parameters, true or false",
        "evaluators.cost.budget_usd: read 'ten', expected a number",
        "evaluators.cost.budget_tokens: read 1.5, expected a whole number",
        f"evaluators.nope: unknown evaluator 'nope'; known: {known}",
        "evaluators.latency_2.use: read 5, expected a name, or a path such as acme.checks:Refund",
        "evaluators.overall: read {'weights': 1}, expected true or false; `weights` says how it weighs",
        "weights.redundancy: read -1, expected a number of at least 0",
        "weights.recovery: read True, expected a number of at least 0",
        "weights.cost: read nan, expected a number of at least 0",
        "thresholds.x: read 3, expected a table",
        "thresholds.redundancy: alert 0.9 lies above ok 0.5",
        "thresholds.cost.warn: unknown key; known: ok, alert",
        "thresholds.cost.ok: read True, expected a number from 0 to 1",
        "budget_ms: read -1, expected a number of milliseconds above 0",
    ] == [line for line in found if not line.startswith("weights.redundant:")]
    assert [line for line in found if line.startswith("weights.redundant: unknown score; known: ")]


@pytest.mark.parametrize(
    ("text", "name", "error"),
    [
        ("a = ", "spanwise.toml", "is not TOML: Invalid value (at end of document)"),
        ("evaluators = []", "spanwise.toml", "evaluators: read [], expected a list of names of evaluators, or a table"),
        (
            "evaluators = ['cost', 1]",
            "spanwise.toml",
            "evaluators: read ['cost', 1], expected a list of names of evaluators, or a table",
        ),
        (
            "evaluators = 'cost'",
            "spanwise.toml",
            "evaluators: read 'cost', expected a list of names of evaluators, or a table",
        ),
        (
            "evaluators = ['nope']",
            "spanwise.toml",
            f"evaluators: unknown evaluator 'nope'; known: {', '.join(EVALUATORS)}",
        ),
        ("[tool]\nspanwise = 3", "pyproject.toml", "tool.spanwise: read 3, expected a table"),
        ("[tool.spanwise]\nx = 3", "pyproject.toml", f"tool.spanwise.x: unknown key; known: {KNOWN}"),
        ("weights = 3", "spanwise.toml", "weights: read 3, expected a table"),
        ("budget_ms = true", "spanwise.toml", "budget_ms: read True, expected a number of milliseconds above 0"),
        ("budget_ms = inf", "spanwise.toml", "budget_ms: read inf, expected a number of milliseconds above 0"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, text: str, name: str, error: str) -> None:
    """A file that is no TOML, or holds something else than settings, is one error."""
    assert [error] == refused(tmp_path, text, name)


def test_weights_that_are_all_zero(tmp_path: Path) -> None:
    """Weights of which none is left are refused."""
    text = "[weights]\n" + "".join(f"{name} = 0\n" for name in DEFAULT)
    assert ["weights: All weights are 0; expected at least one that is greater."] == refused(tmp_path, text)


@pytest.mark.parametrize("pattern", ["(", "(a+)+$"])
def test_bad_regexes_are_refused(tmp_path: Path, pattern: str) -> None:
    """A regex that is none, or that would run for ever elsewhere, is refused before anything is read."""
    found = refused(tmp_path, f"rules = [{{name = 'x', pattern = '{pattern}', expected = ['a']}}]")
    assert (1, True) == (len(found), found[0].startswith("rules[1].pattern: "))


def test_a_file_of_rules_that_is_unusable(tmp_path: Path, require: Callable[[str], str]) -> None:
    """What is wrong with a file of rules is told with the file and its place."""
    require("yaml")
    write(tmp_path, "- {name: 3}\n", "rules.yaml")
    for text in ('rules = "rules.yaml"', 'rules = "none.yaml"'):
        assert all(line.startswith("rules: ") and ".yaml" in line for line in refused(tmp_path, text))


# Where results go, and what is masked


def test_sinks_are_read(tmp_path: Path) -> None:
    """Sinks are a list of names, or a table with options, a level of content and another name."""
    assert {"log": SinkSettings(use="log"), "jsonl": SinkSettings(use="jsonl")} == load(
        write(tmp_path, 'sinks = ["log", "jsonl"]')
    ).sinks
    text = '[sinks]\nlog = true\nconsole = false\nmine = {use = "acme.x:Y", content = "evidence", to = "a"}\n'
    assert {
        "log": SinkSettings(use="log"),
        "mine": SinkSettings(use="acme.x:Y", content="evidence", options={"to": "a"}),
    } == load(write(tmp_path, text)).sinks


def test_masking_is_read(tmp_path: Path) -> None:
    """The table of masking says which kinds, which regexes, and what is allowed; without it all kinds are masked."""
    text = '[masking]\nkinds = ["email"]\npatterns = {mine = "M-[0-9]"}\nallow = ["a@b.test"]\nallow_patterns = ["M-0"]'
    expected = Masking(kinds=("email",), patterns={"mine": "M-[0-9]"}, allow=("a@b.test",), allow_patterns=("M-0",))
    assert expected == load(write(tmp_path, text)).masking
    assert load(write(tmp_path, "")).masking is DEFAULT_MASKING


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("sinks = [3]", "sinks: read [3], expected a list of names of sinks, or a table"),
        ("sinks = 3", "sinks: read 3, expected a table"),
        ("[sinks]\nlog = 3", "sinks.log: read 3, expected a table of options, true or false"),
        (
            "[sinks]\nlog = {use = 3}",
            "sinks.log.use: read 3, expected a name, or a path such as acme.ledger:LedgerSink",
        ),
        (
            '[sinks]\nlog = {content = "some"}',
            "sinks.log.content: read 'some', expected 'none' or 'evidence' or 'all'",
        ),
        ("[masking]\nallow = 3", "masking.allow: read 3, expected a list of text"),
        ("[masking]\nkind = []", "masking.kind: unknown key; known: kinds, patterns, functions, allow, allow_patterns"),
        ('[masking]\nkinds = ["mail"]', "masking: unknown kind of secret 'mail'; known: private key,"),
        ('[masking]\npatterns = {a = "("}', "masking: '(' is not a regex: missing "),
    ],
)
def test_sinks_and_masks_that_cannot_be_used(
    tmp_path: Path, text: str, error: str, require: Callable[[str], str]
) -> None:
    """What is wrong is told with its place, before anything is scored."""
    if "regex" in error:
        require("re2")
    (found,) = refused(tmp_path, text)
    assert found.startswith(error)
