"""What a user names on a command line, as a list of files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import SourceError
from spanwise.sources._open import HEAD_BYTES, STDIN, open_input

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAGIC = re.compile(r"[*?\[]")


def expand_paths(
    paths: Iterable[str | Path],
    *,
    known: Callable[[bytes, str], bool],
    on_error: Callable[[SourceError], None],
    on_skip: Callable[[Sequence[str]], None],
) -> list[str]:
    """The files that the paths stand for, each once, in the order given and sorted within folders and patterns.

    A file that is named is taken as it is. In folders and patterns, hidden files are passed over and those that
    `known` does not know are told to `on_skip`, all at once.
    """
    search = _Search(known=known, on_error=on_error)
    for path in paths:
        search.add(str(path))
    if search.skipped:
        on_skip(search.skipped)
    return search.files


@dataclass(slots=True, kw_only=True)
class _Search:
    known: Callable[[bytes, str], bool]
    on_error: Callable[[SourceError], None]
    files: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    folders: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, path: str) -> None:
        if path == STDIN:
            self._take(path, identity=STDIN)
            return
        here = Path(path)
        if here.is_dir():
            self._look(_below(here), what="the folder", path=path)
        elif here.exists():
            self._take(path)
        elif _ADDRESS.match(path):
            self._fail("this is an address, not a file; export the traces to a file first", path)
        elif _MAGIC.search(path):
            self._look(_matching(path), what="the pattern", path=path)
        else:
            self._fail("there is no such file or folder", path)

    def _look(self, candidates: Iterator[Path], *, what: str, path: str) -> None:
        before, named, met = len(self.files), len(self.seen), False
        for candidate in candidates:
            met = True
            if self._identity(str(candidate)) not in self.seen:
                self._sniff(candidate)
        if len(self.files) > before:
            return
        if not met:
            self._fail(f"{what} holds no file", path)
        elif len(self.seen) > named:
            self._fail(f"{what} holds no file of a known format", path)
        else:
            self._fail(f"{what} holds no file that is not named already", path)

    def _sniff(self, candidate: Path) -> None:
        try:
            with open_input(candidate) as data:
                head = data.peek(HEAD_BYTES)
                known = self.known(head, str(candidate))
                if not known:
                    data.read(HEAD_BYTES)  # raises what kept these bytes from being read, if anything did
        except SourceError as failure:
            self.seen.add(self._identity(str(candidate)))
            self.on_error(failure)
            return
        if known:
            self._take(str(candidate))
        else:
            self.seen.add(self._identity(str(candidate)))
            self.skipped.append(str(candidate))

    def _take(self, path: str, *, identity: str = "") -> None:
        identity = identity or self._identity(path)
        if identity not in self.seen:
            self.seen.add(identity)
            self.files.append(path)

    def _identity(self, path: str) -> str:
        """What a file is called without links. Where many lie in one folder, that is looked up once."""
        folder, name = os.path.split(path)
        if name in {"", ".", ".."} or Path(path).is_symlink():
            return os.path.realpath(path)
        found = self.folders.get(folder)
        if found is None:
            found = self.folders[folder] = os.path.realpath(folder)
        return str(Path(found, os.path.normcase(name)))

    def _fail(self, message: str, path: str) -> None:
        self.on_error(SourceError(message, source=path))


def _below(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(where, name)
            if not name.startswith(".") and file.is_file():
                yield file


def _matching(pattern: str) -> Iterator[Path]:
    # Path.glob takes no absolute patterns.
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        path = Path(match)
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path
