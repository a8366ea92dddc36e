"""Where a result goes: standard output or a file, and nothing else goes there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from spanwise.cli.guard import silence
from spanwise.errors import SinkError, SpecError

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """A stream for the result. Once nobody reads it, `broken` is true and what is written goes nowhere, quietly."""

    def __init__(self, path: Path | None = None) -> None:
        self.broken = False
        self._path = path
        self._file: IO[str] = sys.stdout

    def __enter__(self) -> Output:
        if self._path is not None:
            try:
                self._file = self._path.open("w", encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise SpecError(f"{self._path}: cannot be written: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Write out what is buffered; a reader who left is no error."""
        try:
            if not self.broken:
                self._write(self._file.flush)
        finally:
            if self._path is not None:
                with suppress(OSError):
                    self._file.close()

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees the result as it is written."""
        return self._file.isatty()

    def show(self, what: Callable[[Console], None], *, width: int | None = None) -> None:
        """Have something printed on a console on the stream."""
        if self.broken:
            return
        from spanwise.report.terminal import console

        self._write(lambda: what(console(self._file, width=width)))

    def line(self, text: str) -> None:
        """Write one line."""
        if self.broken:
            return
        self._write(lambda: self._file.write(f"{text}\n"))

    def _write(self, write: Callable[[], object]) -> None:
        try:
            write()
        except BrokenPipeError:
            self._break()
        except OSError as error:
            self._break()
            name = self._path or "standard output"
            raise SinkError(f"{name}: cannot be written: {error.strerror}") from error

    def _break(self) -> None:
        self.broken = True
        if self._path is None:
            silence(self._file.fileno())
