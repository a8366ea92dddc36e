"""What `instrument` is given, as what the pipeline takes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span

from spanwise.assembly.assembler import LIVE, AssemblySettings
from spanwise.capture._sdk_private import reading
from spanwise.capture.evaluations import EvaluateGate, InEvaluate, stamping
from spanwise.capture.isolation import Helper, TimeShare
from spanwise.capture.providers import has_logger_provider
from spanwise.capture.reading import Read, read
from spanwise.capture.sampling import Admission, Gate, Sampling
from spanwise.catalog import SINKS, make_sink
from spanwise.config import SinkSettings, load
from spanwise.delivery import DeliverySettings
from spanwise.errors import ModelError, SpecError
from spanwise.evals.foreign import adapting
from spanwise.evals.given import Evaluators, by_name, free_name, on_runs
from spanwise.extensions import is_sink, problem_of
from spanwise.judges import Beside, Judge
from spanwise.masking import CONTENT, Masking
from spanwise.model.ports import AnyEvaluator, Content, Mask, Sink
from spanwise.model.result import RunResult
from spanwise.model.trace import Run
from spanwise.pipeline import Others, Scoring
from spanwise.report.contract import to_contract
from spanwise.run import name_of
from spanwise.sinks.callback import CallbackSink
from spanwise.sinks.jsonl import JsonLinesSink
from spanwise.store.location import asked_for
from spanwise.store.sink import StoreSink

Sinks: TypeAlias = Mapping[str, Sink | str] | Sequence[str | Sink | Callable[[RunResult], object]]
EmitContent: TypeAlias = Content | Mapping[str, Content]
ON_SPANS = "scored_exporters"
"""The sink that puts scores on spans, which every capture has."""
_log = logging.getLogger("spanwise")


def reading_of(*, sdk_internals: bool) -> Read:
    """How a span's parts are taken out of it: by what is public, or past it where that is wanted and possible."""
    private = reading() if sdk_internals else None
    if sdk_internals and private is None:
        _log.warning(
            "spanwise: sdk_internals=True: this SDK keeps its spans in another way; its public interface is used"
        )
    return private or read


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is held, and what is looked at."""

    assembly: AssemblySettings = LIVE
    queue: int = 50_000
    gate: EvaluateGate = field(default_factory=EvaluateGate)
    others: Others | None = None
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    stamp: Callable[[Span, Context | None], None] = field(default_factory=stamping)
    read: Read = read

    def counts(self) -> dict[str, int]:
        """Why runs were not scored, or not by all: what sampling, and evaluators that run elsewhere, have counted."""
        elsewhere = self.others.isolated if self.others is not None else None
        return {
            **self.gate.counts,
            **(elsewhere.counts if isinstance(elsewhere, Helper | Beside | Elsewhere) else {}),
        }


class Elsewhere:
    """Several places where evaluators run that do not run here, as one."""

    def __init__(self, *places: Helper | Beside) -> None:
        self._places = places
        self.evaluators = tuple(name for place in places for name in place.evaluators)

    @property
    def counts(self) -> dict[str, int]:
        """What each has counted."""
        return {what: count for place in self._places for what, count in place.counts.items()}

    def submit(self, run: Run, revision: int = 1, names: Collection[str] | None = None) -> None:
        """Give a run to each place that has evaluators of these names."""
        for place in self._places:
            place.submit(run, revision, names)

    def results(self) -> Sequence[RunResult]:
        """What came back."""
        return [result for place in self._places for result in place.results()]

    def close(self, timeout_s: float = 5.0) -> bool:
        """Close every place, the later ones with what is left of the time."""
        until = time.monotonic() + timeout_s
        closed = [place.close(max(until - time.monotonic(), 0.0)) for place in self._places]
        return all(closed)


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

    Judges wait for models on threads of their own, in either case.

    Raises:
        SpecError: There is no such way to isolate, or one of them cannot be sent there.
    """
    if isolate not in {None, "process"}:
        raise SpecError(f"isolate: read {isolate!r}, expected 'process' or None")
    judges = {name: one for name, one in scoring.evaluators.items() if isinstance(one, Judge)}
    beside = Beside(judges, thresholds=scoring.thresholds) if judges else None
    scoring = replace(scoring, evaluators={name: one for name, one in scoring.evaluators.items() if name not in judges})
    foreign = {name: one for name, one in scoring.evaluators.items() if not _is_ours(one)}
    if not foreign:
        return scoring, Others(isolated=beside)
    if isolate is None:
        return scoring, Others(names=frozenset(foreign), share=TimeShare(share), isolated=beside)
    own = {name: one for name, one in scoring.evaluators.items() if name not in foreign}
    try:
        helper = Helper(foreign, thresholds=scoring.thresholds)
    except ModelError as error:
        raise SpecError(f"isolate: {error}") from error
    return replace(scoring, evaluators=own), Others(isolated=Elsewhere(helper, beside) if beside else helper)


def _is_ours(evaluator: object) -> bool:
    if getattr(evaluator, "foreign", False):  # one of pydantic-evals, in a wrapper of ours
        return False
    kind = evaluator if hasattr(evaluator, "__qualname__") else type(evaluator)
    return str(getattr(kind, "__module__", "")).startswith("spanwise.")


def scoring_of(
    evaluators: Evaluators | None,
    *,
    profile: str = "",
    config: str | Path | None = None,
) -> Scoring:
    """What runs are asked: the settings of the project, and what was given in code before them.

    Evaluators of pydantic-evals are made ones of runs.

    Raises:
        SpecError: Something of it cannot be used.
    """
    settings = load(Path(config) if config is not None else None, profile=profile, adapt=adapting)
    given = settings.evaluators if evaluators is None else evaluators
    made = on_runs(by_name(given, lambda names: settings.only(names).evaluators))
    for name, one in made.items():
        problem = problem_of(one)
        if problem:
            raise SpecError(f"evaluator {name!r}: {problem}")
    return Scoring(
        evaluators=made,
        overall=settings.overall,
        thresholds=settings.thresholds,
        rules=settings.rules,
        budget_ns=settings.budget_ns,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """The sinks by name, and what each of them gets."""

    sinks: Mapping[str, Sink]
    delivery: DeliverySettings


def sinks_of(
    sinks: Sinks | None,
    *,
    console: bool = False,
    store: str | Path | bool | None = None,
    emit_content: EmitContent | None = None,
    masking: Masking | Mask | None = None,
    config: str | Path | None = None,
) -> Destinations:
    """The sinks: those given in code, else those of the settings, else of the environment, else a log line per run.

    Raises:
        SpecError: One of them is no sink, or is not known, or a level of content is none.
    """
    settings = load(Path(config) if config is not None else None)
    mask = settings.masking if masking is None else masking
    making = _Making(emit_content, mask if isinstance(mask, Masking) else Masking(functions=(mask,)))
    for name, one in _named(settings.sinks if sinks is None else sinks).items():
        making.add(name, one)
    if sinks is None and not settings.sinks:
        making.add_asked(os.environ)
    if console:
        making.add("console", SinkSettings(use="console"))
    if store or (store is None and "store" not in making.found and asked_for(os.environ)):
        options = {} if store is True or store is None else {"where": str(store)}
        making.add("store", SinkSettings(use="store", options=options))
    if not making.found:
        making.add("log", SinkSettings(use="log"))
    making.check_levels()
    making.level(ON_SPANS)
    return Destinations(
        sinks=making.found, delivery=DeliverySettings(content=making.levels, mask=making.mask, apart=True)
    )


def _named(sinks: Sinks | Mapping[str, SinkSettings]) -> Mapping[str, object]:
    """The sinks by name: the key, the built-in's name, or that of the class or function."""
    if isinstance(sinks, Mapping):
        return sinks
    found: dict[str, object] = {}
    for one in sinks:
        if isinstance(one, str):
            found[free_name(one.rpartition(":")[2], found)] = SinkSettings(use=one)
        else:
            found[free_name(_built_in(one) or name_of(cast("AnyEvaluator", one)) or "sink", found)] = one
    return found


def _built_in(sink: object) -> str:
    """The name in the catalogue of a sink that is one of ours."""
    path = f"{type(sink).__module__}:{type(sink).__qualname__}"
    return next((name for name, entry in SINKS.items() if path in {entry.path, entry.path.rpartition(".")[0]}), "")


class _Making:
    """Makes sinks, each with its level of content."""

    def __init__(self, emit_content: EmitContent | None, mask: Masking) -> None:
        self.mask = mask
        self.found: dict[str, Sink] = {}
        self.levels: dict[str, Content] = {}
        self._each: Mapping[str, Content] = emit_content if isinstance(emit_content, Mapping) else {}
        self._all: Content | None = None if isinstance(emit_content, Mapping) else emit_content
        for level in (*self._each.values(), self._all):
            if level is not None and level not in CONTENT:
                raise SpecError(f"emit_content: read {level!r}, expected {' or '.join(map(repr, CONTENT))}")

    def _level(self, name: str) -> Content | None:
        return self._each.get(name) or self._all

    def add(self, name: str, one: object) -> None:
        """Take a sink, a function, or what settings say of one."""
        level = self._level(name)
        if isinstance(one, str):
            one = SinkSettings(use=one)
        if isinstance(one, SinkSettings):
            level = one.content if level is None else level
            sink = self._made(name, one, level)
        elif isinstance(one, StoreSink) and level not in {None, "all"}:
            raise SpecError(f"emit_content: {name!r} is made already; give it there: StoreSink.open(content={level!r})")
        elif is_sink(one):
            sink = cast("Sink", one)
        elif callable(one):
            sink = CallbackSink(cast("Callable[[RunResult], object]", one))
        else:
            raise SpecError(f"sinks: read {one!r}, expected a name, a sink (`emit`, `close`) or a function")
        if isinstance(sink, JsonLinesSink):
            sink.equip(content=level, document=to_contract, mask=self.mask)
        self.found[name] = sink
        if level is not None:
            self.levels[name] = level

    def _made(self, name: str, one: SinkSettings, level: Content | None) -> Sink:
        given: dict[str, object] = {"document": partial(to_contract, mask=self.mask), "mask": self.mask}
        if level is not None:
            given["content"] = level
        return make_sink(one.use, one.options, given=given, where=f"sinks.{name}")

    def add_asked(self, environ: Mapping[str, str]) -> None:
        """Take the sinks that the environment asks for; one that cannot be made is told and left out."""
        for name, entry in SINKS.items():
            if entry.is_asked(environ) and (name != "otel_events" or has_logger_provider()):
                try:
                    self.add(name, SinkSettings(use=name))
                except SpecError as error:
                    _log.warning("spanwise: %s is set, but %s", ", ".join(entry.variables), error)

    def level(self, name: str) -> None:
        """Note the level that was given for a sink that is there anyhow."""
        level = self._level(name)
        if level is not None:
            self.levels[name] = level

    def check_levels(self) -> None:
        """Refuse a level for a sink that is nowhere."""
        for name in self._each:
            if name not in self.found and name not in SINKS and name != ON_SPANS:
                raise SpecError(f"emit_content: unknown sink {name!r}; there are: {', '.join(self.found)}")
