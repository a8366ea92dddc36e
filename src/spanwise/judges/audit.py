"""Auditing a judge: it is asked about runs, then asked again, and compared with rules and with people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from spanwise.judges.agreement import Findings, Judged, Limits, findings
from spanwise.judges.desk import close
from spanwise.judges.failures import UnaskedError, UnjudgedError
from spanwise.judges.judge import Judge
from spanwise.judges.labels import Labels
from spanwise.model.score import Score
from spanwise.model.trace import Run

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found; runs of which the question does not arise, or that lack the data, are skipped."""

    judge: str
    models: tuple[str, ...]
    findings: Findings
    runs: tuple[Judged, ...]
    skipped: int
    labels: int


def audit(
    judge: Judge,
    runs: Iterable[Run],
    *,
    name: str = "",
    labels: Labels | None = None,
    retests: int = 1,
    limits: Limits | None = None,
    threads: int = 8,
    on_run: Callable[[int], None] | None = None,
) -> Audit:
    """Ask a judge about runs, whatever rules say of them, and say how far it can be trusted.

    Args:
        judge: Who is audited.
        runs: What it is asked about.
        name: What it is called; its own name where not given.
        labels: What people say of these runs.
        retests: How often it is asked again; these answers are not taken from what is remembered.
        limits: What is trusted.
        threads: About how many runs it is asked at a time.
        on_run: Called with how many runs are done.

    Raises:
        UnaskedError: It could not be asked about any run.
    """
    asked: list[Judged] = []
    skipped = 0
    refused: UnaskedError | None = None

    def work(run: Run) -> Judged | UnaskedError | None:
        return _judged(judge, run, labels, retests)

    for found in _side_by_side(work, runs, threads):
        if found is None:
            skipped += 1
        elif isinstance(found, UnaskedError):
            refused = refused or found
            asked.append(Judged(trace_id="", run_id="", numbers=(), passes=(), error=str(found)))
        else:
            asked.append(found)
        if on_run is not None:
            on_run(len(asked) + skipped)
    if refused is not None and not any(one.numbers for one in asked):
        raise refused
    panel = judge.panel
    return Audit(
        judge=name or judge.name,
        models=tuple(dict.fromkeys(panel.named())) if panel is not None else (),
        findings=findings(asked, limits or Limits()),
        runs=tuple(asked),
        skipped=skipped,
        labels=len(labels) if labels is not None else 0,
    )


def _side_by_side(work: Callable[[Run], _T], runs: Iterable[Run], threads: int) -> Iterator[_T]:
    """What the work gives for each run, in their order; who interrupts it does not wait for the rest."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="spanwise-audit")
    try:
        yield from pool.map(work, runs)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        close()
        raise
    pool.shutdown()


def _judged(judge: Judge, run: Run, labels: Labels | None, retests: int) -> Judged | UnaskedError | None:
    """What the judge says of a run, each time it is asked; None where there is nothing to ask."""
    trace_id, run_id = run.trace.trace_id, run.run_id
    scores: list[Score] = []
    error = ""
    try:
        if isinstance(judge.ask(run), Score):
            return None
        scores = [judge.hear(run, fresh=number > 0) for number in range(1 + retests)]
    except UnaskedError as refused:
        return refused
    except UnjudgedError as failed:
        error = f"{type(failed).__name__}: {failed}"
    scale = judge.scope.scale
    numbers = tuple(None if score.value is None else scale.nearest(score.value) for score in scores)
    failed_by_rules = judge.ruling(run).failed if judge.after else None
    label = labels.of(trace_id, run_id) if labels is not None else None
    return Judged(
        trace_id=trace_id,
        run_id=run_id,
        numbers=() if error else numbers,
        passes=() if error else _passing(judge, numbers),
        rules=None if failed_by_rules is None else not failed_by_rules,
        label=None if label is None else label.passes,
        label_number=None if label is None else label.number,
        error=error,
    )


def _passing(judge: Judge, numbers: Sequence[int | None]) -> tuple[bool | None, ...]:
    scale = judge.scope.scale
    return tuple(None if number is None else scale.word(number) == "pass" for number in numbers)
