"""What the scores of many runs say together: distributions, rates, waste, and which numbers call for somebody.

Runs are counted as they come and not kept: some bytes for each score of each. A run that is given again, since spans of
it came late, replaces what was counted for it.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.model.waste import waste_of
from spanwise.stats import percentile

BINS = 10
State: TypeAlias = Literal["ok", "warn", "alert", "not_measurable"]
_STATUSES = ("", "scored", "not_applicable", "not_measurable", "error")
_LABELS = 250
_OTHER = "(other)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One score over the runs: how many have which status and label, and how the values lie; None without any.

    `histogram` counts values in ten parts of [0, 1], or of the range from the least to the greatest value of a score
    with a unit.
    """

    name: str
    unit: str = ""
    scored: int = 0
    not_applicable: int = 0
    not_measurable: int = 0
    error: int = 0
    mean: float | None = None
    p5: float | None = None
    p50: float | None = None
    p95: float | None = None
    labels: Mapping[str, int] = field(default_factory=dict[str, int])
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A part of a whole, both counted over `runs`, those that tell; `value` is None where there is no whole."""

    part: int = 0
    whole: int = 0
    runs: int = 0

    @property
    def value(self) -> float | None:
        """The share, in [0, 1]."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """An amount over the runs of which it is known; `unknown` more do not tell it. None where no run does."""

    value: float | None = None
    runs: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wasted:
    """What the calls that repeat an earlier one took."""

    ms: Sum
    tokens: Sum
    usd: Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A number of the fleet, held against its target and the bound past which somebody should look.

    `above` says that more is better; then it is ok above the target and an alert below the bound, else the reverse.
    `percent` says that it is a rate, not a score; `basis` what it was computed from.
    """

    name: str
    value: float | None
    target: float
    alert: float
    above: bool = True
    percent: bool = True
    basis: str = ""

    @property
    def status(self) -> State:
        """How the number stands; not measurable where there is none."""
        if self.value is None:
            return "not_measurable"
        sign = 1.0 if self.above else -1.0
        if self.value * sign > self.target * sign:
            return "ok"
        return "alert" if self.value * sign < self.alert * sign else "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The runs whose query is of one type: how many, and the mean of each score without a unit over those scored."""

    runs: int
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """What many runs say together."""

    runs: int
    scores: Mapping[str, Distribution]
    redundancy: Rate
    """Calls that repeat an earlier one, of all tool calls."""
    recovery: Rate
    """Failure episodes that were recovered from, of all."""
    errors: Rate
    """Tool calls that failed, of all."""
    latency: Rate
    """Runs whose latency score is labelled ok, of those that have one."""
    waste: Wasted
    checks: tuple[Check, ...]
    by_type: Mapping[str, Kind]
    """By type of query, where rules name types."""


def aggregate(results: Iterable[RunResult]) -> Aggregate:
    """What the scores of many runs say together: `spanwise.aggregate(spanwise.score("traces/"))`.

    Args:
        results: The results, each run once or, for a later revision, again; they are read once and not kept.
    """
    counted = Aggregator()
    for result in results:
        counted.add(result)
    return counted.done()


class _Column:
    """One score over all runs: its value (NaN for none), status and label, by number of the run."""

    def __init__(self) -> None:
        self.unit = ""
        self.values = array("d")
        self.statuses = bytearray()
        self.labels = bytearray()
        self.label_names = [""]

    def put(self, row: int, score: Score) -> None:
        """Note the score of a run."""
        lacking = row + 1 - len(self.values)
        if lacking > 0:
            self.values.extend([math.nan] * lacking)
            self.statuses.extend(bytes(lacking))
            self.labels.extend(bytes(lacking))
        self.values[row] = math.nan if score.value is None else score.value
        self.statuses[row] = _STATUSES.index(score.status)
        self.labels[row] = self._label(score.label)
        self.unit = self.unit or score.unit

    def _label(self, label: str) -> int:
        names = self.label_names
        if label not in names:
            if len(names) >= _LABELS:
                label = _OTHER
            if label not in names:
                names.append(label)
        return names.index(label)

    def forget(self, row: int) -> None:
        """Take back what was noted for a run."""
        if row < len(self.values):
            self.values[row] = math.nan
            self.statuses[row] = self.labels[row] = 0

    def told(self, name: str) -> Distribution:
        """How the score is distributed."""
        known = sorted(value for value in self.values if not math.isnan(value))
        counts = Counter(self.statuses)
        labels = Counter(self.labels)
        return Distribution(
            name=name,
            unit=self.unit,
            scored=counts[1],
            not_applicable=counts[2],
            not_measurable=counts[3],
            error=counts[4],
            mean=math.fsum(known) / len(known) if known else None,
            p5=percentile(known, 0.05) if known else None,
            p50=percentile(known, 0.50) if known else None,
            p95=percentile(known, 0.95) if known else None,
            labels={label: labels[at] for at, label in enumerate(self.label_names) if at and labels[at]},
            histogram=histogram(known, unit=self.unit) if known else (),
        )


def histogram(values: Sequence[float], *, unit: str = "") -> tuple[int, ...]:
    """How many of at least one value lie in each of ten parts of [0, 1], or of their own range if they have a unit."""
    low, high = (min(values), max(values)) if unit else (0.0, 1.0)
    span = high - low
    bins = [0] * BINS
    for value in values:
        bins[min(int((value - low) / span * BINS), BINS - 1) if span else 0] += 1
    return tuple(bins)


_COUNTED = ("calls", "told", "duplicates", "failed", "episodes", "recovered")


class Aggregator:
    """Counts results as they come: `add` each, then `done`."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}
        self._counts = {name: array("d") for name in _COUNTED}
        self._waste = {name: array("d") for name in ("ms", "tokens", "usd")}
        self._types = array("d")
        self._type_names: list[str] = [""]

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, result: RunResult) -> int:
        """Count one run; its number, which is the same when it is given again."""
        key = f"{result.run.trace.trace_id}/{result.run.run_id}"
        again = key in self._rows
        row = self._rows.setdefault(key, len(self._rows))
        if again:
            for column in self._columns.values():
                column.forget(row)
        for score in result.scores:
            column = self._columns.get(score.name)
            if column is None:
                column = self._columns[score.name] = _Column()
            column.put(row, score)
        self._count(result.run, row)
        self._type(result.query_type, row)
        return row

    def _count(self, run: Run, row: int) -> None:
        calls = run.work
        told = not run.asked.untold
        counts = (
            len(calls),
            len(calls) if told else 0,
            len(run.repeats.duplicates) if told else 0,
            sum(call.failed for call in calls),
            sum(not episode.unclear for episode in run.episodes),
            sum(episode.recovered for episode in run.episodes),
        )
        for column, count in zip(self._counts.values(), counts, strict=True):
            _set(column, row, count)
        waste = waste_of(run)
        for column, amount in zip(self._waste.values(), (waste.ms, waste.tokens, waste.usd), strict=True):
            _set(column, row, math.nan if amount is None or not told else amount)

    def _type(self, name: str, row: int) -> None:
        if name not in self._type_names:
            self._type_names.append(name)
        _set(self._types, row, self._type_names.index(name))

    def done(self) -> Aggregate:
        """What has been counted so far."""
        scores = {name: column.told(name) for name, column in self._columns.items()}
        latency = scores.get("latency", Distribution(name="latency"))
        counts = self._counts
        redundancy = _rate(counts["duplicates"], counts["told"])
        recovery = _rate(counts["recovered"], counts["episodes"])
        in_time = Rate(part=latency.labels.get("ok", 0), whole=latency.scored, runs=latency.scored)
        return Aggregate(
            runs=len(self._rows),
            scores=scores,
            redundancy=redundancy,
            recovery=recovery,
            errors=_rate(counts["failed"], counts["calls"]),
            latency=in_time,
            waste=Wasted(**{name: _sum(amounts) for name, amounts in self._waste.items()}),
            checks=_checks(scores, redundancy, recovery, in_time),
            by_type=self._by_type(),
        )

    def _by_type(self) -> dict[str, Kind]:
        runs = Counter(self._types)
        names = {at: name for at, name in enumerate(self._type_names) if at and runs[at]}
        means: dict[int, dict[str, float]] = {at: {} for at in names}
        for score, column in self._columns.items():
            if column.unit or not names:
                continue
            values: dict[int, list[float]] = {}
            for kind, value in zip(self._types, column.values, strict=False):
                if kind and not math.isnan(value):
                    values.setdefault(int(kind), []).append(value)
            for at, known in values.items():
                means[at][score] = math.fsum(known) / len(known)
        ordered = sorted(names, key=lambda at: (-runs[at], names[at]))
        return {names[at]: Kind(runs=runs[at], means=means[at]) for at in ordered}


def _set(column: array[float], row: int, value: float) -> None:
    """Put a number at a place that is there, or the next one."""
    if row < len(column):
        column[row] = value
    else:
        column.append(value)


def _rate(part: Sequence[float], whole: Sequence[float]) -> Rate:
    return Rate(part=int(sum(part)), whole=int(sum(whole)), runs=sum(1 for count in whole if count))


def _sum(amounts: Sequence[float]) -> Sum:
    known = [amount for amount in amounts if not math.isnan(amount)]
    return Sum(value=math.fsum(known) if known else None, runs=len(known), unknown=len(amounts) - len(known))


def _checks(scores: Mapping[str, Distribution], redundancy: Rate, recovery: Rate, latency: Rate) -> tuple[Check, ...]:
    """The numbers of a fleet that have targets."""
    selection = scores.get("tool_selection", Distribution(name="tool_selection"))
    overall = scores.get("overall", Distribution(name="overall"))
    return (
        Check(
            name="tool selection",
            value=None if selection.unit else selection.mean,
            target=0.90,
            alert=0.80,
            percent=False,
            basis=_runs(selection.scored, "scored"),
        ),
        Check(
            name="mean score",
            value=overall.mean,
            target=0.80,
            alert=0.60,
            percent=False,
            basis=_runs(overall.scored, "scored"),
        ),
        Check(
            name="redundancy rate",
            value=redundancy.value,
            target=0.05,
            alert=0.15,
            above=False,
            basis=f"{redundancy.part:,} of {redundancy.whole:,} tool calls repeat an earlier one",
        ),
        Check(
            name="recovery",
            value=recovery.value,
            target=0.80,
            alert=0.50,
            basis=f"{recovery.part:,} of {recovery.whole:,} failures were recovered from",
        ),
        Check(
            name="latency compliance",
            value=latency.value,
            target=0.90,
            alert=0.70,
            basis=f"{latency.part:,} of {latency.whole:,} runs are labelled ok",
        ),
    )


def _runs(count: int, what: str) -> str:
    return f"{count:,} run{'' if count == 1 else 's'} {what}"
