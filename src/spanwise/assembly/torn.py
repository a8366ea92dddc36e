"""Runs whose own span was lost: the run crashed or was killed, and only what it was made of arrived.

Such parts stand side by side below one parent that nobody saw. So do ten runs of agents below one request that was not
recorded, which stay ten: only where something among them is part of a run by what it is (a step, a graph's node) do
they belong together, and then nothing but other agents and workflows is not of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from spanwise.conventions._parts import is_nested, is_part, shares_trace
from spanwise.model.raw import Key
from spanwise.model.span import RUN_KINDS, Span


def adopted(spans: Sequence[Span], run_roots: Sequence[int]) -> tuple[dict[int, tuple[int, int]], frozenset[int]]:
    """For each span whose parent was lost its run and its agent, and the runs that begin with a mere part.

    It belongs to the run in whose time it lies, whose parent was most likely part of that; else to the first of the
    parts that it stands beside. That first part stands for the agent that was lost, whose talk is another's in either.
    """
    lost = [s for s in spans if s.parent < 0 and s.raw.parent_id is not None and not s.raw.parent_remote]
    alone = {span.index for span in lost}
    runs = {at: spans[at].run for at in run_roots if spans[at].run not in alone}
    begun: dict[int, int] = {}
    for span in spans:  # by start, but for those that another clock timed
        begun[span.run] = min(begun.get(span.run, span.start_ns), span.start_ns)
    torn: list[int] = []
    out: dict[int, tuple[int, int]] = {}
    for group in _together(lost):
        first = group[0]
        home = _around(group, spans, runs, begun)
        agent = first.index if len(group) > 1 else home if home >= 0 and spans[home].kind == "agent" else -1
        if home < 0 and len(group) > 1 and (around := _beside(group, lost)) is not None:
            home = agent = around.index
        if home < 0 and len(group) > 1:
            home = first.index
            torn.append(home)
            # What lies within the time of a part is a run within this one.
            runs.update((span.index, home) for span in group if span.kind in RUN_KINDS)
        if home >= 0:
            out.update((span.index, (home, agent)) for span in group)
    if all(_top(spans, at).index in alone for at in run_roots):  # else what was lost may be of a run that is whole
        torn = _within(lost, out, torn)
    return out, frozenset(_in_turn(lost, out, torn))


def _top(spans: Sequence[Span], at: int) -> Span:
    while spans[at].parent >= 0:
        at = spans[at].parent
    return spans[at]


def _beside(group: Sequence[Span], lost: Iterable[Span]) -> Span | None:
    """The agent below the same lost parent in whose time all parts lie: it was not told that they are its own."""
    start, end = min(span.start_ns for span in group), max(span.end_ns for span in group)
    beside = (span for span in lost if span.kind == "agent" and span.raw.parent_id == group[0].raw.parent_id)
    return next((span for span in beside if span.start_ns <= start and end <= span.end_ns), None)


def _within(lost: Sequence[Span], out: dict[int, tuple[int, int]], torn: Sequence[int]) -> list[int]:
    """The runs that begin with a part; what tells that it is within a run, or later in it, put into the only other."""
    groups: dict[int, list[Span]] = {head: [] for head in torn}
    for span in lost:
        head, _ = out.get(span.index, (-1, -1))
        if head in groups:
            groups[head].append(span)
        elif head < 0 and is_part(span.raw) and (span.kind in RUN_KINDS or is_nested(span.raw)):
            groups[span.index] = [span]
    inner = {head for head, group in groups.items() if _is_within(group)}
    outer = [head for head in groups if head not in inner]
    if len(outer) != 1 or not inner:
        return list(torn)
    for head in inner:
        for span in groups[head]:
            _, agent = out.get(span.index, (-1, outer[0]))
            out[span.index] = outer[0], agent
    out.setdefault(outer[0], (outer[0], outer[0]))
    return outer


def _is_within(group: Sequence[Span]) -> bool:
    parts = [span.raw for span in group if is_part(span.raw)]
    return bool(parts) and all(map(is_nested, parts))


def _in_turn(lost: Sequence[Span], out: dict[int, tuple[int, int]], torn: Sequence[int]) -> Sequence[int]:
    """The runs that begin with a part, those put into the first whose agents took over from each other.

    The agent that passed control is whole, or told by its parts; of the next, which still ran, only parts are here.
    """
    until: dict[int, int] = {}
    for span in lost:
        head, _ = out.get(span.index, (span.index, -1))
        if head in until:
            until[head] = max(until[head], span.end_ns)
        elif (head in torn or head == span.index) and shares_trace(span.raw) and is_part(span.raw):
            if any(end > span.start_ns for end in until.values()):
                return torn  # at the same time: of several runs
            until[head] = span.end_ns
    if len(until) < 2:
        return torn
    first = min(until)
    out.setdefault(first, (first, first))
    for span in lost:
        head, agent = out.get(span.index, (span.index, -1))
        if head in until:
            out[span.index] = first, agent
    return [first, *(head for head in torn if head not in until)]


def _around(group: Sequence[Span], spans: Sequence[Span], runs: Mapping[int, int], begun: Mapping[int, int]) -> int:
    """The run in whose time, or in that of whose part, some spans lie; -1 for none."""
    start, end = group[0].start_ns, group[0].end_ns
    for span in group:
        start, end = min(start, span.start_ns), max(end, span.end_ns)
    around = [run for at, run in runs.items() if begun[spans[at].run] <= start and end <= spans[at].end_ns]
    return around[-1] if around else -1


def _together(lost: Iterable[Span]) -> Iterable[list[Span]]:
    """The spans, those that belong together as one, the first part in front."""
    by_parent: dict[Key | None, list[Span]] = {}
    for span in lost:
        by_parent.setdefault(span.raw.parent_id, []).append(span)
    for beside in by_parent.values():
        group = _parts(beside) if len(beside) > 1 else ()
        if group:
            yield group
        taken = {span.index for span in group}
        yield from ([span] for span in beside if span.index not in taken)


def _parts(beside: Sequence[Span]) -> list[Span]:
    """The parts of a run among what stands below one lost parent, with all that is no run: nothing if none is one."""
    parts = [span for span in beside if span.kind in RUN_KINDS and is_part(span.raw)]
    return [*parts, *(span for span in beside if span.kind not in RUN_KINDS)] if parts else []
