"""What evaluators ask of all the calls of a run together, told in one look at each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from spanwise.model.calls import FAILED, ToolCall
from spanwise.native import core

_UNKNOWN = "unknown"


class Tally(msgspec.Struct, gc=False):
    """What calls were of and what they were given, how long they took by tool, and which of them failed.

    Times go from least to most. How long a call took that left no span, or whose span never ended, nobody knows.
    """

    names: list[str]
    arguments: list[object]
    times: dict[str, list[int]]
    failed: list[ToolCall]
    unclear: tuple[str, ...]
    """The tools of calls of which it is not known whether they failed."""
    spanless: bool
    """Some call left no span."""


_CALLS = None if core is None else core.Calls(call=ToolCall, tally=Tally, failed=FAILED, ok="ok", unknown=_UNKNOWN)


def tally_of(
    calls: Sequence[ToolCall],
    *,
    paced: Callable[[Sequence[ToolCall]], Iterable[ToolCall]] = iter,
    pause: Callable[[], None] | None = None,
) -> Tally:
    """All of it; `paced` gives the calls with pauses, where one is wanted."""
    found = _CALLS.tally(calls, pause) if _CALLS is not None else None
    return _tally(paced(calls)) if found is None else found


def _tally(calls: Iterable[ToolCall]) -> Tally:
    found = Tally([], [], {}, [], (), False)  # noqa: FBT003  (built positionally)
    unclear: dict[str, None] = {}
    for call in calls:
        name, status, ns = call.name, call.status, call.end_ns - call.start_ns
        found.names.append(name)
        found.arguments.append(call.raw_arguments)
        if status in FAILED:
            found.failed.append(call)
        elif status == _UNKNOWN:
            unclear[name] = None
        if call.span == -1:
            found.spanless = True
        if call.span >= 0 and (ns > 0 or status != _UNKNOWN):
            found.times.setdefault(name, []).append(ns)
    for spent in found.times.values():
        spent.sort()
    found.unclear = tuple(unclear)
    return found
