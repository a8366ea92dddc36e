"""Structural scores on the root span at its end, on the app's thread: whoever stands behind sees them on the span.

The span is scored from what ended before it. To write on an ended span is not public: `_sdk_private.py` says how, and
where the SDK's spans are others than known nothing is written. What would take longer than a millisecond, by what
earlier traces took, is skipped and counted; the worker scores it all the same.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext

from spanwise.assembly.tree import build_trace
from spanwise.capture._sdk_private import add_attributes
from spanwise.capture.reading import SpanParts, read
from spanwise.capture.records import recorder
from spanwise.evaluators.cost import Cost
from spanwise.evaluators.handoffs import Handoffs
from spanwise.evaluators.latency import Latency
from spanwise.evaluators.loops import Loops
from spanwise.evaluators.recovery import Recovery
from spanwise.evaluators.redundancy import Redundancy
from spanwise.evaluators.tool_selection import ToolSelection
from spanwise.model.ports import AnyEvaluator
from spanwise.model.raw import RawSpan, Scope
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.pipeline import Scoring
from spanwise.run import evaluate
from spanwise.sinks._otel import span_attributes

BUDGET_NS = 1_000_000
_STRUCTURAL = (Redundancy, Loops, Recovery, Latency, Handoffs, Cost)
_CHARACTERS = 400
"""So many characters of text are taken for as much work as a span."""
_START = 20
"""What a trace without spans takes, in spans."""
_MOST_TRACES = 1000
_AGAIN = 0.97
_HOPELESS = 3
_WARY = 1.5
_WARMING = 5
_log = logging.getLogger("spanwise")


class _OverrunError(Exception):
    """The time is over before all evaluators were asked."""


@dataclass(slots=True, kw_only=True)
class SyncStats:
    """What became of local roots, and what the hook took."""

    written: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    """Roots without scores, by reason: `spans` (too many), `estimate` (it would take too long), `overrun` (it did),
    `runs` (the trace has several runs, or none), `bounds` (too many traces at a time), `span` (not the SDK's own),
    `failures`."""
    longest_ns: int = 0
    """The longest time that was spent on a root, skipped ones among them."""


class _Open:
    """What ended of a trace whose local root has not."""

    __slots__ = ("characters", "parts")

    def __init__(self) -> None:
        self.parts: list[SpanParts] = []
        self.characters = 0


class SyncScores(SpanProcessor):
    """Writes the structural scores of a run on its local root, when that ends.

    Only a trace with one run is written on: flat names hold no more. `spanwise.run.id` names the run's own span, which
    is the local root or below it. Scores whose evaluators read much text, and `overall`, which needs them, are not
    among these. It has to stand before the processors that are to see the scores.

    Args:
        scoring: The evaluators, of which the structural ones are asked, and how their scores are labelled.
        budget_ns: How long a root's end may take; a millisecond unless told.
        max_spans: From how many spans on a trace is not scored here.
    """

    def __init__(self, scoring: Scoring, *, budget_ns: int | None = None, max_spans: int = 500) -> None:
        self.stats = SyncStats()
        self.active = True
        self._evaluators = structural(scoring.evaluators)
        self._thresholds = scoring.thresholds
        self._budget_ns = BUDGET_NS if budget_ns is None else budget_ns
        self._max_spans = max_spans
        self._open: dict[int, _Open] = {}
        self._lock = threading.Lock()
        self._record = recorder()
        self._rate = math.inf
        self._warm()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Nothing is done at the start."""

    def on_end(self, span: ReadableSpan) -> None:
        """Keep references to the span; at a local root's end score the trace."""
        try:
            context = span.context
            if context is None or not self.active:
                return
            self._keep(context, span)
            if span.parent is None or span.parent.is_remote:
                begun = time.perf_counter_ns()
                self._end(context.trace_id, context.span_id, span, begun)
                self.stats.longest_ns = max(self.stats.longest_ns, time.perf_counter_ns() - begun)
        except Exception:  # noqa: BLE001  (the app must not see it)
            if self._skip("failures") == 1:
                _log.warning("a span could not be scored at its end; further ones are not logged", exc_info=True)

    def _keep(self, context: SpanContext, span: ReadableSpan) -> None:
        held = self._open.get(context.trace_id)
        if held is None:
            with self._lock:
                held = self._open.setdefault(context.trace_id, _Open())
                if len(self._open) > _MOST_TRACES:
                    self._open.pop(next(iter(self._open)))
                    self._skip("bounds")
        if len(held.parts) > self._max_spans:
            return
        parts = read(span)
        if parts is not None:
            held.characters += sum([len(value) for value in parts[6].values() if isinstance(value, str)])
            held.parts.append(parts)

    def _end(self, trace_id: int, root: int, span: ReadableSpan, begun: int) -> None:
        with self._lock:
            held = self._open.pop(trace_id, None)
        if held is None:
            return
        if len(held.parts) > self._max_spans:
            self._skip("spans")
            return
        work = _START + len(held.parts) + held.characters / _CHARACTERS
        expected_ns = work * self._rate
        if expected_ns > self._budget_ns:
            if expected_ns < _HOPELESS * self._budget_ns:
                self._rate *= _AGAIN  # it may have been the machine that was slow: try again some time
            self._skip("estimate")
            return
        try:
            scored = self._score(trace_id, self._below(trace_id, root, held), begun)
        except _OverrunError:
            self._rate = max(self._rate, _WARY * self._budget_ns / work)
            self._skip("overrun")
            return
        if scored is None:
            self._skip("runs")
        elif add_attributes(span, span_attributes(scored, reasons=False)):
            self._learn(work, time.perf_counter_ns() - begun)
            self.stats.written += 1
        else:
            self._skip("span")

    def _below(self, trace_id: int, root: int, held: _Open) -> list[RawSpan]:
        """The spans at and below a local root; those of another one in the same trace are kept for that."""
        raws = [raw for parts in held.parts if isinstance(raw := self._record(parts), RawSpan)]
        parents = {raw.span_id: raw.parent_id for raw in raws if raw.span_id != root}
        above: dict[object, bool] = {root: True}
        for raw in raws:
            path: list[object] = []
            at: object = raw.span_id
            while at not in above and at in parents and len(path) <= len(raws):
                path.append(at)
                at = parents[at]
            found = above.get(at, False)
            above.update(dict.fromkeys(path, found))
        if all(above.values()):
            return raws
        rest = [parts for parts in held.parts if not above.get(parts[0].span_id, True)]
        with self._lock:
            other = self._open.setdefault(trace_id, _Open())
            other.parts[:0] = rest
            other.characters += held.characters
        return [raw for raw in raws if above.get(raw.span_id, False)]

    def _score(self, trace_id: int, raws: Sequence[RawSpan], begun: int) -> RunResult | None:
        """The scores of the trace's one run; None where there is another number of runs."""
        runs = build_trace(trace_id, raws).runs
        if len(runs) != 1:
            return None
        (run,) = runs
        self._check(begun)
        scores: list[Score] = []
        for name, evaluator in self._evaluators.items():
            scores += evaluate(run, {name: evaluator}, thresholds=self._thresholds).scores
            self._check(begun)
        return RunResult(run=run, scores=tuple(scores))

    def _check(self, begun: int) -> None:
        if time.perf_counter_ns() - begun > self._budget_ns:
            raise _OverrunError

    def _learn(self, work: float, took_ns: int) -> None:
        """Move the estimate towards what was seen, faster up than down; one slow moment of the machine is not all."""
        seen = min(took_ns / work, 2 * self._rate)
        share = 0.3 if seen > self._rate else 0.1
        self._rate += share * (seen - self._rate)

    def _skip(self, reason: str) -> int:
        count = self.stats.skipped[reason] = self.stats.skipped.get(reason, 0) + 1
        return count

    def _warm(self) -> None:
        """Score a little trace: what is loaded and cached at first must not be so at a root's end."""
        trial = _trial()
        for _ in range(_WARMING):
            begun = time.perf_counter_ns()
            for run in build_trace(1, trial).runs:
                span_attributes(evaluate(run, self._evaluators, thresholds=self._thresholds), reasons=False)
            self._rate = min(self._rate, (time.perf_counter_ns() - begun) / (_START + len(trial)))

    def shutdown(self) -> None:
        """Nothing is open."""
        self.active = False

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits."""
        return True


def structural(evaluators: Mapping[str, AnyEvaluator]) -> dict[str, AnyEvaluator]:
    """The evaluators that look at the shape of a run, not into its texts."""
    return {name: one for name, one in evaluators.items() if isinstance(one, _STRUCTURAL) or _is_selection(one)}


def _is_selection(evaluator: object) -> bool:
    """Tool selection against names that are given; without them it reads the tools' schemas, with rules the query."""
    return isinstance(evaluator, ToolSelection) and evaluator.expected is not None


def _trial() -> list[RawSpan]:
    scope = Scope("spanwise", "", {})
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "{}"}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1}
    held = ({"gen_ai.operation.name": "invoke_agent"}, tool, tool, chat)
    return [
        RawSpan(1, at, 1 if at > 1 else None, f"span {at}", at, at + 1, 0, "", attributes, (), scope)
        for at, attributes in enumerate(held, start=1)
    ]
