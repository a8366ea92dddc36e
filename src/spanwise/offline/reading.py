"""Reading recorded spans from files, folders and streams, and scoring the runs in them.

How memory is bounded
    All inputs are one stream of records, since a trace may be spread over files, and its log events lie in files of
    their own. Up to `SMALL` bytes of input everything is held until the end, so that every run is whole and given once.
    Above that a trace is handed out `ENDED` records after its root, which most exporters write last, or when no record
    of it came for `IDLE` records, so memory follows what is in flight.
    Where a record still comes later, its trace is read again from the start, alone and whole, and its runs are given
    again under the next revision; a stream that cannot be read twice (standard input) reports such records as errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from spanwise import sources
from spanwise.assembly.assembler import Assembler, AssemblySettings, Finished
from spanwise.assembly.stitch import stitch
from spanwise.assembly.tree import build_trace
from spanwise.errors import SourceError
from spanwise.evaluators.overall import Overall
from spanwise.model.expectation import Rules
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import Key, LogEvent, RawSpan
from spanwise.model.result import RunResult
from spanwise.model.trace import Trace
from spanwise.run import THRESHOLDS, evaluate

SMALL = 64 * 1024 * 1024
IDLE = 100_000
ENDED = 10_000
_TOMBSTONES = 1_000_000
STDIN = "-"


@dataclass(slots=True, kw_only=True)
class Reading:
    """One pass over inputs: what was asked for, and what became of it.

    Counters are complete once the iterator is exhausted.
    """

    paths: Sequence[str]
    unit: Literal["run", "trace"] = "run"
    stitched: bool = False
    thresholds: Mapping[str, tuple[float, float]] = field(default_factory=lambda: THRESHOLDS)
    overall: Overall | None = None
    rules: Rules | None = None
    budget_ns: int | None = None
    on_error: Callable[[SourceError], None] = lambda error: None
    on_progress: Callable[[int, int, str], None] | None = None
    """Called with bytes read, bytes in all (0: not known) and the input's name."""
    files: int = 0
    records: int = 0
    spans: int = 0
    traces: int = 0
    errors: int = 0
    tally: sources.Tally = field(default_factory=sources.Tally)
    notes: list[str] = field(default_factory=list[str])
    """What is worth knowing and no error: files passed over, log events without spans."""
    small_bytes: int = SMALL
    idle_records: int = IDLE
    ended_records: int = ENDED

    def traces_of(self) -> Iterator[Trace]:
        """Every trace in the inputs, in the order in which their first records stand there."""
        listed = sources.expand(self.paths, on_error=self._failed, on_skip=self._skipped)
        total = sum(_size(name) for name in listed)
        streamed = total > self.small_bytes or not all(map(_is_file, listed))
        if self.stitched:
            yield from self._stitched(listed, total)
            return
        settings = AssemblySettings(unit=self.unit, max_tombstones=_TOMBSTONES)
        if streamed:
            settings = replace(
                settings,
                finish="top_root",
                grace_ns=min(self.ended_records, self.idle_records),
                idle_ns=self.idle_records,
            )
        assembler = Assembler(settings)
        names: dict[Key, str] = {}
        for record, name in self._records(listed, total):
            names.setdefault(record.trace_id, name)
            assembler.add(record, self.records)
            if streamed and self.records % 4096 == 0:
                yield from self._given(assembler.tick(self.records), names)
        yield from self._given(assembler.drain(self.records), names)
        if assembler.late_traces:
            yield from self._again(listed, assembler, names)

    def results(self, evaluators: Mapping[str, AnyEvaluator]) -> Iterator[RunResult]:
        """Every run in the inputs with its scores."""
        clock = None if self.budget_ns is None else time.perf_counter_ns
        for trace in self.traces_of():
            for run in trace.runs:
                yield evaluate(
                    run,
                    evaluators,
                    revision=trace.revision,
                    thresholds=self.thresholds,
                    overall=self.overall,
                    rules=self.rules,
                    budget_ns=self.budget_ns,
                    clock=clock,
                )

    def remarks(self) -> list[str]:
        """What a reader of the results should know: notes, what was left out of the input or put right, how often."""
        counted = [(f"left out: {what}", count) for what, count in sorted(self.tally.ignored.items())]
        counted += sorted(self.tally.repairs.items())
        return [*self.notes, *(f"{what} ({count} time{'' if count == 1 else 's'})" for what, count in counted)]

    def _records(self, listed: Iterable[str], total: int) -> Iterator[tuple[RawSpan | LogEvent, str]]:
        for name in listed:
            self.files += 1
            try:
                tell = self._progress(name, total)
                for record in sources.read(name, on_error=self._failed, tally=self.tally, on_progress=tell):
                    self.records += 1
                    if isinstance(record, RawSpan):
                        self.spans += 1
                    yield record, name
            except SourceError as error:
                self._failed(error)

    def _progress(self, name: str, total: int) -> Callable[[int], None] | None:
        tell = self.on_progress
        return None if tell is None else lambda done: tell(done, total, name)

    def _failed(self, error: SourceError) -> None:
        self.errors += 1
        self.on_error(error)

    def _skipped(self, files: Sequence[str]) -> None:
        shown = ", ".join(files[:3]) + (", ..." if len(files) > 3 else "")
        self.notes.append(f"{len(files)} file{'s' if len(files) > 1 else ''} of no known format passed over: {shown}")

    def _given(self, finished: Iterable[Finished], names: dict[Key, str]) -> Iterator[Trace]:
        for item in finished:
            if not item.trace.spans:
                self._homeless(names.get(item.trace.key, ""), item.trace)
                continue
            self.traces += 1
            item.trace.source = names.get(item.trace.key, "")
            yield item.trace

    def _homeless(self, name: str, trace: Trace) -> None:
        """Log events came without their spans: an error if the input has no spans at all, else worth a note."""
        text = "log events without their spans are left out; give the file of the spans too"
        if not self.spans:
            if not self.errors:
                self._failed(SourceError(text, source=name, place=f"trace {trace.trace_id}"))
        elif text not in self.notes:
            self.notes.append(text)

    def _again(self, listed: Sequence[str], assembler: Assembler, names: dict[Key, str]) -> Iterator[Trace]:
        """The traces of which records came late, read whole."""
        late = assembler.late_traces
        once = [name for name in listed if not _is_file(name)]
        if once:
            self._failed(
                SourceError(
                    f"{assembler.stats.late} records came long after the rest of their trace and are not in its scores;"
                    " save the input to a file, which can be read twice",
                    source="standard input" if once[0] == STDIN else once[0],
                )
            )
            return
        whole = Assembler(AssemblySettings(unit=self.unit))
        again = Reading(paths=self.paths)
        for record, _ in again._records(listed, 0):
            if record.trace_id in late:
                whole.add(record, 0)
        for trace in self._given(whole.drain(0), names):
            trace.revision = 2
            yield trace

    def _stitched(self, listed: Iterable[str], total: int) -> Iterator[Trace]:
        fragments: dict[Key, list[RawSpan]] = {}
        events: dict[Key, list[LogEvent]] = {}
        names: dict[Key, str] = {}
        for record, name in self._records(listed, total):
            names.setdefault(record.trace_id, name)
            if isinstance(record, RawSpan):
                fragments.setdefault(record.trace_id, []).append(record)
            else:
                events.setdefault(record.trace_id, []).append(record)
        for key, spans in stitch(fragments).items():
            joined = {span.span_id for span in spans}
            own = [event for found in events.values() for event in found if event.span_id in joined]
            trace = build_trace(key, spans, events=own, unit=self.unit)
            trace.source = names.get(key, "")
            self.traces += 1
            yield trace


def _is_file(name: str) -> bool:
    """It can be read twice, and its size is known."""
    return name != STDIN and not sources.is_remote(name)


def _size(name: str) -> int:
    return Path(name).stat().st_size if _is_file(name) else 0
