"""The queue between the app's threads, which only put things in, and the worker, which takes them out.

What is put in is a plain tuple of references: to make it is all that an app's thread ever does for a span. A deque's
`append` and `popleft` are atomic, so there is no lock on that way.

Bounds
    As many records as the capacity says, and about as many bytes as `max_bytes`: each time that `_EVERY` more wait, the
    next one is weighed, and the capacity is what fits at the mean of the last `_WEIGHED`. Where very many fit, up to
    `_RARELY` more may wait until then. Once the queue is full it is
    shut until the worker has emptied it. So a trace is torn only if it runs while the queue shuts or opens; were each
    place given away as it becomes free, every trace would be.

    A trace that lost a record is remembered, and the worker refuses it as a whole. Beyond `_MOST_TORN` only the time of
    the last loss is: whatever began before may have lost something. What was put in before the queue was shut did not,
    and the worker has taken it by the time it asks.

Nothing here waits, and whatever a hook does here may be interrupted by another hook on the same thread: a signal's
handler and the garbage collector may both end spans.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from spanwise.capture.reading import SpanParts

EventParts: TypeAlias = tuple[
    int, int, str, int, Mapping[str, object], object, InstrumentationScope | None, Resource | None
]
"""Trace id, span id, name, time, attributes, body, scope and resource of a log event."""
Captured: TypeAlias = SpanParts | EventParts

_EVERY, _RARELY = 16, 64
_WEIGHED = 256
_MOST_TORN = 10_000
_RECORD, _VALUE = 750, 70
"""About how many bytes a waiting record takes beside its text, and each attribute of it."""
_SMALL = frozenset({int, float, bool, type(None)})


class Wake:
    """Something to wait for, that is set without waiting: unlike an Event it may be set while it is being set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """End one wait, the present one or the next."""
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:
                return  # another thread was faster

    def wait(self, timeout_s: float) -> None:
        """Wait until it is set, or for this time."""
        self._lock.acquire(timeout=timeout_s)


class Intake:
    """What waits for the worker, and which traces lost a part on the way.

    A record that was offered is in `items`, or was taken by the worker, or counts among `lost` (there was no room) or
    `failures` (an unforeseen error).
    """

    def __init__(self, capacity: int, *, max_bytes: int | None = None) -> None:
        self.capacity = capacity
        self.max_bytes = max_bytes
        self.items: deque[Captured] = deque()
        self.on_pressure: Callable[[], None] = _nothing
        """Called when the worker had better begin, though no run has ended."""
        self.active = True
        self.reset()

    def reset(self) -> None:
        """Be as new: in a forked child, where a lock may have been held by a thread that is not here."""
        self.items.clear()
        self.wake = Wake()
        self.lost = 0
        self.failures = 0
        self.told = False
        """Whether an unforeseen error was logged."""
        self.limit = self.capacity
        self.mark = min(_EVERY, self.limit) if self.active else -1
        """How many may wait before the next has to ask whether there is room."""
        self._sizes: deque[int] = deque()
        self._sum = 0
        self._torn: set[int] = set()
        self._named = 0
        self._lost_until_ns = -1
        self._shut = self._ended = False
        self._lock = threading.RLock()

    def admits(self, trace_id: int) -> bool:
        """Whether there is room for a record, which is to be weighed then; if not, its trace is torn."""
        if not self.active:
            return False
        if self._shut or len(self.items) >= self.limit:
            self._refuse(trace_id)
            return False
        return True

    def weigh(self, attributes: Mapping[str, object], more: object = None) -> None:
        """Learn from a record that is about to be put in how many there is room for."""
        size = _RECORD + _held(attributes) + _length(more)
        with self._lock:
            self._sizes.append(size)
            self._sum += size - (self._sizes.popleft() if len(self._sizes) > _WEIGHED else 0)
            if self.max_bytes is not None:
                self.limit = max(1, min(self.capacity, self.max_bytes * len(self._sizes) // self._sum))
            self._set_mark()
        if len(self.items) * 2 >= self.limit:
            self.on_pressure()

    def _refuse(self, trace_id: int) -> None:
        with self._lock:
            self.lost += 1
            self._tear(trace_id)
            first = not self._shut
            self._shut, self.mark = True, -1
        if first:
            self.on_pressure()

    def fail(self, trace_id: int) -> None:
        """A record of this trace could not be taken for an unforeseen reason."""
        with self._lock:
            self.failures += 1
            self._tear(trace_id)

    def _tear(self, trace_id: int) -> None:
        if self._ended or trace_id in self._torn:
            return
        if self._named < _MOST_TORN:
            self._named += 1
            self._torn.add(trace_id)
        else:
            self._lost_until_ns = time.time_ns()

    def taken(self) -> tuple[set[int], int]:
        """The traces that lost a part since this was last asked, and until when unnamed ones did; -1 for never.

        Once the worker has taken all that was in the queue it is open again.
        """
        with self._lock:
            found, until_ns = self._torn, -1
            if found:
                self._torn = set()
            if not self.items and not self._ended:
                until_ns, self._lost_until_ns = self._lost_until_ns, -1
                self._named = 0
                self._shut = False
            self._set_mark()
        return found, until_ns

    def _set_mark(self) -> None:
        if self.active and not self._shut:
            more = min(max(_EVERY, self.limit // _RARELY), _RARELY)
            self.mark = min(len(self.items) + more, self.limit)

    def stop(self) -> None:
        """Take nothing any more, and count nothing: what waits is still scored."""
        with self._lock:
            self.active = False
            self.mark = -1

    def end(self) -> None:
        """Take nothing any more: nobody would ever ask for it."""
        with self._lock:
            self._shut = self._ended = True
            self.mark = -1
            self._torn = set()


def _nothing() -> None: ...


def _length(value: object) -> int:
    """About how many bytes of memory there are in a value, or in the events of a span."""
    if value is None:
        return 0
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(_length, cast("Sequence[object]", value)))
    if isinstance(value, Event):
        return _held(value.attributes or {})
    return _held(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else 0


def _held(attributes: Mapping[str, object]) -> int:
    size = _VALUE * len(attributes)
    for value in attributes.values():
        kind = type(value)
        if kind is str:
            size += len(value)  # pyright: ignore[reportArgumentType]  # a cast is a call
        elif kind not in _SMALL:
            size += _length(value)
    return size
