"""Files and streams of recorded traces, in any of the formats of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from spanwise.errors import SourceError
from spanwise.sources import (
    chat,
    langfuse_api,
    langfuse_export,
    otlp_json,
    otlp_proto,
    phoenix_export,
    sdk_console,
    trail,
)
from spanwise.sources._foreign import foreign
from spanwise.sources._open import DEFAULT_LIMITS, HEAD_BYTES, Input, Limits, open_input
from spanwise.sources._paths import expand_paths
from spanwise.sources._source import Intake, Record, Source, Tally

__all__ = ["SOURCES", "Limits", "Source", "Tally", "detect", "expand", "is_remote", "read"]

SOURCES: tuple[Source, ...] = (
    trail.SOURCE,
    otlp_json.SOURCE,
    sdk_console.SOURCE,
    phoenix_export.SOURCE,
    langfuse_export.SOURCE,
    chat.SOURCE,
    otlp_proto.SOURCE,
)
"""Every format, in the order in which a file is offered to them: the first that knows it reads it."""


def detect(head: bytes, name: str) -> Source | None:
    """The format of a file, told by its first bytes; None if no source knows it."""
    return next((source for source in SOURCES if source.sniff(head, name)), None)


def read(
    path: str | Path | BinaryIO,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_error: Callable[[SourceError], None] | None = None,
    on_progress: Callable[[int], None] | None = None,
    tally: Tally | None = None,
) -> Iterator[Record]:
    """Every span and log event of a file, of standard input ("-") or of a binary stream, in their order there.

    Args:
        path: What to read; `langfuse://...` stands for traces of a Langfuse project.
        limits: How much of it to take on.
        on_error: Told of each unusable record, which costs only itself. Without it the first one is raised.
        on_progress: Told now and then how many bytes of the file are read.
        tally: Counts what became of the records.

    Raises:
        SourceError: The input cannot be read, its format is not known, or the rest of it cannot be made sense of.
    """
    counts = Tally() if tally is None else tally
    if isinstance(path, str) and is_remote(path):
        intake = Intake(source=path, on_error=on_error or _raise, limits=limits, tally=counts)
        yield from langfuse_api.read(path, intake=intake, on_progress=on_progress)
        return
    with open_input(path, limits=limits, on_progress=on_progress) as data:
        source = _source_of(data)
        yield from source.read(
            data, intake=Intake(source=data.name, on_error=on_error or _raise, limits=limits, tally=counts)
        )


def expand(
    paths: Iterable[str | Path],
    *,
    on_error: Callable[[SourceError], None] | None = None,
    on_skip: Callable[[Sequence[str]], None] | None = None,
) -> list[str]:
    """The files that paths stand for, after the addresses among them.

    Args:
        paths: Addresses (`langfuse://...`), files, standard input ("-"), folders with all below them, and patterns such
            as `traces/*.json`.
        on_error: Told of each path that stands for no file. Without it the first one is raised.
        on_skip: Told, once, which files of folders and patterns no source knows. Files that are named are never
        skipped.

    Raises:
        SourceError: A path stands for no file, and there is no `on_error`.
    """
    named = list(map(str, paths))
    remote = list(dict.fromkeys(path for path in named if is_remote(path)))
    return remote + expand_paths(
        [path for path in named if path not in remote],
        known=lambda head, name: detect(head, name) is not None,
        on_error=on_error or _raise,
        on_skip=on_skip or (lambda files: None),
    )


def is_remote(path: str) -> bool:
    """The path is the address of a service that traces are read from."""
    return langfuse_api.is_address(path)


def _source_of(data: Input) -> Source:
    head = data.peek(HEAD_BYTES)
    source = detect(head, data.name)
    if source is not None:
        return source
    data.read(HEAD_BYTES)  # raises what kept these bytes from being read, if anything did
    if not head:
        raise SourceError("the file is empty", source=data.name)
    titles = ", ".join(source.title for source in SOURCES)
    raise SourceError(foreign(head) or f"the file is of no known format ({titles})", source=data.name)


def _raise(error: SourceError) -> None:
    raise error
