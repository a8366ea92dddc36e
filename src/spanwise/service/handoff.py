"""Traces that are not finished when the service has to go, given to another that finishes them."""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.model.raw import Key, LogEvent, Scope, SpanRecord
from spanwise.sinks._otlp_http import url_of
from spanwise.sinks._otlp_wire import attributes_field, id_bytes, resource_of, sized
from spanwise.sinks.otlp import encode_spans, post

_log = logging.getLogger("spanwise")
_fixed64 = struct.Struct("<Q").pack
_RECORDS = 4_000
_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A trace with what is held of it."""

    key: Key
    spans: Sequence[SpanRecord]
    events: Sequence[LogEvent]


@dataclass(frozen=True, slots=True)
class HandOff:
    """Posts traces to an OTLP receiver, whole: the log events of a trace first, then its spans.

    Args:
        to: The receiver, such as http://127.0.0.1:4320.
        headers: What every request carries; never told.
        ca_file: The certificates that vouch for an https receiver; the system's where not given.
        beat: Called between requests.
    """

    to: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    ca_file: str | None = None
    beat: Callable[[], None] = lambda: None

    def give(self, traces: Iterable[Unfinished], until: float) -> list[Key]:
        """The traces that were taken before the time is over, by the clock of `time.monotonic`."""
        taken: list[Key] = []
        for portion in _portions(traces):
            self.beat()
            try:
                is_taken = self._give(portion, until)
            except Exception:  # noqa: BLE001  (what cannot be handed off stays in the log)
                _log.exception("unfinished traces could not be handed off")
                is_taken = False
            if not is_taken:
                break
            taken += [trace.key for trace in portion]
        return taken

    def _give(self, portion: Sequence[Unfinished], until: float) -> bool:
        events = [event for trace in portion for event in trace.events]
        spans = [span for trace in portion for span in trace.spans]
        return (not events or self._posted("logs", encode_events(events), until)) and (
            not spans or self._posted("traces", encode_spans(spans), until)
        )

    def _posted(self, signal: str, payload: bytes, until: float) -> bool:
        url = url_of(self.to, "logs" if signal == "logs" else "traces")
        while (left := until - time.monotonic()) > 0:
            answer = post(url, payload, self.headers, min(left, 5.0), ca_file=self.ca_file)
            if answer.verdict == "taken":
                return not getattr(answer, "rejected", 0)
            if answer.verdict != "later":
                hint = "; check handoff_token and handoff_headers" if answer.verdict == "denied" else ""
                _log.warning("unfinished traces were not taken by %s: %s%s", self.to, answer.reason, hint)
                return False
            time.sleep(max(0.0, min(answer.after_s or _PAUSE_S, until - time.monotonic())))
        _log.warning("unfinished traces could not be handed off to %s in time", self.to)
        return False


def _portions(traces: Iterable[Unfinished]) -> Iterable[list[Unfinished]]:
    portion: list[Unfinished] = []
    held = 0
    for trace in traces:
        size = len(trace.spans) + len(trace.events)
        if portion and held + size > _RECORDS:
            yield portion
            portion, held = [], 0
        portion.append(trace)
        held += size
    if portion:
        yield portion


def encode_events(events: Iterable[LogEvent]) -> bytes:
    """An ExportLogsServiceRequest with these."""
    groups: dict[int, tuple[Scope, list[bytes]]] = {}
    for event in events:
        groups.setdefault(id(event.scope), (event.scope, []))[1].append(sized(b"\x12", _record(event)))
    found: list[bytes] = []
    for scope, records in groups.values():
        name = sized(b"\x0a", scope.name.encode()) + sized(b"\x12", scope.version.encode())
        logs = sized(b"\x12", sized(b"\x0a", name) + b"".join(records))
        found.append(sized(b"\x0a", resource_of(scope.resource) + logs))
    return b"".join(found)


def _record(event: LogEvent) -> bytes:
    told = event.event
    pair = attributes_field({"b": told.body}, b"\x0a").partition(b"\x0a\x01b\x12")[2]  # the body's length, and it
    return b"".join(
        (
            b"\x09" + _fixed64(told.time_ns),
            b"" if told.body is None else b"\x2a" + pair,
            attributes_field(told.attributes, b"\x32"),
            sized(b"\x4a", id_bytes(event.trace_id, 16)),
            sized(b"\x52", id_bytes(event.span_id, 8)),
            b"\x59" + _fixed64(told.time_ns),
            sized(b"\x62", told.name.encode()) if told.name else b"",
        )
    )
