"""The verbs of the command line are those of its page, and none stands twice."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

SECTION = re.compile(r"^#+ `spanwise ([a-z][a-z -]*)`", re.MULTILINE)


@pytest.fixture(scope="module")
def command() -> object:
    """The command line as it runs."""
    from spanwise.cli.main import app

    return typer.main.get_command(app)


def verbs(group: object, prefix: str = "") -> Iterator[str]:
    """The verbs below a group, each with the groups it stands in."""
    commands = getattr(group, "commands", None)
    if commands is None:
        yield prefix
        return
    for name, command in commands.items():
        yield from verbs(command, f"{prefix} {name}".strip())


def described(group: Any, prefix: str = "") -> Iterator[tuple[str, str, str | None]]:
    """The verb, name and help of every parameter below a group."""
    commands = getattr(group, "commands", None)
    for parameter in () if commands is not None else group.load().params:
        yield prefix, parameter.name, getattr(parameter, "help", None)
    for name, command in (commands or {}).items():
        yield from described(command, f"{prefix} {name}".strip())


def test_verbs_are_documented(root: Path, command: object) -> None:
    """docs/cli.md has a section for each verb, and for nothing else."""
    sections = SECTION.findall((root / "docs" / "cli.md").read_text(encoding="utf-8"))
    assert sorted(verbs(command)) == sorted(sections)


def test_no_verb_stands_twice(command: object) -> None:
    """A verb of the top level is not the name of a verb in a group."""
    listed = [verb.split()[-1] for verb in verbs(command)]
    assert sorted(set(listed)) == sorted(listed)


def test_each_verb_has_its_module(root: Path, command: object) -> None:
    """The command line has one module for each verb or group of verbs."""
    top = {verb.split()[0].replace("-", "_") for verb in verbs(command)}
    modules = {path.stem for path in (root / "src" / "spanwise" / "cli").glob("*.py")}
    assert set() == top - modules


def test_every_option_has_help(command: object) -> None:
    """Each argument and option of each verb says what it is for."""
    found = list(described(command))
    assert {"score", "serve", "store ls"} <= {verb for verb, _, _ in found}
    assert [] == [f"{verb} {name}" for verb, name, text in found if not text]
