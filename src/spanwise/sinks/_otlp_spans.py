"""Which spans of scored traces are forwarded, and with what on them: each span once, the scores on the runs' roots."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from spanwise.model.raw import Attributes, Key, PackedSpan, SpanRecord
from spanwise.model.result import RunResult
from spanwise.model.span import Span
from spanwise.model.trace import Trace
from spanwise.sinks._otel import span_attributes, subject_of
from spanwise.sinks._otlp_wire import span_requests
from spanwise.sinks._outbox import Parcel

PARCEL_BYTES = 256 * 1024
RANK = 0
_TRACES = 2_000
_PAST = 20_000


@dataclass(slots=True, kw_only=True)
class SpanCounts:
    """What was forwarded, in spans and traces."""

    traces: int = 0
    spans: int = 0
    late_spans: int = 0
    """Of those, the ones that came after their trace was forwarded."""
    late_scores: int = 0
    """Runs scored after their root span was forwarded: those scores are on no span, but in the events."""
    forgotten: int = 0
    """Later revisions of traces that this process does not remember, since another one forwarded them, or too many came
    in between: of those, the spans that came since were forwarded, and nothing where that is not known either."""
    unusable: int = 0
    """Traces that were not forwarded, since OTLP cannot have their ids."""


class Forwarding:
    """Makes parcels of the spans of scored traces.

    The first revision of a trace forwards all its spans. A later one forwards only those that came meanwhile: a
    backend that gets a span twice keeps both, or counts it twice, so a root is not sent again with other scores.
    Which came meanwhile this process knows of what it forwarded itself; of other traces their assembly tells.
    """

    def __init__(self, most: int = _TRACES) -> None:
        self.counts = SpanCounts()
        self._most = most
        self._known: OrderedDict[str, set[Key]] = OrderedDict()
        self._past: OrderedDict[str, None] = OrderedDict()
        """Traces of which it is not known any more which spans were forwarded, only that some were."""

    def parcels_of(self, results: Sequence[RunResult]) -> list[Parcel]:
        """The spans that are to be forwarded now."""
        by_trace: dict[int, list[RunResult]] = {}
        for result in results:
            by_trace.setdefault(id(result.run.trace), []).append(result)
        return [parcel for found in by_trace.values() for parcel in self._of_trace(found[0].run.trace, found)]

    def _of_trace(self, trace: Trace, results: Sequence[RunResult]) -> list[Parcel]:
        revision = max(result.revision for result in results)
        fresh = self._fresh(trace, revision)
        extra = self._scores(results, {span.raw.span_id for span in fresh})
        try:
            parts = list(span_requests([_as_it_came(trace, span) for span in fresh], extra, PARCEL_BYTES))
        except (ValueError, OverflowError, struct.error):
            self.counts.unusable += 1
            return []
        self._count(fresh=len(fresh), late=len(fresh) < len(trace.spans))
        self._remember(trace)
        before = len(trace.spans) - len(fresh)
        return [
            Parcel(f"{trace.trace_id}/{revision}/{before}/{number}", body, RANK)
            for number, (body, _) in enumerate(parts)
        ]

    def _fresh(self, trace: Trace, revision: int) -> Sequence[Span]:
        """The spans that nobody forwarded."""
        known = self._known.get(trace.trace_id)
        if known is not None:
            return [span for span in trace.spans if span.raw.span_id not in known]
        if trace.late is None and revision == 1 and trace.trace_id not in self._past:
            return trace.spans
        self.counts.forgotten += 1
        late = trace.late or ()
        return [span for span in trace.spans if span.raw.span_id in late]

    def _remember(self, trace: Trace) -> None:
        key = trace.trace_id
        self._known.setdefault(key, set()).update(span.raw.span_id for span in trace.spans)
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._past[self._known.popitem(last=False)[0]] = None
            if len(self._past) > _PAST:
                self._past.popitem(last=False)

    def _scores(self, results: Sequence[RunResult], fresh: Collection[Key]) -> Mapping[Key, Attributes]:
        extra: dict[Key, Attributes] = {}
        for result in results:
            subject = subject_of(result.run)
            if subject is None or subject.raw.span_id not in fresh:
                self.counts.late_scores += 1
            else:
                extra[subject.raw.span_id] = {**extra.get(subject.raw.span_id, {}), **span_attributes(result)}
        return extra

    def _count(self, *, fresh: int, late: bool) -> None:
        self.counts.traces += not late
        self.counts.spans += fresh
        self.counts.late_spans += fresh if late else 0


def _as_it_came(trace: Trace, span: Span) -> SpanRecord:
    """The bytes of a span where they are kept, unless they had to be mended."""
    record = trace.records.get(span.raw.span_id) if trace.records else None
    return record if isinstance(record, PackedSpan) and record.frame.whole else span.raw
