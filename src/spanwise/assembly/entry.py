"""What the assembler holds of one trace."""

from __future__ import annotations

from typing import Literal

from spanwise.model.raw import Key, LogEvent, SpanRecord


class Entry:
    """A trace: its records, when it was touched and falls due, and how often it was handed out."""

    __slots__ = (
        "bytes", "disagreeing", "done_bytes", "done_spans", "due_ns", "events", "key", "revision", "seen_events",
        "spans", "state", "touched_ns",
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
        self.done_spans = self.done_bytes = 0
        """What of it is counted as finished."""
        self.state: Literal["open", "done", "gone"] = "open"

    @property
    def held(self) -> int:
        """Its records."""
        return len(self.spans) + len(self.events)
