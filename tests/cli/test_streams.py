"""Standard streams that are closed, or that take no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment
from tests.corpus.facts import RECORDINGS

GOOD = str(RECORDINGS / "pydantic-ai__builtin.json")
FULL = "standard output: cannot be written: No space left on device"
# A device that has no room is there on Linux only; elsewhere a full disk cannot be made.
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


def run(streams: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command with its streams redirected as a shell does it."""
    words = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-m", "spanwise", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, env=environment())
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("streams", "arguments", "code"),
    [
        (">&-", ("score", GOOD), 0),
        (">&-", ("inspect", GOOD), 0),
        ("2>&-", ("score", "no-such-file"), 2),
        ("<&- >&- 2>&-", ("score", "-"), 2),
    ],
)
def test_what_goes_to_a_closed_stream_is_lost(streams: str, arguments: tuple[str, ...], code: int) -> None:
    """A closed stream is no error: the exit code says what became of the work."""
    assert (code, "", "") == run(streams, *arguments)


def test_a_closed_standard_input_is_one_error() -> None:
    """Reading from a standard input that was closed is an error that says so."""
    assert (2, "", "error: stdin: standard input is closed\n") == run("<&-", "score", "-")


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [("score", GOOD), ("score", GOOD, "--format", "json"), ("inspect", GOOD), ("doctor",), ("--version",), ("-h",)],
    ids=" ".join,
)
def test_a_full_disk_is_no_bug(arguments: tuple[str, ...]) -> None:
    """Where the result cannot be written, one line says so, and the exit code is 3."""
    assert (3, "", f"error: {FULL}\n") == run("> /dev/full", *arguments)


@needs_full
def test_a_file_that_takes_no_more_is_named() -> None:
    """Of `--output` the file is named that could not be written."""
    code, out, err = run("", "score", GOOD, "--output", "/dev/full")
    assert (3, "", "error: /dev/full: cannot be written: No space left on device\n") == (code, out, err)
