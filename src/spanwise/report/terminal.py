"""Text for a terminal: what a trace holds can neither move the cursor nor be taken for markup.

Everything that is printed goes through `Text` objects, which know no markup; control characters, bidirectional
overrides, invisible format characters and lone surrogates are made visible as escapes before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.report.escapes import visible
from spanwise.text import excerpt

PIPE_WIDTH = 120
_READABLE = 24
"""A column of text that is narrower than that is not read any more."""
_LABEL_STYLES = {"ok": "green", "warn": "yellow", "alert": "bold red"}
_STATUS_STYLES = {"not_applicable": "dim", "not_measurable": "yellow", "error": "bold red"}


def shown(value: object, *, limit: int = 500) -> str:
    """A value on one line, fit for a terminal."""
    return visible(excerpt(value, limit=limit))


def line(*parts: tuple[str, str]) -> Text:
    """One line of a tree: styled parts, each a text and its style; what is too long ends in an ellipsis."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def say(to: Console, *parts: tuple[str, str]) -> None:
    """Print styled parts as one line, however long it is: what is copied from it is whole."""
    to.print(Text.assemble(*parts), soft_wrap=True)


class _Console(Console):
    """A console that leaves the exit to whoever prints."""

    def on_broken_pipe(self) -> None:
        """Nobody reads any more: raised as it came."""
        raise BrokenPipeError


def console(file: IO[str], *, width: int | None = None) -> Console:
    """A console on a stream. Where it is no terminal and no width is given, lines have 120 columns."""
    if width is None and not file.isatty():
        width = PIPE_WIDTH
    return _Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def print_table(to: Console, table: Table, *, spare: Sequence[str] = ()) -> None:
    """Print a table of which no value is cut, however narrow the terminal.

    Where it does not fit, columns in `spare` are left out, the first ones first; what is too wide even so is broken by
    the terminal.
    """
    for column in table.columns:
        widest = max((cell.cell_len for cell in column.cells if isinstance(cell, Text)), default=0)
        widest = max(widest, len(str(column.header)))
        column.min_width = widest if column.no_wrap else min(widest, _READABLE)
    for name in spare:
        if _room_for(table) <= to.width:
            break
        table.columns = [column for column in table.columns if column.header != name]
    to.print(table, width=max(to.width, _room_for(table)), crop=False)


def _room_for(table: Table) -> int:
    """The columns of a terminal that a table takes at least: between two of its own lie three signs."""
    return sum((column.min_width or 0) + 3 for column in table.columns) + 1


def style_of(label: str, status: str = "scored") -> str:
    """The colour of a label, or of a status that has no value."""
    return _STATUS_STYLES.get(status) or _LABEL_STYLES.get(label, "")


def duration(ns: float) -> str:
    """A duration in the unit that reads best."""
    if ns < 1e3:
        return f"{ns:.0f} ns"
    if ns < 1e6:
        return f"{ns / 1e3:.0f} us"
    if ns < 1e9:
        return f"{ns / 1e6:.{1 if ns < 1e7 else 0}f} ms"
    return f"{ns / 1e9:.2f} s" if ns < 6e10 else f"{ns / 6e10:.1f} min"


def dollars(cost: float) -> str:
    """Dollars and cents; below a cent with two digits that say something."""
    places = 2 if cost >= 0.1 or cost <= 0 else 1 - math.floor(math.log10(cost))
    return f"${cost:.{min(places, 12)}f}"


def amount(value: float, unit: str) -> str:
    """A score's value with its unit."""
    if unit == "USD":
        return dollars(value)
    return f"{value:.2f} {visible(unit)}" if unit else f"{value:.2f}"


def rows(to: Console, pairs: Iterable[tuple[str, str, str]], *, indent: int = 0) -> None:
    """Print names with their texts (each with a style) below each other, long texts wrapped beside their name."""
    listed = list(pairs)
    left = indent + max((len(name) for name, _, _ in listed), default=0) + 2
    for name, text, style in listed:
        wrapped = Text(text, style=style).wrap(to, max(to.width - left, 20))
        for number, part in enumerate(wrapped):
            label = " " * indent + name if number == 0 else ""
            shown_line = Text.assemble((label.ljust(left), "dim"), part)
            shown_line.rstrip()
            to.print(shown_line, soft_wrap=True)
