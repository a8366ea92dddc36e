"""The few messages that OTLP answers with, in protobuf and in JSON.

They are so small that they are written here, field by field, rather than bring a package for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, RESOURCE_EXHAUSTED = 3, 4, 5, 8
OUT_OF_RANGE, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED = 11, 12, 14, 16
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"

_REJECTED: Mapping[str, str] = {"traces": "rejectedSpans", "logs": "rejectedLogRecords"}
_NS = 1_000_000_000


def answer(rejected: int, why: str) -> bytes:
    """An Export...ServiceResponse in protobuf: empty, or with a partial success."""
    if not (rejected or why):
        return b""
    return _bytes(1, _number(1, rejected) + _bytes(2, why.encode(errors="replace")))


def answer_json(signal: Literal["traces", "logs"], rejected: int, why: str) -> bytes:
    """The same in OTLP/JSON."""
    if not (rejected or why):
        return b"{}"
    return msgspec.json.encode({"partialSuccess": {_REJECTED[signal]: str(rejected), "errorMessage": _sound(why)}})


def status(code: int, message: str, *, retry_after_s: float | None = None) -> bytes:
    """A google.rpc.Status in protobuf, with a RetryInfo if the request may come again."""
    encoded = _number(1, code) + _bytes(2, message.encode(errors="replace"))
    if retry_after_s is None:
        return encoded
    seconds, ns = divmod(max(round(retry_after_s * _NS), 0), _NS)
    info = _bytes(1, _number(1, seconds) + _number(2, ns))
    return encoded + _bytes(3, _bytes(1, RETRY_INFO.encode()) + _bytes(2, info))


def status_json(code: int, message: str) -> bytes:
    """A google.rpc.Status in JSON."""
    return msgspec.json.encode({"code": code, "message": _sound(message)})


def _sound(text: str) -> str:
    return text.encode(errors="replace").decode()


def _number(field: int, value: int) -> bytes:
    return bytes([field << 3]) + _varint(value) if value else b""


def _bytes(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
