"""The JSON values of an export, one by one: on lines of their own, in a list, or one document.

A list is taken apart while it is read, so memory follows its largest element. A value that is no JSON costs only
itself where it stands on a line of its own or in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias, cast

import msgspec

from spanwise.sources._json_scan import END, Scanner
from spanwise.sources._json_text import BROKEN, decode_anyhow, has_lines, lines, skip_mark
from spanwise.sources._open import Input
from spanwise.sources._otlp_mend import Mender
from spanwise.sources._source import Intake

Fields: TypeAlias = Mapping[str, object]


class Found(NamedTuple):
    """A value, where it stands, and the number of the list that it is an element of (-1: of none)."""

    value: object
    place: str
    in_list: int = -1


def records(data: Input, *, intake: Intake) -> Iterator[Found]:
    """Every value on the top level, or in the lists that stand there.

    Raises:
        SourceError: The text is no JSON from some place on.
    """
    for text, place, in_list in _texts(data, intake):
        value = decode_record(text, intake=intake)
        if value is BROKEN:
            intake.refuse("this is not valid JSON, or nested too deeply", place=place)
        else:
            yield Found(value, place, in_list)


def _texts(data: Input, intake: Intake) -> Iterator[tuple[bytes, str, int]]:
    skip_mark(data)
    if has_lines(data, intake=intake):
        for number, line in lines(data, intake=intake):
            yield line, f"line {number}", -1
        return
    scan = Scanner(data.read_chunk, intake=intake)
    number = 0
    while scan.peek() != END:
        path = f"$[{number}]" if number else "$"
        if scan.take(b"["):
            yield from _elements(scan, path, number)
        else:
            yield scan.value(), path, -1
        scan.take(b",")
        number += 1


def _elements(scan: Scanner, path: str, number: int) -> Iterator[tuple[bytes, str, int]]:
    if scan.take(b"]"):
        return
    index = 0
    while True:
        yield scan.value(), f"{path}[{index}]", number
        if not scan.separator(b"]"):
            return
        index += 1


def decode_record(text: bytes, *, intake: Intake) -> object:
    """The value of JSON text, or BROKEN; what only the slow decoder takes is put right and counted."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_anyhow(text, intake=intake)
        return value if value is BROKEN else Mender(intake.repair).plain(value)


def fields_of(value: object) -> Fields | None:
    """The value if it is an object."""
    return cast("Fields", value) if isinstance(value, dict) else None


def list_of(value: object) -> list[object] | None:
    """The value if it is a list."""
    return cast("list[object]", value) if isinstance(value, list) else None


def text_of(value: object) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def id_of(value: object) -> str:
    """The value as an id: text, or a whole number as text; nothing for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value)
