"""Which spans of scored traces are forwarded, and with what on them: each span once, the scores on the runs' roots."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanwise.model.raw import Attributes, Key
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.sinks._otel import span_attributes, subject_of
from spanwise.sinks._otlp_wire import span_requests
from spanwise.sinks._outbox import Parcel

PARCEL_BYTES = 256 * 1024
RANK = 0
_TRACES = 2_000


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
    """Later revisions of traces that this process does not remember; nothing of them was forwarded again."""
    unusable: int = 0
    """Traces that were not forwarded, since OTLP cannot have their ids."""


class Forwarding:
    """Makes parcels of the spans of scored traces.

    The first revision of a trace forwards all its spans. A later one forwards only those that came meanwhile: a
    backend that gets a span twice keeps both, or counts it twice, so a root is not sent again with other scores.
    """

    def __init__(self, most: int = _TRACES) -> None:
        self.counts = SpanCounts()
        self._most = most
        self._known: OrderedDict[str, set[Key]] = OrderedDict()

    def parcels_of(self, results: Sequence[RunResult]) -> list[Parcel]:
        """The spans that are to be forwarded now."""
        by_trace: dict[int, list[RunResult]] = {}
        for result in results:
            by_trace.setdefault(id(result.run.trace), []).append(result)
        return [parcel for found in by_trace.values() for parcel in self._of_trace(found[0].run.trace, found)]

    def _of_trace(self, trace: Trace, results: Sequence[RunResult]) -> list[Parcel]:
        known = self._known.get(trace.trace_id)
        revision = max(result.revision for result in results)
        if known is None and revision > 1:
            self.counts.forgotten += 1
            return []
        sent = known or set[Key]()
        fresh = [span.raw for span in trace.spans if span.raw.span_id not in sent]
        extra = self._scores(results, sent)
        try:
            parts = list(span_requests(fresh, extra, PARCEL_BYTES))
        except (ValueError, OverflowError, struct.error):
            self.counts.unusable += 1
            return []
        self._count(fresh=len(fresh), late=known is not None)
        self._known[trace.trace_id] = sent.union(raw.span_id for raw in fresh)
        self._known.move_to_end(trace.trace_id)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return [
            Parcel(f"{trace.trace_id}/{revision}/{len(sent)}/{number}", body, RANK)
            for number, (body, _) in enumerate(parts)
        ]

    def _scores(self, results: Sequence[RunResult], sent: set[Key]) -> Mapping[Key, Attributes]:
        extra: dict[Key, Attributes] = {}
        for result in results:
            subject = subject_of(result.run)
            if subject is None or subject.raw.span_id in sent:
                self.counts.late_scores += 1
            else:
                extra[subject.raw.span_id] = {**extra.get(subject.raw.span_id, {}), **span_attributes(result)}
        return extra

    def _count(self, *, fresh: int, late: bool) -> None:
        self.counts.traces += not late
        self.counts.spans += fresh
        self.counts.late_spans += fresh if late else 0
