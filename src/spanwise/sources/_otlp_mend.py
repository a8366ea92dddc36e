"""OTLP/JSON as it is found in the wild: one span or log record at a time, from a decoded JSON object.

What is only spelt differently (snake_case, names for enums, upper-case or base64 ids, numbers as text) is read
without a word. What must be guessed is put right and counted by what was done; what cannot be, because nobody could
say which span it is, is `Unusable`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from spanwise.model.raw import EMPTY, STATUS_UNSET, LogEvent, RawEvent, RawLink, RawSpan, Scope
from spanwise.sources._interned import NAMES

MOST_LEVELS = 100
KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUSES = ("UNSET", "OK", "ERROR")
_HEX = re.compile(r"[0-9A-Fa-f]*")
_LONE = re.compile("[\ud800-\udfff]")
_REMOTE = 0x300


class Unusable(Exception):  # noqa: N818 - becomes a SourceError where the place is known
    """The record cannot be used; the message says why, `part` where in the record."""

    def __init__(self, message: str, *, part: str = "") -> None:
        super().__init__(message)
        self.part = part


class Mender:
    """Reads decoded JSON objects; tells `repair` what it put right.

    With `plain`, attributes and bodies are expected as JSON itself writes values, without their types.
    """

    def __init__(self, repair: Callable[[str], None], *, plain: bool = False) -> None:
        self._repair = repair
        self._is_plain = plain
        self._readers: Mapping[str, Callable[[object, int], object]] = {
            "stringValue": self._read_text,
            "intValue": self._read_int,
            "doubleValue": self._read_float,
            "boolValue": self._read_bool,
            "bytesValue": self._read_bytes,
            "arrayValue": self._read_array,
            "kvlistValue": self._read_kvlist,
        }

    def span(self, item: object, scope: Scope) -> RawSpan:
        """The span that a JSON object describes.

        Raises:
            Unusable: It is no object, or says not which span it is.
        """
        fields = _fields(item)
        trace_id = read_id(fields.get("traceId"), 16, part="traceId")
        span_id = read_id(fields.get("spanId"), 8, part="spanId")
        start = self._time(fields, "startTimeUnixNano")
        end = self._time(fields, "endTimeUnixNano")
        if not start and end:
            self._repair("start time missing: the end time taken")
            start = end
        code, message = self._status(fields.get("status"))
        flags = self._number(fields, "flags")
        return RawSpan(
            trace_id,
            span_id,
            self._parent(fields.get("parentSpanId")),
            self._text(fields, "name"),
            start,
            end,
            code,
            message,
            self.attributes(fields.get("attributes")),
            tuple(self._event(event) for event in self._objects(fields, "events")),
            scope,
            tuple(link for each in self._objects(fields, "links") if (link := self._link(each)) is not None),
            self._enum(fields.get("kind"), KINDS, "SPAN_KIND_", "span kind unknown: left unspecified"),
            flags & _REMOTE == _REMOTE,
            self._number(fields, "droppedAttributesCount") + self._number(fields, "droppedEventsCount"),
        )

    def log(self, item: object, scope: Scope) -> LogEvent | None:
        """The event that a JSON object describes; None for a log record that belongs to no span.

        Raises:
            Unusable: It is no object, or its ids are no ids.
        """
        fields = _fields(item)
        ids = fields.get("traceId"), fields.get("spanId")
        if any(_is_blank(each) for each in ids):
            return None
        trace_id = read_id(ids[0], 16, part="traceId")
        span_id = read_id(ids[1], 8, part="spanId")
        attributes = self.attributes(fields.get("attributes"))
        name = self._text(fields, "eventName")
        if not name:
            recorded = attributes.get("event.name")
            name = recorded if isinstance(recorded, str) else ""
        time_ns = self._time(fields, "timeUnixNano") or self._time(fields, "observedTimeUnixNano")
        return LogEvent(trace_id, span_id, RawEvent(name, time_ns, attributes, self.value(fields.get("body"))), scope)

    def attributes(self, pairs: object) -> Mapping[str, object]:
        """Attributes from a list of keys and values, or from a plain object."""
        if not pairs:
            return EMPTY
        if isinstance(pairs, Mapping):
            if not self._is_plain:
                self._repair("attributes written as a plain object: taken as they are")
            plain = cast("Mapping[str, object]", pairs)
            return {
                NAMES[self._mended(name)]: self._value(value, 1) if self._is_typed(value) else self._plain(value, 1)
                for name, value in plain.items()
            }
        return self._pairs(pairs, 1, part="attributes")

    def _is_typed(self, value: object) -> bool:
        """Whether a value in a plain object bears its type all the same."""
        names = list(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else ()
        return len(names) == 1 and _CAMEL.get(names[0], names[0]) in self._readers

    def value(self, value: object) -> object:
        """What an AnyValue holds."""
        return self._plain(value, 1) if self._is_plain else self._value(value, 1)

    def plain(self, value: object) -> object:
        """A value that is written as JSON itself writes it."""
        return self._plain(value, 1)

    def _pairs(self, pairs: object, level: int, *, part: str) -> dict[str, object]:
        found: dict[str, object] = {}
        for pair in _sequence(pairs, part=part):
            key = cast("Mapping[str, object]", pair).get("key") if isinstance(pair, Mapping) else None
            if isinstance(key, str):
                found[NAMES[self._mended(key)]] = self._value(cast("Mapping[str, object]", pair).get("value"), level)
            else:
                self._repair("attribute without a key: left out")
        return found

    def _value(self, value: object, level: int) -> object:
        if not isinstance(value, Mapping):
            if value is not None:
                self._repair("attribute value without its type: taken as it is")
            return self._plain(value, level)
        if level > MOST_LEVELS:
            self._repair(f"value nested more than {MOST_LEVELS} levels deep: left out")
            return None
        for name, held in cast("Mapping[str, object]", value).items():
            read = self._readers.get(_CAMEL.get(name, name))
            if read is not None and held is not None:
                return read(held, level)
        if value:
            self._repair("attribute value of an unknown type: left empty")
        return None

    def _plain(self, value: object, level: int) -> object:
        if isinstance(value, str):
            return self._mended(value)
        if level > MOST_LEVELS and isinstance(value, Mapping | list):
            self._repair(f"value nested more than {MOST_LEVELS} levels deep: left out")
            return None
        if isinstance(value, list):
            return [self._plain(item, level + 1) for item in cast("list[object]", value)]
        if isinstance(value, Mapping):
            plain = cast("Mapping[str, object]", value)
            return {name: self._plain(item, level + 1) for name, item in plain.items()}
        return value

    def _read_text(self, value: object, _level: int) -> object:
        return self._mended(value) if isinstance(value, str) else self._mistyped(value)

    def _read_int(self, value: object, _level: int) -> object:
        number = _whole(value)
        return self._mistyped(value) if number is None else number

    def _read_float(self, value: object, _level: int) -> object:
        try:
            return float(value) if isinstance(value, str | int | float) else self._mistyped(value)
        except (ValueError, OverflowError):
            return self._mistyped(value)

    def _read_bool(self, value: object, _level: int) -> object:
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        return value if isinstance(value, bool) else self._mistyped(value)

    def _read_bytes(self, value: object, _level: int) -> object:
        try:
            return base64.b64decode(value, validate=True) if isinstance(value, str) else self._mistyped(value)
        except (binascii.Error, ValueError):
            return self._mistyped(value)

    def _read_array(self, value: object, level: int) -> object:
        return [self._value(item, level + 1) for item in _sequence(_values(value), part="arrayValue")]

    def _read_kvlist(self, value: object, level: int) -> object:
        return self._pairs(_values(value), level + 1, part="kvlistValue")

    def _mistyped(self, value: object) -> object:
        self._repair("attribute value that is not of its type: taken as it is")
        return self._plain(value, 1)

    def _event(self, fields: Mapping[str, object]) -> RawEvent:
        return RawEvent(
            self._text(fields, "name"), self._time(fields, "timeUnixNano"), self.attributes(fields.get("attributes"))
        )

    def _link(self, fields: Mapping[str, object]) -> RawLink | None:
        try:
            trace_id = read_id(fields.get("traceId"), 16, part="traceId")
            span_id = read_id(fields.get("spanId"), 8, part="spanId")
        except Unusable:
            self._repair("link without usable ids: left out")
            return None
        return RawLink(trace_id, span_id, self.attributes(fields.get("attributes")))

    def _parent(self, value: object) -> str | None:
        if value is None or value == "":
            return None
        try:
            return read_id(value, 8, part="parentSpanId")
        except Unusable:
            if _is_blank(value):
                self._repair("parent id of zeros: taken as none")
                return None
            # Not a root: its parent is merely not to be found, and the trace will say so.
            self._repair("parent id unreadable: kept as a parent that is not here")
            return self._mended(str(value))

    def _status(self, value: object) -> tuple[int, str]:
        if value is None:
            return STATUS_UNSET, ""
        fields = _fields(cast("object", value)) if isinstance(value, Mapping) else {"code": value}
        code = self._enum(fields.get("code"), STATUSES, "STATUS_CODE_", "status code unknown: left unset")
        return code, self._text(fields, "message")

    def _enum(self, value: object, names: Sequence[str], prefix: str, words: str) -> int:
        if value is None:
            return 0
        if isinstance(value, str):
            name = value.upper().removeprefix(prefix)
            if name in names:
                return names.index(name)
        number = _whole(value)
        if number is None or not 0 <= number < len(names):
            self._repair(words)
            return 0
        return number

    def _time(self, fields: Mapping[str, object], name: str) -> int:
        value = fields.get(name)
        if value is None or value == "":
            return 0
        number = _whole(value)
        if number is None:
            raise Unusable(f"the time {str(value)[:60]!r} is not a number of nanoseconds", part=name)
        if number < 0:
            self._repair("negative time: taken as unknown")
            return 0
        return number

    def _number(self, fields: Mapping[str, object], name: str) -> int:
        value = fields.get(name)
        if value is None:
            return 0
        number = _whole(value)
        if number is None or number < 0:
            self._repair(f"{name} that is no count: taken as 0")
            return 0
        return number

    def _text(self, fields: Mapping[str, object], name: str) -> str:
        value = fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._repair(f"{name} that is no text: written as text")
            value = str(value)
        return self._mended(value)

    def _mended(self, text: str) -> str:
        # Cutting text in other languages leaves halves of character pairs, which no file can hold; and undecodable
        # bytes of a protobuf message come as such halves.
        if text.isascii() or not _LONE.search(text):
            return text
        self._repair("text that is no Unicode: replaced")
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _objects(self, fields: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
        items = _sequence(fields.get(name), part=name)
        objects = [_fields(cast("object", item)) for item in items if isinstance(item, Mapping)]
        if len(objects) < len(items):
            self._repair(f"{name} that are no objects: left out")
        return objects


def read_id(value: object, size: int, *, part: str) -> str:
    """An id as lower-case hex, from hex or from base64 as protobuf's own JSON writes bytes.

    Raises:
        Unusable: It is neither, has another length, or is all zeros.
    """
    if not isinstance(value, str) or not value:
        raise Unusable("the id is missing" if not value else f"the id is {_kind(value)}, not text", part=part)
    if len(value) == 2 * size and _HEX.fullmatch(value):
        found = value.lower()
    elif len(value) == -(-size // 3) * 4 and value.endswith("="):
        try:
            found = base64.b64decode(value, validate=True).hex()
        except binascii.Error:
            found = ""
    else:
        found = ""
    if len(found) != 2 * size:
        raise Unusable(f"the id {value[:60]!r} is not {2 * size} hexadecimal digits", part=part)
    if not found.strip("0"):
        raise Unusable("the id is all zeros", part=part)
    return found


def _is_blank(value: object) -> bool:
    if not isinstance(value, str):
        return not value
    return not value.strip("0") or (value.endswith("=") and not value.strip("A="))


def _fields(item: object) -> Mapping[str, object]:
    if not isinstance(item, Mapping):
        raise Unusable(f"an object is expected here, found {_kind(item)}")
    fields = cast("Mapping[str, object]", item)
    return {_CAMEL.get(name, name): value for name, value in fields.items()}


def _sequence(value: object, *, part: str) -> Sequence[object]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Unusable(f"a list is expected here, found {_kind(value)}", part=part)
    return cast("list[object]", value)


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, str):
            return int(value)
        return int(value) if isinstance(value, int | float) and value == int(value) else None
    except (ValueError, OverflowError):
        return None


def _values(value: object) -> object:
    return cast("Mapping[str, object]", value).get("values") if isinstance(value, Mapping) else value


_KIND_NAMES = {"dict": "an object", "list": "a list", "str": "text", "bool": "a truth value", "NoneType": "null"}


def _kind(value: object) -> str:
    return _KIND_NAMES.get(type(value).__name__, "a number")


_CAMEL: Mapping[str, str] = {
    re.sub(r"[A-Z]", lambda capital: "_" + capital[0].lower(), name): name
    for name in (
        "arrayValue",
        "boolValue",
        "bytesValue",
        "doubleValue",
        "droppedAttributesCount",
        "droppedEventsCount",
        "endTimeUnixNano",
        "eventName",
        "intValue",
        "kvlistValue",
        "observedTimeUnixNano",
        "parentSpanId",
        "spanId",
        "startTimeUnixNano",
        "stringValue",
        "timeUnixNano",
        "traceId",
    )
}
