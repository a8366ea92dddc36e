"""New scores of old runs, handed to the sinks that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.cli.guard import FINE, INTERNAL
from spanwise.errors import SpecError

if TYPE_CHECKING:
    from spanwise.model.result import RunResult

_TURN_S = 65.0  # longer than any pause between two tries of a delivery
_PATIENCE = 40
_AT_ONCE = 20


class SettingsSinks:
    """Takes results as they come, and gives them to the sinks of the settings, else of the environment, but no store.

    Each sink gets as much content as the settings say, masked as they say.

    Raises:
        SpecError: There is no such sink, or one of them cannot be used.
    """

    def __init__(self, config: Path | None, say: Callable[[str], None]) -> None:
        from spanwise.capture.settings import sinks_of
        from spanwise.delivery import Delivery
        from spanwise.sinks.log import LogSink
        from spanwise.store.sink import StoreSink

        found = sinks_of(None, store=False, config=config)
        sinks = {name: one for name, one in found.sinks.items() if not isinstance(one, StoreSink | LogSink)}
        if not sinks:
            raise SpecError("--write-back: the settings name no sink but the store; name one under `sinks`")
        self._say = say
        self._failures: dict[str, str] = {}
        self._held: list[RunResult] = []
        self._given = 0
        self._delivery = Delivery(sinks, replace(found.delivery, apart=False), self._failed)

    def give(self, result: RunResult) -> None:
        """Take the scores of one run."""
        self._held.append(result)
        if len(self._held) >= _AT_ONCE:
            self._hand_on()

    def finish(self) -> int:
        """Wait until all is delivered, and say what became of it; the exit code."""
        self._hand_on()
        done, before = False, -1
        for _ in range(_PATIENCE):
            done = self._delivery.flush(_TURN_S)
            waiting = self._waiting()
            if done or waiting == before:
                break
            before = waiting
            self._say(f"note: {waiting:,} scores wait for their sinks")
        self._delivery.close()
        names = ", ".join(self._delivery.sinks)
        self._say(f"note: {self._given:,} run{'' if self._given == 1 else 's'} given to {names}")
        drops = self._delivery.drops()
        for name, counts in drops.items():
            for reason, count in counts.items():
                self._say(f"error: {name}: {count:,} were not taken: {reason}")
        for name, text in self._failures.items():
            self._say(f"error: {name}: {text}")
        if not done:
            self._say("error: not all could be delivered in time; a sink with an outbox sends the rest when it is used")
        return FINE if done and not drops and not self._failures else INTERNAL

    def _hand_on(self) -> None:
        held, self._held = self._held, []
        self._given += len(held)
        self._delivery.emit(held, lambda: None)

    def _failed(self, name: str, error: BaseException) -> None:
        self._failures.setdefault(name, f"{type(error).__name__}: {error}")

    def _waiting(self) -> int:
        """How many scores wait, as far as the sinks tell."""
        total = 0
        for sink in self._delivery.sinks.values():
            stats: object = getattr(sink, "stats", None)
            waiting: object = getattr(stats() if callable(stats) else stats, "waiting", 0)
            total += waiting if isinstance(waiting, int) else 0
        return total
