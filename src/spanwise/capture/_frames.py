"""What an app and its helper process say to each other: frames of MessagePack, each behind its length.

Ids travel as hex text, which every door's ids become where a person reads them, so that scores and evidence name the
same spans on both sides. Scopes and resources, which many spans share, travel once.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from spanwise.assembly.tree import build_trace
from spanwise.model.calls import Completeness
from spanwise.model.raw import Attributes, Key, RawEvent, RawLink, RawSpan, Scope, hex_id, hex_trace_id
from spanwise.model.score import Score
from spanwise.model.trace import Run

LENGTH = struct.Struct(">Q")
MOST_BYTES = 1 << 28
_DEEP = 32


class Sent(msgspec.Struct):
    """An evaluator: pickled, or the path and the parameters that it is made with in the helper process."""

    name: str
    pickled: bytes = b""
    path: str = ""
    parameters: dict[str, object] = {}


class Setup(msgspec.Struct):
    """The first frame to the helper process."""

    evaluators: list[Sent]
    thresholds: dict[str, tuple[float, float]]
    memory_bytes: int | None = None


class SentEvent(msgspec.Struct, array_like=True, gc=False):
    """A `RawEvent`."""

    name: str
    time_ns: int
    attributes: Attributes
    body: object = None


class SentLink(msgspec.Struct, array_like=True, gc=False):
    """A `RawLink`."""

    trace_id: str
    span_id: str
    attributes: Attributes


class SentSpan(msgspec.Struct, array_like=True, gc=False):
    """A `RawSpan` of the trace, its scope by number."""

    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    status_code: int
    status_message: str
    attributes: Attributes
    events: list[SentEvent]
    scope: int
    links: list[SentLink]
    span_kind: int
    parent_remote: bool
    dropped: int


class Job(msgspec.Struct):
    """A run, with the whole of its trace, and the names of the evaluators that are asked about it."""

    names: list[str]
    revision: int
    trace_id: str
    root: int
    scopes: list[Scope]
    spans: list[SentSpan]
    complete: bool
    reasons: tuple[str, ...]
    repairs: tuple[str, ...]
    source: str = ""


class Reply(msgspec.Struct):
    """From the helper process: it is ready, it has read the run, or these are one evaluator's scores."""

    kind: str
    name: str = ""
    scores: list[Score] = []


def job_of(run: Run, names: Sequence[str], revision: int) -> Job:
    """What the helper process is told of a run."""
    trace = run.trace
    numbers: dict[int, int] = {}
    scopes: list[Scope] = []
    spans: list[SentSpan] = []
    for span in trace.spans:
        raw = span.raw
        number = numbers.get(id(raw.scope))
        if number is None:
            number = numbers[id(raw.scope)] = len(scopes)
            scopes.append(raw.scope)
        spans.append(_sent(raw, number))
    return Job(
        list(names),
        revision,
        trace.trace_id,
        run.mark,
        scopes,
        spans,
        trace.completeness.complete,
        trace.completeness.reasons,
        trace.repairs,
        trace.source,
    )


def _sent(raw: RawSpan, scope: int) -> SentSpan:
    return SentSpan(
        hex_id(raw.span_id),
        None if raw.parent_id is None else hex_id(raw.parent_id),
        raw.name,
        raw.start_ns,
        raw.end_ns,
        raw.status_code,
        raw.status_message,
        raw.attributes,
        [SentEvent(one.name, one.time_ns, one.attributes, one.body) for one in raw.events],
        scope,
        [SentLink(hex_trace_id(one.trace_id), hex_id(one.span_id), one.attributes) for one in raw.links],
        raw.span_kind,
        raw.parent_remote,
        raw.dropped,
    )


def run_of(job: Job) -> Run:
    """The run again, on a trace built from its spans."""
    trace = build_trace(job.trace_id, [_raw(job, span) for span in job.spans], unit="trace" if job.root < 0 else "run")
    trace.completeness = Completeness(complete=job.complete, reasons=job.reasons)
    trace.repairs = job.repairs
    trace.source = job.source
    trace.revision = job.revision
    return Run(trace, job.root)


def _raw(job: Job, span: SentSpan) -> RawSpan:
    key: Key = job.trace_id
    return RawSpan(
        key,
        span.span_id,
        span.parent_id,
        span.name,
        span.start_ns,
        span.end_ns,
        span.status_code,
        span.status_message,
        span.attributes,
        tuple([RawEvent(one.name, one.time_ns, one.attributes, one.body) for one in span.events]),
        job.scopes[span.scope],
        tuple([RawLink(one.trace_id, one.span_id, one.attributes) for one in span.links]),
        span.span_kind,
        span.parent_remote,
        span.dropped,
    )


def encode(message: object) -> bytes:
    """A message with its length in front. What MessagePack cannot hold goes as text."""
    try:
        body = _ENCODER.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError):
        body = _ENCODER.encode(_plain(msgspec.structs.asdict(cast("msgspec.Struct", message)), 0))
    return LENGTH.pack(len(body)) + body


def _known(value: object) -> object:
    """A mapping of the SDK's own kind as a dict, anything else that is unknown as text."""
    return dict(cast("Mapping[object, object]", value)) if isinstance(value, Mapping) else str(value)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_known)


def _plain(value: object, depth: int) -> object:
    """The same in values that MessagePack holds: no huge numbers, no broken text, no endless nesting."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, bool | float | bytes) or value is None:
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else str(value)
    if depth > _DEEP:
        return "…"
    if isinstance(value, msgspec.Struct):
        held = msgspec.structs.asdict(value)
        plain = {name: _plain(one, depth + 1) for name, one in held.items()}
        return list(plain.values()) if value.__struct_config__.array_like else plain
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {str(_plain(key, depth + 1)): _plain(one, depth + 1) for key, one in pairs}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, depth + 1) for one in cast("Sequence[object]", value)]
    return _plain(str(value), depth)
