"""What surrounds each verb."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from spanwise.cli.guard import guarded, tell_bug
from spanwise.errors import SourceError, SpecError


def code_of(verb: Callable[[], int]) -> int:
    """The exit code of a guarded verb."""
    with pytest.raises(typer.Exit) as left:
        guarded(verb)()
    return left.value.exit_code


def raising(error: BaseException) -> Callable[[], int]:
    """A verb that raises."""

    def verb() -> int:
        raise error

    return verb


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Logs are written to a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_verb_leaves_with_its_code() -> None:
    """What a verb returns is the exit code."""
    assert [0, 1, 3] == [code_of(lambda code=code: code) for code in (0, 1, 3)]


def test_errors_of_users_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors that their reader can act on are one line each, and exit 2."""
    assert [2, 2] == [
        code_of(raising(error)) for error in (SpecError("a\nb"), SourceError("c", source="f", place="line 1"))
    ]
    assert "error: a\nerror: b\nerror: f, line 1: c\n" == capsys.readouterr().err


def test_an_interrupt_is_130() -> None:
    """An interrupt leaves quietly."""
    assert 130 == code_of(raising(KeyboardInterrupt()))


def test_a_bug_leaves_a_log_without_content(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unexpected exception is exit 3, one line, and a log with the places and types but no message."""
    cause = KeyError("words of a trace")
    error = ValueError("more words of a trace")
    error.__cause__ = cause
    assert 3 == code_of(raising(error))
    (log,) = logs.iterdir()
    text = log.read_text()
    assert f"spanwise: a bug of Spanwise (ValueError); please report it with the log {log}\n" == capsys.readouterr().err
    assert ("words" in text, "builtins.ValueError" in text, "builtins.KeyError" in text) == (False, True, True)
    assert "test_guard.py" in text
    assert 0o600 == log.stat().st_mode & 0o777


def test_a_log_names_no_folder_of_the_user(logs: Path) -> None:
    """Paths in a log begin at the package, so that it can be pasted."""
    try:
        tempfile.mkdtemp(dir=str(logs / "none"))
    except OSError as error:
        tell_bug(error)
    (log,) = logs.iterdir()
    assert "\n  python3" in log.read_text() or "\n  tempfile.py" in log.read_text()
    assert str(logs) not in log.read_text()


def test_usage_errors_stay_with_typer() -> None:
    """An exception that the command line understands is left to it."""
    with pytest.raises(typer.BadParameter):
        guarded(raising(typer.BadParameter("x")))()


def test_a_failing_evaluator_is_told_once(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A warning with an exception becomes a line and a log, one without a line, a message of a lower level nothing."""

    def verb() -> int:
        logger = logging.getLogger("spanwise")
        logger.debug("nothing")
        try:
            raise KeyError("words")
        except KeyError:
            logger.warning("evaluator %r failed", "x", exc_info=True)
        logger.warning("plain")
        return 0

    assert 0 == code_of(verb)
    (log,) = logs.iterdir()
    assert f"warning: evaluator 'x' failed (log: {log})\nwarning: plain\n" == capsys.readouterr().err
    assert [] == [one for one in logging.getLogger("spanwise").handlers if type(one).__module__ == "spanwise.cli.guard"]
