"""Scores on Langfuse's traces, observations and sessions, through its score API."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.sinks._choice import Choice, checked
from spanwise.sinks._langfuse_api import Api, need_httpx
from spanwise.sinks._langfuse_delivery import Delivery, Pace
from spanwise.sinks._langfuse_scores import ENVIRONMENT, Item, items_of, session_item
from spanwise.sinks._outbox import Group, Outbox, Parcel

__all__ = ["LangfuseSink", "LangfuseStats", "Pace"]

_log = logging.getLogger("spanwise")
CLOUD = "https://cloud.langfuse.com"
SPILL = 10_000
_RANKS = ("status", "ok", "warn", "alert")
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
        owner = hashlib.sha256(f"{host.rstrip('/')}\n{public_key}".encode()).hexdigest()[:16]
        path = _default_path(owner) if outbox == "default" else None if outbox is None else Path(outbox).absolute()
        self._outbox = Outbox(path, owner=owner, max_rows=max_rows, max_bytes=max_bytes)
        self._spill = Outbox(None, owner=owner, max_rows=min(SPILL, max_rows), max_bytes=max_bytes // 4)
        self._spilt = False
        self._lost = 0
        self._told = False
        self._api = Api(host, public_key, secret_key, timeout_s=self.pace.timeout_s)
        lock = None if path is None else path.with_name(f"{path.name}.{owner[:8]}.lock")
        self._delivery = Delivery(self._api, (self._outbox, self._spill), pace=self.pace, lock=lock)
        _sinks.add(self)
        if path is not None and path.exists():
            self._delivery.wake()

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
        return self._outbox.path

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Put the chosen scores into the outbox; the network is not touched."""
        groups = [group for result in results for group in self._groups_of(result)]
        if groups:
            self._keep(groups)
            self._delivery.wake()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Deliver what waits now; True when nothing waits any more.

        False comes when the time is over, or at once where the next try is later than that.
        """
        return self._delivery.flush(timeout_s, self._waiting)

    def close(self) -> None:
        """Deliver what is possible in `close_s` seconds. The rest stays in the outbox for the next process."""
        deadline = time.monotonic() + self._close_s
        emptied = self.flush(self._close_s)
        ended = self._delivery.stop(max(0.0, deadline - time.monotonic()) if not emptied else 1.0)
        left = self._waiting()
        if left and self._outbox.path is None:
            _log.warning("%d scores for Langfuse are lost: there is no outbox on disk", left)
        elif left:
            _log.info("%d scores for Langfuse wait in %s for the next start", left, self._outbox.path)
        _sinks.discard(self)
        if ended:
            self._outbox.close()
            self._spill.close()

    def stats(self) -> LangfuseStats:
        """What became of the scores up to now."""
        disk, spill, sent = self._outbox.counts, self._spill.counts, self._delivery.counts
        dropped = dict(sent.dropped)
        for rank, name in enumerate(_RANKS):
            count = disk.shed.get(rank, 0) + spill.shed.get(rank, 0)
            if count:
                dropped[f"shed_{name}"] = count
        if self._lost:
            dropped["outbox"] = self._lost
        return LangfuseStats(
            taken=disk.taken + spill.taken + self._lost,
            replaced=disk.replaced + spill.replaced,
            delivered=disk.done + spill.done,
            waiting=self._waiting(),
            dropped=dropped,
            retries=sent.retries,
            requests=self._api.requests,
            last_failure=sent.last_failure,
        )

    def after_fork(self) -> None:
        """Start anew in a child process: its own connections, its own thread when there is something to send."""
        self._outbox.after_fork()
        self._spill.after_fork()
        self._delivery.after_fork()
        self._lost = 0

    def _groups_of(self, result: RunResult) -> list[Group]:
        items = items_of(result, self._choice, environment=self._environment)
        found = [Group(f"{result.run.trace.trace_id}/{result.run.run_id}", [_parcel(item) for item in items])]
        session = result.run.who.session_id if self._session_scores else None
        overall = next((one.value for one in result.scores if one.name == "overall"), None)
        if session and overall is not None:
            try:
                mean, runs = self._outbox.mean(session, found[0].name, overall)
            except sqlite3.Error:
                return found  # the session's score is brought up to date by its next run
            item = session_item(result, session, mean, runs, environment=self._environment)
            found.append(Group(f"session/{session}", [_parcel(item)]))
        return found

    def _keep(self, groups: Sequence[Group]) -> None:
        """Into the outbox; where that cannot be written, into a reserve in memory until it can."""
        try:
            if self._spilt:
                self._spill.hand_over(self._outbox)
                self._spilt = False
            self._outbox.put(groups)
            return
        except sqlite3.Error as error:
            self._tell(error)
        try:
            self._spill.put(groups)
            self._spilt = True
        except sqlite3.Error:
            self._lost += sum(len(group.parcels) for group in groups)

    def _waiting(self) -> int:
        count = 0
        for outbox in (self._outbox, self._spill):
            try:
                count += outbox.waiting()
            except sqlite3.Error:
                continue
        return count

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "the outbox of scores for Langfuse, %s, cannot be written (%s); up to %d scores wait in memory",
                self._outbox.path,
                error,
                SPILL,
            )


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


def _default_path(owner: str) -> Path | None:
    """The outbox among the user's own state; None where the user has no home."""
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        _log.warning("this user has no home folder: scores for Langfuse wait in memory; name a file with `outbox`")
        return None
    return folder / "spanwise" / f"langfuse-{owner}.db"


def _after_fork() -> None:
    for sink in list(_sinks):
        sink.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
