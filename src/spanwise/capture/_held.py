"""The spans that wait for their scores. No clock, no threads: the owner passes the time in, and holds a lock.

A span waits in the group of its trace. A result settles its trace: the spans that it covers, those that were scored,
go on, those of run roots with the scores; whoever comes later finds the record of that, since a batching processor
delivers seconds after the run was scored. Spans that no result covers, such as those of a second request with the same
trace id, wait on. A group goes on without scores when its time is over, or there is no more room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from opentelemetry.sdk.trace import ReadableSpan

from spanwise.capture.keep import WEIGHT, Keeper
from spanwise.capture.records import OWN_SCOPES
from spanwise.model.raw import Key, hex_id
from spanwise.model.result import RunResult
from spanwise.sinks._otel import Attributes, openinference, span_attributes, subject_of

_SCORES_WEIGH = 40
_REMEMBERED = 40_000
_PENDING = "pending_span"


class ScoredSpan(ReadableSpan):
    """A span as it was, with more attributes."""

    def __init__(self, span: ReadableSpan, more: Attributes) -> None:
        super().__init__(
            name=span.name,
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes={**(span.attributes or {}), **more},
            events=span.events,
            links=span.links,
            kind=span.kind,
            status=span.status,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )
        self._dropped = (span.dropped_attributes, span.dropped_events, span.dropped_links)

    @property
    def dropped_attributes(self) -> int:
        """The original's."""
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        """The original's."""
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        """The original's."""
        return self._dropped[2]


class _Group:
    """What waits of one trace, and until when."""

    __slots__ = ("bytes", "due_ns", "reason", "spans")

    def __init__(self, due_ns: int, reason: str) -> None:
        self.spans: list[ReadableSpan] = []
        self.bytes = 0
        self.due_ns = due_ns
        self.reason = reason


class _Settled:
    """What became of a trace: which spans were scored, with what, and whether they are exported."""

    __slots__ = ("all", "at_ns", "ids", "kept", "revision", "scores")

    def __init__(self, at_ns: int) -> None:
        self.at_ns = at_ns
        self.ids: set[int] = set()
        self.scores: dict[int, Attributes] = {}
        self.revision = 0
        self.kept = False
        self.all = False

    @property
    def weight(self) -> int:
        return 1 + len(self.ids) + _SCORES_WEIGH * len(self.scores)


@dataclass(slots=True, kw_only=True)
class HeldStats:
    """What became of spans and traces that were to wait. Spans: held, let go, or left out, and never two of these."""

    left_out: int = 0
    """Spans of traces that `keep` does not export."""
    scored: int = 0
    """Results that came while they were waited for, or before."""
    unscored: dict[str, int] = field(default_factory=dict[str, int])
    """Times that spans of a trace went on without scores, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long spans wait, and how many: `deadline_ns` from the root's end, `open_ns` where it has not ended."""

    deadline_ns: int
    open_ns: int
    max_spans: int
    max_bytes: int
    remember_ns: int = 60_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The results of one trace: which spans they cover, and what the trace stands for (0: it is not exported)."""

    trace_id: int
    results: Sequence[RunResult]
    ids: frozenset[int]
    weight: float | None

    @classmethod
    def of(cls, results: Sequence[RunResult], keeper: Keeper) -> Told:
        """What the results of one trace say. Asks `keep`, which is the app's, so no lock may be held."""
        trace = results[0].run.trace
        return cls(
            trace_id=int(trace.trace_id, 16),
            results=results,
            ids=frozenset(_number(span.raw.span_id) for span in trace.spans),
            weight=keeper.weight(results),
        )


class Held:
    """The spans of each trace, until its scores are there."""

    def __init__(self, waiting: Waiting, keeper: Keeper) -> None:
        self.stats = HeldStats()
        self.spans = 0
        self.bytes = 0
        self._waiting = waiting
        self._keeper = keeper
        self._groups: dict[int, _Group] = {}
        self._settled: dict[int, _Settled] = {}
        self._weight = 0

    def add(self, span: ReadableSpan, now_ns: int, *, scoring: bool) -> ReadableSpan | None:
        """The span itself, scored or not, if it need not wait; None if it waits, or is not exported at all."""
        context = span.context
        if context is None:
            return span
        settled = self._settled.get(context.trace_id)
        if settled is not None and (settled.all or not scoring or _goes_with(span, settled)):
            return self._pass(span, settled)
        if settled is None and (not scoring or self._never_waits(span, context.trace_id)):
            return span
        self._hold(span, context.trace_id, now_ns, settled)
        return None

    def _never_waits(self, span: ReadableSpan, trace_id: int) -> bool:
        if _is_pending(span):
            return not self._keeper.chooses
        return trace_id not in self._groups and _is_own(span)

    def _hold(self, span: ReadableSpan, trace_id: int, now_ns: int, settled: _Settled | None) -> None:
        waiting, size = self._waiting, size_of(span)
        group = self._groups.get(trace_id)
        if group is None:
            group = self._groups[trace_id] = _Group(now_ns + waiting.open_ns, "open")
        group.spans.append(span)
        group.bytes += size
        self.spans += 1
        self.bytes += size
        if settled is not None or span.parent is None or span.parent.is_remote:
            due_ns = now_ns + waiting.deadline_ns
            if due_ns < group.due_ns:
                group.due_ns, group.reason = due_ns, "deadline"

    def settle(self, told: Told, now_ns: int) -> list[ReadableSpan]:
        """Take the results of one trace; the spans that go on for it."""
        settled = self._record(told.trace_id, now_ns)
        self.stats.scored += len(told.results)
        settled.kept = settled.kept or told.weight != 0.0
        settled.ids.update(told.ids)
        revision = told.results[0].revision
        if revision > settled.revision:
            settled.scores.clear()
            settled.revision = revision
        for result in told.results if settled.kept else ():
            _write(result, settled.scores, told.weight)
        self._remember(settled)
        return self._go(told.trace_id, settled, lambda span: _goes_with(span, settled), now_ns)

    def give_up(self, trace_id: int, now_ns: int, reason: str = "not_scored") -> list[ReadableSpan]:
        """There will be no result for this trace; the spans that go on."""
        known = trace_id in self._settled
        settled = self._record(trace_id, now_ns)
        settled.kept = settled.kept or not known
        settled.all = True
        self._remember(settled)
        if trace_id in self._groups:
            self._count(reason)
        return self._go(trace_id, settled, lambda _: True, now_ns)

    def due(self, now_ns: int) -> list[ReadableSpan]:
        """The spans whose time is over."""
        out: list[ReadableSpan] = []
        for trace_id in [key for key, group in self._groups.items() if group.due_ns <= now_ns]:
            out += self._unscored(trace_id, now_ns)
        return out

    def surplus(self, now_ns: int, *, spans: int = 0, size: int = 0) -> list[ReadableSpan]:
        """The spans for which there is no room: those of the traces that wait longest; others are held elsewhere."""
        out: list[ReadableSpan] = []
        waiting = self._waiting
        while self._groups and (self.spans + spans > waiting.max_spans or self.bytes + size > waiting.max_bytes):
            out += self._unscored(next(iter(self._groups)), now_ns, "bounds")
        return out

    def everything(self, now_ns: int, reason: str) -> list[ReadableSpan]:
        """All spans."""
        out: list[ReadableSpan] = []
        for trace_id in list(self._groups):
            out += self._unscored(trace_id, now_ns, reason)
        return out

    def _unscored(self, trace_id: int, now_ns: int, reason: str = "") -> list[ReadableSpan]:
        self._count(reason or self._groups[trace_id].reason)
        # What comes later of the trace is exported, too, so that `keep` tears none.
        settled = self._record(trace_id, now_ns)
        settled.kept = True
        self._remember(settled)
        return self._go(trace_id, settled, lambda _: True, now_ns)

    def _go(
        self, trace_id: int, settled: _Settled, goes: Callable[[ReadableSpan], bool], now_ns: int
    ) -> list[ReadableSpan]:
        group = self._groups.pop(trace_id, None)
        if group is None:
            return []
        self.spans -= len(group.spans)
        self.bytes -= group.bytes
        out: list[ReadableSpan] = []
        for span in group.spans:
            if not goes(span):
                self._hold(span, trace_id, now_ns, settled)
            elif (passed := self._pass(span, settled)) is not None:
                out.append(passed)
        if (rest := self._groups.get(trace_id)) is not None:
            rest.due_ns = min(rest.due_ns, group.due_ns)
        return out

    def _pass(self, span: ReadableSpan, settled: _Settled) -> ReadableSpan | None:
        if not settled.kept:
            self.stats.left_out += 1
            return None
        more = settled.scores.pop(_id(span), None) if settled.scores else None
        if more is None:
            return span
        self._weight -= _SCORES_WEIGH
        return ScoredSpan(span, more)

    def _record(self, trace_id: int, now_ns: int) -> _Settled:
        """The trace's record, taken out of the sum of weights until it is remembered again."""
        settled = self._settled.pop(trace_id, None)
        if settled is None:
            settled = _Settled(now_ns)
        else:
            self._weight -= settled.weight
        settled.at_ns = now_ns
        self._settled[trace_id] = settled
        return settled

    def _remember(self, settled: _Settled) -> None:
        self._weight += settled.weight
        waiting = self._waiting
        while len(self._settled) > 1:
            oldest = next(iter(self._settled))
            held = self._settled[oldest]
            if held is settled:
                break
            if held.at_ns + waiting.remember_ns > settled.at_ns and self._weight <= max(
                4 * waiting.max_spans, _REMEMBERED
            ):
                break
            del self._settled[oldest]
            self._weight -= held.weight

    def _count(self, reason: str) -> None:
        self.stats.unscored[reason] = self.stats.unscored.get(reason, 0) + 1


def _write(result: RunResult, scores: dict[int, Attributes], weight: float | None) -> None:
    """Note the scores for the run's root, and for the trace's where it stands for one run only."""
    run = result.run
    own = subject_of(run)
    if own is None:
        return
    trace = run.trace
    top = trace.spans[trace.roots[0]] if len(trace.run_roots) == 1 and trace.roots else None
    held = scores.setdefault(_number(own.raw.span_id), {})
    held.update(span_attributes(result))
    if weight:
        held[WEIGHT] = weight
    if top is None or top is not own:
        _number_on(held, result, "evaluations")
    if top is not None:
        _number_on(scores.setdefault(_number(top.raw.span_id), {}), result, "trace.evaluations")


def _number_on(held: Attributes, result: RunResult, prefix: str) -> None:
    """Add evaluations behind those that are there: evaluators in a helper process answer later than the others."""
    there = {value for key, value in held.items() if key.startswith(prefix) and key.endswith(".evaluation.identifier")}
    new = tuple(score for score in result.scores if result.id_of(score) not in there)
    held.update(openinference(replace(result, scores=new), prefix, first=len(there)))


def _goes_with(span: ReadableSpan, settled: _Settled) -> bool:
    """The span was scored, or is about one that was."""
    return _id(span) in settled.ids or _is_own(span) or _is_pending(span)


def _is_own(span: ReadableSpan) -> bool:
    """Spanwise itself emitted the span, so it is never scored."""
    scope = span.instrumentation_scope
    return scope is not None and scope.name.startswith(OWN_SCOPES)


def _id(span: ReadableSpan) -> int:
    return span.context.span_id if span.context is not None else 0


def _number(key: Key) -> int:
    return key if isinstance(key, int) else int(hex_id(key), 16)


def _is_pending(span: ReadableSpan) -> bool:
    """Logfire announces a span before it ends, with one that no other exporter gets."""
    return (span.attributes or {}).get("logfire.span_type") == _PENDING


def size_of(span: ReadableSpan) -> int:
    """About how many bytes a span holds: its text, and a constant for the rest."""
    return 1000 + _text(span.attributes) + sum(300 + _text(event.attributes) for event in span.events)


def _text(attributes: object) -> int:
    values: Iterable[object] = getattr(attributes, "values", tuple)()
    return sum(len(value) if isinstance(value, str) else 50 for value in values)
