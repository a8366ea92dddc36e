"""Scores as log events, `gen_ai.evaluation.result`: built once, whoever sends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opentelemetry._logs import SeverityNumber
from opentelemetry.trace import SpanContext

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._otel import Attributes, context_of, event_attributes, ids_of, target_of

Id: TypeAlias = Literal["session", "user", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEvent:
    """A score as a log event. It stands in the context of the span that it is about, if that has one."""

    score: Score
    at_ns: int | None
    subject: SpanContext | None
    severity: SeverityNumber
    body: str
    attributes: Attributes


def events_of(result: RunResult, ids: Sequence[Id] = ()) -> Iterator[ScoreEvent]:
    """One event for each score of a run."""
    subject, target, whose = context_of(result.run), target_of(result.run), ids_of(result.run, ids)
    for score in result.scores:
        yield ScoreEvent(
            score=score,
            at_ns=result.run.end_ns or None,
            subject=subject,
            severity=SeverityNumber.WARN if _stands_out(score) else SeverityNumber.INFO,
            body=_body(score),
            attributes={**whose, **event_attributes(result, score, target)},
        )


def _stands_out(score: Score) -> bool:
    return score.status == "error" or score.label == "alert"


def _body(score: Score) -> str:
    return f"evaluation: {score.name} {score.status if score.value is None else f'{score.value:g}'}"
