"""What scores carry now, each its evaluator's version and hash of parameters; and what a trace lacks by that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spanwise.judges import Judge
from spanwise.model.ports import AnyEvaluator
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run, Trace
from spanwise.pipeline import Scoring
from spanwise.report.reconciled import Reason
from spanwise.run import config_hash, evaluate
from spanwise.store.kept import KeptRun, KeptTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Why a trace needs scores, in words that hold no content."""

    reason: Reason
    why: str


UNSCORED = Need(reason="unscored", why="no scores in the store")


class Standard:
    """What the scores of each evaluator carry now: their version, and the hash of its parameters."""

    def __init__(self, scoring: Scoring) -> None:
        self.judges = {name: one for name, one in scoring.evaluators.items() if isinstance(one, Judge)}
        self._rest = {name: one for name, one in scoring.evaluators.items() if name not in self.judges}
        self._scoring = scoring
        self._hashes = {config_hash(one) for one in (*self._rest.values(), scoring.overall)}
        self._names = (*scoring.evaluators, *(("overall",) if scoring.overall is not None else ()))
        self._known: dict[str, set[tuple[str, str]]] = {name: {one.signature} for name, one in self.judges.items()}

    def holds(self, score: Score) -> bool:
        """Whether an evaluator of the settings gives such a score now; a judge that was not asked counts as well."""
        if score.evaluator in self.judges and score.status != "scored":
            return True
        return (score.version, score.config_hash) in self._known.get(score.evaluator, ())

    def knows(self, kept: KeptTrace) -> bool:
        """Whether it is certain that a trace needs nothing, without a look at its spans."""
        return bool(kept.runs) and all(
            self._known.keys() >= set(self._names) and self._doubt(run, self.holds) is None for run in kept.runs
        )

    def presumed(self, kept: KeptTrace) -> Need | None:
        """What a trace that cannot be scored most likely needs."""
        if not kept.runs:
            return UNSCORED
        needs = (self._doubt(run, self._presumed) for run in kept.runs)
        return next((need for need in needs if need is not None), None)

    def need(self, trace: Trace, kept: KeptTrace) -> Need | None:
        """What a trace needs: its runs are scored, and compared with what is kept of them."""
        for run in trace.runs:
            before = kept_of(run, kept)
            if before is None:
                return Need(reason="lacking", why=f"run {run.run_id or 'of the whole trace'} is not in the store")
            need = self._judged(before) or self._compared(run, before)
            if need is not None:
                return need
        return None

    def learn(self, result: RunResult) -> None:
        """Remember what scores carry."""
        for score in result.scores:
            if score.status != "error" and score.evaluator not in self.judges:
                self._known.setdefault(score.evaluator, set()).add((score.version, score.config_hash))

    def _presumed(self, score: Score) -> bool:
        if score.evaluator in self._known:
            return self.holds(score)
        return score.status == "error" or score.config_hash in self._hashes

    def _doubt(self, run: KeptRun, holds: Callable[[Score], bool]) -> Need | None:
        given = {score.evaluator for score in run.scores}
        if not given:
            return UNSCORED
        lacking = [name for name in self._names if name not in given]
        if lacking:
            return Need(reason="lacking", why=f"no score of {lacking[0]}{_more(lacking)}")
        old = [score for score in run.scores if score.evaluator in self._names and not holds(score)]
        return Need(reason="outdated", why=f"{old[0].name}{_more(old)}: of another version") if old else None

    def _judged(self, before: KeptRun) -> Need | None:
        """What is wrong with the judges' verdicts; none is asked for that."""
        for name, judge in self.judges.items():
            held = [score for score in before.scores if score.evaluator == name]
            if not held:
                return Need(reason="lacking", why=f"no verdict of {name}")
            old = next((score for score in held if not self.holds(score)), None)
            if old is not None:
                return Need(reason="outdated", why=_difference(old, *judge.signature))
        return None

    def _compared(self, run: Run, before: KeptRun) -> Need | None:
        if not before.scores:
            return UNSCORED
        result = asking(run, self._rest, self._scoring, revision=1)
        self.learn(result)
        held = {score.name: score for score in before.scores}
        givers = {score.evaluator for score in before.scores}
        lacking: dict[str, None] = {}
        for score in result.scores:
            old = held.get(score.name)
            if old is None and score.evaluator not in givers:
                lacking[score.evaluator] = None
            elif old is not None and (old.version, old.config_hash) != (score.version, score.config_hash):
                return Need(reason="outdated", why=_difference(old, score.version, score.config_hash))
        first = next(iter(lacking), None)
        return None if first is None else Need(reason="lacking", why=f"no score of {first}{_more(lacking)}")


def asking(run: Run, evaluators: Mapping[str, AnyEvaluator], scoring: Scoring, *, revision: int) -> RunResult:
    """The run with what these evaluators say of it, weighed and labelled as the settings say."""
    return evaluate(
        run,
        evaluators,
        revision=revision,
        thresholds=scoring.thresholds,
        overall=scoring.overall,
        rules=scoring.rules,
        budget_ns=scoring.budget_ns,
        clock=None if scoring.budget_ns is None else time.perf_counter_ns,
    )


def kept_of(run: Run, kept: KeptTrace) -> KeptRun | None:
    """What is kept of a run."""
    return next((one for one in kept.runs if one.run_id == run.run_id), None)


def _difference(old: Score, version: str, config_hash: str) -> str:
    if old.version != version:
        return f"{old.name}: version {old.version}, now {version}"
    return f"{old.name}: parameters {old.config_hash or '-'}, now {config_hash}"


def _more(listed: Iterable[object]) -> str:
    count = len(list(listed)) - 1
    return f" and {count} more" if count > 0 else ""
