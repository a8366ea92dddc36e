"""`spanwise ground`: is a text borne out by other texts?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.guard import FINE, UNUSABLE, complain
from spanwise.cli.options import AsTable, TableFormat, Width
from spanwise.cli.output import Output
from spanwise.errors import SpecError
from spanwise.grounding.answers import judge
from spanwise.grounding.pool import Piece, Pool
from spanwise.report.encode import to_line
from spanwise.report.grounding import show_grounding, to_grounded

_LIMIT = 100_000_000


def ground(
    *,
    answer: Annotated[
        str, typer.Option("--answer", metavar="FILE", help="The text to check, or - for standard input.")
    ],
    evidence: Annotated[
        list[str],
        typer.Option("--evidence", metavar="FILE", help="What it has to rest on; again for more, - is standard input."),
    ],
    format_: AsTable = TableFormat.TABLE,
    width: Width = None,
) -> int:
    """Check each claim of a text against other texts: supported, unsupported or contradicted, with the closest passage.

    No model is asked. JSON is read as data, anything else as text. The score is s / (s + u + 2c) over the supported,
    unsupported and contradicted claims.
    """
    if [answer, *evidence].count("-") > 1:
        raise SpecError("standard input can be read once: give - for the answer or for one piece of evidence")
    unread = False
    pieces: list[Piece] = []
    with Output() as out:
        text = _read(answer)
        for at, name in enumerate(evidence):
            try:
                pieces.append(Piece(_read(name), "document", name, at))
            except SpecError as error:
                unread = True
                complain(f"error: {error}")
        said = judge(text, Pool(pieces))
        if format_ is TableFormat.JSON:
            out.line(to_line(to_grounded(said)))
        else:
            out.show(lambda to: show_grounding(to, said), width=width)
    return UNUSABLE if unread else FINE


def _read(name: str) -> str:
    """A file, or standard input, as text."""
    try:
        raw = sys.stdin.buffer.read(_LIMIT + 1) if name == "-" else _bytes_of(Path(name))
    except OSError as error:
        raise SpecError(f"{name}: cannot be read: {error.strerror}") from error
    if len(raw) > _LIMIT:
        raise SpecError(f"{name}: holds more than {_LIMIT // 1_000_000} MB, which is the most that is read")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{name}: is no UTF-8 text, at byte {error.start}") from error


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LIMIT + 1)
