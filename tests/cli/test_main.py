"""The command as a whole."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from spanwise.cli.main import app
from tests.cli.command import spanwise

VERBS = ("inspect", "score", "evaluators", "doctor", "demo")


def test_the_version_is_printed() -> None:
    """--version prints name and version."""
    done = spanwise("--version")
    assert (0, f"spanwise {version('spanwise')}\n", "") == (done.code, done.out, done.err)


def test_help_lists_the_verbs() -> None:
    """The help of the command names every verb and the exit codes."""
    text = CliRunner().invoke(app, ["--help"]).output
    assert (set(), True) == ({verb for verb in VERBS if verb not in text}, "Exit codes" in text)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_has_examples(verb: str) -> None:
    """Each verb's help ends in examples that begin with the command."""
    result = CliRunner().invoke(app, [verb, "-h"])
    _, found, examples = result.output.partition("Examples:\n")
    assert (0, True) == (result.exit_code, bool(found))
    assert {f"spanwise {verb}"} == {" ".join(line.split()[:2]) for line in examples.splitlines() if line.strip()}


@pytest.mark.parametrize(
    "arguments", [[], ["scor"], ["score"], ["score", "x", "--nope"], ["inspect", "x", "--width", "3"]]
)
def test_usage_errors_are_exit_2(arguments: list[str]) -> None:
    """What cannot be understood is exit 2 with the usage on standard error, nothing on standard output."""
    done = spanwise(*arguments)
    assert (2, "", True) == (done.code, done.out, done.err.startswith("Usage: spanwise"))
