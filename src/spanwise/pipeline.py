"""From records to the scores of runs in the hands of sinks. One owner calls it and passes the time in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast, runtime_checkable

from spanwise.assembly.assembler import LIVE, Assembler, AssemblySettings, Finished
from spanwise.delivery import Delivery, DeliverySettings, Receipt, Receipts
from spanwise.evaluators.overall import Overall
from spanwise.model.expectation import Rules
from spanwise.model.ports import AnyEvaluator, Record, Sink
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.run import THRESHOLDS, evaluate

_log = logging.getLogger("spanwise")


def _nothing() -> None: ...


def _elsewhere(run: Run, /) -> Sequence[Score]:
    raise AssertionError("what runs elsewhere is not called here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What runs are asked, and how their scores are judged."""

    evaluators: Mapping[str, AnyEvaluator]
    overall: Overall | None = None
    thresholds: Mapping[str, tuple[float, float]] = field(default_factory=lambda: THRESHOLDS)
    rules: Rules | None = None
    budget_ns: int | None = None


class Gatekeeper(Protocol):
    """Decides which evaluators a run is given to; none means that it is not scored at all."""

    def admit(self, run: Run, evaluators: Mapping[str, AnyEvaluator], now_ns: int, /) -> Mapping[str, AnyEvaluator]: ...


class Share(Protocol):
    """How much time the evaluators of others may take."""

    def may_run(self, now_ns: int, /) -> bool: ...
    def spent(self, ns: int, now_ns: int, /) -> None: ...


class Isolated(Protocol):
    """Evaluators that run elsewhere: given a run now, they answer some time later, or not at all, and count that."""

    @property
    def evaluators(self) -> Sequence[str]: ...
    def submit(self, run: Run, revision: int = 1, names: Collection[str] | None = None, /) -> None: ...
    def results(self) -> Sequence[RunResult]: ...
    def close(self, timeout_s: float = ..., /) -> bool: ...


@runtime_checkable
class Answering(Protocol):
    """Evaluators that run elsewhere and give each answer with the receipt that came with its run.

    The receipt of a run that gets no answer is done at once. What is not answered when they close keeps its own.
    """

    def ask(self, run: Run, revision: int, names: Collection[str], receipt: Receipt, /) -> None: ...
    def answers(self) -> Sequence[tuple[RunResult, Receipt | None]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """The evaluators that are not ours: which of those in the scoring they are, and what keeps them in check.

    What runs elsewhere is in no scoring; its scores make results of their own.
    """

    names: frozenset[str] = frozenset()
    share: Share | None = None
    isolated: Isolated | None = None


@dataclass(slots=True, kw_only=True)
class PipelineStats:
    """What became of finished runs. Why a gatekeeper keeps some out, it counts itself."""

    scored: int = 0
    unscored: int = 0
    broken: int = 0
    left_out: int = 0
    """Runs that evaluators of others did not see, since their share of time was used up."""
    sink_failures: dict[str, int] = field(default_factory=dict[str, int])


class Pipeline:
    """Assembles traces, scores their runs when they are finished, and gives the results to every sink.

    A sink that fails costs its own copy only, and is counted. `delivery` says what each gets to see, and whether it
    has a thread of its own. `pause` is called between small pieces of work: the place for a worker to let others run.
    `receipts` makes those of each finished trace, which tell when the sinks are done with its results.
    """

    def __init__(
        self,
        scoring: Scoring,
        sinks: Mapping[str, Sink],
        *,
        settings: AssemblySettings = LIVE,
        delivery: DeliverySettings | None = None,
        gatekeeper: Gatekeeper | None = None,
        others: Others | None = None,
        clock: Callable[[], int] | None = None,
        pause: Callable[[], None] = _nothing,
        receipts: Callable[[Finished], Receipts] | None = None,
    ) -> None:
        self.scoring = scoring
        self.delivery = Delivery(sinks, delivery or DeliverySettings(), self._failed)
        self.assembler = Assembler(settings)
        self.stats = PipelineStats()
        self._gatekeeper = gatekeeper
        self._others = others or Others()
        self._clock = clock
        self._pause = pause
        self._receipts = receipts
        self._answering = self._others.isolated if isinstance(self._others.isolated, Answering) else None
        self.assembler.pause = None if pause is _nothing else pause
        self._told: set[tuple[str, type[BaseException]]] = set()

    def add(self, record: Record, now_ns: int) -> None:
        """Take one record, in any order."""
        self.assembler.add(record, now_ns)

    def add_all(self, records: list[Record], now_ns: int) -> None:
        """Take some records."""
        self.assembler.add_all(records, now_ns)

    def work(self, now_ns: int) -> None:
        """Score what is finished by now."""
        self._give(self.assembler.finished(now_ns), now_ns)
        self._collect()

    def close(self, now_ns: int, *, elsewhere_s: float = 5.0) -> None:
        """Score what is finished, give the rest up, and close the sinks; what runs elsewhere has so long to answer."""
        self._give(self.assembler.close(now_ns), now_ns)
        if self._others.isolated is not None:
            self._others.isolated.close(elsewhere_s)
            self._collect()
        self.delivery.close()

    def flush(self, timeout_s: float) -> bool:
        """Wait until the sinks that run apart have what was scored by now; False if the time did not suffice."""
        return self.delivery.flush(timeout_s)

    def _give(self, finished: Iterable[Finished], now_ns: int) -> None:
        for item in finished:
            self._pause()
            receipts = None if self._receipts is None else self._receipts(item)
            later = None if receipts is None else receipts.later
            item.trace.pause = self.assembler.pause
            runs = item.trace.runs
            results = [found for run in runs if (found := self._scored(run, item.revision, now_ns, later))]
            self.stats.scored += len(results)
            item.trace.pause = None  # from here on others read it, on threads of their own
            if later is not None:
                later.done()
            self.delivery.emit(results, self._pause, None if receipts is None else receipts.scores)
            if not results:
                self.delivery.unscored(item.trace.trace_id)

    def _collect(self) -> None:
        """Hand on what came back from evaluators that run elsewhere."""
        if self._answering is not None:
            for result, receipt in self._answering.answers():
                self.delivery.emit([result], self._pause, receipt)
        elif self._others.isolated is not None:
            self.delivery.emit(self._others.isolated.results(), self._pause)

    @property
    def lost_elsewhere(self) -> Mapping[str, int]:
        """Why runs were not answered by evaluators that run elsewhere, as these count it."""
        counts: object = getattr(self._others.isolated, "counts", None)
        return cast("Mapping[str, int]", counts) if isinstance(counts, Mapping) else {}

    def _submit(self, run: Run, revision: int, names: Collection[str], later: Receipt | None) -> None:
        """Give a run to evaluators that run elsewhere."""
        if self._answering is not None and later is not None:
            later.expect()
            self._answering.ask(run, revision, names, later)
        elif self._others.isolated is not None:
            self._others.isolated.submit(run, revision, names)

    def _scored(self, run: Run, revision: int, now_ns: int, later: Receipt | None) -> RunResult | None:
        scoring = self.scoring
        try:
            chosen, sent = self._chosen(run, now_ns)
            if not chosen and not sent:
                self.stats.unscored += 1
                return None
            if sent:
                self._submit(run, revision, sent, later)
            return evaluate(
                run,
                chosen,
                revision=revision,
                thresholds=scoring.thresholds,
                overall=scoring.overall,
                rules=scoring.rules,
                budget_ns=scoring.budget_ns,
                clock=self._clock,
                pause=self._pause,
                took=self._took if self._others.share is not None else None,
            )
        except Exception as error:  # noqa: BLE001  (one run that cannot be read must not cost the others)
            self.stats.broken += 1
            self._tell("a run could not be scored", error)
            return None

    def _chosen(self, run: Run, now_ns: int) -> tuple[Mapping[str, AnyEvaluator], Collection[str]]:
        """The evaluators that see a run here, and the names of those that see it elsewhere."""
        others, chosen = self._others, self.scoring.evaluators
        elsewhere = dict.fromkeys(others.isolated.evaluators, _elsewhere) if others.isolated is not None else {}
        if self._gatekeeper is not None:
            admitted = self._gatekeeper.admit(run, {**chosen, **elsewhere}, now_ns)
            chosen = {name: one for name, one in admitted.items() if name not in elsewhere}
            elsewhere = {name: one for name, one in admitted.items() if name in elsewhere}
        slow = others.names.intersection(chosen) if others.share is not None else None
        if slow and others.share is not None and not others.share.may_run(now_ns):
            self.stats.left_out += 1
            chosen = {name: one for name, one in chosen.items() if name not in slow}
        return chosen, elsewhere

    def _took(self, name: str, ns: int) -> None:
        others = self._others
        if name in others.names and others.share is not None and self._clock is not None:
            others.share.spent(ns, self._clock())

    def _failed(self, name: str, error: BaseException) -> None:
        # Each sink fails on one thread at a time, so its count needs no lock.
        self.stats.sink_failures[name] = self.stats.sink_failures.get(name, 0) + 1
        self._tell(f"sink {name!r} failed", error)

    def _tell(self, what: str, error: BaseException) -> None:
        if (what, type(error)) not in self._told:
            self._told.add((what, type(error)))
            _log.warning("%s; further failures of this kind are counted, not logged", what, exc_info=error)
