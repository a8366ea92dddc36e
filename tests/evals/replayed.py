"""Every recording scored at two doors, in a process of its own: live, and in `Dataset.evaluate`. Prints JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import partial

from opentelemetry._logs import get_logger_provider, set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.reporting import ReportCase

import spanwise
from spanwise.assembly.assembler import LIVE
from spanwise.capture.settings import scoring_of
from spanwise.evals import ALL
from spanwise.evals.capture import Capture
from spanwise.evals.runs import run_of
from spanwise.model.result import RunResult
from spanwise.report.contract import to_contract
from spanwise.run import evaluate
from tests.evals.replay import provider_of, replay, traces_of

SCORING = scoring_of(None)
DOOR: dict[str, RunResult] = {}


@dataclass
class WholeResult(Evaluator[object, object, object]):
    """Keeps all that is to be said of the run of a case, not only what a report shows."""

    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, bool]:
        run = run_of(ctx)
        if run is not None and ctx.name is not None:
            DOOR[ctx.name] = evaluate(run, SCORING.evaluators, overall=SCORING.overall)
        return {}


def shown(case: ReportCase[object, object, object]) -> dict[str, tuple[object, str]]:
    """The cells of a case in a report, with their reasons."""
    assert not case.evaluator_failures, case.evaluator_failures
    return {name: (cell.value, cell.reason or "") for name, cell in {**case.scores, **case.labels}.items()}


def live(name: str, trace_id: str, unit: str) -> RunResult:
    """What `spanwise.instrument` says of a recording that is emitted again."""
    provider, ids = provider_of(name)
    results: list[RunResult] = []
    with spanwise.instrument(
        provider, sinks=[results.append], bounds=replace(LIVE, unit=unit), on_first="silent"
    ) as handle:
        replay(name, provider, ids, get_logger_provider(), only=trace_id)
        assert handle.flush(30)
    (result,) = results
    return result


def evaluated(name: str, trace_id: str) -> tuple[dict[str, tuple[object, str]], RunResult]:
    """What `Dataset.evaluate` says of a task that emits the recording."""
    provider, ids = provider_of(name)
    dataset = Dataset(
        name="recordings",
        cases=[Case(name=trace_id, inputs=None)],
        evaluators=[*(kind() for kind in ALL), WholeResult()],
    )
    report = dataset.evaluate_sync(
        lambda _: replay(name, provider, ids, get_logger_provider(), only=trace_id),
        task_name="replay",
        lifecycle=partial(Capture, provider=provider),
        progress=False,
    )
    (case,) = report.cases
    return shown(case), DOOR.pop(trace_id)


def main(names: list[str]) -> None:
    """One line for each trace of each recording."""
    set_logger_provider(LoggerProvider(shutdown_on_exit=False))
    for name in names:
        for trace_id in traces_of(name):
            unit = "trace" if "remote-parent" in name else "run"
            found, cells, door = live(name, trace_id, unit), *evaluated(name, trace_id)
            told = {
                "name": name,
                "trace": trace_id,
                "unit": unit,
                "live": to_contract(found),
                "evaluate": to_contract(door),
                "cells": cells,
            }
            sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
