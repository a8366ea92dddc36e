"""Scores as a child span of the run, for backends that take traces and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from opentelemetry.trace import Link, Span, SpanContext, Status, StatusCode, Tracer, TracerProvider, get_tracer_provider

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._otel import (
    EVENT,
    SCOPE,
    Attributes,
    Value,
    context_of,
    event_attributes,
    inside,
    is_set,
    span_attributes,
    target_of,
    tell_missing,
)

_KIND: Mapping[str, Value] = {
    "gen_ai.operation.name": "evaluate",
    "langfuse.observation.type": "evaluator",
    "openinference.span.kind": "EVALUATOR",
}


class EvaluationSpanSink:
    """Emits a span below each run's own span, with its scores.

    The span begins and ends when the run ended, so that it makes no trace longer, and links to the span that the scores
    are about. Its scope is one that captures leave alone. Every revision of a run adds a span: readers keep the highest
    `spanwise.score.revision`.

    Args:
        provider: Whose exporters get the spans; the global tracer provider, looked up at each result, where not given.
        per: `"run"` makes one span with all the scores, the overall one in front; `"score"` one for each.
    """

    def __init__(self, provider: TracerProvider | None = None, *, per: Literal["run", "score"] = "run") -> None:
        self._provider = provider
        self._per = per
        self._tracer: tuple[TracerProvider, Tracer] | None = None
        self.sent = 0
        """Spans that the tracer provider took."""
        self.unsent = 0
        """Results that made no span: the app has no tracer provider, or the ids are none of OpenTelemetry's."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Emit the spans. What goes wrong costs its own run, and is raised when the others are out."""
        provider = self._provider or get_tracer_provider()
        if not is_set(provider):
            if not self.unsent:
                tell_missing("EvaluationSpanSink", "tracer", "opentelemetry.trace.set_tracer_provider")
            self.unsent += len(results)
            return
        if self._tracer is None or self._tracer[0] is not provider:
            self._tracer = (provider, provider.get_tracer(SCOPE))
        failure: Exception | None = None
        for result in results:
            try:
                self._run(result, self._tracer[1])
            except Exception as error:  # noqa: BLE001  (the app's processors may raise; told once the others are out)
                failure = error
        if failure is not None:
            raise failure

    def _run(self, result: RunResult, tracer: Tracer) -> None:
        subject = context_of(result.run)
        if subject is None or not result.scores:
            self.unsent += 1
            return
        target = target_of(result.run)
        told = [event_attributes(result, score, target) for score in result.scores]
        if self._per == "score":
            for score, attributes in zip(result.scores, told, strict=True):
                span = _started(tracer, f"evaluate {score.name}", result, subject, {**_output((score,)), **attributes})
                if score.status == "error":
                    span.set_status(Status(StatusCode.ERROR, score.reason or None))
                self._end(span, result)
            return
        first = next((at for at, one in enumerate(result.scores) if one.name == "overall"), 0)
        # Where a span may hold fewer attributes than these, the SDK drops the first: the conventions' are the last.
        held = {**span_attributes(result, brief=True), **_output(result.scores), **told[first]}
        span = _started(tracer, f"evaluate {target}", result, subject, held)
        for attributes in told:
            span.add_event(EVENT, attributes, result.run.end_ns or None)
        self._end(span, result)

    def _end(self, span: Span, result: RunResult) -> None:
        span.end(result.run.end_ns or None)
        self.sent += 1

    @property
    def drops(self) -> dict[str, int]:
        """Results that made no span, by reason."""
        return {"no_span": self.unsent} if self.unsent else {}

    def close(self) -> None:
        """The tracer provider is the app's, who shuts it down."""


def _output(scores: Sequence[Score]) -> Attributes:
    """The scores as what the evaluation put out, which viewers of traces show first."""
    told = {one.name: one.status if one.value is None else one.value for one in scores}
    return {"output.value": json.dumps(told), "output.mime_type": "application/json"}


def _started(tracer: Tracer, name: str, result: RunResult, subject: SpanContext, held: Attributes) -> Span:
    return tracer.start_span(
        name,
        context=inside(subject),
        attributes={**held, **_KIND},
        links=[Link(subject, {"spanwise.link": "evaluated"})],
        start_time=result.run.end_ns or None,
    )
