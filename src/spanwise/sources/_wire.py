"""The protobuf wire format, read field by field: for what must be looked at before, or in spite of, a full decoding."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Broken(Exception):  # noqa: N818 - becomes a SourceError where the place is known
    """The bytes are no protobuf message."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number that starts at `at`, and where it ends.

    Raises:
        Broken: It does not end within the data, or is longer than ten bytes.
    """
    value = shift = 0
    try:
        while (byte := data[at]) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
            at += 1
    except IndexError:
        raise Broken("a number does not end") from None
    if shift > 63:
        raise Broken("a number does not end")
    return (value | byte << shift) & 0xFFFF_FFFF_FFFF_FFFF, at + 1


def extent(data: memoryview, at: int) -> tuple[int, int, int, int]:
    """The field that starts at `at`: its number, its wire type, where its content starts, and where it ends.

    The end may lie beyond the data.

    Raises:
        Broken: There is no field.
    """
    tag, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
    wire = tag & 7
    if tag < 8:
        raise Broken("there is no field 0")
    if wire == BYTES:
        size, at = varint(data, at)
        return tag >> 3, wire, at, at + size
    if wire == VARINT:
        return tag >> 3, wire, at, varint(data, at)[1]
    if wire in {FIXED64, FIXED32}:
        return tag >> 3, wire, at, at + (8 if wire == FIXED64 else 4)
    raise Broken(f"there is no wire type {wire}")


def fields(data: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    """Each field of a message: its number, its wire type, its value if it is a number, its content if it is bytes.

    Raises:
        Broken: The bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        number, wire, start, at = extent(data, at)
        if at > end:
            raise Broken("a field does not end")
        content = data[start:at]
        value = varint(data, start)[0] if wire == VARINT else 0 if wire == BYTES else int.from_bytes(content, "little")
        yield number, wire, value, content


def sized(number: int, content: bytes) -> bytes:
    """A field below 16 that holds bytes."""
    found = bytearray((number << 3 | BYTES,))
    size = len(content)
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    found.append(size)
    return bytes(found) + content


def signed(value: int) -> int:
    """The 64-bit number with its sign."""
    return value - (1 << 64) if value >= 1 << 63 else value
