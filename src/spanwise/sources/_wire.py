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
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + shift + 1
    raise Broken("a number does not end")


def fields(data: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    """Each field of a message: its number, its wire type, its value if it is a number, its content if it is bytes.

    Raises:
        Broken: The bytes are no message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        value, size = 0, 0
        if wire == BYTES:
            size, at = varint(data, at)
        elif wire == VARINT:
            value, at = varint(data, at)
        elif wire in {FIXED64, FIXED32}:
            size = 8 if wire == FIXED64 else 4
            value = int.from_bytes(data[at : at + size], "little")
        else:
            raise Broken(f"there is no wire type {wire}")
        if not number or at + size > end:
            raise Broken("a field does not end" if number else "there is no field 0")
        yield number, wire, value, data[at : at + size]
        at += size


def signed(value: int) -> int:
    """The 64-bit number with its sign."""
    return value - (1 << 64) if value >= 1 << 63 else value
