"""One line per run on standard error, coloured where Rich is installed and the terminal has colours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.sinks._line import line_of

_STYLES = {"ok": "green", "warn": "yellow", "alert": "bold red"}


def _printer() -> Callable[[str, str], None]:
    try:
        from rich.console import Console
        from rich.text import Text
    except ModuleNotFoundError:
        return _write
    console = Console(stderr=True, soft_wrap=True, highlight=False)

    def show(line: str, label: str) -> None:
        console.print(Text.assemble(("spanwise  ", "dim"), (line, _STYLES.get(label, ""))))

    return show


def _write(line: str, label: str) -> None:
    del label
    sys.stderr.write(f"spanwise  {line}\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """Prints each run on a line of its own."""

    emits: ClassVar[Content] = "all"
    inline: ClassVar[bool] = True

    _show: Callable[[str, str], None] = field(default_factory=_printer)

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Print the runs."""
        for result in results:
            label = next((score.label for score in result.scores if score.name == "overall"), "")
            self._show(line_of(result), label)

    def close(self) -> None:
        """Nothing is open."""
