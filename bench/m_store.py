"""Scores written to SQLite: how many a second of one core, in batches as a busy app makes them, and one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.dialects import spans_of
from bench.timing import Figure, NotIdenticalError, Plan, interleaved, median_us, say, spent_ns
from bench.workload import Run, Texts
from spanwise.assembly.tree import build_trace
from spanwise.catalog import default_evaluators
from spanwise.evaluators.overall import Overall
from spanwise.model.result import RunResult
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from spanwise.store import Store

_RUNS, _SPANS, _ROUNDS = 1_000, 10, 7
_BATCHES = (200, 20, 1)
_TARGET = 10_000


def measure(plan: Plan) -> None:
    """Add how many scores a second of processor time are kept, by the number of runs in a transaction."""
    say(f"store: {_RUNS:,} runs of {_SPANS} spans, with all that is kept of them")
    texts = Texts().scaled(0.4)
    spans = [spans_of(Run(_SPANS, seed=at, texts=texts), dialect="genai", number=at) for at in range(1, _RUNS + 1)]
    evaluators, overall = default_evaluators(), Overall()
    traces = [build_trace(found[0].trace_id, found) for found in spans]
    results = [evaluate(run, evaluators, overall=overall) for trace in traces for run in trace.runs]
    scores = sum(len(result.scores) for result in results)
    taken = interleaved(
        {str(batch): partial(_spent, results, batch=batch) for batch in _BATCHES}, rounds=plan.rounds(_ROUNDS)
    )
    for batch in _BATCHES:
        us = median_us(taken[str(batch)], scores)
        first = batch == _BATCHES[0]
        plan.add(
            Figure(
                area="store",
                name=f"SQLite, {batch} runs of {scores / len(results):.0f} scores in a transaction",
                value=1e6 / us,
                unit="scores/s",
                op=">=" if first else None,
                target=_TARGET if first else None,
                note=f"{us * scores / len(results) / 1000:.2f} ms of processor time per run",
            )
        )


def _spent(results: Sequence[RunResult], *, batch: int) -> int:
    """What it takes to keep all results in a store of their own."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "runs.db", document=to_contract) as store:
        taken = spent_ns(partial(_add, store, results, batch))
        if len(store.query(limit=len(results) + 1)) != len(results):
            raise NotIdenticalError(f"the store has not all of {len(results)} runs")
    return taken


def _add(store: Store, results: Sequence[RunResult], batch: int) -> None:
    for begin in range(0, len(results), batch):
        store.add(results[begin : begin + batch])
