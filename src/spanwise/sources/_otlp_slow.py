"""OTLP in protobuf, message by message: for requests that `_otlp_binary` will not answer for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias, cast

from spanwise.model.raw import Key, RawSpan, Scope
from spanwise.sources._otlp_fields import log_fields, resource_fields, scope_fields, span_fields
from spanwise.sources._otlp_mend import Mender, Unusable
from spanwise.sources._source import Intake, Record
from spanwise.sources._wire import BYTES, FIXED64, VARINT, Broken, fields

Signal: TypeAlias = Literal["traces", "logs", "metrics"]

_REQUEST = 1
_RESOURCE_OR_SCOPE = 1
# 1000 was the field of the scopes when they were called instrumentation libraries.
_SCOPES = (2, 1000)
_ITEMS = 2
_PATHS: Mapping[Signal, tuple[str, str, str]] = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
}
_OF_LOGS = {(1, FIXED64), (11, FIXED64), (2, VARINT)}
_OF_SPANS = {(7, FIXED64), (8, FIXED64)}
_OF_METRICS = {(5, BYTES), (7, BYTES), (9, BYTES), (10, BYTES), (11, BYTES)}


def signal_of(request: memoryview) -> Signal:
    """What a request holds, told by the first item in it; traces if it holds nothing.

    Raises:
        Broken: It is no message.
    """
    for resource in _within(request, (_REQUEST,)):
        signal = _signal_of_resource(resource)
        if signal is not None:
            return signal
    return "traces"


def _signal_of_resource(resource: memoryview) -> Signal | None:
    for scope in _within(resource, _SCOPES):
        try:
            for item in _within(scope, (_ITEMS,)):
                return _signal_of_item(item)
        except Broken:
            continue  # it is refused when it is read
    return None


def _signal_of_item(item: memoryview) -> Signal:
    sizes = {(number, wire): len(content) for number, wire, _, content in fields(item)}
    if sizes.keys() & _OF_LOGS:
        return "logs"
    if sizes.keys() & _OF_SPANS or sizes.get((1, BYTES)) == 16 or sizes.get((2, BYTES)) == 8:
        return "traces"
    if (1, BYTES) not in sizes:
        return "logs"
    return "metrics" if sizes.keys() & _OF_METRICS else "traces"


class SlowReader:
    """Reads requests item by item, so that a broken item costs only itself."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._mender = Mender(intake.repair)

    def records(self, request: memoryview, place: str) -> Iterator[list[Record]]:
        """The records of a request, by resource; requests for traces and for logs may stand one behind the other.

        Raises:
            Broken: It is no message from some place on.
        """
        for number, resource in enumerate(_within(request, (_REQUEST,))):
            try:
                signal = _signal_of_resource(resource) or "traces"
                if signal == "metrics":
                    self._intake.ignore("metrics")
                    continue
                attributes = self._mender.attributes(_part(resource, resource_fields).get("attributes"))
                scopes = list(_within(resource, _SCOPES))
            except (Broken, Unusable) as failure:
                path = f"{place}, {_PATHS['traces'][0]}[{number}]"
                self._intake.refuse(f"a resource is left out with all that it holds: {failure}", place=path)
                continue
            path = f"{place}, {_PATHS[signal][0]}[{number}].{_PATHS[signal][1]}"
            for index, scope in enumerate(scopes):
                yield [*self._of_scope(scope, attributes, f"{path}[{index}]", signal)]

    def span(self, item: memoryview, scope: Scope) -> RawSpan:
        """One encoded span.

        Raises:
            Broken: It is no message.
            Unusable: It says not which span it is.
        """
        return _with_bytes(self._mender.span(span_fields(item), scope))

    def _of_scope(
        self, content: memoryview, attributes: Mapping[str, object], path: str, signal: Signal
    ) -> Iterator[Record]:
        try:
            named = _part(content, scope_fields)
            items = list(_within(content, (_ITEMS,)))
        except Broken as failure:
            self._intake.refuse(f"a scope is left out with all that it holds: {failure}", place=path)
            return
        scope = Scope(str(named.get("name", "")), str(named.get("version", "")), attributes)
        for number, item in enumerate(items):
            yield from self._item(item, scope, f"{path}.{_PATHS[signal][2]}[{number}]", signal)

    def _item(self, item: memoryview, scope: Scope, place: str, signal: Signal) -> list[Record]:
        try:
            if signal == "traces":
                record = self.span(item, scope)
            else:
                record = self._mender.log(log_fields(item), scope)
                if record is not None:
                    record.trace_id, record.span_id = _bytes(record.trace_id), _bytes(record.span_id)
        except (Broken, Unusable) as failure:
            part = f".{failure.part}" if isinstance(failure, Unusable) and failure.part else ""
            self._intake.refuse(f"the {_PATHS[signal][2][:-1]} is left out: {failure}", place=place + part)
            return []
        if record is None:
            self._intake.ignore_unlinked(1)
            return []
        self._intake.keep(1)
        return [record]


def _with_bytes(span: RawSpan) -> RawSpan:
    span.trace_id, span.span_id = _bytes(span.trace_id), _bytes(span.span_id)
    if span.parent_id is not None:
        span.parent_id = _bytes(span.parent_id)
    for link in span.links:
        link.trace_id, link.span_id = _bytes(link.trace_id), _bytes(link.span_id)
    return span


def _bytes(key: Key) -> bytes:
    # The mender writes ids as OTLP/JSON does; in protobuf they are bytes, and equal ids must be equal.
    return bytes.fromhex(cast("str", key))


def _within(message: memoryview, numbers: tuple[int, ...]) -> Iterator[memoryview]:
    return (content for number, wire, _, content in fields(message) if wire == BYTES and number in numbers)


def _part(message: memoryview, read: Callable[[memoryview], Mapping[str, object]]) -> Mapping[str, object]:
    first = next(_within(message, (_RESOURCE_OR_SCOPE,)), None)
    return {} if first is None else read(first)
