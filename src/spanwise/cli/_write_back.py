"""Scores of a reading, sent to the Langfuse project that the traces are in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from spanwise.cli.guard import FINE, INTERNAL
from spanwise.errors import SinkError, SpecError
from spanwise.masking import shown
from spanwise.model.result import RunResult
from spanwise.sinks.langfuse import LangfuseSink
from spanwise.sources.langfuse_api import host_of, is_address, since

_TURN_S = 65.0  # longer than any pause between two tries, but that after refused keys
_PATIENCE = 40
_AT_ONCE = 20


def with_age(paths: Sequence[str], age: str | None) -> list[str]:
    """The paths, the addresses of Langfuse among them narrowed to what is no older than the age.

    Raises:
        SpecError: There is an age, and no address that it could be about.
    """
    if age is None:
        return list(paths)
    if not any(map(is_address, paths)):
        raise SpecError(f"--since {age} is about traces of Langfuse; give langfuse:// as a path")
    return [since(path, age) if is_address(path) else path for path in paths]


class WriteBack:
    """Takes results as they come, without what people, models and tools wrote; sends them in the background."""

    def __init__(self, paths: Sequence[str], say: Callable[[str], None]) -> None:
        hosts = {host_of(path) for path in paths if is_address(path)}
        if len(hosts) > 1:
            raise SpecError(f"--write-back is for one project; read {' and '.join(sorted(hosts))}")
        variables = {name: value for name, value in os.environ.items() if name != "LANGFUSE_TRACING_ENVIRONMENT"}
        for host in hosts:
            variables["LANGFUSE_BASE_URL"] = host
        try:
            self._sink = LangfuseSink.from_environment(variables)
        except SinkError as error:
            raise SpecError(str(error)) from None
        self._say = say
        self._held: list[RunResult] = []

    def give(self, result: RunResult) -> None:
        """Take the scores of one run."""
        self._held.append(shown(result, content="none"))
        if len(self._held) >= _AT_ONCE:
            self._hand_on()

    def finish(self) -> int:
        """Wait until all is delivered, and say what became of it; the exit code."""
        self._hand_on()
        before = -1
        for _ in range(_PATIENCE):
            if self._sink.flush(_TURN_S):
                break
            stats = self._sink.stats()
            if stats.waiting == before and stats.last_failure:
                break
            before = stats.waiting
            self._say(f"note: {stats.waiting:,} scores wait for Langfuse")
        stats = self._sink.stats()
        self._sink.close()
        self._say(f"note: {stats.delivered:,} scores written to Langfuse")
        for reason, count in stats.dropped.items():
            self._say(f"error: {count:,} scores were not taken: {reason}")
        if stats.waiting:
            self._say(
                f"error: {stats.waiting:,} scores could not be written ({stats.last_failure}); they wait in"
                f" {self._sink.outbox} and are sent by the next --write-back"
            )
        return INTERNAL if stats.dropped or stats.waiting else FINE

    def _hand_on(self) -> None:
        held, self._held = self._held, []
        if held:
            self._sink.emit(held)
