"""Evaluators of other packages: by dotted path, and by entry point."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spanwise import extensions
from spanwise.cli.main import app
from spanwise.config import load
from spanwise.errors import SpecError
from spanwise.extensions import EXPECTED, Listed, announced, listed, problem_of
from spanwise.extensions import load as load_path
from spanwise.run import evaluate
from tests.making import agent, run_of, tool
from tests.third_party.acme import install

RUN = run_of(agent(1), *(tool(n, parent=1, arguments={"n": n}, result=n) for n in (10, 30)))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with the package, which announces two evaluators, a broken one, and a built-in's name."""
    folder = tmp_path / "site"
    folder.mkdir()
    points = {
        "refund": "acme_checks:Refund",
        "polite": "acme_checks:polite",
        "gone": "acme_checks:Gone",
        "cost": "acme_checks:READY",
    }
    install(folder, points)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("acme_checks", None)


def settings(folder: Path, text: str) -> Path:
    """A file of settings."""
    path = folder / "spanwise.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> list[str]:
    """The errors of a file of settings, without its path."""
    path = settings(folder, text)
    with pytest.raises(SpecError) as caught:
        load(path)
    return [line.removeprefix(f"{path}, ") for line in str(caught.value).splitlines()]


@pytest.mark.usefixtures("package")
def test_a_dotted_path(tmp_path: Path) -> None:
    """A class is made with the parameters of its table, a function or a value is taken as it is; each has its name."""
    text = """
[evaluators]
strict = { use = "acme_checks:Refund", limit = 1, names = ["a"] }
refund = { use = "acme_checks:Refund" }
ready = { use = "acme_checks:READY" }
please = { use = "acme_checks:polite" }
slow = { use = "acme_checks:Slow" }
needs = { use = "acme_checks:Needs", name = "x" }
"""
    found = load(settings(tmp_path, text)).evaluators
    named = {name: found[name] for name in ("strict", "refund", "ready", "please", "slow", "needs")}
    scores = evaluate(RUN, named).scores
    assert ["strict", "refund", "ready", "please", "slow", "needs"] == [score.name for score in scores]
    assert [0.0, 1.0, 0.0, 0.0, 1.0, 1.0] == [score.value for score in scores]
    assert 6 == len({score.config_hash for score in scores})


@pytest.mark.usefixtures("package")
def test_an_entry_point(tmp_path: Path) -> None:
    """A name that a package announces is known where it is named, in a list, in a table and on the command line."""
    assert ["polite", "refund"] == sorted(load(settings(tmp_path, 'evaluators = ["refund", "polite"]')).evaluators)
    found = load(settings(tmp_path, "[evaluators]\nrefund = {limit = 0}\npolite = true\n")).evaluators
    assert [0.0, 0.0] == [score.value for score in evaluate(RUN, {n: found[n] for n in ("refund", "polite")}).scores]
    assert ["refund"] == list(load(settings(tmp_path, "")).only(["refund"]).evaluators)
    assert "refund" not in load(settings(tmp_path, "")).evaluators


@pytest.mark.usefixtures("package")
def test_what_is_wrong_with_another_packages_evaluator(tmp_path: Path) -> None:
    """Whatever is wrong is one clear line with its place: no module, no such name, no evaluator, other parameters."""
    text = """
[evaluators]
a = { use = "acme_missing:Refund" }
b = { use = "acme_checks:Nothing" }
c = { use = "acme_checks:NUMBER" }
d = { use = "acme_checks:Mute" }
e = { use = "acme_checks:three" }
f = { use = "acme_checks:later" }
g = { use = "acme_checks:Later" }
h = { use = "acme checks:Refund" }
i = { use = "acme_checks:Refund", limit = "x", more = 1 }
j = { use = "acme_checks:Refund", limit = -1 }
k = { use = "acme_checks:Needs" }
l = { use = "acme_checks:Needs", name = "boom" }
m = { use = "acme_checks:polite", limit = 1 }
gone = true
"""
    start = "evaluators."
    number = "it is of type int, cannot be called and has no steps"
    three = "it cannot be called with a run alone (missing a required argument: 'two')"
    assert [
        "a: 'acme_missing:Refund' cannot be loaded: ModuleNotFoundError: No module named 'acme_missing'",
        "b: 'acme_checks:Nothing' cannot be loaded: AttributeError: module 'acme_checks' has no attribute 'Nothing'",
        f"c: 'acme_checks:NUMBER' is no evaluator, {number}; expected {EXPECTED}",
        f"d: 'acme_checks:Mute' is no evaluator, its values cannot be called and have no steps; expected {EXPECTED}",
        f"e: 'acme_checks:three' is no evaluator, {three}; expected {EXPECTED}",
        f"f: 'acme_checks:later' is no evaluator, it is asynchronous; expected {EXPECTED}",
        f"g: 'acme_checks:Later' makes no evaluator, it is asynchronous; expected {EXPECTED}",
        "h: read 'acme checks:Refund', expected a path such as 'acme.checks:Refund'",
        "i.limit: read 'x', expected a whole number",
        "i.more: unknown key; known: limit, names",
        "j: refund: read -1, expected a limit of at least 0",
        "k.name: missing, expected text",
        "l: RuntimeError: no such name",
        "m: 'acme_checks:polite' has no parameters; read limit",
        "gone: 'acme_checks:Gone' cannot be loaded: AttributeError: module 'acme_checks' has no attribute 'Gone'",
    ] == [line.removeprefix(start) for line in refused(tmp_path, text)]


@pytest.mark.usefixtures("package")
def test_they_are_listed() -> None:
    """Every announced evaluator is listed with its package; a broken one says why, and stops nothing."""
    found = {one.name: one for one in listed()}
    assert ["cost", "gone", "polite", "refund"] == list(found)
    assert {"acme-checks 1.2"} == {one.origin for one in found.values()}
    assert "cannot be loaded: AttributeError" in found["gone"].problem
    assert "Refund" == getattr(found["refund"].made, "__name__", "")
    assert Listed(name="x", origin="y") == Listed(name="x", origin="y", made=None, problem="")


@pytest.mark.usefixtures("package")
def test_the_command_lists_them() -> None:
    """`spanwise evaluators` shows whose they are, which is hidden by a built-in, and which cannot be loaded."""
    lines = CliRunner().invoke(app, ["evaluators", "--format", "json"]).output.splitlines()
    found = {(one["name"], one["origin"]): one for one in map(json.loads, lines)}
    refund = found["refund", "acme-checks 1.2"]
    assert ("Was the refund in order?", "1 if at most `limit` tools were called.") == (
        refund["question"],
        refund["value"],
    )
    assert {"name": "limit", "type": "int", "default": "3"} == refund["parameters"][0]
    assert "" == found["cost", "built-in"]["problem"]
    assert ("cost", "acme-checks 1.2; hidden by the built-in cost") in found
    assert "cannot be loaded" in found["gone", "acme-checks 1.2"]["problem"]
    table = CliRunner().invoke(app, ["evaluators"]).output
    assert [True] * 3 == [word in table for word in ("from acme-checks 1.2", "cannot be loaded", "Was the refund in")]


def test_nothing_is_loaded_that_is_not_named(package: Path, tmp_path: Path) -> None:
    """Settings that name no evaluator of another package load none."""
    assert package.is_dir()
    load(settings(tmp_path, 'evaluators = ["cost"]'))
    assert "acme_checks" not in sys.modules


def test_the_first_of_a_name_counts(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two packages that announce one name, that which Python finds first is taken."""
    assert package.is_dir()
    other = tmp_path / "other"
    other.mkdir()
    install(other, {"refund": "acme_other:Refund"}, name="other", module="acme_other")
    monkeypatch.syspath_prepend(str(other))
    assert "acme_other:Refund" == announced()["refund"].value


@pytest.mark.parametrize("path", ["", ":", "a", "a:", ":b", "a b:c", "a:b-c", "a..b:c", "a:b:c"])
def test_paths_that_are_none(path: str) -> None:
    """What has not the form `module:name` is refused as such."""
    with pytest.raises(SpecError, match=r"expected a path such as 'acme\.checks:Refund'"):
        load_path(path)


def test_values_without_a_signature() -> None:
    """A built-in function whose signature Python does not know is taken at its word; a bound method fits too."""
    assert ["", ""] == [problem_of(one) for one in (print, [].append)]
    assert "" == problem_of(iter)
    assert extensions.GROUP == "spanwise.evaluators"
