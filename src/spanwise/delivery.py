"""Results into the hands of sinks: each gets what it may let out, and none waits for another.

What is shown (`masking.shown`) is made once for each level of content, not for each sink. A sink that does I/O, and
every one that is not ours, runs apart: on a daemon thread of its own, with a bounded queue before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from spanwise.apart import Apart, Receipt, Receipts, drops_of, held_by
from spanwise.masking import DEFAULT, shown
from spanwise.model.ports import Content, Mask, Sink
from spanwise.model.result import RunResult

__all__ = ["Apart", "Delivery", "DeliverySettings", "Receipt", "Receipts", "level_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """What each sink gets, and how long it is waited for.

    Args:
        content: The level of content by the sink's name; the sink's own where not given.
        mask: What takes secrets out of what is shown; None leaves them.
        apart: Run sinks on threads of their own, but those that say they need none.
        most: Results that may wait for a sink.
        most_bytes: About how many bytes these may hold.
        close_s: How long all sinks together may take to end.
    """

    content: Mapping[str, Content] = field(default_factory=dict[str, Content])
    mask: Mask | None = DEFAULT
    apart: bool = False
    most: int = 1000
    most_bytes: int = 64_000_000
    close_s: float = 4.0


def level_of(sink: object) -> Content:
    """How much content a sink lets out where nobody said: `emits`, else all; of ours that do not say, nothing."""
    said: object = getattr(sink, "emits", None)
    if said in {"none", "evidence", "all"}:
        return cast("Content", said)
    return "none" if type(sink).__module__.startswith("spanwise.sinks.") else "all"


class Delivery:
    """Gives results to every sink. One that fails costs its own copy only, and is counted."""

    def __init__(
        self,
        sinks: Mapping[str, Sink],
        settings: DeliverySettings,
        failed: Callable[[str, BaseException], None],
    ) -> None:
        self.sinks = dict(sinks)
        self.levels = {name: settings.content.get(name, level_of(sink)) for name, sink in sinks.items()}
        self.most = settings.most
        self._settings = settings
        self._close_s = settings.close_s
        self._failed = failed
        self._apart: dict[str, Apart] = {}
        for name, sink in sinks.items():
            if settings.apart and not getattr(sink, "inline", False):
                self._apart[name] = Apart(
                    sink, most=settings.most, most_bytes=settings.most_bytes, failed=self._of(name)
                )

    def _of(self, name: str) -> Callable[[BaseException], None]:
        return lambda error: self._failed(name, error)

    def emit(self, results: Sequence[RunResult], pause: Callable[[], None], receipt: Receipt | None = None) -> None:
        """Hand the results on; `pause` is called before each sink, and before each text that is masked.

        The receipt tells when every sink is done with them.
        """
        try:
            self._emit(results, pause, receipt)
        finally:
            if receipt is not None:
                receipt.done()

    def _emit(self, results: Sequence[RunResult], pause: Callable[[], None], receipt: Receipt | None) -> None:
        made: dict[bool, Sequence[RunResult]] = {}  # evidence and all are one to scores
        for name, sink in self.sinks.items() if results else ():
            pause()
            try:
                if getattr(sink, "idle", False):
                    continue
                bare = self.levels[name] == "none"
                if bare not in made:
                    made[bare] = self._shown(results, "none" if bare else "all", pause)
                apart = self._apart.get(name)
                if apart is None:
                    sink.emit(made[bare])
                else:
                    apart.emit(made[bare], receipt=receipt)
            except Exception as error:  # noqa: BLE001  (a sink may be anybody's; the others still get the results)
                self._failed(name, error)

    def unscored(self, trace_id: str) -> None:
        """Tell the sinks that want to know it that a trace was finished, and none of its runs is scored."""
        for name, sink in self.sinks.items():
            tell: object = getattr(sink, "unscored", None)
            if callable(tell):
                try:
                    tell(trace_id)
                except Exception as error:  # noqa: BLE001  (as above)
                    self._failed(name, error)

    def settle(self) -> None:
        """Give the receipts of what sinks held in memory, and hold no longer."""
        for one in self._apart.values():
            one.settle()

    @property
    def backlog(self) -> int:
        """How many results wait in memory for the sink that is furthest behind."""
        return max((one.waiting + held_by(one.sink) for one in self._apart.values()), default=0)

    def _shown(self, results: Sequence[RunResult], content: Content, pause: Callable[[], None]) -> Sequence[RunResult]:
        mask = self._settings.mask
        return [shown(result, content=content, masking=mask, pause=pause) for result in results]

    def flush(self, timeout_s: float) -> bool:
        """Wait until the sinks have what they were given by now; False if the time did not suffice for one of them."""
        until = time.monotonic() + timeout_s
        done = True
        for name, sink in self.sinks.items():
            flush: object = getattr(self._apart.get(name, sink), "flush", None)
            if callable(flush):
                done = flush(max(until - time.monotonic(), 0.0)) is not False and done
        return done

    def close_within(self, timeout_s: float) -> None:
        """All sinks together have so much time to end."""
        self._close_s = timeout_s

    def close(self) -> None:
        """Close the sinks, all of them within the time they have together."""
        until = time.monotonic() + self._close_s
        for one in self._apart.values():
            one.begin_close()
        for name, sink in self.sinks.items():
            if name not in self._apart:
                try:
                    sink.close()
                except Exception as error:  # noqa: BLE001  (a sink may be anybody's; the others have to be closed)
                    self._failed(name, error)
        for one in self._apart.values():
            one.end_close(max(until - time.monotonic(), 0.0))

    def drops(self) -> dict[str, dict[str, int]]:
        """What sinks did not get, or refused themselves: how many, by the sink's name and the reason."""
        found: dict[str, dict[str, int]] = {}
        for name, sink in self.sinks.items():
            counts = dict(self._apart[name].drops) if name in self._apart else {}
            for reason, count in drops_of(sink).items():
                counts[reason] = counts.get(reason, 0) + count
            if counts:
                found[name] = counts
        return found
