"""What `instrument` is given, as what the pipeline takes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span

from spanwise.assembly.assembler import LIVE, AssemblySettings
from spanwise.capture.evaluations import EvaluateGate, InEvaluate, stamping
from spanwise.capture.isolation import Helper, TimeShare
from spanwise.capture.sampling import Admission, Gate, Sampling
from spanwise.config import load
from spanwise.errors import ModelError, SpecError
from spanwise.extensions import problem_of
from spanwise.model.ports import AnyEvaluator, Sink
from spanwise.model.result import RunResult
from spanwise.pipeline import Others, Scoring
from spanwise.report.contract import to_contract
from spanwise.run import name_of
from spanwise.sinks.callback import CallbackSink
from spanwise.sinks.console import ConsoleSink
from spanwise.sinks.log import LogSink
from spanwise.store.location import asked_for
from spanwise.store.sink import StoreSink


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is held, and what is looked at."""

    assembly: AssemblySettings = LIVE
    queue: int = 50_000
    gate: EvaluateGate = field(default_factory=EvaluateGate)
    others: Others | None = None
    stamp: Callable[[Span, Context | None], None] = field(default_factory=stamping)

    def counts(self) -> dict[str, int]:
        """Why runs were not scored, or not by all: what sampling, and evaluators that run elsewhere, have counted."""
        helper = self.others.isolated if self.others is not None else None
        return {
            **self.gate.counts,
            **(helper.counts if isinstance(helper, Helper) else {}),
        }


def gate_of(sampling: Sampling | Gate | None, in_evaluate: InEvaluate = "tag") -> EvaluateGate:
    """What decides which runs are scored.

    Raises:
        SpecError: There is no such policy for runs inside evaluations.
    """
    return EvaluateGate(in_evaluate, _sampled(sampling))


def _sampled(sampling: Sampling | Gate | None) -> Gate | None:
    """What decides by rates and caps. Pipelines live by a clock that only grows; days are counted by the other."""
    if sampling is None or isinstance(sampling, Gate):
        return sampling
    return Gate(Admission(sampling), wall_offset_ns=time.time_ns() - time.monotonic_ns())


def kept_apart(scoring: Scoring, *, isolate: str | None, share: float) -> tuple[Scoring, Others]:
    """The evaluators that are not ours in a process of their own, or held to their share of time.

    Raises:
        SpecError: There is no such way to isolate, or one of them cannot be sent there.
    """
    if isolate not in {None, "process"}:
        raise SpecError(f"isolate: read {isolate!r}, expected 'process' or None")
    foreign = {name: one for name, one in scoring.evaluators.items() if not _is_ours(one)}
    if not foreign:
        return scoring, Others()
    if isolate is None:
        return scoring, Others(names=frozenset(foreign), share=TimeShare(share))
    own = {name: one for name, one in scoring.evaluators.items() if name not in foreign}
    try:
        helper = Helper(foreign, thresholds=scoring.thresholds)
    except ModelError as error:
        raise SpecError(f"isolate: {error}") from error
    return replace(scoring, evaluators=own), Others(isolated=helper)


def _is_ours(evaluator: object) -> bool:
    kind = evaluator if hasattr(evaluator, "__qualname__") else type(evaluator)
    return str(getattr(kind, "__module__", "")).startswith("spanwise.")


def scoring_of(
    evaluators: Mapping[str, AnyEvaluator] | Sequence[str | AnyEvaluator] | None,
    *,
    profile: str = "",
    config: str | Path | None = None,
) -> Scoring:
    """What runs are asked: the settings of the project, and what was given in code before them.

    Raises:
        SpecError: Something of it cannot be used.
    """
    settings = load(Path(config) if config is not None else None, profile=profile)
    if evaluators is None:
        chosen: Mapping[str, AnyEvaluator] = settings.evaluators
        overall = settings.overall
    elif isinstance(evaluators, Mapping):
        chosen, overall = evaluators, settings.overall
    else:
        names = [one for one in evaluators if isinstance(one, str)]
        found = dict(settings.only(names).evaluators) if names else {}
        for one in evaluators:
            if not isinstance(one, str):
                found[_free(name_of(one), found)] = one
        chosen, overall = found, settings.overall
    for name, one in chosen.items():
        problem = problem_of(one)
        if problem:
            raise SpecError(f"evaluator {name!r}: {problem}")
    return Scoring(
        evaluators=chosen,
        overall=overall,
        thresholds=settings.thresholds,
        rules=settings.rules,
        budget_ns=settings.budget_ns,
    )


def _free(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def sinks_of(
    sinks: Mapping[str, Sink] | Sequence[Sink | Callable[[RunResult], object]] | None,
    *,
    console: bool = False,
    store: str | Path | bool | None = None,
) -> dict[str, Sink]:
    """The sinks by name; a log line per run where nothing was chosen.

    Raises:
        SpecError: One of them is neither a sink nor a function.
    """
    found: dict[str, Sink] = {}
    if isinstance(sinks, Mapping):
        found.update(sinks)
    else:
        for one in sinks or ():
            made = one if hasattr(one, "emit") else CallbackSink(one) if callable(one) else None
            if made is None:
                raise SpecError(f"sinks: read {one!r}, expected a sink (`emit`, `close`) or a function")
            found[_free(name_of(one) or "sink", found)] = cast("Sink", made)
    if console:
        found["console"] = ConsoleSink()
    if store or (store is None and asked_for(os.environ)):
        found["store"] = StoreSink.open(None if store is True or store is None else str(store), document=to_contract)
    return found or {"log": LogSink()}
