"""Spans as views on what was recorded."""

from __future__ import annotations

import pytest

from spanwise.model.raw import RawEvent
from spanwise.model.span import Span
from tests.making import span, span_id


def test_a_span_is_a_view_on_its_record() -> None:
    """Name, id, attributes and events are the record's, by reference."""
    raw = span(1, name="n", attributes={"a": 1}, events=[RawEvent("e", 1, {})])
    one = Span(raw, "other", -1, 0, -1)
    assert (span_id(1), "n", 1, 11, 10) == (one.span_id, one.name, one.start_ns, one.end_ns, one.duration_ns)
    assert raw.attributes is one.attributes
    assert raw.events is one.events


@pytest.mark.parametrize("end", [0, 3])
def test_a_span_never_takes_negative_time(end: int) -> None:
    """A span without an end, or with one before its start, ends when it began."""
    one = Span(span(5, end=end), "other", -1, 0, -1)
    assert (5, 0) == (one.end_ns, one.duration_ns)
