"""The progress bar."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from spanwise.cli.progress import Waiting


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        """Always true."""
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Makes standard error a terminal, once the test runs: before that pytest would take it back."""
    monkeypatch.setenv("TERM", "xterm")

    def replace() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


def work(waiting: Waiting) -> None:
    """Half a file of ten kilobytes is read, then there is something to say."""
    with waiting:
        waiting.tell(5_000, 10_000, "a\x1b[31m.json")
        waiting.complain("error: it\x07broke")


def ticks(*times: float) -> Callable[[], float]:
    """A clock that shows these times."""
    left = iter(times)
    return lambda: next(left)


def test_long_work_shows_a_bar(terminal: Callable[[], Terminal]) -> None:
    """After half a second the bar shows how much is read; complaints stand above it, and nothing hostile is printed."""
    stream = terminal()
    work(Waiting(clock=ticks(0.0, 0.6)))
    text = stream.getvalue()
    assert (True, True, True) == ("5.0/10.0 kB" in text, r"a\x1b[31m.json" in text, r"error: it\x07broke" in text)


def test_short_work_shows_none(terminal: Callable[[], Terminal]) -> None:
    """Within half a second only complaints are printed."""
    stream = terminal()
    work(Waiting(clock=ticks(0.0, 0.4)))
    assert "error: it\\x07broke\n" == stream.getvalue()


def test_no_bar_where_none_is_wanted(terminal: Callable[[], Terminal]) -> None:
    """Where the result is printed to the same terminal meanwhile, there is no bar."""
    stream = terminal()
    work(Waiting(wanted=False, clock=ticks(0.0, 9.0)))
    assert "error: it\\x07broke\n" == stream.getvalue()


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard error is no terminal there is no bar, however long it takes."""
    work(Waiting(clock=ticks(0.0, 9.0)))
    assert "error: it\\x07broke\n" == capsys.readouterr().err


def test_a_bar_ends_before_the_result(terminal: Callable[[], Terminal]) -> None:
    """Once the work is done no bar comes back."""
    stream = terminal()
    with Waiting(clock=ticks(0.0, 1.0)) as waiting:
        waiting.done()
        waiting.tell(1, 2, "x")
    assert "" == stream.getvalue()


def test_work_may_be_counted_in_pieces(terminal: Callable[[], Terminal]) -> None:
    """Where it is no bytes that are read, the bar counts."""
    stream = terminal()
    with Waiting(bytes_=False, clock=ticks(0.0, 1.0)) as waiting:
        waiting.tell(50, 100, "runs.db")
    assert "50/100" in stream.getvalue()
    assert "bytes" not in stream.getvalue()
