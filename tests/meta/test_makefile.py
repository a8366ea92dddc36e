"""The verbs of the project: each says what it does, and CI runs them and nothing else."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

TARGET = re.compile(r"^(?P<name>[a-z][a-z0-9-]*):(?P<needs>[^#\n=]*)(?:## (?P<text>.+))?$", re.MULTILINE)


@pytest.fixture(scope="module")
def targets(root: Path) -> Mapping[str, tuple[list[str], str]]:
    """Each target of the Makefile with what it needs and what it says of itself."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    return {match["name"]: (match["needs"].split(), match["text"] or "") for match in TARGET.finditer(text)}


def printed(root: Path, *goals: str) -> list[str]:
    """The first words of the lines that make prints."""
    done = subprocess.run(["make", "-s", *goals], cwd=root, capture_output=True, text=True, check=True, timeout=60)
    return [line.removeprefix("make ").split()[0] for line in done.stdout.splitlines()]


def test_make_alone_lists_the_verbs(root: Path, targets: Mapping[str, tuple[list[str], str]]) -> None:
    """`make` prints a line for each verb, and has one for each that the project promises."""
    listed = printed(root)
    assert listed == [name for name, (_, text) in targets.items() if text and "-" not in name]
    promised = {
        "demo",
        "test",
        "lint",
        "fix",
        "snap",
        "bench",
        "fuzz",
        "docs",
        "wheel",
        "lowest",
        "e2e",
        "check",
        "nightly",
    }
    assert set() == promised - set(listed)


def test_what_only_nightly_covers_is_listed(root: Path, targets: Mapping[str, tuple[list[str], str]]) -> None:
    """CI prints by name every part of nightly that it does not run itself."""
    in_ci = {f"nightly-{step}" for step in steps(root) if not targets.get(f"nightly-{step}", ([], ""))[1]}
    assert sorted(set(targets["nightly"][0]) - in_ci) == sorted(printed(root, "nightly-list"))


def test_ci_runs_verbs(root: Path, targets: Mapping[str, tuple[list[str], str]]) -> None:
    """Each step of CI is a verb."""
    assert set() == set(steps(root)) - set(targets)
    assert {"lint", "test", "docs", "wheel", "lowest", "e2e"} <= set(steps(root))


def steps(root: Path) -> list[str]:
    """The steps that CI runs, in order."""
    match = re.search(r"^steps=\(([a-z0-9 ]+)\)$", (root / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None
    return match[1].split()
