"""Which traces were refused, so that the rest of each is refused, too.

How it works
    The last so many are known by name. Of one that is forgotten only remains that whatever began before it was refused
    may be that trace: a root that did is not trusted any more. A trace that begins later is another one.
"""

from __future__ import annotations

from collections import OrderedDict

from spanwise.model.ports import Record
from spanwise.model.raw import Key, LogEvent, SpanRecord


class Refusals:
    """The reasons why traces were refused, at most `most` of them. Times are those of the spans."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reasons: OrderedDict[Key, tuple[str, int]] = OrderedDict()
        self._doubtful_until_ns = -1

    def __len__(self) -> int:
        return len(self._reasons)

    def of(self, key: Key) -> str | None:
        """Why a trace was refused; None if it was not, or that is forgotten."""
        found = self._reasons.get(key)
        return None if found is None else found[0]

    def add(self, key: Key, reason: str, at_ns: int) -> None:
        """A trace is refused that began no later than at this time."""
        self._reasons[key] = (reason, at_ns)
        while len(self._reasons) > self._most:
            self.doubt(self._reasons.popitem(last=False)[1][1])

    def doubt(self, until_ns: int) -> None:
        """Traces that are not known by name lost spans, all of which began no later than at this time."""
        self._doubtful_until_ns = max(self._doubtful_until_ns, until_ns)

    def doubted(self, root: SpanRecord) -> bool:
        """Whether the trace of this root may be one that was refused and forgotten."""
        return root.start_ns <= self._doubtful_until_ns


def time_of(record: Record) -> int:
    """A time by which the trace of a record had begun."""
    return record.event.time_ns if isinstance(record, LogEvent) else record.start_ns or record.end_ns
