"""What the OpenTelemetry SDK's console exporters print: an object for each span or log record.

The console form leaves out the instrumentation scope, whether a parent is remote, what was dropped, and all of a time
below the microsecond.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from spanwise.model.raw import EMPTY, LogEvent, RawSpan, Scope
from spanwise.sources._json_text import blocks, decode_anyhow, skip_mark
from spanwise.sources._open import Input
from spanwise.sources._otlp_mend import Mender, Unusable
from spanwise.sources._source import Intake, Record, Source
from spanwise.sources._times import time_ns

_SPAN = re.compile(rb'"context"\s*:\s*\{\s*"trace_id"\s*:\s*"0x')
_LOG = re.compile(rb'"trace_id"\s*:\s*"(?:0x[0-9a-f]+)?"\s*,\s*"span_id"\s*:\s*"(?:0x[0-9a-f]+)?"\s*,\s*"trace_flags"')


def sniff(head: bytes, name: str) -> bool:
    """Whether the text shows ids as only the console exporters write them."""
    del name
    return _SPAN.search(head) is not None or _LOG.search(head) is not None


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans and log events that were printed."""
    skip_mark(data)
    reader = _Reader(intake)
    if data.peek(1) == b"[":
        items = decode_anyhow(data.read_all(at_most=intake.limits.record_bytes), intake=intake)
        if not isinstance(items, list):
            raise intake.error("this is not valid JSON")
        for index, item in enumerate(cast("list[object]", items)):
            yield from reader.item(item, f"$[{index}]")
    else:
        for number, text in blocks(data, intake=intake):
            yield from reader.item(decode_anyhow(text, intake=intake), f"line {number}")


class _Reader:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._mender = Mender(intake.repair, plain=True)
        self._scopes: dict[str, Scope] = {}

    def item(self, item: object, place: str) -> Iterator[Record]:
        """The record that a printed object describes, if it is one."""
        try:
            if not isinstance(item, Mapping):
                raise Unusable("it is not valid JSON, or nested too deeply")
            record = self._record(cast("Mapping[str, object]", item))
        except Unusable as failure:
            part = f", {failure.part}" if failure.part else ""
            self._intake.refuse(f"the object is left out: {failure}", place=place + part)
            return
        if record is not None:
            self._intake.keep(1)
            yield record

    def _record(self, fields: Mapping[str, object]) -> RawSpan | LogEvent | None:
        context = fields.get("context")
        if isinstance(context, Mapping):
            return self._mender.span(_span(fields), self._scope(fields))
        if "trace_id" in fields and "body" in fields:
            event = self._mender.log(_log(fields), self._scope(fields))
            if event is None:
                self._intake.ignore_unlinked(1)
            return event
        if "resource_metrics" in fields:
            self._intake.ignore("metrics")
            return None
        raise Unusable("it is neither a span nor a log record of the console exporters")

    def _scope(self, fields: Mapping[str, object]) -> Scope:
        resource = fields.get("resource")
        key = json.dumps(resource)
        found = self._scopes.get(key)
        if found is None:
            found = Scope("", "", self._mender.attributes(_fields(resource).get("attributes")))
            self._scopes[key] = found
        return found


def _span(fields: Mapping[str, object]) -> dict[str, object]:
    status = _fields(fields.get("status"))
    kind = fields.get("kind")
    return {
        **_ids(fields.get("context")),
        "parentSpanId": _id(fields.get("parent_id")),
        "name": fields.get("name"),
        "kind": kind.removeprefix("SpanKind.") if isinstance(kind, str) else kind,
        "startTimeUnixNano": _time(fields.get("start_time")),
        "endTimeUnixNano": _time(fields.get("end_time")),
        "status": {"code": status.get("status_code"), "message": status.get("description")},
        "attributes": fields.get("attributes"),
        "events": [
            {**event, "timeUnixNano": _time(event.get("timestamp"))} for event in _objects(fields.get("events"))
        ],
        "links": [{**link, **_ids(link.get("context"))} for link in _objects(fields.get("links"))],
    }


def _log(fields: Mapping[str, object]) -> dict[str, object]:
    return {
        **_ids(fields),
        "timeUnixNano": _time(fields.get("timestamp")),
        "observedTimeUnixNano": _time(fields.get("observed_timestamp")),
        "eventName": fields.get("event_name"),
        "body": fields.get("body"),
        "attributes": fields.get("attributes"),
    }


def _objects(items: object) -> list[Mapping[str, object]]:
    found = cast("list[object]", items) if isinstance(items, list) else []
    return [cast("Mapping[str, object]", item) for item in found if isinstance(item, Mapping)]


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else EMPTY


def _ids(context: object) -> dict[str, object]:
    fields = _fields(context)
    return {"traceId": _id(fields.get("trace_id")), "spanId": _id(fields.get("span_id"))}


def _id(value: object) -> object:
    return value.removeprefix("0x") if isinstance(value, str) else value


def _time(value: object) -> object:
    # What is no time is handed on as it is, for the error to show it.
    found = time_ns(value)
    return value if found is None else found


SOURCE = Source(name="sdk_console", title="OpenTelemetry SDK console output", sniff=sniff, read=read)
