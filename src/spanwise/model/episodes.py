"""Failures of tools, each with its retries.

A call that begins once a failure is known may be a retry of it. A call that was already under way when the tool failed
is none: in a batch of parallel calls one that succeeds mends nothing of another that failed. Where several episodes of
one tool are open, a call belongs to the one that failed with the same arguments, else to the one that failed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

from spanwise.model.calls import FAILED, ToolCall, canonical_of
from spanwise.model.failures import FailureKind, failure_of

_ENDING = frozenset({"ok", "unknown"})
"""How calls came out that end a failure, or may."""


@dataclass(slots=True, kw_only=True)
class Episode:
    """A failed call of a tool and its retries; `success` is the call that ended it, None where none did.

    `untold` is a retry of which it is not known whether it succeeded.
    """

    failures: list[ToolCall] = field(default_factory=list["ToolCall"])
    success: ToolCall | None = None
    untold: ToolCall | None = None

    @property
    def recovered(self) -> bool:
        """A later call succeeded."""
        return self.success is not None

    @property
    def unclear(self) -> bool:
        """No later call is known to have succeeded, but one may have."""
        return self.success is None and self.untold is not None

    @property
    def kind(self) -> FailureKind:
        """What kind of failure it began with."""
        return failure_of(self.failures[0])

    @property
    def unchanged(self) -> int:
        """How many retries failed that asked for just what had failed before."""
        if len(self.failures) == 1:
            return 0
        asked = [canonical_of(call) if call.raw_arguments is not None else None for call in self.failures]
        return sum(one is not None and one == before for before, one in pairwise(asked))

    @property
    def recovery_ns(self) -> int | None:
        """From the end of the first failure to the end of the success; None without one, or without their spans."""
        if self.success is None or self.success.origin != "span" or self.failures[0].origin != "span":
            return None
        return max(self.success.end_ns - self.failures[0].end_ns, 0)


def episodes_of(calls: Sequence[ToolCall], *, in_turn: bool = False) -> tuple[Episode, ...]:
    """The failure episodes among calls, by start.

    Calls that are known from messages have no times of their own. Those that begin together were asked for together,
    unless `in_turn` says that only their order is known.
    """
    out: list[Episode] = []
    tools: dict[str, _Open] = {}
    for call in calls:
        failed = call.status in FAILED
        if not failed and (call.status not in _ENDING or call.name not in tools):
            continue
        open_ = tools.get(call.name)
        if open_ is None:
            open_ = tools[call.name] = _Open(in_turn=in_turn)
        episode = open_.retried_by(call)
        if failed:
            if episode is None:
                episode = Episode()
                out.append(episode)
            episode.failures.append(call)
            open_.add(episode, call)
        elif episode is not None and call.status == "ok":
            episode.success = call
        elif episode is not None:
            episode.untold = call
    return tuple(out)


class _Open:
    """The episodes of one tool that no success has ended, by the end of their last failure and by what they asked."""

    def __init__(self, *, in_turn: bool) -> None:
        self._in_turn = in_turn
        self._by_end: list[tuple[int, int, Episode]] = []
        self._by_arguments: dict[bytes, Episode] = {}
        self._unread: list[tuple[ToolCall, Episode]] = []
        """Failures that are not among those yet: their arguments are read where two episodes are open."""
        self._added = 0

    def add(self, episode: Episode, failure: ToolCall) -> None:
        """Take in an episode after a failure of it."""
        self._added += 1
        heappush(self._by_end, (failure.end_ns, self._added, episode))
        if failure.raw_arguments is not None:
            self._unread.append((failure, episode))

    def retried_by(self, call: ToolCall) -> Episode | None:
        """The open episode that a call retries."""
        by_end = self._by_end
        while by_end and (by_end[0][2].success is not None or by_end[0][2].failures[-1].end_ns != by_end[0][0]):
            heappop(by_end)
        if not by_end or not self._follows(call, by_end[0][2].failures[-1]):
            return None
        if len(by_end) > 1 and call.raw_arguments is not None:
            for failure, episode in self._unread:
                self._by_arguments[canonical_of(failure)] = episode
            self._unread.clear()
            same = self._by_arguments.get(canonical_of(call))
            if same is not None and same.success is None and self._follows(call, same.failures[-1]):
                return same
        return by_end[0][2]

    def _follows(self, call: ToolCall, failure: ToolCall) -> bool:
        """The call began when the failure was known."""
        return call.start_ns >= failure.end_ns and (self._in_turn or call.start_ns > failure.start_ns)
