"""A progress bar on standard error for long work, if a person looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from spanwise.cli.guard import complain
from spanwise.report.escapes import visible

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 0.5


class Waiting:
    """Shows a bar once the work has taken half a second; where standard error is no terminal, never."""

    def __init__(
        self, *, wanted: bool = True, bytes_: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bytes = bytes_
        self._wanted = wanted and sys.stderr.isatty()
        self._clock = clock
        self._begun = clock()
        self._bar: Progress | None = None

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.done()

    def done(self) -> None:
        """Take the bar away: the result is printed next."""
        self._wanted = False
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def tell(self, done: int, total: int, name: str) -> None:
        """So many bytes (or pieces) of all (0: not known) are read, and this input is being read."""
        if not self._wanted or (self._bar is None and self._clock() - self._begun < PATIENCE_S):
            return
        if self._bar is None:
            self._bar = _bar(bytes_=self._bytes)
            self._bar.start()
            self._bar.add_task("", total=None)
        task = self._bar.tasks[0].id
        self._bar.update(task, completed=done, total=total or None, description=visible(name)[-40:])

    def complain(self, text: str) -> None:
        """Say something on standard error, above the bar if there is one."""
        if self._bar is None:
            complain(text)
        else:
            from rich.text import Text

            self._bar.console.print(Text(visible(text)), soft_wrap=True)


def _bar(*, bytes_: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    to = Console(stderr=True, highlight=False, markup=False, emoji=False)
    count = DownloadColumn() if bytes_ else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), count, TimeRemainingColumn())
    # Redirecting would send the result to standard error while the bar is there.
    return Progress(*columns, console=to, transient=True, redirect_stdout=False, redirect_stderr=False)
