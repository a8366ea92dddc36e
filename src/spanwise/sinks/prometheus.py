"""Scores as Prometheus scrapes them: the text exposition format 0.0.4, counted over all runs since the start."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar, Literal

from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.trace import Run
from spanwise.sinks._otel import target_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
AMOUNTS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_RUNS = 4096
_LONGEST = 120


class _Bounded:
    """The first values that come, at most so many; all further ones are `other`."""

    def __init__(self, most: int) -> None:
        self._known: set[str] = set()
        self._most = most

    def of(self, value: str) -> str:
        """The value itself, or `other`."""
        value = value[:_LONGEST]
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        return value


@dataclass(slots=True)
class _Histogram:
    """Values by their upper bounds, each bucket by itself."""

    bounds: Sequence[float]
    buckets: list[int] = field(default_factory=list[int])
    total: float = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.buckets = self.buckets or [0] * (len(self.bounds) + 1)
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass(slots=True, kw_only=True)
class _Family:
    """One metric: its help, what its labels are called, and its series by the values of these."""

    name: str
    help: str
    labels: tuple[str, ...]
    kind: Literal["counter", "histogram"] = "counter"
    bounds: Sequence[float] = ()
    counts: dict[tuple[str, ...], float] = field(default_factory=dict[tuple[str, ...], float])
    histograms: dict[tuple[str, ...], _Histogram] = field(default_factory=dict[tuple[str, ...], _Histogram])

    def add(self, *of: str, by: float = 1) -> None:
        """Count something; a series begins at its first count, even if that is 0."""
        self.counts[of] = self.counts.get(of, 0) + by

    def observe(self, *of: str, value: float) -> None:
        """Count a value."""
        found = self.histograms.get(of)
        if found is None:
            found = self.histograms[of] = _Histogram(self.bounds)
        found.add(value)

    def lines(self) -> Iterator[str]:
        """The metric as text; none where it has no series."""
        if not self.counts and not self.histograms:
            return
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for of, count in self.counts.items():
            yield f"{self.name}{self._labels(of)} {_number(count)}"
        for of, histogram in self.histograms.items():
            reached = 0
            for bound, count in zip((*self.bounds, None), histogram.buckets, strict=True):
                reached += count
                le = "+Inf" if bound is None else _number(bound)
                yield f"{self.name}_bucket{self._labels(of, le=le)} {reached}"
            yield f"{self.name}_sum{self._labels(of)} {_number(histogram.total)}"
            yield f"{self.name}_count{self._labels(of)} {reached}"

    def _labels(self, of: Sequence[str], *, le: str = "") -> str:
        pairs = [f'{name}="{_escaped(value)}"' for name, value in zip(self.labels, of, strict=True)]
        if le:
            pairs.append(f'le="{le}"')
        return f"{{{','.join(pairs)}}}"


def _escaped(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text.encode(errors="replace").decode()


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


class _Counted:
    """All metrics, as they are counted."""

    def __init__(self) -> None:
        of_score = ("name", "agent")
        self.score = _Family(
            name="spanwise_score",
            help="Values of scores without a unit: 1 is good.",
            labels=of_score,
            kind="histogram",
            bounds=SHARES,
        )
        self.amount = _Family(
            name="spanwise_score_amount",
            help="Values of scores that have a unit.",
            labels=(*of_score, "unit"),
            kind="histogram",
            bounds=AMOUNTS,
        )
        self.seconds = _Family(
            name="spanwise_run_duration_seconds",
            help="How long runs took.",
            labels=("agent",),
            kind="histogram",
            bounds=SECONDS,
        )
        self.scores = _counter("scores", "Scores by status and label.", *of_score, "status", "label")
        self.findings = _counter("findings", "Places in traces that scores point at.", *of_score)
        self.runs = _counter("runs", "Runs that were scored.", "agent")
        self.calls = _counter("tool_calls", "Tool calls by outcome.", "agent", "outcome")
        self.comparable = _counter("comparable_tool_calls", "Tool calls that can be compared with others.", "agent")
        self.redundant = _counter("redundant_tool_calls", "Tool calls that repeat an earlier one.", "agent")
        self.failures = _counter("failures", "Failures of tools, each with its retries.", "agent")
        self.recovered = _counter("recovered_failures", "Failures of tools that were recovered from.", "agent")
        self.tokens = _counter("tokens", "Tokens that models used.", "agent", "type")
        self.cost = _counter("cost_usd", "What models cost, as far as it is known.", "agent")

    def families(self) -> list[_Family]:
        """Every metric."""
        return [value for value in vars(self).values() if isinstance(value, _Family)]

    def run(self, run: Run, agent: str) -> None:
        """Count a run by itself."""
        self.runs.add(agent)
        took = run.duration_ms
        if took is not None:
            self.seconds.observe(agent, value=took / 1000)
        failed = sum(call.failed for call in run.work)
        self.calls.add(agent, "ok", by=len(run.work) - failed)
        self.calls.add(agent, "failed", by=failed)
        told = not run.asked.untold
        self.comparable.add(agent, by=len(run.work) if told else 0)
        self.redundant.add(agent, by=len(run.repeats.duplicates) if told else 0)
        self.failures.add(agent, by=sum(not episode.unclear for episode in run.episodes))
        self.recovered.add(agent, by=sum(episode.recovered for episode in run.episodes))
        if run.tokens is not None:
            self.tokens.add(agent, "input", by=run.tokens.input or 0)
            self.tokens.add(agent, "output", by=run.tokens.output or 0)
        if run.cost_usd is not None:
            self.cost.add(agent, by=run.cost_usd)


def _counter(name: str, words: str, *labels: str) -> _Family:
    return _Family(name=f"spanwise_{name}_total", help=words, labels=labels)


class PrometheusSink:
    """Counts scores and runs, and tells them as text that Prometheus scrapes; it opens no port itself.

    Only the first revision of a run counts, and each score of it once. What names a time series is bounded: the first
    `agents` agents, `names` score names and `labels` labels (and eight units) have series of their own, all further
    ones share those of `other`. It may be used by several threads.

    Args:
        refusals: Gives what was refused so far, by reason, when the text is made.
        agents: How many agents have series of their own.
        names: How many scores have.
        labels: How many labels have.
    """

    emits: ClassVar[Content] = "none"
    inline: ClassVar[bool] = True

    def __init__(
        self,
        refusals: Callable[[], Mapping[str, int]] | None = None,
        *,
        agents: int = 50,
        names: int = 50,
        labels: int = 10,
    ) -> None:
        self._refusals = refusals
        self._agents, self._names = _Bounded(agents), _Bounded(names)
        self._labels, self._units, self._reasons = _Bounded(labels), _Bounded(8), _Bounded(50)
        self._counted = _Counted()
        self._seen: dict[tuple[str, str], set[str]] = {}
        self._lock = threading.Lock()

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Count the runs and scores that are new."""
        with self._lock:
            for result in results:
                if result.revision == 1:
                    self._add(result)

    def text(self) -> str:
        """All that was counted so far, in the text exposition format; to be served as `CONTENT_TYPE`."""
        refused = dict(self._refusals()) if self._refusals is not None else {}
        with self._lock:
            family = _counter("refused", "What was refused, by reason.", "reason")
            for reason, count in refused.items():
                family.add(self._reasons.of(reason), by=count)
            lines = [line for one in (*self._counted.families(), family) for line in one.lines()]
        return "".join(f"{line}\n" for line in lines)

    def close(self) -> None:
        """Nothing is open; what was counted can still be read."""

    def _add(self, result: RunResult) -> None:
        run = result.run
        agent = self._agents.of(target_of(run))
        key = (run.trace.trace_id, run.run_id)
        known = self._seen.get(key)
        if known is None:
            known = self._seen[key] = set()
            if len(self._seen) > _RUNS:
                del self._seen[next(iter(self._seen))]
            self._counted.run(run, agent)
        for score in result.scores:
            if score.name not in known:
                known.add(score.name)
                self._score(score, agent)

    def _score(self, score: Score, agent: str) -> None:
        counted, name = self._counted, self._names.of(score.name)
        counted.scores.add(name, agent, score.status, self._labels.of(score.label))
        counted.findings.add(name, agent, by=len(score.evidence))
        if score.value is None or not isfinite(score.value):
            return
        if score.unit:
            counted.amount.observe(name, agent, self._units.of(score.unit), value=score.value)
        else:
            counted.score.observe(name, agent, value=score.value)
