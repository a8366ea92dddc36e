"""OTLP requests as batches of records.

A request in protobuf that follows the specification stays bytes, span by span (`PackedSpan`); any other is read by the
readers that mend what can be mended. Ids are bytes whatever the encoding, since one trace may come in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, TypeAlias, cast

import msgspec

from spanwise.capture.records import OWN_SCOPES
from spanwise.errors import SourceError
from spanwise.model.raw import Key, LogEvent, PackedSpan, RawSpan, Scope
from spanwise.sources._otlp_binary import DOUBTS, BinaryReader
from spanwise.sources._otlp_messages import decode_logs, decode_traces
from spanwise.sources._otlp_packed import Packer
from spanwise.sources._otlp_slow import SlowReader
from spanwise.sources._otlp_typed import TypedReader
from spanwise.sources._source import Intake
from spanwise.sources._wire import Broken
from spanwise.sources.otlp_json import read_document

Signal: TypeAlias = Literal["traces", "logs"]
ContentType: TypeAlias = Literal["protobuf", "json"]
Record: TypeAlias = RawSpan | PackedSpan | LogEvent

_LONGEST = 300
_ITEMS = {"traces": "spans", "logs": "log records"}
_PACKER = Packer()


class BatchError(SourceError):
    """A request is not OTLP, or not of the signal that its address names."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One request: what it held, and its bytes as the write-ahead log keeps them.

    Args:
        signal: What it was sent as.
        content: How it is encoded.
        payload: Its bytes, inflated.
        records: What is usable, Spanwise's own left out.
        own: How many records of Spanwise's own scopes were left out.
        rejected: How many can never be accepted, since nobody could say to which trace they belong.
        why: What is wrong with the first of these.
    """

    signal: Signal
    content: ContentType
    payload: bytes
    records: Sequence[Record]
    own: int
    rejected: int
    why: str


def decode(signal: Signal, content: ContentType, payload: bytes) -> Batch:
    """The batch that a request's body holds; an empty one is a batch of nothing.

    Raises:
        BatchError: It is not OTLP of this signal and encoding.
    """
    if content == "protobuf" and signal == "traces":
        try:
            packed, own = _PACKER.pack(payload, _is_own)
        except DOUBTS:
            pass
        else:
            if packed or own or not payload:
                return Batch(signal, content, payload, packed, own, 0, "")
    return _Reading(signal, content, payload).batch()


def _is_own(scope: Scope) -> bool:
    return scope.name.startswith(OWN_SCOPES)


@dataclass(slots=True)
class _Reading:
    """The reading of a request with all that can be wrong with it."""

    signal: Signal
    content: ContentType
    payload: bytes
    problems: list[str] = field(default_factory=list[str])
    rejected: int = 0

    def batch(self) -> Batch:
        intake = Intake(source="the request", on_error=self._told)
        try:
            found = self._json(intake) if self.content == "json" else self._protobuf(intake)
        except SourceError as failure:
            raise BatchError(failure.message, place=failure.place) from failure
        except Broken as failure:
            raise BatchError(f"the request is not valid protobuf: {failure}") from failure
        records = [record for record in found if isinstance(record, LogEvent) == (self.signal == "logs")]
        if len(records) < len(found):
            self._reject(f"the request holds other records than {_ITEMS[self.signal]}", len(found) - len(records))
        usable = [record for record in records if not _is_own(record.scope)]
        self._judge(intake, some=bool(found))
        own = len(records) - len(usable)
        return Batch(self.signal, self.content, self.payload, usable, own, self.rejected, self._why())

    def _json(self, intake: Intake) -> list[RawSpan | LogEvent]:
        if self.payload.strip() == b"{}":
            return []  # what protobuf's JSON makes of a request that holds nothing
        if not self.payload.strip():
            raise BatchError("the request is empty, which is no JSON")
        batches = read_document(self.payload, typed=TypedReader(intake), intake=intake, where="")
        found = list(chain.from_iterable(batches))
        _use_bytes(found)
        return found

    def _protobuf(self, intake: Intake) -> list[RawSpan | LogEvent]:
        try:
            reader = BinaryReader(intake)
            return reader.traces(self.payload) if self.signal == "traces" else reader.logs(self.payload)
        except DOUBTS:
            return list(chain.from_iterable(SlowReader(intake).records(memoryview(self.payload), "the request")))

    def _judge(self, intake: Intake, *, some: bool) -> None:
        """Whether it was a request of this kind at all."""
        ignored = intake.tally.ignored
        if some:
            return
        others = [name for name in ("metrics", "profiles") if name in ignored]
        if others:
            raise BatchError(f"the request holds {others[0]}, not {self.signal}")
        if self.rejected and not _is_sound(self.signal, self.content, self.payload):
            raise BatchError(self.problems[0])
        if not (self.rejected or ignored) and self.content == "protobuf" and not _has_resources(self.payload):
            raise BatchError(f"the request holds bytes, but no {_ITEMS[self.signal]}")

    def _told(self, failure: SourceError) -> None:
        self._reject(f"{failure.place}: {failure.message}" if failure.place else failure.message, 1)

    def _reject(self, message: str, count: int) -> None:
        self.rejected += count
        self.problems.append(message) if not self.problems else None

    def _why(self) -> str:
        return self.problems[0][:_LONGEST] if self.problems else ""


def _has_resources(payload: bytes) -> bool:
    # The first and only field of a request is its list of resources.
    return not payload or payload[:1] == b"\x0a"


def _is_sound(signal: Signal, content: ContentType, payload: bytes) -> bool:
    """Whether the bytes are valid in their encoding, whatever they say."""
    try:
        if content == "json":
            msgspec.json.decode(payload)
        else:
            (decode_traces if signal == "traces" else decode_logs)(payload)
    except (ValueError, RecursionError, *DOUBTS):
        return False
    return True


def _use_bytes(records: Iterable[RawSpan | LogEvent]) -> None:
    """Make the ids bytes, as they are in protobuf."""
    for record in records:
        record.trace_id, record.span_id = _bytes(record.trace_id), _bytes(record.span_id)
        if isinstance(record, LogEvent):
            continue
        if record.parent_id is not None:
            record.parent_id = _bytes(record.parent_id)
        for link in record.links:
            link.trace_id, link.span_id = _bytes(link.trace_id), _bytes(link.span_id)


def _bytes(key: Key) -> bytes:
    text = cast("str", key)
    try:
        return bytes.fromhex(text)
    except ValueError:
        return text.encode(errors="replace")  # a parent's id that is none stays a parent that is not here
