"""Running the command as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

# Without the extra there is no command to run, which the tests' configuration takes for a reason to skip.
import_module("typer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a process left behind."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The environment of a process: that of the tests, without what changes its output."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "COLUMNS", "FORCE_COLOR"))
    }
    return {**kept, "NO_COLOR": "1", **more}


def spanwise(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, **more: str) -> Done:
    """Run `spanwise` with these arguments, and with more variables in its environment."""
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=100,
        cwd=cwd,
        env=environment(**more),
    )
    return Done(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())
