"""Spans by start, and what hangs below what.

Here each span of a trace is looked at, so most of it stands twice: in C (`spanwise.native`), and in Python, where that
was not built and where something takes a closer look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import cast

from spanwise.assembly import doubled
from spanwise.conventions import MARKS, SCOPES, UNKNOWN, classify
from spanwise.conventions import _batches as batches
from spanwise.model.canonical import shown
from spanwise.model.raw import Key, PackedSpan, RawSpan, Scope, SpanRecord, hex_id
from spanwise.model.span import Span
from spanwise.model.trace import paced
from spanwise.native import Linked, core

_START = attrgetter("start_ns")
ATTRIBUTE_LIMIT = 128
HOLDERS = frozenset({"tool", "llm", "generation", "retrieval"})
RUNNERS = frozenset({"agent", "workflow"})
_OVERCOUNTING = "java"
"""The language whose SDK counts what is written anew under the same name as dropped."""
_ROLES: Mapping[str, int] = {**dict.fromkeys(HOLDERS, 4), "workflow": 1, "agent": 3}
"""What a span of each kind does in the tree, as bits: it begins a run, it is an agent, it holds calls."""
BATCHED = 1
_WATCHED = {
    scope: BATCHED * (scope in batches.SCOPES) | doubled.TELLERS.get(scope, 0)
    for scope in {*batches.SCOPES, *doubled.TELLERS}
}
"""The scopes whose presence is told of a trace, as bits: they may have recorded a batch, or what others tell, too."""

_LINKER = (
    None
    if core is None
    else core.Linker(
        raw=RawSpan,
        span=Span,
        scope=Scope,
        by_scope=SCOPES,
        watched=_WATCHED,
        marks=MARKS,
        roles=_ROLES,
        slow=classify,
        unknown=(UNKNOWN, "other"),
    )
)


# Looked up and cast once, for each run is put in order. What comes out in order holds no packed span.
_ORDER = (
    None
    if _LINKER is None
    else cast("Callable[[list[RawSpan] | list[SpanRecord]], list[RawSpan] | None]", _LINKER.order)
)
_LINK = None if _LINKER is None else cast("Callable[[list[RawSpan], int, object], Linked[Span]]", _LINKER.link)


def in_order(raws: Iterable[SpanRecord], doubles: set[Key]) -> list[RawSpan]:
    """The spans by start, each id once; ids of which two spans disagree are noted among the doubles."""
    came = list(raws)
    if _ORDER is not None and (found := _ORDER(came)) is not None:
        return found
    listed = [raw.unpack() if isinstance(raw, PackedSpan) else raw for raw in came]
    found = None if _ORDER is None else _ORDER(listed)
    return _sorted(listed, doubles) if found is None else found


def _sorted(listed: list[RawSpan], doubles: set[Key]) -> list[RawSpan]:
    by_id = {raw.span_id: raw for raw in listed}
    if len(by_id) != len(listed):
        by_id = _without_doubles(listed, doubles)
    ordered = sorted(by_id.values(), key=_START)
    previous = None
    for raw in ordered:
        if raw.start_ns == previous:
            ordered.sort(key=lambda raw: (raw.start_ns, -raw.end_ns, hex_id(raw.span_id)))
            _put_parents_first(ordered)
            break
        previous = raw.start_ns
    return ordered


def _put_parents_first(ordered: list[RawSpan]) -> None:
    """Where spans start alike, put each behind its parent: by a clock of milliseconds the two may last as long."""
    begin, start = 0, -1
    for at, raw in enumerate(ordered):
        if raw.start_ns != start:
            if at - begin > 1:
                ordered[begin:at] = _parents_first(ordered[begin:at])
            begin, start = at, raw.start_ns
    if len(ordered) - begin > 1:
        ordered[begin:] = _parents_first(ordered[begin:])


def _parents_first(tied: list[RawSpan]) -> list[RawSpan]:
    """Spans of one start, each behind its parent, in their order otherwise."""
    waiting: dict[Key | None, RawSpan] = {raw.span_id: raw for raw in tied}
    out: list[RawSpan] = []
    for raw in tied:
        line: list[RawSpan] = []
        above = waiting.pop(raw.span_id, None)
        while above is not None:
            line.append(above)
            above = waiting.pop(above.parent_id, None)
        out.extend(reversed(line))
    return out


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


def link(ordered: list[RawSpan], pause: Callable[[], None] | None) -> Linked[Span]:
    """The spans with dialect, kind and links; a parent that starts later, or is not here, is left to the caller."""
    return _linked(ordered, pause) if _LINK is None else _LINK(ordered, ATTRIBUTE_LIMIT, pause)


def _linked(ordered: list[RawSpan], pause: Callable[[], None] | None) -> Linked[Span]:
    index: dict[Key | None, int] = {raw.span_id: at for at, raw in enumerate(ordered)}
    spans: list[Span] = []
    roots: list[int] = []
    run_roots: list[int] = []
    unseen = 0
    append = spans.append
    get = index.get
    tangled = False
    heard = 0
    for at, raw in enumerate(ordered if pause is None else paced(ordered, pause)):
        dialect, kind = classify(raw)
        heard |= _WATCHED.get(raw.scope.name, 0)
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
            holder = parent if above_kind in HOLDERS else -1 if above_kind == "agent" else above.holder
        else:
            tangled = True
        if kind in RUNNERS:
            if run < 0:
                run = at
                run_roots.append(at)
            if kind == "agent":
                agent = at
        append(Span(raw, kind, dialect, at, parent, run, agent, holder))
    return spans, roots, run_roots, tangled, heard, unseen, *_flaws(ordered)


def _flaws(ordered: list[RawSpan]) -> tuple[int, int, int]:
    """How many spans have not ended, how many lost something, and how many are at the limit of attributes."""
    unended = dropped = limited = 0
    for raw in ordered:
        if raw.end_ns <= 0:
            unended += 1
        if raw.dropped:
            dropped += 1
        elif len(raw.attributes) == ATTRIBUTE_LIMIT:
            limited += 1
    return unended, dropped, limited


def lost_some(raw: RawSpan) -> bool:
    """Whether a limit took attributes, events or links from a span; Java's count says so at a limit only."""
    if not raw.dropped:
        return False
    reached = ATTRIBUTE_LIMIT in (len(raw.attributes), len(raw.events), len(raw.links))
    return reached or raw.scope.resource.get("telemetry.sdk.language") != _OVERCOUNTING
