"""What is held of one trace."""

from __future__ import annotations

from spanwise.assembly.entry import Entry
from tests.making import TRACE, log_event, span


def test_spans_and_events_are_held() -> None:
    """A new entry is open and holds nothing; spans and log events count as records."""
    entry = Entry(TRACE, 5)
    assert ("open", 0, 0, 5) == (entry.state, entry.held, entry.revision, entry.touched_ns)
    one = span(1)
    entry.spans[one.span_id] = one
    entry.events.append(log_event(1))
    assert 2 == entry.held


def test_late_spans() -> None:
    """Of a first revision none is late; later all are of which it is not sure that they were handed out."""
    entry = Entry(TRACE, 5)
    first, second = span(1), span(2)
    entry.spans[first.span_id] = first
    entry.revision = 1
    assert entry.late() is None
    entry.hand()
    entry.spans[second.span_id] = second
    assert {second.span_id} == entry.late()
    entry.revision, entry.handed = 2, 0
    assert {first.span_id, second.span_id} == entry.late()
