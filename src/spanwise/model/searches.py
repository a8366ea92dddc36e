"""When a run's retrievals ran and which failed: as much of them as is told without reading what they found."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from spanwise.model.trace import Run

_FAILED = frozenset({"error", "timeout"})


class Search(msgspec.Struct, gc=False):
    """One logical retrieval, as `Run.retrievals` counts them."""

    span: int
    start_ns: int
    end_ns: int
    failed: bool


def searches_of(run: Run) -> Sequence[Search]:
    """The retrievals by start; a retriever that only calls another one is the same retrieval."""
    spans = run.by_kind.get("retrieval")
    if not spans:
        return ()
    status = run.trace.facts.status
    out: list[Search] = []
    by_span: dict[int, Search] = {}
    for span in run.trace.paced(spans):
        failed = status(span) in _FAILED
        held = by_span.get(span.holder)
        if held is None:
            held = Search(span.index, span.start_ns, span.end_ns, failed)
            out.append(held)
        elif failed:
            held.failed = True
        by_span[span.index] = held
    return out
