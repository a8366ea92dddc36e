"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class TableFormat(StrEnum):
    """How scores and other lists are printed."""

    TABLE = "table"
    JSON = "json"


class TreeFormat(StrEnum):
    """How runs are printed."""

    TREE = "tree"
    JSON = "json"


Paths: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="Files, folders, globs, or - for standard input.", show_default=False),
]
NoContent: TypeAlias = Annotated[
    bool,
    typer.Option("--no-content", help="Leave out what people, models and tools wrote: only names, ids and numbers."),
]
Width: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--width", min=40, max=1000, help="Columns per line; the terminal's own, else 120.", show_default=False
    ),
]
AsTable: TypeAlias = Annotated[TableFormat, typer.Option("--format", help="A table for people, or JSON.")]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings; the nearest spanwise.toml or pyproject.toml otherwise.",
        show_default=False,
    ),
]
