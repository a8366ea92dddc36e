"""Building one trace from its spans.

The order of arrival does not matter: spans are sorted by start (ties: the longer first, then by id) and linked by
index. A span that starts before its parent, by the clock of another host, stands behind it all the same. Everything is
a loop over lists, so a chain of 10,000 spans costs what a star of 10,000 costs. What cannot be right is repaired and
said: of two spans with one id the fuller stays, a cycle of parents is cut at its earliest span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from spanwise.assembly import doubled
from spanwise.assembly.continued import continued
from spanwise.assembly.facts import SpanFacts
from spanwise.assembly.links import ATTRIBUTE_LIMIT, BATCHED, HOLDERS, RUNNERS, in_order, link, lost_some
from spanwise.assembly.torn import adopted
from spanwise.conventions import SCOPES
from spanwise.conventions import _batches as batches
from spanwise.conventions.langwatch import is_hollow
from spanwise.model.calls import Completeness
from spanwise.model.canonical import shown
from spanwise.model.content import Memo
from spanwise.model.raw import Key, LogEvent, RawSpan, SpanRecord, hex_id
from spanwise.model.span import Span
from spanwise.model.trace import Trace

_AROUND = batches.SCOPES | doubled.SCOPES
_ALONE = frozenset({0, *doubled.TELLERS.values()})
"""What is heard where nothing has to be set right: no watched scope, or one teller of a framework alone."""
_FACTS = SpanFacts()
_WHOLE = Completeness()
_PREPARING = frozenset({"setup", "other"})
_SERVED_RUN = "gen_ai.thread.run.id"


def build_trace(
    key: Key,
    raws: Iterable[SpanRecord],
    *,
    events: Sequence[LogEvent] = (),
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
    ordered = in_order(raws, doubles)
    if doubles:
        shared = ", ".join(sorted(hex_id(one) for one in doubles))
        repairs.append(f"spans that share an id and disagree, the fuller kept: {shared}")
    if events:
        _join(ordered, events, repairs)
    if pause is not None:
        pause()
    spans, roots, run_roots, tangled, heard, *flaws = link(ordered, pause)
    if tangled and (again := _parents_first(spans)) is not None:
        ordered = again
        spans, roots, run_roots, tangled, heard, *flaws = link(ordered, pause)
    if heard not in _ALONE and _is_set_right(spans, run_roots, heard):
        tangled = True
    torn: frozenset[int] = frozenset()
    if tangled or (flaws[0] and run_roots):
        roots, run_roots, torn = _mended(spans, roots, run_roots, repairs, tangled=tangled)
    if len(spans) == 1 and is_hollow(spans[0].raw):
        run_roots = []
    elif unit == "trace" or (not run_roots and not _prepares(spans)):
        run_roots = [-1]
    completeness = _completeness(ordered, roots, flaws, lost)
    return Trace(key, spans, _FACTS, roots, run_roots, completeness, tuple(repairs), torn, Memo(spans))


def _is_set_right(spans: list[Span], run_roots: Sequence[int], heard: int) -> bool:
    """Whether what batches or two tellers at once had put below one another is told apart now."""
    scopes = {spans[at].raw.scope.name for at in run_roots}
    parted = heard & BATCHED and not batches.SCOPES.isdisjoint(scopes) and _parted(spans)
    outermost = doubled.may_be(heard) and any(scope in _AROUND or scope not in SCOPES for scope in scopes)
    return any([parted, outermost and doubled.leave_out(spans)])


def _prepares(spans: list[Span]) -> bool:
    """Whether a trace only sets something up, within whatever else: an agent is made, a server of tools is greeted."""
    kinds = {span.kind for span in spans}
    if not kinds or "setup" not in kinds or not kinds <= _PREPARING:
        return not kinds
    return not any(_SERVED_RUN in span.attributes for span in spans)  # an agent that ran in the service, in no span


def _join(ordered: list[RawSpan], events: Sequence[LogEvent], repairs: list[str]) -> None:
    """Put each log event on its span, by time, once however often it came."""
    index = {raw.span_id: at for at, raw in enumerate(ordered)}
    joined: dict[int, list[LogEvent]] = {}
    homeless = 0
    for event in events:
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


def _parents_first(spans: Sequence[Span]) -> list[RawSpan] | None:
    """The spans by start, none before its parent, which another clock timed; None where parents form a cycle."""
    children: list[list[int]] = [[] for _ in spans]
    for span in spans:
        if span.parent >= 0:
            children[span.parent].append(span.index)
    begun = [(span.start_ns, 0) for span in spans]
    reached = [span.index for span in spans if span.parent < 0]
    for at in reached:
        start_ns, depth = begun[at]
        for child in children[at]:
            begun[child] = (max(begun[child][0], start_ns), depth + 1)
        reached.extend(children[at])
    return [spans[at].raw for at in sorted(reached, key=begun.__getitem__)] if len(reached) == len(spans) else None


def _parted(spans: list[Span]) -> bool:
    """Whether runs hung below one another that were started side by side: each now hangs where the first one does."""
    found = False
    for span in spans:
        if 0 <= span.parent < span.index and span.kind in RUNNERS:
            above = spans[span.parent]
            if batches.is_started_apart(span.raw, above.raw):
                span.parent = above.parent  # put right before, for it starts earlier
                found = True
    return found


def _mended(
    spans: list[Span], roots: list[int], run_roots: list[int], repairs: list[str], *, tangled: bool
) -> tuple[list[int], list[int], frozenset[int]]:
    """Roots, runs and torn runs once parents that start after their children, or are not here, were seen to."""
    runners = run_roots
    if tangled:
        roots, run_roots = _untangle(spans, {}, repairs)
    homes, torn = adopted(spans, runners)
    if homes:
        roots, run_roots = _untangle(spans, homes, repairs)
    if first := continued(spans, run_roots):
        homes, torn = _joined(spans, homes, torn, first)
        roots, run_roots = _untangle(spans, homes, repairs)
    return roots, run_roots, torn


def _joined(
    spans: Sequence[Span], homes: Mapping[int, tuple[int, int]], torn: frozenset[int], first: Mapping[int, int]
) -> tuple[dict[int, tuple[int, int]], frozenset[int]]:
    """Homes and torn runs once the topmost spans of each run's pieces went to the first one."""
    out = dict(homes)
    for top, head in first.items():
        if top == head or spans[top].run != head:
            out[top] = head, out.get(top, (0, -1))[1]
    heads = frozenset(first.values())
    return out, heads.union(at for at in torn if first.get(at, at) == at)


def _untangle(
    spans: list[Span], homes: Mapping[int, tuple[int, int]], repairs: list[str]
) -> tuple[list[int], list[int]]:
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
            _inherit(spans, at, homes, run_roots)
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


def _inherit(spans: list[Span], at: int, homes: Mapping[int, tuple[int, int]], run_roots: list[int]) -> None:
    span = spans[at]
    span.run = span.agent = span.holder = -1
    if at in homes:
        span.run, span.agent = homes[at]
        if span.run == at:
            run_roots.append(at)
    if span.parent >= 0:
        above = spans[span.parent]
        span.run, span.agent = above.run, above.agent
        span.holder = span.parent if above.kind in HOLDERS else -1 if above.kind == "agent" else above.holder
    if span.kind in RUNNERS and span.run < 0:
        span.run = at
        run_roots.append(at)
    if span.kind == "agent":
        span.agent = at


def _completeness(ordered: list[RawSpan], roots: list[int], flaws: Sequence[int], lost: Sequence[str]) -> Completeness:
    reasons = list(lost)
    for at in roots:
        if ordered[at].parent_id is None or ordered[at].parent_remote:
            break
    else:
        if ordered:
            reasons.append("root span missing")
    if not reasons and not any(flaws):
        return _WHOLE
    unseen, unended, dropped, limited = flaws
    dropped = sum(map(lost_some, ordered)) if dropped else 0
    for count, said in zip((unseen, unended, dropped, limited), _FLAWS, strict=True):
        if count:
            reasons.append(said.format(f"{count} span{'s' if count > 1 else ''}"))
    return Completeness(complete=not reasons, reasons=tuple(reasons))


_FLAWS = (
    "parent unseen of {}",
    "{} not ended",
    "attributes, events or links dropped on {}",
    f"attribute limit ({ATTRIBUTE_LIMIT}) reached on {{}}",
)
"""What the flaws that are counted while spans are linked say of a trace."""
