"""The store: runs with their scores, kept in one database that many threads and processes write to."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from spanwise.errors import ModelError, SinkError
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.store._database import Database
from spanwise.store._json import key
from spanwise.store._pruning import PART, Pruned, Retention, prune_part
from spanwise.store._reading import Question, count_traces, read_page, read_run, read_runs, read_traces
from spanwise.store._rows import Content, Document, Shape
from spanwise.store._traces import read_spans, read_trace
from spanwise.store._writing import write
from spanwise.store.failures import RefusedResultsError, UnusableStoreError
from spanwise.store.kept import KeptRun, KeptSpans, KeptTrace
from spanwise.store.location import Location, locate
from spanwise.store.migrations import bring_up_to_date

__all__ = ["Pruned", "Retention", "Store"]

TIMEOUT_S = 5.0
PRUNE_EVERY_S = 60.0
PRUNE_EVERY_RUNS = 1000
_log = logging.getLogger("spanwise")


class Store:
    """Runs and their scores, in an SQLite file or a Postgres database.

    Every failure is a SinkError of one sentence that names the store, and no password. A store may be used by several
    threads, and by a process that was forked from the one that opened it.
    """

    def __init__(
        self,
        database: Database,
        *,
        content: Content,
        document: Document | None,
        mask: Callable[[str], str] | None = None,
        retention: Retention,
        clock: Callable[[], int],
    ) -> None:
        self._database = database
        self._content: Content = content
        self._document = document
        self._mask = mask
        self._retention = retention
        self._clock = clock
        self._counting = threading.Lock()
        self._pruned_ns: int | None = None
        self._unpruned = 0
        self._told = False

    @classmethod
    def open(
        cls,
        where: str | Path | Location | None = None,
        *,
        content: Content = "all",
        document: Document | None = None,
        mask: Callable[[str], str] | None = None,
        max_age_s: float | None = Retention().max_age_s,
        max_bytes: int | None = Retention().max_bytes,
        timeout_s: float = TIMEOUT_S,
        must_exist: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> Store:
        """The store at a place, made if it is not there, its tables brought up to date.

        Args:
            where: A path, `sqlite:///path`, or the URL of a Postgres database; what SPANWISE_STORE names where not
                given, else the user's own file.
            content: How much of what people, models and tools wrote is kept: all of it, quotes and reasons only
                (`evidence`), or nothing (`none`).
            document: How a run is spelt as JSON, to be kept with it where content is: `to_contract` of
                spanwise.report.contract.
            mask: What to make of each text that people, models and tools wrote before it is written: of questions,
                answers, attributes, reasons, quotes. What `document` gives is masked by whoever gives it.
            max_age_s: Runs that were written longer ago are deleted now and then; None keeps them.
            max_bytes: The oldest runs are deleted when all take more room; None keeps them.
            timeout_s: How long others who write are waited for.
            must_exist: Refuse a file that is not there, rather than make it.
            clock: The time, in nanoseconds since 1970.

        Raises:
            SinkError: The place is none, cannot be opened or made, or holds something else.
        """
        location = where if isinstance(where, Location) else locate(where)
        if not timeout_s > 0 or (max_age_s is not None and not max_age_s > 0):
            raise ModelError(f"timeout_s {timeout_s!r} and max_age_s {max_age_s!r} must lie above 0")
        if must_exist and location.path is not None and not location.path.is_file():
            raise UnusableStoreError(f"there is no store {location}; SPANWISE_STORE or --store names another one")
        database = Database(location, timeout_s=timeout_s)
        try:
            bring_up_to_date(database)
        except BaseException:
            database.close()
            raise
        retention = Retention(max_age_s=max_age_s, max_bytes=max_bytes)
        return cls(database, content=content, document=document, mask=mask, retention=retention, clock=clock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The path or the URL, without a password."""
        return str(self._database.where)

    def add(self, results: Sequence[RunResult], /) -> None:
        """Keep results, all in one transaction; then delete what is past its time, if it is time for that.

        A later revision of a run takes the place of an earlier one, whichever comes first.

        Raises:
            RefusedResultsError: All were written but those of which no rows could be made.
            SinkError: Nothing was written.
        """
        if not results:
            return
        shape = Shape(now_ns=self._clock(), content=self._content, document=self._document, mask=self._mask)
        broken = self._database.write(lambda connection: write(connection, results, self._database.dialect, shape))
        parts = self._due(len(results), shape.now_ns)
        if parts:
            self._prune_some(parts, shape.now_ns)
        if broken.count:
            raise RefusedResultsError(
                f"the store {self.where} could not take {broken.count} of {len(results)} results: {broken.first}",
                count=broken.count,
            )

    def recent(self, n: int = 20, /) -> list[KeptRun]:
        """The runs that were written last, the newest first."""
        return self.query(limit=n)

    def get(self, trace_id: str, run_id: str = "", /) -> KeptRun | None:
        """A run with all that is known of it; None where the store does not have it."""
        return self._database.read(lambda connection: read_run(connection, trace_id, run_id))

    def trace(self, trace_id: str, /) -> Trace | None:
        """A trace with its runs, to be scored again; None where the store does not have it.

        Raises:
            SinkError: Its spans were stored without content.
        """
        return self._database.read(lambda connection: read_trace(connection, trace_id))

    def spans(self, trace_id: str, /) -> KeptSpans | None:
        """The spans of a trace as they were kept; None where the store does not have it."""
        return self._database.read(lambda connection: read_spans(connection, trace_id))

    def traces(self, trace_ids: Sequence[str], /) -> list[KeptTrace]:
        """These traces with their runs and scores, in this order; one that the store does not have has no runs."""
        return self._database.read(lambda connection: read_traces(connection, [key(one) for one in trace_ids]))

    def page(self, *, after: str = "", since_ns: int | None = None, limit: int = 50) -> list[KeptTrace]:
        """The next traces after an id, by their ids, with their runs and scores; those that began since then."""
        return self._database.read(
            lambda connection: read_page(connection, after=after, since_ns=since_ns, limit=limit)
        )

    def count(self, *, since_ns: int | None = None) -> int:
        """How many traces there are, or began since then."""
        return self._database.read(lambda connection: count_traces(connection, since_ns))

    def query(
        self,
        *,
        trace_id: str | None = None,
        session_id: str | None = None,
        request_id: str | None = None,
        user_id: str | None = None,
        agent: str | None = None,
        score: str | None = None,
        label: str | None = None,
        below: float | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
        limit: int = 100,
    ) -> list[KeptRun]:
        """The runs of which all that is given holds, the newest first.

        Args:
            trace_id: The id of their trace, or its beginning.
            session_id: Of a conversation.
            request_id: Of a request.
            user_id: Of a user.
            agent: The name of the first agent.
            score: They have a score of this name; `label` and `below` are then about it.
            label: They have a score with this label.
            below: They have a score of less; without `score`, one without a unit.
            since_ns: They began then or later.
            until_ns: They began earlier.
            limit: At most so many.
        """
        question = Question(
            trace_id=trace_id,
            session_id=session_id,
            request_id=request_id,
            user_id=user_id,
            agent=agent,
            score=score,
            label=label,
            below=below,
            since_ns=since_ns,
            until_ns=until_ns,
            limit=limit,
        )
        return self._database.read(lambda connection: read_runs(connection, question))

    def prune(self, *, max_age_s: float | None = None, max_bytes: int | None = None) -> Pruned:
        """Delete what is past these limits, the oldest traces first; those of the store where none is given."""
        given = max_age_s is not None or max_bytes is not None
        limits = Retention(max_age_s=max_age_s, max_bytes=max_bytes) if given else self._retention
        now_ns = self._clock()
        traces = runs = 0
        while True:
            part, more = self._prune_part(limits, now_ns, spare=0.0)
            traces += part.traces
            runs += part.runs
            if not more:
                return Pruned(traces=traces, runs=runs, bytes=part.bytes)

    def close(self) -> None:
        """Give the connections up; the store cannot be used afterwards."""
        self._database.close()

    def _due(self, added: int, now_ns: int) -> int:
        """How many parts of what is past its time are to be deleted now: more than was added since the last time."""
        with self._counting:
            self._unpruned += added
            last = self._pruned_ns
            if last is not None and now_ns - last < PRUNE_EVERY_S * 1e9 and self._unpruned < PRUNE_EVERY_RUNS:
                return 0
            parts = 2 + 2 * self._unpruned // PART
            self._pruned_ns, self._unpruned = now_ns, 0
            return parts

    def _prune_some(self, parts: int, now_ns: int) -> None:
        """Delete some old traces; the results are written, so a failure is told once and no more."""
        try:
            for _ in range(parts):
                if not self._prune_part(self._retention, now_ns, spare=1.0)[1]:
                    return
        except SinkError as error:
            if not self._told:
                self._told = True
                _log.warning("old runs could not be deleted: %s; this is logged once", error)

    def _prune_part(self, limits: Retention, now_ns: int, *, spare: float) -> tuple[Pruned, bool]:
        database = self._database
        return database.write(
            lambda connection: prune_part(connection, database.dialect, limits, now_ns=now_ns, spare=spare)
        )
