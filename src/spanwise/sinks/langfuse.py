"""Scores on Langfuse's traces, observations and sessions, through its score API."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.sinks._choice import Choice, checked
from spanwise.sinks._courier import Courier, default_path, owner_of, shed_by_name
from spanwise.sinks._delivery import Pace, Words
from spanwise.sinks._langfuse_api import Api, need_httpx
from spanwise.sinks._langfuse_scores import ENVIRONMENT, Item, items_of, session_item
from spanwise.sinks._outbox import Group, Parcel

__all__ = ["LangfuseSink", "LangfuseStats", "Pace"]

CLOUD = "https://cloud.langfuse.com"
_RANKS = ("status", "ok", "warn", "alert")
_WORDS = Words(
    there="Langfuse",
    items="scores",
    denied="Langfuse refused the keys ({}); scores are kept and tried again now and then:"
    " check LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and that LANGFUSE_BASE_URL names their region",
    lost="there is no score API of Langfuse ({}); scores are kept and tried again now and then:"
    " check LANGFUSE_BASE_URL",
)
_sinks: weakref.WeakSet[LangfuseSink] = weakref.WeakSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class LangfuseStats:
    """What became of the scores that this process took, and how many wait.

    taken = replaced + delivered + the sum of dropped + those that wait, if no other process uses the outbox.
    """

    taken: int
    replaced: int
    """Scores that a later revision took the place of before they were sent."""
    delivered: int
    waiting: int
    """In the outbox, those of earlier processes with them."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """By reason: the server's own, `shed_ok` and its like where the outbox was full, `outbox` where it could not be
    written and the reserve in memory was full too."""
    retries: int = 0
    requests: int = 0
    last_failure: str = ""


class LangfuseSink:
    """Sends scores to Langfuse, wherever the spans came from: a trace's id there is its id in OpenTelemetry.

    Scores are written to an outbox on disk at once and delivered by a thread of its own, so that nothing waits for the
    network, and nothing is lost while Langfuse cannot be reached or the process ends. A score has the same id and time
    at every sending: what is sent twice is stored once, and a later revision takes the place of an earlier one.

    Args:
        public_key: The project's.
        secret_key: The project's.
        host: Where Langfuse is, such as https://cloud.langfuse.com.
        scores: `default` (overall, tool_selection, redundancy, latency, grounding, and any alert), `all`, or names.
        environment: Langfuse's word for where the app runs; the spans' own where not given.
        outbox: A file of this project alone, which several processes may share; `default` for one among the user's own
            state, None for none: what waits is then lost with the process.
        session_scores: Give each session the mean of its runs' overall scores, too.
        max_rows: How many scores may wait. Over it the least important go first, and are counted.
        max_bytes: How many bytes of them may wait.
        close_s: How long `close` may take to deliver the rest.
        pace: Pauses and timeouts.

    Raises:
        SinkError: An argument cannot be used, or httpx is not installed.
    """

    emits: Content = "none"

    def __init__(
        self,
        *,
        public_key: str,
        secret_key: str,
        host: str = CLOUD,
        scores: Choice = "default",
        environment: str | None = None,
        outbox: str | Path | None = "default",
        session_scores: bool = False,
        max_rows: int = 100_000,
        max_bytes: int = 64 * 1024 * 1024,
        close_s: float = 3.0,
        pace: Pace | None = None,
    ) -> None:
        need_httpx()
        _check(public_key, secret_key, host, environment)
        self.pace = pace or Pace()
        self._choice = checked(scores)
        self._environment = environment
        self._session_scores = session_scores
        self._close_s = close_s
        owner = owner_of(host.rstrip("/"), public_key)
        path = Path(outbox).absolute() if outbox and outbox != "default" else None
        if outbox == "default":
            path = default_path("langfuse", owner, "scores for Langfuse")
        self._api = Api(host, public_key, secret_key, timeout_s=self.pace.timeout_s)
        self._courier = Courier(
            self._api, _WORDS, path=path, owner=owner, pace=self.pace, max_rows=max_rows, max_bytes=max_bytes
        )
        _sinks.add(self)

    @classmethod
    def from_environment(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        scores: Choice = "default",
        environment: str | None = None,
        outbox: str | Path | None = "default",
        session_scores: bool = False,
        pace: Pace | None = None,
    ) -> LangfuseSink:
        """A sink by the variables that Langfuse's own SDK reads.

        They are LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY, LANGFUSE_BASE_URL (or LANGFUSE_HOST) and, where no
        environment is given, LANGFUSE_TRACING_ENVIRONMENT.

        Raises:
            SinkError: A key is not set, a value cannot be used, or httpx is not installed.
        """
        variables = os.environ if environ is None else environ
        keys = {name: variables.get(name, "").strip() for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")}
        missing = [name for name, value in keys.items() if not value]
        if missing:
            raise SinkError(f"scores for Langfuse need {' and '.join(missing)}")
        host = variables.get("LANGFUSE_BASE_URL") or variables.get("LANGFUSE_HOST") or CLOUD
        return cls(
            public_key=keys["LANGFUSE_PUBLIC_KEY"],
            secret_key=keys["LANGFUSE_SECRET_KEY"],
            host=host,
            scores=scores,
            environment=environment or variables.get("LANGFUSE_TRACING_ENVIRONMENT") or None,
            outbox=outbox,
            session_scores=session_scores,
            pace=pace,
        )

    @property
    def outbox(self) -> Path | None:
        """The file that scores wait in."""
        return self._courier.outbox.path

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Put the chosen scores into the outbox; the network is not touched."""
        groups = [group for result in results for group in self._groups_of(result)]
        if groups:
            self._courier.put(groups)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Deliver what waits now; True when nothing waits any more.

        False comes when the time is over, or at once where the next try is later than that.
        """
        return self._courier.flush(timeout_s)

    def close(self) -> None:
        """Deliver what is possible in `close_s` seconds. The rest stays in the outbox for the next process."""
        self._courier.close(self._close_s)
        _sinks.discard(self)

    def stats(self) -> LangfuseStats:
        """What became of the scores up to now."""
        found = self._courier.stats()
        return LangfuseStats(
            taken=found.taken,
            replaced=found.replaced,
            delivered=found.delivered,
            waiting=found.waiting,
            dropped={**found.dropped, **shed_by_name(found.shed, _RANKS)},
            retries=found.retries,
            requests=found.requests,
            last_failure=found.last_failure,
        )

    @property
    def held(self) -> int:
        """How many scores are in memory only, since the outbox could not be written."""
        return self._courier.held()

    def after_fork(self) -> None:
        """Start anew in a child process: its own connections, its own thread when there is something to send."""
        self._courier.after_fork()

    def _groups_of(self, result: RunResult) -> list[Group]:
        items = items_of(result, self._choice, environment=self._environment)
        found = [Group(f"{result.run.trace.trace_id}/{result.run.run_id}", [_parcel(item) for item in items])]
        session = result.run.who.session_id if self._session_scores else None
        overall = next((one.value for one in result.scores if one.name == "overall"), None)
        if session and overall is not None:
            try:
                mean, runs = self._courier.outbox.mean(session, found[0].name, overall)
            except sqlite3.Error:
                return found  # the session's score is brought up to date by its next run
            item = session_item(result, session, mean, runs, environment=self._environment)
            found.append(Group(f"session/{session}", [_parcel(item)]))
        return found


def _parcel(item: Item) -> Parcel:
    return Parcel(item.id, msgspec.json.encode(item.body), item.rank)


def _check(public_key: str, secret_key: str, host: str, environment: str | None) -> None:
    if not public_key or not secret_key:
        raise SinkError("scores for Langfuse need a public and a secret key")
    if not host.startswith(("http://", "https://")):
        raise SinkError(f"read {host!r} as the host of Langfuse, expected a URL such as {CLOUD}")
    if environment is not None and not ENVIRONMENT.fullmatch(environment):
        raise SinkError(
            f"read {environment!r}, expected an environment of Langfuse: up to 40 of a-z, 0-9, - and _,"
            " which do not begin with 'langfuse'"
        )


def _after_fork() -> None:
    for sink in list(_sinks):
        sink.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
