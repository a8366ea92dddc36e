"""OTLP in protobuf, read slowly: any span or log record as the JSON object that OTLP/JSON would have for it.

This is the way of a message that `_otlp_binary` will not answer for. What comes out goes to the same `Mender` as odd
JSON, so there is one account of what is put right and how.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import TypeAlias

from spanwise.sources._otlp_mend import MOST_LEVELS
from spanwise.sources._wire import BYTES, FIXED32, FIXED64, VARINT, fields, signed

_Read: TypeAlias = Callable[[int, memoryview, int], object]
_Field: TypeAlias = tuple[str, int, _Read]
_Layout: TypeAlias = dict[int, _Field]

_MOST_MESSAGES = 2 * MOST_LEVELS + 5


def span_fields(data: memoryview) -> dict[str, object]:
    """An encoded span.

    Raises:
        Broken: It is no message.
    """
    return _object(data, _SPAN, 1)


def log_fields(data: memoryview) -> dict[str, object]:
    """An encoded log record.

    Raises:
        Broken: It is no message.
    """
    return _object(data, _LOG, 1)


def resource_fields(data: memoryview) -> dict[str, object]:
    """An encoded resource.

    Raises:
        Broken: It is no message.
    """
    return _object(data, _RESOURCE, 1)


def scope_fields(data: memoryview) -> dict[str, object]:
    """An encoded scope.

    Raises:
        Broken: It is no message.
    """
    return _object(data, _SCOPE, 1)


def _object(data: memoryview, layout: _Layout, level: int) -> dict[str, object]:
    found: dict[str, object] = {}
    lists: dict[str, list[object]] = {}
    for number, wire, value, content in fields(data):
        known = layout.get(number)
        if known is None or known[1] != wire:
            continue
        name, _, read = known
        if name.endswith("*"):
            lists.setdefault(name[:-1], []).append(read(value, content, level))
        else:
            found[name] = read(value, content, level)
    return {**found, **lists}


def _number(value: int, _content: memoryview, _level: int) -> object:
    return signed(value)


def _unsigned(value: int, _content: memoryview, _level: int) -> object:
    return value


def _truth(value: int, _content: memoryview, _level: int) -> object:
    return value != 0


def _double(_value: int, content: memoryview, _level: int) -> object:
    return struct.unpack("<d", content)[0]


def _text(_value: int, content: memoryview, _level: int) -> object:
    # Undecodable bytes become halves of character pairs, which the mender replaces and counts.
    return str(content, "utf-8", "surrogateescape")


def _hex(_value: int, content: memoryview, _level: int) -> object:
    return content.hex()


def _base64(_value: int, content: memoryview, _level: int) -> object:
    return base64.b64encode(content).decode()


def _message(layout: _Layout) -> _Read:
    def read(_value: int, content: memoryview, level: int) -> object:
        # Deeper than the mender looks.
        return _object(content, layout, level + 1) if level <= _MOST_MESSAGES else {}

    return read


def _pair(_value: int, content: memoryview, level: int) -> object:
    # Protobuf leaves out what is empty, and an empty name is still a name.
    return {"key": "", **_object(content, _PAIR, level + 1)}


# A star marks a field that repeats. Values, pairs and lists hold each other, so their layouts are filled in below.
_VALUE: _Layout = {
    1: ("stringValue", BYTES, _text),
    2: ("boolValue", VARINT, _truth),
    3: ("intValue", VARINT, _number),
    4: ("doubleValue", FIXED64, _double),
    7: ("bytesValue", BYTES, _base64),
}
_PAIR: _Layout = {1: ("key", BYTES, _text), 2: ("value", BYTES, _message(_VALUE))}
_VALUE[5] = ("arrayValue", BYTES, _message({1: ("values*", BYTES, _message(_VALUE))}))
_VALUE[6] = ("kvlistValue", BYTES, _message({1: ("values*", BYTES, _pair)}))
_PAIRS: _Field = ("attributes*", BYTES, _pair)
_EVENT: _Layout = {1: ("timeUnixNano", FIXED64, _unsigned), 2: ("name", BYTES, _text), 3: _PAIRS}
_LINK: _Layout = {1: ("traceId", BYTES, _hex), 2: ("spanId", BYTES, _hex), 4: _PAIRS}
_STATUS: _Layout = {2: ("message", BYTES, _text), 3: ("code", VARINT, _number)}
_SPAN: _Layout = {
    1: ("traceId", BYTES, _hex),
    2: ("spanId", BYTES, _hex),
    4: ("parentSpanId", BYTES, _hex),
    5: ("name", BYTES, _text),
    6: ("kind", VARINT, _number),
    7: ("startTimeUnixNano", FIXED64, _unsigned),
    8: ("endTimeUnixNano", FIXED64, _unsigned),
    9: _PAIRS,
    10: ("droppedAttributesCount", VARINT, _unsigned),
    11: ("events*", BYTES, _message(_EVENT)),
    12: ("droppedEventsCount", VARINT, _unsigned),
    13: ("links*", BYTES, _message(_LINK)),
    15: ("status", BYTES, _message(_STATUS)),
    16: ("flags", FIXED32, _unsigned),
}
_LOG: _Layout = {
    1: ("timeUnixNano", FIXED64, _unsigned),
    5: ("body", BYTES, _message(_VALUE)),
    6: _PAIRS,
    9: ("traceId", BYTES, _hex),
    10: ("spanId", BYTES, _hex),
    11: ("observedTimeUnixNano", FIXED64, _unsigned),
    12: ("eventName", BYTES, _text),
}
_RESOURCE: _Layout = {1: _PAIRS}
_SCOPE: _Layout = {1: ("name", BYTES, _text), 2: ("version", BYTES, _text)}
