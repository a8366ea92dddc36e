"""What the assembler holds of one trace."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Literal

from spanwise.model.raw import Key, LogEvent, SpanRecord


class Entry:
    """A trace: its records, when it was touched and falls due, and how often it was handed out."""

    __slots__ = (
        "bytes", "disagreeing", "done_bytes", "done_spans", "due_ns", "events", "handed", "key", "revision",
        "seen_events", "spans", "state", "touched_ns",
    )  # fmt: skip

    def __init__(self, key: Key, now_ns: int) -> None:
        self.key = key
        self.spans: dict[Key, SpanRecord] = {}
        self.events: list[LogEvent] = []
        self.seen_events: set[bytes] = set()
        self.bytes = 0
        self.touched_ns = now_ns
        self.disagreeing: set[Key] = set()
        self.due_ns = -1
        self.revision = 0
        self.handed = 0
        """So many of its spans, the first ones, were handed out."""
        self.done_spans = self.done_bytes = 0
        """What of it is counted as finished."""
        self.state: Literal["open", "done", "gone"] = "open"

    @property
    def held(self) -> int:
        """Its records."""
        return len(self.spans) + len(self.events)

    def late(self) -> frozenset[Key] | None:
        """The spans that were not handed out for sure; None where this is the first time that any is."""
        return frozenset(islice(self.spans, self.handed, None)) if self.handed or self.revision > 1 else None

    def hand(self, span_ids: AbstractSet[Key] | None = None) -> None:
        """All of its spans were handed out, or these of them."""
        if span_ids is not None:
            self.spans = dict(sorted(self.spans.items(), key=lambda one: one[0] not in span_ids))
        self.handed = len(self.spans if span_ids is None else self.spans.keys() & span_ids)
