"""Recordings emitted again, by the real SDK: every span begins, tells and ends as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opentelemetry import trace
from opentelemetry._logs import LoggerProvider, LogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from spanwise import sources
from spanwise.model.raw import LogEvent, RawSpan
from spanwise.offline.reading import Reading
from tests.recordings_io import FOLDER, spans

_STATUS = {1: StatusCode.OK, 2: StatusCode.ERROR}


class Ids(IdGenerator):
    """Gives the ids that were recorded, in the order of the spans; random ones once they are used up."""

    def __init__(self) -> None:
        self.spans: list[int] = []
        self.trace: int | None = None
        self._random = RandomIdGenerator()

    def generate_span_id(self) -> int:
        return self.spans.pop(0) if self.spans else self._random.generate_span_id()

    def generate_trace_id(self) -> int:
        return self.trace or self._random.generate_trace_id()

    def is_trace_id_random(self) -> bool:
        return False


def provider_of(name: str) -> tuple[TracerProvider, Ids]:
    """A provider with the resource of a recording, and what gives its ids."""
    ids = Ids()
    limits = SpanLimits(max_span_attributes=1_000, max_events=1_000)
    resource = Resource({key: value for key, value in spans(name)[0].scope.resource.items() if value is not None})
    return TracerProvider(resource=resource, id_generator=ids, span_limits=limits, shutdown_on_exit=False), ids


def traces_of(name: str) -> list[str]:
    """The ids of the traces of a recording in which there is a run, by start."""
    return [found.trace_id for found in Reading(paths=[str(FOLDER / f"{name}.json")]).traces_of() if found.runs]


def replay(
    name: str,
    provider: TracerProvider,
    ids: Ids | None = None,
    loggers: LoggerProvider | None = None,
    *,
    only: str = "",
) -> None:
    """Emit the spans, and log events, of a recording: with its ids where they are given, of one trace if that is said.

    A span without a parent begins in the context in which this is called.
    """
    told = [raw for raw in spans(name) if not only or raw.trace_id == only]
    known = {raw.span_id for raw in told}
    begun: dict[object, Span] = {}
    for raw in _downwards(told):
        if ids is not None:
            ids.spans, ids.trace = [int(str(raw.span_id), 16)], int(str(raw.trace_id), 16)
        begun[raw.span_id] = _begin(raw, provider, begun, known)
    if loggers is not None:
        _tell(name, begun, loggers)
    for raw in sorted(told, key=lambda one: (one.end_ns, -one.start_ns)):
        _end(raw, begun[raw.span_id])


def _downwards(told: Sequence[RawSpan]) -> list[RawSpan]:
    """The spans by start, none before its parent: some clocks are coarse."""
    by_id = {raw.span_id: raw for raw in told}
    ordered: dict[object, RawSpan] = {}
    for raw in told:
        chain = [raw]
        while chain[-1].parent_id in by_id and chain[-1].parent_id not in ordered:
            chain.append(by_id[chain[-1].parent_id])
        for one in reversed(chain):
            ordered.setdefault(one.span_id, one)
    return list(ordered.values())


def _begin(raw: RawSpan, provider: TracerProvider, begun: Mapping[object, Span], known: set[object]) -> Span:
    context = None
    if raw.parent_id in known:
        context = trace.set_span_in_context(begun[raw.parent_id])
    elif raw.parent_id is not None:
        ids = (int(str(raw.trace_id), 16), int(str(raw.parent_id), 16))
        above = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        context = trace.set_span_in_context(NonRecordingSpan(above))
    return provider.get_tracer(raw.scope.name, raw.scope.version).start_span(
        raw.name,
        context=context,
        kind=SpanKind(max(raw.span_kind - 1, 0)),
        attributes=_present(raw.attributes),
        start_time=raw.start_ns,
    )


def _end(raw: RawSpan, span: Span) -> None:
    for event in raw.events:
        span.add_event(event.name, _present(event.attributes), event.time_ns)
    if raw.status_code:
        span.set_status(Status(_STATUS[raw.status_code], raw.status_message or None))
    span.end(raw.end_ns)


def _tell(name: str, begun: Mapping[object, Span], loggers: LoggerProvider) -> None:
    path = FOLDER / f"{name}.logs.json"
    for log in sources.read(str(path)) if path.exists() else ():
        if isinstance(log, LogEvent) and log.span_id in begun:
            record = LogRecord(
                timestamp=log.event.time_ns,
                context=trace.set_span_in_context(begun[log.span_id]),
                body=log.event.body,
                attributes=_present(log.event.attributes),
                event_name=log.event.name or None,
            )
            loggers.get_logger(log.scope.name, log.scope.version).emit(record)


def _present(attributes: Mapping[str, object]) -> dict[str, str | Sequence[str]]:
    return {key: value for key, value in attributes.items() if value is not None}
