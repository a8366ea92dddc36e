"""Running the command as a process of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

from tests.preloaded import started

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
    with TemporaryFile() as out, TemporaryFile() as err:
        reads, writes = os.pipe()
        process = started(*arguments, stdin=reads, stdout=out, stderr=err, cwd=cwd, environment=environment(**more))
        os.close(reads)
        with suppress(BrokenPipeError), os.fdopen(writes, "wb") as to:
            to.write(stdin)
        try:
            code = process.wait(100)
        finally:
            process.kill()
        texts = [(file.seek(0), file.read().decode())[1] for file in (out, err)]
    return Done(code=code, out=texts[0], err=texts[1])
