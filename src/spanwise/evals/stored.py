"""Stored runs as contexts of pydantic-evals, so that `run_evaluators` replays history.

Both sources fit its protocol `EvaluatorContextSource`. A reference names a trace and a span of it: the run's own, or
any span in the run; an empty span id names the only run of the trace. What is not there is an error, never an empty
context.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from anyio import to_thread
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.online import EvaluatorContextSource, SpanReference

from spanwise.errors import SourceError
from spanwise.evals.contexts import context_of
from spanwise.model.trace import Run, Trace
from spanwise.offline.reading import Reading
from spanwise.store.location import Location

if TYPE_CHECKING:
    from spanwise.store.store import Store

_MOST = 1_000_000
T = TypeVar("T")


class _Contexts(EvaluatorContextSource):
    """What both sources share: contexts by reference, in the order in which they are asked for."""

    _where: str

    def references(self) -> list[SpanReference]:
        """A reference to every run, by start: what `fetch_many` takes."""
        runs = sorted(self._all(), key=lambda run: run.start_ns)
        return [SpanReference(trace_id=run.trace.trace_id, span_id=run.run_id) for run in runs]

    async def fetch_many(self, spans: Sequence[SpanReference]) -> list[EvaluatorContext[object, object, object]]:
        """The contexts of the runs that the references name, read in one pass, in their order.

        Raises:
            SourceError: One of them is not there, or the inputs cannot be read.
        """
        return await to_thread.run_sync(self._fetched, tuple(spans))

    def _fetched(self, spans: Sequence[SpanReference]) -> list[EvaluatorContext[object, object, object]]:
        traces = self._traces({_plain(span.trace_id) for span in spans})
        made: dict[tuple[str, str], EvaluatorContext[object, object, object]] = {}
        out: list[EvaluatorContext[object, object, object]] = []
        for span in spans:
            run = self._run(span, traces)
            key = (run.trace.trace_id, run.run_id)
            if key not in made:
                made[key] = context_of(run, name="/".join(part for part in key if part))
            out.append(made[key])
        return out

    def _run(self, span: SpanReference, traces: Mapping[str, Trace]) -> Run:
        trace = traces.get(_plain(span.trace_id))
        if trace is None:
            raise SourceError(f"there is no trace {span.trace_id!r}", source=self._where)
        runs, wanted = trace.runs, _plain(span.span_id)
        if not wanted.strip("0") and len(runs) == 1:
            return runs[0]
        for run in runs:
            if wanted == _plain(run.run_id) or any(wanted == _plain(one.span_id) for one in run.spans):
                return run
        named = ", ".join(run.run_id for run in runs if run.run_id) or "one without a span of its own"
        raise SourceError(f"trace {trace.trace_id} has no run with span {span.span_id!r}; its runs: {named}")

    def _all(self) -> Iterable[Run]:
        raise NotImplementedError

    def _traces(self, wanted: Collection[str]) -> Mapping[str, Trace]:
        raise NotImplementedError


class FileContexts(_Contexts):
    """The runs in files of recorded spans: whatever `spanwise score` reads.

    The files are read once per `fetch_many`, so ask for all at once.
    """

    def __init__(self, *paths: str | Path, unit: Literal["run", "trace"] = "run", stitched: bool = False) -> None:
        self._paths = tuple(map(str, paths))
        self._where = ", ".join(self._paths)
        self._unit: Literal["run", "trace"] = unit
        self._stitched = stitched

    def _all(self) -> Iterable[Run]:
        return [run for trace in self._read().values() for run in trace.runs]

    def _traces(self, wanted: Collection[str]) -> Mapping[str, Trace]:
        return self._read(wanted)

    def _read(self, wanted: Collection[str] | None = None) -> dict[str, Trace]:
        reading = Reading(paths=self._paths, unit=self._unit, stitched=self._stitched, on_error=_raise)
        found: dict[str, Trace] = {}
        for trace in reading.traces_of():  # a later revision of a trace takes the place of an earlier one
            key = _plain(trace.trace_id)
            if wanted is None or key in wanted:
                found[key] = trace
        return found


class StoreContexts(_Contexts):
    """The runs in a store, from the spans that it keeps beside them."""

    def __init__(self, store: Store | str | Path | Location | None = None) -> None:
        """The store, or its place; where not given, the one of SPANWISE_STORE, else the user's own."""
        self._place: str | Path | Location | None = None
        self._store: Store | None = None
        if store is None or isinstance(store, str | Path | Location):
            self._place, self._where = store, str(store or "the store")
        else:
            self._store, self._where = store, store.where

    def _all(self) -> Iterable[Run]:
        def read(store: Store) -> list[Run]:
            kept = dict.fromkeys(one.trace_id for one in store.query(limit=_MOST))
            traces = [trace for one in kept if (trace := store.trace(one)) is not None]
            return [run for trace in traces for run in trace.runs]

        return self._with(read)

    def _traces(self, wanted: Collection[str]) -> Mapping[str, Trace]:
        def read(store: Store) -> dict[str, Trace]:
            return {one: trace for one in sorted(wanted) if (trace := store.trace(one)) is not None}

        return self._with(read)

    def _with(self, read: Callable[[Store], T]) -> T:
        if self._store is not None:
            return read(self._store)
        from spanwise.store import Store

        with Store.open(self._place, must_exist=True, max_age_s=None, max_bytes=None) as store:
            self._where = store.where
            return read(store)


def _plain(identity: str) -> str:
    """An id as it is compared: without dashes, in lower case."""
    return identity.replace("-", "").lower()


def _raise(error: SourceError) -> None:
    raise error
