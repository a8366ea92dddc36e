"""How a file of JSON is laid out: one value on each line, or values that are written over several lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from spanwise.sources._open import Input
from spanwise.sources._source import Intake

_SPACE = b" \t\r\n"
_NOT_SPACE = re.compile(rb"[^ \t\r\n]")

BROKEN = object()
"""What `decode` gives for a text that is no JSON."""


def decode(text: bytes) -> object:
    """The value that the text stands for, or BROKEN.

    This is the standard library's decoder: slow, but it takes bare NaN, control characters and halves of character
    pairs.
    """
    try:
        return json.loads(text.decode(), strict=False)
    except (ValueError, RecursionError):
        return BROKEN


def decode_anyhow(text: bytes, *, intake: Intake) -> object:
    """The value that the text stands for, with bytes that are no UTF-8 replaced, or BROKEN."""
    value = decode(text)
    if value is BROKEN:
        mended = text.decode(errors="replace").encode()
        if mended != text and (value := decode(mended)) is not BROKEN:
            intake.repair("text that is no Unicode: replaced")
    return value


def skip_mark(data: Input) -> None:
    """Pass the byte order mark that some editors put before UTF-8 text."""
    if data.peek(3) == b"\xef\xbb\xbf":
        data.read(3)


def has_lines(data: Input, *, intake: Intake) -> bool:
    """Whether each line of the text is a value: the first line is whole in itself, and something follows it."""
    size = 64 * 1024
    while True:
        head = data.peek(size)
        first = _NOT_SPACE.search(head)
        end = head.find(b"\n", first.start()) if first else -1
        if first and end > 0 and _NOT_SPACE.search(head, end):
            # A line that stops within a value is a broken record; one that stops between values is part of a larger
            # document.
            tail = head[max(first.start(), end - 80) : end].rstrip(_SPACE)
            return first[0] == b"{" and not tail.endswith((b"{", b"[", b","))
        if len(head) < size or size >= intake.limits.first_line_bytes:
            return False
        size *= 4


def lines(data: Input, *, intake: Intake) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number. A line that is too long is refused and passed over."""
    number = 1
    pending: list[bytes] = []
    held = 0
    passing = False
    while chunk := data.read_chunk():
        begin = 0
        # Looking for one byte is many times faster than splitting, which looks at each.
        while (end := chunk.find(b"\n", begin)) >= 0:
            line = chunk[begin:end]
            if pending or passing:
                line = b"" if passing else b"".join((*pending, line))
                pending, held, passing = [], 0, False
            if line and not line.isspace():
                yield number, line
            number += 1
            begin = end + 1
        last = chunk[begin:]
        held += len(last)
        if not passing:
            pending.append(last)
            if held > intake.limits.record_bytes:
                intake.refuse(f"the line is longer than {intake.limits.record_bytes:,} bytes", place=f"line {number}")
                pending, passing = [], True
    line = b"".join(pending)
    if line and not line.isspace():
        yield number, line


def blocks(data: Input, *, intake: Intake) -> Iterator[tuple[int, bytes]]:
    """Each JSON object that begins and ends at the margin, with the number of its first line.

    Between them may stand whatever else a program printed; an object that is cut off ends where the next one begins.
    """
    pending: list[bytes] = []
    first = 0
    for number, line in lines(data, intake=intake):
        if line.startswith(b"{"):
            if pending:
                intake.refuse("the object is cut off", place=f"line {first}")
            pending, first = [line], number
        elif pending:
            pending.append(line)
        else:
            intake.ignore("line that is no JSON")
            continue
        if (line.rstrip(_SPACE).endswith(b"}") and len(pending) == 1) or line.startswith(b"}"):
            yield first, b"\n".join(pending)
            pending = []
    if pending:
        intake.refuse("the object is cut off", place=f"line {first}")
