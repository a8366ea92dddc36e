"""Building one trace from its spans.

The order of arrival does not matter: spans are sorted by start (ties: the longer first, then by id) and linked by
index. Everything is a loop over lists, so a chain of 10,000 spans costs what a star of 10,000 costs. What cannot be
right is repaired and said: of two spans with one id the fuller stays, a cycle of parents is cut at its earliest span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import replace

from spanwise.assembly.facts import SpanFacts
from spanwise.conventions import classify
from spanwise.model.calls import Completeness
from spanwise.model.canonical import shown
from spanwise.model.raw import Key, LogEvent, PackedSpan, RawSpan, SpanRecord, hex_id
from spanwise.model.span import Span
from spanwise.model.trace import Trace, paced

_START = attrgetter("start_ns")
_ATTRIBUTE_LIMIT = 128
_FACTS = SpanFacts()


def build_trace(
    key: Key,
    raws: Iterable[SpanRecord],
    *,
    events: Iterable[LogEvent] = (),
    unit: str = "run",
    lost: Sequence[str] = (),
    disagreeing: Iterable[Key] = (),
    pause: Callable[[], None] | None = None,
) -> Trace:
    """The trace of these spans, whatever their order.

    `lost` are reasons known outside why it is not whole, `disagreeing` ids of which the caller has seen two spans
    that differ. `pause` is called between small pieces of the work.
    """
    repairs: list[str] = []
    doubles = set(disagreeing)
    ordered = _ordered(raws, doubles)
    if doubles:
        shared = ", ".join(sorted(hex_id(one) for one in doubles))
        repairs.append(f"spans that share an id and disagree, the fuller kept: {shared}")
    _join(ordered, events, repairs)
    if pause is not None:
        pause()
    spans, roots, run_roots, unseen = _link(ordered, repairs, pause)
    if unit == "trace" or (not run_roots and any(span.kind != "setup" for span in spans)):
        run_roots = [-1]
    return Trace(
        key,
        spans,
        facts=_FACTS,
        roots=roots,
        run_roots=run_roots,
        completeness=_completeness(ordered, roots, unseen, lost),
        repairs=tuple(repairs),
    )


def _ordered(raws: Iterable[SpanRecord], doubles: set[Key]) -> list[RawSpan]:
    listed = [raw.unpack() if isinstance(raw, PackedSpan) else raw for raw in raws]
    by_id = {raw.span_id: raw for raw in listed}
    if len(by_id) != len(listed):
        by_id = _without_doubles(listed, doubles)
    ordered = sorted(by_id.values(), key=_START)
    previous = None
    for raw in ordered:
        if raw.start_ns == previous:
            ordered.sort(key=lambda raw: (raw.start_ns, -raw.end_ns, hex_id(raw.span_id)))
            break
        previous = raw.start_ns
    return ordered


def fullness(raw: SpanRecord) -> tuple[object, ...]:
    """Of two spans with one id the one with the greater fullness stays: the same one in every order of arrival."""
    raw = raw.unpack() if isinstance(raw, PackedSpan) else raw
    return (raw.end_ns > 0, len(raw.attributes), len(raw.events), raw.end_ns, raw.status_code, shown(raw))


def _without_doubles(listed: list[RawSpan], doubles: set[Key]) -> dict[Key, RawSpan]:
    kept: dict[Key, RawSpan] = {}
    for raw in listed:
        other = kept.setdefault(raw.span_id, raw)
        if other is not raw:
            new, old = fullness(raw), fullness(other)
            if new != old:
                doubles.add(raw.span_id)
            if new > old:
                kept[raw.span_id] = raw
    return kept


def _join(ordered: list[RawSpan], events: Iterable[LogEvent], repairs: list[str]) -> None:
    """Put each log event on its span, by time, once however often it came."""
    listed = list(events)
    if not listed:
        return
    index = {raw.span_id: at for at, raw in enumerate(ordered)}
    joined: dict[int, list[LogEvent]] = {}
    homeless = 0
    for event in listed:
        at = index.get(event.span_id)
        if at is None:
            homeless += 1
        else:
            joined.setdefault(at, []).append(event)
    for at, found in joined.items():
        raw = ordered[at]
        known = {shown(event) for event in raw.events}
        fresh = {shown(item.event): item.event for item in found}
        more = sorted((e.time_ns, e.name, text) for text, e in fresh.items() if text not in known)
        ordered[at] = replace(raw, events=(*raw.events, *(fresh[text] for _, _, text in more)))
    if homeless:
        repairs.append(f"log events whose span is not here, left out: {homeless}")


def _link(
    ordered: list[RawSpan], repairs: list[str], pause: Callable[[], None] | None
) -> tuple[list[Span], list[int], list[int], int]:
    index: dict[Key | None, int] = {raw.span_id: at for at, raw in enumerate(ordered)}
    spans: list[Span] = []
    roots: list[int] = []
    run_roots: list[int] = []
    unseen = 0
    append = spans.append
    get = index.get
    tangled = False
    for at, raw in enumerate(ordered if pause is None else paced(ordered, pause)):
        dialect, kind = classify(raw)
        parent = get(raw.parent_id, -1)  # no span has None for its id
        run = agent = holder = -1
        if parent < 0:
            roots.append(at)
            if raw.parent_id is not None and not raw.parent_remote:
                unseen += 1
        elif parent < at:
            above = spans[parent]
            run = above.run
            agent = above.agent
            above_kind = above.kind
            holder = parent if above_kind in _HOLDERS else -1 if above_kind == "agent" else above.holder
        else:
            tangled = True
        if kind in _RUNNERS:
            if run < 0:
                run = at
                run_roots.append(at)
            if kind == "agent":
                agent = at
        append(Span(raw, kind, dialect, at, parent, run, agent, holder))
    runners = run_roots
    if tangled:
        roots, run_roots = _untangle(spans, {}, repairs)
    adopted = _adopted(spans, runners) if unseen and runners else {}
    if adopted:
        roots, run_roots = _untangle(spans, adopted, repairs)
    return spans, roots, run_roots, unseen


def _adopted(spans: list[Span], run_roots: list[int]) -> dict[int, int]:
    """For each span whose parent was lost the run in whose time it lies: the parent was most likely part of it."""
    lost = {s.index for s in spans if s.parent < 0 and s.raw.parent_id is not None and not s.raw.parent_remote}
    whole = [spans[at] for at in run_roots if spans[at].run not in lost]
    out: dict[int, int] = {}
    for at in lost:
        span = spans[at]
        around = [run.run for run in whole if run.start_ns <= span.start_ns and span.end_ns <= run.end_ns]
        if around:
            out[at] = around[-1]
    return out


_HOLDERS = frozenset({"tool", "llm", "generation", "retrieval"})
_RUNNERS = frozenset({"agent", "workflow"})


def _untangle(spans: list[Span], adopted: Mapping[int, int], repairs: list[str]) -> tuple[list[int], list[int]]:
    """Links again, from the roots down: where a parent starts after its child, or parents form a cycle."""
    children: list[list[int]] = [[] for _ in spans]
    for span in spans:
        if span.parent >= 0:
            children[span.parent].append(span.index)
    done = bytearray(len(spans))
    queue = [span.index for span in spans if span.parent < 0]
    run_roots: list[int] = []
    cut = 0
    for start in range(-1, len(spans)):
        if start >= 0 and not done[start]:  # what no root reaches is a cycle, or hangs below one
            cut += 1
            first = _earliest_of_cycle(spans, start)
            spans[first].parent = -1
            queue.append(first)
        while queue:
            at = queue.pop()
            done[at] = 1
            _inherit(spans, at, adopted, run_roots)
            queue.extend(child for child in children[at] if not done[child])
    if cut:
        repairs.append(f"cycles of parents, each cut at its earliest span: {cut}")
    return [span.index for span in spans if span.parent < 0], sorted(run_roots)


def _earliest_of_cycle(spans: list[Span], at: int) -> int:
    seen: set[int] = set()
    while at not in seen:
        seen.add(at)
        at = spans[at].parent
    first, step = at, spans[at].parent
    while step != at:
        first = min(first, step)
        step = spans[step].parent
    return first


def _inherit(spans: list[Span], at: int, adopted: Mapping[int, int], run_roots: list[int]) -> None:
    span = spans[at]
    span.run = span.agent = span.holder = -1
    if at in adopted:
        span.run = adopted[at]
        span.agent = span.run if spans[span.run].kind == "agent" else -1
    if span.parent >= 0:
        above = spans[span.parent]
        span.run, span.agent = above.run, above.agent
        span.holder = span.parent if above.kind in _HOLDERS else -1 if above.kind == "agent" else above.holder
    if span.kind in _RUNNERS and span.run < 0:
        span.run = at
        run_roots.append(at)
    if span.kind == "agent":
        span.agent = at


def _completeness(ordered: list[RawSpan], roots: list[int], unseen: int, lost: Sequence[str]) -> Completeness:
    reasons = list(lost)
    if ordered and not any(ordered[at].parent_id is None or ordered[at].parent_remote for at in roots):
        reasons.append("root span missing")
    if unseen:
        reasons.append(f"parent unseen of {unseen} span{'s' if unseen > 1 else ''}")
    unended = dropped = limited = 0
    for raw in ordered:
        if raw.end_ns <= 0:
            unended += 1
        if raw.dropped:
            dropped += 1
        elif len(raw.attributes) == _ATTRIBUTE_LIMIT:
            limited += 1
    if unended:
        reasons.append(f"{unended} span{'s' if unended > 1 else ''} not ended")
    if dropped:
        reasons.append(f"attributes, events or links dropped on {dropped} span{'s' if dropped > 1 else ''}")
    if limited:
        reasons.append(f"attribute limit ({_ATTRIBUTE_LIMIT}) reached on {limited} span{'s' if limited > 1 else ''}")
    return Completeness(complete=not reasons, reasons=tuple(reasons))
