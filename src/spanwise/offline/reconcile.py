"""Traces whose scores are missing or old are found, and scored.

How it works
    A trace *needs scores* if the store has none of it (`unscored`), if it lacks those of an evaluator that the settings
    name now (`lacking`), if one of its scores carries another version or another hash of parameters than that evaluator
    gives now (`outdated`), or if an input has spans of it that the store lacks (`late_spans`).

    Which version an evaluator gives is known only from a score of it. So the first traces are scored, and what they
    carry is remembered; a trace of which the store has just that is passed over without reading its spans. Where a
    score is missing or differs, the run is scored and compared: an evaluator that has nothing to say of a run lacks
    nothing. A judge says itself what its verdicts carry, and is asked only where its verdict has to be given anew.

    All runs of a trace are given the next revision together, for a run that it does not list is taken for gone. One
    trace is held at a time, and the results of a few until they are written together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace as changed

from spanwise.assembly.tree import build_trace
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan, hex_id
from spanwise.model.result import RunResult
from spanwise.model.score import Score, not_applicable
from spanwise.model.trace import Run, Trace
from spanwise.offline.standard import UNSCORED, Need, Standard, asking, kept_of
from spanwise.pipeline import Scoring
from spanwise.report.reconciled import Found, State, Tally
from spanwise.store.failures import RefusedResultsError
from spanwise.store.kept import KeptRun, KeptSpans, KeptTrace
from spanwise.store.store import Store

PAGE = 50
_RESULTS, _SPANS = 200, 5_000
_SUPERSEDED = "superseded"


class _Done(NamedTuple):
    """What was made of a trace: its results, if it was scored, and whether they are kept without content."""

    found: Found
    results: Sequence[RunResult] = ()
    bare: bool = False


class Reconciler:
    """Finds the traces that need scores, and gives them those that the settings ask for.

    Args:
        store: What has the scores, and gets the new ones.
        bare: A store at the same place that keeps no content; traces that were kept without it are written there.
        scoring: What the settings ask now.
        dry_run: Score nothing for good, and write nothing.
        limit: Score at most so many traces.
        since_ns: Look only at traces that began then or later.
        give: Gets each new result, with the scores that its run has no longer as not applicable.
    """

    def __init__(
        self,
        store: Store,
        bare: Store,
        scoring: Scoring,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        since_ns: int | None = None,
        give: Callable[[RunResult], None] | None = None,
    ) -> None:
        self.tally = Tally()
        self.broke = False
        """An evaluator broke on some run; its score says so."""
        self._store, self._bare = store, bare
        self._scoring = scoring
        self._now = Standard(scoring)
        self._dry_run = dry_run
        self._left = limit
        self._since_ns = since_ns
        self._give = give
        self.on_progress: Callable[[int], None] = lambda done: None
        """Called with the number of traces looked at."""
        self._waiting: list[_Done] = []
        self._spans = 0

    def stored(self) -> Iterator[Found]:
        """The traces in the store that need scores; each is written before it is given, unless this is a dry run."""
        after = ""
        while page := self._store.page(after=after, since_ns=self._since_ns, limit=PAGE):
            for kept in page:
                yield from self._looked_at(self._of_stored(kept))
                if self.tally.more:
                    yield from self._written()
                    return
            after = page[-1].trace_id
        yield from self._written()

    def given(self, traces: Iterable[Trace]) -> Iterator[Found]:
        """The same for traces out of files: those among them that the store lacks, or lacks spans of."""
        for trace in traces:
            if self._since_ns is not None and (not trace.spans or trace.spans[0].raw.start_ns < self._since_ns):
                continue
            if any(one.found.trace_id == trace.trace_id for one in self._waiting):
                yield from self._written()  # an input may give a trace again, with more spans
            yield from self._looked_at(self._of_given(trace))
            if self.tally.more:
                break
        yield from self._written()

    def _looked_at(self, done: _Done | None) -> Iterator[Found]:
        """Take what was made of a trace; what has come to be written, or needs no writing."""
        self.tally.looked_at += 1
        self.on_progress(self.tally.looked_at)
        if done is None:
            return
        if done.found.state != "scored":
            self.tally.add(done.found)
            yield done.found
            return
        self._waiting.append(done)
        self._spans += len(done.results[0].run.trace.spans)
        if self._spans >= _SPANS or sum(len(one.results) for one in self._waiting) >= _RESULTS:
            yield from self._written()

    def _of_stored(self, kept: KeptTrace) -> _Done | None:
        if self._now.knows(kept):
            return None
        spans = self._store.spans(kept.trace_id)
        if spans is None:
            return None  # it was deleted in between
        return self._bared(kept, spans) if spans.bare else self._needed(spans.trace(), kept, bare=False)

    def _of_given(self, trace: Trace) -> _Done | None:
        (kept,) = self._store.traces([trace.trace_id])
        spans = self._store.spans(trace.trace_id)
        if spans is None:
            return self._needed(trace, kept, bare=False)
        known = {hex_id(raw.span_id) for raw in spans.spans}
        own = {span.span_id for span in trace.spans}
        if known - own and spans.bare:
            late = len(own - known)
            need = Need(reason="late_spans", why=_late(late)) if late else None
            return self._bared(kept, spans, need)
        whole = _joined(trace, spans) if known - own or spans.unit == "trace" else trace
        whole.source = trace.source
        need = Need(reason="late_spans", why=_late(len(own - known))) if own - known else None
        return self._needed(whole, kept, bare=spans.bare and _is_bare(self._store, kept), need=need)

    def _bared(self, kept: KeptTrace, spans: KeptSpans, need: Need | None = None) -> _Done | None:
        """What is said of a trace that needs scores and cannot have them."""
        need = need or self._now.presumed(kept)
        if need is None:
            return None
        names = tuple(run.run_id for run in kept.runs)
        return _Done(_found(kept.trace_id, need, "no_content", names, revision=kept.revision, source=spans.source))

    def _needed(self, trace: Trace, kept: KeptTrace, *, bare: bool, need: Need | None = None) -> _Done | None:
        """What a trace needs, done unless this is a dry run; None where it needs nothing."""
        if not trace.runs:
            return None
        need = need or (self._now.need(trace, kept) if kept.runs else UNSCORED)
        if need is None:
            return None
        if self._left is not None:
            if self._left <= 0:
                self.tally.more = True
                return None
            self._left -= 1
        revision = kept.revision + 1
        names = tuple(run.run_id for run in trace.runs)
        if self._dry_run:
            return _Done(_found(trace.trace_id, need, "to_score", names, revision=revision, source=trace.source))
        late = need.reason == "late_spans"
        results = [self._scored(run, kept, revision, fresh=late) for run in trace.runs]
        found = _found(trace.trace_id, need, "scored", names, revision=revision, source=trace.source)
        return _Done(found, results, bare)

    def _scored(self, run: Run, kept: KeptTrace, revision: int, *, fresh: bool) -> RunResult:
        before = kept_of(run, kept)
        told: Mapping[str, AnyEvaluator] = {} if before is None or fresh else self._verdicts(before)
        asked = {name: told.get(name, one) for name, one in self._scoring.evaluators.items()}
        result = asking(run, asked, self._scoring, revision=revision)
        self._now.learn(result)
        self.broke = self.broke or any(score.status == "error" for score in result.scores)
        return result

    def _verdicts(self, before: KeptRun) -> Mapping[str, AnyEvaluator]:
        """What stands in for judges whose verdict still holds: models are asked for money."""
        full = self._store.get(before.trace_id, before.run_id) if self._now.judges else None
        held = () if full is None else full.scores
        return {
            score.name: _Told(score)
            for score in held
            if score.name in self._now.judges and self._now.holds(score) and score.status != "error"
        }

    def _written(self) -> Iterator[Found]:
        """Write what waits, and hand it on."""
        waiting, self._waiting, self._spans = self._waiting, [], 0
        for store, bare in ((self._store, False), (self._bare, True)):
            part = [done for done in waiting if done.bare is bare]
            results = [result for done in part for result in done.results]
            gone = {id(result): self._gone(result) for result in results}
            refused = self._put(store, results)
            for found, listed, _ in part:
                if refused and not self._is_kept(found):
                    found = replace(found, state="refused")
                elif self._give is not None:
                    for result in listed:
                        self._give(replace(result, scores=(*result.scores, *gone[id(result)])))
                self.tally.add(found)
                yield found

    def _put(self, store: Store, results: Sequence[RunResult]) -> bool:
        """Write results; true where the store refused some of them."""
        try:
            store.add(results)
        except RefusedResultsError:
            return True
        return False

    def _is_kept(self, found: Found) -> bool:
        (kept,) = self._store.traces([found.trace_id])
        return {run.run_id for run in kept.runs if run.revision >= found.revision} >= set(found.runs)

    def _gone(self, result: RunResult) -> Sequence[Score]:
        """The scores that a run has in the store, and no longer."""
        if self._give is None:
            return ()
        (kept,) = self._store.traces([result.run.trace.trace_id])
        before = kept_of(result.run, kept)
        names = {score.name for score in result.scores}
        old = () if before is None else before.scores
        return [
            structs.replace(not_applicable(score.name, _SUPERSEDED, unit=score.unit), revision=result.revision)
            for score in old
            if score.name not in names
        ]


@dataclass(frozen=True, slots=True)
class _Told:
    """Says of a run what was said of it before."""

    score: Score

    def __call__(self, run: Run, /) -> Score:
        return self.score


def _joined(trace: Trace, kept: KeptSpans) -> Trace:
    """A trace with the spans that the store has of it besides; of two with one id, that of the input."""
    own = [_in_hex(span.raw) for span in trace.spans]
    known = {raw.span_id for raw in own}
    others = [raw for raw in kept.spans if raw.span_id not in known]
    return build_trace(kept.trace_id, [*own, *others], unit=kept.unit, lost=kept.lost if others else ())


def _in_hex(raw: RawSpan) -> RawSpan:
    """A span with ids as the store spells them: those of protobuf are bytes."""
    parent = None if raw.parent_id is None else hex_id(raw.parent_id)
    return changed(raw, trace_id=hex_id(raw.trace_id), span_id=hex_id(raw.span_id), parent_id=parent)


def _is_bare(store: Store, kept: KeptTrace) -> bool:
    """Whether a trace was kept without content on purpose: the spans of a very large one always are."""
    found = [store.get(run.trace_id, run.run_id) for run in kept.runs]
    return all(one is None or (one.query is None and one.answer is None and one.contract is None) for one in found)


def _late(count: int) -> str:
    return f"{count:,} span{'' if count == 1 else 's'} that the store lacks"


def _found(trace_id: str, need: Need, state: State, names: Sequence[str], *, revision: int, source: str) -> Found:
    return Found(
        trace_id=trace_id,
        reason=need.reason,
        why=need.why,
        state=state,
        runs=tuple(names),
        revision=revision,
        source=source,
    )
