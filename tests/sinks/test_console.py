"""One line per run on standard error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spanwise.sinks._line import line_of
from spanwise.sinks.console import ConsoleSink
from tests.sinks.results import result


def test_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    """The line is printed on standard error."""
    given = result()
    sink = ConsoleSink()
    sink.emit([given])
    sink.close()
    told = capsys.readouterr()
    assert ("", f"spanwise  {line_of(given)}\n") == (told.out, told.err)


def test_the_console_without_rich(root: object) -> None:
    """Without Rich the same line is written plainly."""
    script = (
        "import sys; sys.modules['rich.console'] = None\n"
        "from spanwise.sinks.console import ConsoleSink, _printer\n"
        "ConsoleSink(_show=_printer())._show('a line', 'ok')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True, cwd=str(root)
    )
    assert ("", "spanwise  a line\n") == (done.stdout, done.stderr)
