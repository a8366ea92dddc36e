"""Traces and observations out of Langfuse: its REST API (v1 and v2), its UI's downloads, its blob storage exports.

They become spans with the attributes that Langfuse's own SDK writes, so one convention reads both. Ids stay the texts
that they are in Langfuse, be they of OpenTelemetry or UUIDs. Langfuse keeps a trace apart from its observations: where
a single observation is the root of the trace, it takes the trace's own fields; where there are several or none, the
trace becomes a span above them. Rows of observations whose trace is not in the same value name it as a parent
elsewhere, so that a file of traces and a file of observations fit together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spanwise.model.raw import EMPTY, STATUS_ERROR, STATUS_UNSET, RawSpan, Scope
from spanwise.sources._json_text import BROKEN
from spanwise.sources._langfuse_attributes import camel, observation_attributes, scope_of, trace_attributes
from spanwise.sources._open import Input
from spanwise.sources._otlp_mend import Unusable
from spanwise.sources._outline import ITEM, below, outline
from spanwise.sources._records import Fields, Found, decode_record, fields_of, id_of, list_of, records, text_of
from spanwise.sources._source import Intake, Record, Source
from spanwise.sources._times import time_ns

BARE = "trace without its observations: only what it was asked and what it answered is known"
SCORES = "score"
_TRACE_MARKS = frozenset(
    "bookmarked environment externalId htmlPath observations projectId project_id public release scores sessionId"
    " session_id tags totalCost userId user_id".split()
)


def sniff(head: bytes, name: str) -> bool:
    """Whether the text is JSON with observations or traces, alone, in a list, below `data`, or one on each line."""
    del name
    paths = outline(head)
    top = below(paths)
    if "trace" in top and "observations" in top:
        return _is_trace(below(paths, "trace")) or _is_observation(below(paths, "observations", ITEM))
    places = [top, below(paths, ITEM)]
    places += [below(paths, name, ITEM) for name in ("data", "traces", "observations")]
    return any(_is_trace(keys) or _is_observation(keys) for keys in places)


def _is_observation(keys: frozenset[str] | Mapping[str, object]) -> bool:
    return (
        "id" in keys
        and "type" in keys
        and ("traceId" in keys or "trace_id" in keys)
        and ("startTime" in keys or "start_time" in keys)
    )


def _is_trace(keys: frozenset[str] | Mapping[str, object]) -> bool:
    if "id" not in keys or "timestamp" not in keys or "messages" in keys or _is_score(keys):
        return False
    return sum(mark in keys for mark in _TRACE_MARKS) > 1


def _is_score(keys: frozenset[str] | Mapping[str, object]) -> bool:
    return "dataType" in keys or "data_type" in keys


def read(data: Input, /, *, intake: Intake) -> Iterator[Record]:
    """The spans of an export."""
    reader = _Reader(intake)
    for found in records(data, intake=intake):
        fields = fields_of(found.value) or EMPTY
        name = "traces" if "traces" in fields else "data"  # of a session, or on a page
        page = list_of(fields.get(name))
        if page is None:
            yield from reader.value(found)
        else:
            for index, item in enumerate(page):
                yield from reader.value(Found(item, f"{found.place}, {name}[{index}]"))


class _Reader:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def value(self, found: Found) -> Iterator[Record]:
        """The spans in one value: a trace with its observations, a trace alone, or an observation."""
        fields = fields_of(found.value) or EMPTY
        inner = fields_of(fields.get("trace"))
        if inner is not None and "id" not in fields:  # what the UI downloads
            yield from self._trace({"scores": fields.get("scores"), **inner, **_rows(fields)}, found.place)
        elif _is_observation(fields):
            yield from self._observations([fields], found.place)
        elif _is_trace(fields):
            yield from self._trace(fields, found.place)
        elif _is_score(fields):
            self._intake.ignore(SCORES)
        else:
            self._intake.refuse("this is neither a trace nor an observation of Langfuse", place=found.place)

    def _trace(self, row: Fields, place: str) -> Iterator[Record]:
        trace = camel(row)
        trace_id = id_of(trace.get("id"))
        if not trace_id:
            self._intake.refuse("the trace is left out: it has no id", place=place)
            return
        scores = list_of(trace.get("scores"))
        if scores:
            self._intake.ignore(SCORES, count=len(scores))
        rows = [item for item in list_of(trace.get("observations")) or () if not isinstance(item, str)]
        built = list(self._observations(rows, place, trace_id=trace_id))
        roots = [span for span in built if span.parent_id is None]
        own = trace_attributes(trace, self._text_as_value)
        if len(roots) == 1:
            roots[0].attributes = {**own, **roots[0].attributes}
        else:
            for span in roots:
                span.parent_id = trace_id
            if not built:
                self._intake.repair(BARE)
            self._intake.keep(1)
            yield self._above(trace, trace_id, built, own)
        yield from built

    def _above(self, trace: Fields, trace_id: str, built: Sequence[RawSpan], own: dict[str, object]) -> RawSpan:
        """The trace as a span; its end is that of its last observation, or what its latency says."""
        starts = [span.start_ns for span in built if span.start_ns]
        start = time_ns(trace.get("timestamp")) or min(starts, default=0)
        latency = trace.get("latency")
        end = max((span.end_ns for span in built), default=0)
        if not end and start and isinstance(latency, int | float) and 0 <= latency < 1e9:
            end = start + round(latency * 1e9)
        own["langfuse.observation.type"] = "span"
        # A trace whose observations are elsewhere is not all there is to see.
        return RawSpan(
            trace_id,
            trace_id,
            None,
            text_of(trace.get("name")),
            min([start, *starts]),
            end,
            STATUS_UNSET,
            "",
            own,
            (),
            Scope("langfuse-sdk", "", EMPTY),
            dropped=0 if built else 1,
        )

    def _observations(self, rows: Sequence[object], place: str, *, trace_id: str = "") -> Iterator[RawSpan]:
        for index, row in enumerate(rows):
            try:
                span = self._observation(row, trace_id)
            except Unusable as failure:
                where = f"{place}, observations[{index}]" if trace_id else place
                self._intake.refuse(f"the observation is left out: {failure}", place=where)
                continue
            self._intake.keep(1)
            yield span

    def _observation(self, row: object, of_trace: str) -> RawSpan:
        held = fields_of(row)
        if held is None:
            raise Unusable("it is no object")
        fields = camel(held)
        span_id = id_of(fields.get("id"))
        trace_id = of_trace or id_of(fields.get("traceId"))
        if not span_id or not trace_id:
            raise Unusable(f"it has no {'traceId' if span_id else 'id'}")
        parent_id = id_of(fields.get("parentObservationId"))
        remote = bool(parent_id) and fields.get("isRootObservation") is True
        if not parent_id and not of_trace and span_id != trace_id:
            parent_id, remote = trace_id, True
        metadata = self._text_as_value(fields.get("metadata"))
        start, end = self._times(fields)
        return RawSpan(
            trace_id,
            span_id,
            parent_id or None,
            text_of(fields.get("name")),
            start,
            end,
            STATUS_ERROR if fields.get("level") == "ERROR" else STATUS_UNSET,
            text_of(fields.get("statusMessage")),
            observation_attributes(fields, metadata),
            (),
            scope_of(fields_of(metadata) or EMPTY),
            parent_remote=remote,
        )

    def _times(self, fields: Fields) -> tuple[int, int]:
        start = time_ns(fields.get("startTime"))
        if start is None or start < 0:
            self._intake.repair("start time missing or unreadable: taken as unknown")
            start = 0
        end = time_ns(fields.get("endTime"))
        if end is None and text_of(fields.get("type")).lower() == "event":  # a point in time
            end = start
        return start, end or 0

    def _text_as_value(self, value: object) -> object:
        """The value, decoded if it is the text of an object: exports write metadata both ways."""
        if not isinstance(value, str) or not value.lstrip().startswith("{"):
            return value
        decoded = decode_record(value.encode(), intake=self._intake)
        return value if decoded is BROKEN else decoded


def _rows(fields: Fields) -> Fields:
    return {"observations": fields["observations"]} if "observations" in fields else {}


SOURCE = Source(name="langfuse_export", title="Langfuse export", sniff=sniff, read=read)
