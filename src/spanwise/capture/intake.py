"""The queue between the app's threads, which only put things in, and the worker, which takes them out.

What is put in is a plain tuple of references: to make it is all that an app's thread ever does for a span. A deque's
`append` and `popleft` are atomic, so there is no lock on that way. Where the queue is full a record is not taken; its
trace is then torn, and the worker refuses it as a whole.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status

SpanParts: TypeAlias = tuple[
    SpanContext,
    SpanContext | None,
    str,
    int | None,
    int | None,
    Status,
    Mapping[str, object] | None,
    Sequence[Event],
    SpanKind,
    InstrumentationScope | None,
    Resource,
]
"""Context, parent, name, start, end, status, attributes, events, kind, scope and resource of a span."""
EventParts: TypeAlias = tuple[
    int, int, str, int, Mapping[str, object], object, InstrumentationScope | None, Resource | None
]
"""Trace id, span id, name, time, attributes, body, scope and resource of a log event."""
Captured: TypeAlias = SpanParts | EventParts


class Intake:
    """What waits for the worker, and which traces lost a part on the way.

    A record that was offered is in `items`, or was taken by the worker, or counts among `lost` (there was no room) or
    `failures` (an unforeseen error).
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.items: deque[Captured] = deque()
        self.reset()

    def reset(self) -> None:
        """Be as new: in a forked child, where a lock may have been held by a thread that is not here."""
        self.items.clear()
        self.wake = threading.Event()
        self.lost = 0
        self.failures = 0
        self._torn: set[int] = set()
        self._lock = threading.Lock()

    def refuse(self, trace_id: int) -> None:
        """There is no room for a record of this trace."""
        with self._lock:
            self.lost += 1
            self._torn.add(trace_id)
        self.wake.set()

    def fail(self) -> bool:
        """A record could not be taken for an unforeseen reason; whether it is the first one."""
        with self._lock:
            self.failures += 1
            return self.failures == 1

    def take_torn(self) -> set[int]:
        """The traces that lost a part since this was last asked."""
        if not self._torn:
            return set()
        with self._lock:
            found, self._torn = self._torn, set()
        return found
