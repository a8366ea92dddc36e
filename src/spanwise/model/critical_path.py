"""What a run's time went by on: the path of spans that determined its end, and the gaps in which nothing ran.

The path is walked from the run's end backwards. At each point, and within each span on the path, the child that ended
last of those that began before the point is on the path, up to the point; the walk goes on within it and then from its
start. So every instant of the run belongs to exactly one span, the deepest on the path. Of branches side by side only
the one that determines the end counts, and a span's own time on the path is time in which none of its children was
open. A child is clipped to its parent. A span that never ended lasts as long as what is known below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from spanwise.model.span import LLM_KINDS, RUN_KINDS, SPANS, Span
from spanwise.model.trace import Run

_PACE = 32
_END = itemgetter(0)
_LAST_SEEN = attrgetter("end_ns")
_START = attrgetter("start_ns")


Segment: TypeAlias = tuple[int, int, int]
"""A stretch of a run's time: the span that it belongs to (an index into the trace's spans, -1 for the run), its start
and its end."""

_Child: TypeAlias = tuple[int, int, int]
"""A span within another: its end, its start, its index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Time in which nothing ran: the span that ended last before it and the first that began after it, if any."""

    start_ns: int
    end_ns: int
    before: Span | None = None
    after: Span | None = None

    @property
    def duration_ns(self) -> int:
        """How long nothing ran."""
        return self.end_ns - self.start_ns


class Spent(NamedTuple):
    """What a run's time went by on."""

    most: Sequence[tuple[int, int]]
    """The spans that hold a hundredth of the critical path or more, each with its nanoseconds: the most first."""
    lost: Mapping[int, int]
    """What of the path went by in each call that failed, or that repeats another, by the index of its span."""
    gaps: Sequence[Gap] | None
    """The idle gaps; None where they are not known."""


def spent_of(run: Run, failed: dict[int, str], repeated: dict[int, str], *, named: int, longer_than_ns: int) -> Spent:
    """What a run's time went by on, at most so many spans named.

    Time within a failed call, in whatever span, is that call's, the outermost one's; else it is the outermost repeated
    call's. Calls are known by the indices of their spans.
    """
    times = (run.start_ns, run.end_ns)
    longer = None if run.tally.spanless else longer_than_ns
    walk = None if SPANS is None else SPANS.walk
    found = walk and walk(run.spans, run.root, *times, named, longer, failed, repeated, run.trace.pause)
    if found is None:
        return _walked(run, failed, repeated, named, longer_than_ns)
    most, lost, gaps = found
    return Spent(most, lost, None if gaps is None else tuple(_gap(run, *gap) for gap in gaps))


def _gap(run: Run, start: int, end: int, before: int, after: int) -> Gap:
    spans = run.trace.spans
    known = (None if at < 0 else spans[at] for at in (before, after))
    return Gap(start_ns=start, end_ns=end, before=next(known), after=next(known))


def _walked(run: Run, failed: Mapping[int, str], repeated: Mapping[int, str], named: int, longer_than_ns: int) -> Spent:
    held = defaultdict[int, int](int)
    for at, start, end in critical_path(run):
        held[at] += end - start
    lost: dict[int, int] = {}
    if failed or repeated:
        for at, call in _calls_around(run, held, failed, repeated).items():
            if call >= 0 and at in held:
                lost[call] = lost.get(call, 0) + held[at]
    least = -((run.start_ns - run.end_ns) // 100)
    most = sorted([(-ns, at) for at, ns in held.items() if ns >= least and at >= 0])
    gaps = idle_gaps(run, longer_than_ns=longer_than_ns)
    return Spent([(at, -ns) for ns, at in most[:named]], lost, gaps)


def _calls_around(
    run: Run, held: Mapping[int, int], failed: Mapping[int, str], repeated: Mapping[int, str]
) -> Mapping[int, int]:
    """For each span the failed call that it is or lies in, else the repeated one, else -1; the outermost of several."""
    spans = run.trace.spans
    out = {-1: -1, run.root: -1}
    for at in sorted(held):  # mostly what is above a span stands before it: then a chain is one span
        chain: list[int] = []
        while at not in out:
            chain.append(at)
            at = spans[at].parent
        call = out[at]
        for one in reversed(chain):
            if (one in failed and call not in failed) or (call < 0 and one in repeated):
                call = one
            out[one] = call
    return out


def critical_path(run: Run) -> list[Segment]:
    """The run's time from its end to its start, each stretch with the span that it belongs to."""
    root, begin, cursor = run.root, run.start_ns, run.end_ns
    children = _children(run)
    out: list[Segment] = []
    frames: list[tuple[int, int, Iterator[_Child]]] = [(root, begin, _by_end(children.get(root, [])))]
    pause = run.trace.pause
    while frames:
        if pause is not None and not len(out) % _PACE:
            pause()
        at, floor, ahead = frames[-1]
        for end, start, child in ahead:
            if start < floor:  # noqa: PLR1730  (a call of `max` takes as long as the rest)
                start = floor
            if start >= cursor or end <= start:
                continue
            if end < cursor:
                out.append((at, end, cursor))
                cursor = end
            if child in children:
                frames.append((child, start, _by_end(children[child])))
                break
            out.append((child, start, cursor))
            cursor = start
        else:
            frames.pop()
            if cursor > floor:
                out.append((at, floor, cursor))
                cursor = floor
    return out


def _children(run: Run) -> Mapping[int, list[_Child]]:
    """The children of each span that have a length, by start."""
    root, spans = run.root, run.spans
    known: Mapping[int, int] = {}
    table: dict[int, list[_Child]] = {}
    for span in run.trace.paced(spans):
        raw = span.raw
        index, start, end = span.index, raw.start_ns, raw.end_ns
        if end <= 0:
            known = known or _known_ends(run)
            end = known[index]
        if end <= start or index == root:
            continue
        above = span.parent
        if above < 0:
            above = root  # what lost its parent hangs below the run
        if above in table:
            table[above].append((end, start, index))
        else:
            table[above] = [(end, start, index)]
    return table


def _by_end(children: list[_Child]) -> Iterator[_Child]:
    """Those that ended last first; of equal ends the earlier one."""
    if len(children) > 1:
        children.sort(key=_END, reverse=True)
    return iter(children)


def _known_ends(run: Run) -> Mapping[int, int]:
    """For each span that never ended the last end known below it, its own start where there is none."""
    spans = run.trace.spans
    ends = {span.index: span.start_ns for span in run.spans if span.raw.end_ns <= 0}
    # The first to reach a span from below ended last: no later one climbs any further.
    for span in sorted(run.spans, key=_LAST_SEEN, reverse=True):
        end, at = span.end_ns, span.parent
        while at in ends and ends[at] < end:
            ends[at] = end
            at = spans[at].parent
    return ends


def idle_gaps(run: Run, *, longer_than_ns: int) -> tuple[Gap, ...] | None:
    """The stretches longer than that in which no span of the run was open, but for those that only hold others.

    Agents and workflows with a model call below them hold others; any other span is work, and so is an agent of which
    nothing below is recorded. None where it cannot be told: without a span of a model call, or with a tool call that
    left no span, a gap may be theirs. After the start of work that never ended nothing is idle. A span without length
    ends no gap.
    """
    holding = _holding(run)
    if not holding or run.tally.spanless:
        return None
    out: list[Gap] = []
    reach, last, before = run.start_ns, run.end_ns, None
    # Where clocks differ a span stands behind its parent, though it began earlier.
    for span in sorted(run.spans, key=_START):
        raw = span.raw
        end = raw.end_ns
        if 0 < end <= reach or span.index in holding:
            continue
        start = raw.start_ns
        if start >= last:
            break
        if 0 < end <= start:
            continue
        if start - reach > longer_than_ns:
            out.append(Gap(start_ns=reach, end_ns=start, before=before, after=span))
        if end <= 0:
            return tuple(out)
        reach, before = end, span
    if last - reach > longer_than_ns:
        out.append(Gap(start_ns=reach, end_ns=last, before=before))
    return tuple(out)


def _holding(run: Run) -> set[int]:
    """The agents and workflows with a model call's span below them, the run itself among them if any has one."""
    spans, kinds = run.trace.spans, run.by_kind
    above: set[int] = set()
    for kind in LLM_KINDS:
        if kind in kinds:
            above.add(run.root)
            for span in kinds[kind]:
                at = span.parent
                while at >= 0 and at not in above:
                    above.add(at)
                    at = spans[at].parent
    return {at for at in above if at < 0 or spans[at].kind in RUN_KINDS}
