"""OpenTelemetry metrics of scores, recorded in the context of the span that they are about, so that exemplars link."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter, MeterProvider, get_meter_provider

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._otel import SCOPE, context_of, inside, is_set, target_of, tell_missing

OTHER = "other"
BOUNDARIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_UNIT_BOUNDARIES = {
    "USD": (0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0),
    "ms": (10.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 3e4, 6e4, 3e5, 1.8e6),
}
_NO_NAME = re.compile(r"[^a-z0-9_]")
_MOST = 63
_RUNS = 10_000


class _Bounded:
    """The first values that come, at most so many; all further ones are `other`."""

    def __init__(self, most: int) -> None:
        self._known: set[str] = set()
        self._most = most

    def of(self, value: str) -> str:
        """The value itself, or `other`."""
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruments:
    provider: MeterProvider
    meter: Meter
    score: Histogram
    scores: Counter
    runs: Counter
    alerts: Counter
    measured: dict[str, Histogram]

    def histogram(self, unit: str) -> Histogram:
        """Where values with a unit go: not among those in [0, 1]."""
        found = self.measured.get(unit)
        if found is None:
            found = self.measured[unit] = self.meter.create_histogram(
                f"spanwise.score.{_NO_NAME.sub('_', unit.lower())[:_MOST]}",
                unit=unit[:_MOST] if unit.isascii() else "",
                description="Values of scores that have this unit.",
                explicit_bucket_boundaries_advisory=_UNIT_BOUNDARIES.get(unit),
            )
        return found


def _instruments(provider: MeterProvider) -> _Instruments:
    meter = provider.get_meter(SCOPE)
    return _Instruments(
        provider=provider,
        meter=meter,
        score=meter.create_histogram(
            "spanwise.score",
            unit="1",
            description="Values of scores without a unit: 1 is good.",
            explicit_bucket_boundaries_advisory=BOUNDARIES,
        ),
        scores=meter.create_counter("spanwise.scores", unit="{score}", description="Scores, whatever their status."),
        runs=meter.create_counter("spanwise.runs", unit="{run}", description="Runs that were scored."),
        alerts=meter.create_counter("spanwise.alerts", unit="{score}", description="Scores labelled alert."),
        measured={},
    )


class OtelMetricsSink:
    """Records scores with the app's meter provider. Only the first revision of a run counts.

    What names a time series is bounded: the first `agents` agents, `names` score names and `labels` labels (and eight
    units) have series of their own, all further ones share those of `other`.

    Args:
        provider: Where metrics go; the global meter provider, looked up at each result, where not given.
        agents: How many agents have series of their own.
        names: How many scores have.
        labels: How many labels have.
    """

    def __init__(
        self, provider: MeterProvider | None = None, *, agents: int = 50, names: int = 50, labels: int = 10
    ) -> None:
        self._provider = provider
        self._agents, self._names = _Bounded(agents), _Bounded(names)
        self._labels, self._units = _Bounded(labels), _Bounded(8)
        self._instruments: _Instruments | None = None
        self._seen: dict[tuple[str, str], None] = {}
        self.recorded = 0
        """Scores that were recorded."""
        self.unrecorded = 0
        """Scores that were not, since the app has no meter provider."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Record the runs that are new."""
        provider = self._provider or get_meter_provider()
        if not is_set(provider):
            if not self.unrecorded:
                tell_missing("OtelMetricsSink", "meter", "opentelemetry.metrics.set_meter_provider")
            self.unrecorded += sum(len(result.scores) for result in results if result.revision == 1)
            return
        if self._instruments is None or self._instruments.provider is not provider:
            self._instruments = _instruments(provider)
        for result in results:
            if result.revision == 1:
                self._run(result, self._instruments)

    def _run(self, result: RunResult, to: _Instruments) -> None:
        context = inside(context_of(result.run))
        agent = self._agents.of(target_of(result.run))
        for score in result.scores:
            self._score(score, agent, to, context)
        if self._is_new(result):
            label = next((one.label or one.status for one in result.scores if one.name == "overall"), "")
            to.runs.add(1, {"agent": agent, "label": self._labels.of(label)}, context)

    def _score(self, score: Score, agent: str, to: _Instruments, context: Context) -> None:
        of = {"name": self._names.of(score.name), "agent": agent}
        label = self._labels.of(score.label)
        to.scores.add(1, {**of, "status": score.status, "label": label}, context)
        if score.value is not None:
            unit = self._units.of(score.unit) if score.unit else ""
            (to.histogram(unit) if unit else to.score).record(score.value, {**of, "label": label}, context)
        if score.label == "alert":
            to.alerts.add(1, of, context)
        self.recorded += 1

    def _is_new(self, result: RunResult) -> bool:
        """Whether the run was not counted yet: what evaluators in a helper process say comes as a second result."""
        key = (result.run.trace.trace_id, result.run.run_id)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _RUNS:
            del self._seen[next(iter(self._seen))]
        return True

    @property
    def drops(self) -> dict[str, int]:
        """Scores that were not recorded, by reason."""
        return {"no_meter_provider": self.unrecorded} if self.unrecorded else {}

    def close(self) -> None:
        """The meter provider is the app's, who shuts it down."""
