"""Scores in OpenTelemetry's words: the span that they are about, and the attributes that they are.

The names `gen_ai.evaluation.*` are those of the GenAI conventions, `.target` and `.evaluator.version` pydantic-evals'
extension of them, `evaluations.N.*` OpenInference's; all stand here as text, since their constants move.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.model.span import Span
from spanwise.model.trace import Run

Value: TypeAlias = str | bool | int | float | Sequence[str]
Attributes: TypeAlias = dict[str, Value]

SCOPE = "spanwise.evaluation"
"""The scope of all that is emitted about runs; captures leave it alone."""
EVENT = "gen_ai.evaluation.result"
PREFIX = "spanwise.score."
RUN_ID = "spanwise.run.id"
REVISION = "spanwise.score.revision"

_PLACES = 10
_log = logging.getLogger("spanwise")
_TYPE = re.compile(r"[A-Za-z_][\w.]*(?=: )")


def subject_of(run: Run) -> Span | None:
    """The span that a run's scores are about: its own root or first part, or the trace's where that is the run."""
    trace = run.trace
    if run.mark >= 0:
        return trace.spans[run.mark]
    return trace.spans[trace.roots[0]] if trace.roots else trace.spans[0] if trace.spans else None


def context_of(run: Run) -> SpanContext | None:
    """Where the span that a run's scores are about stands; None where its ids are none of OpenTelemetry's."""
    span = subject_of(run)
    if span is None:
        return None
    try:
        trace_id, span_id = int(run.trace.trace_id, 16), int(span.span_id, 16)
    except ValueError:
        return None
    if trace_id >> 128 or span_id >> 64:
        return None
    context = SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return context if context.is_valid else None


def inside(subject: SpanContext | None) -> Context:
    """A context in which that span is the current one, and nothing else is."""
    return Context() if subject is None else set_span_in_context(NonRecordingSpan(subject), Context())


def target_of(run: Run) -> str:
    """Who was evaluated: the run's first agent, else what its root span is called."""
    if run.agents and run.agents[0].name:
        return run.agents[0].name
    span = subject_of(run)
    return span.name if span is not None else ""


def event_attributes(result: RunResult, score: Score, target: str) -> Attributes:
    """One score as attributes of its own event or span."""
    found: Attributes = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.target": target,
        "gen_ai.evaluation.evaluator.version": score.version,
        "spanwise.score.id": result.id_of(score),
        "spanwise.score.status": score.status,
        "spanwise.score.evaluator": score.evaluator,
        REVISION: result.revision,
        RUN_ID: result.run.run_id,
    }
    if score.value is not None:
        found["gen_ai.evaluation.score.value"] = float(score.value)
    if score.label:
        found["gen_ai.evaluation.score.label"] = score.label
    if score.unit:
        found["spanwise.score.unit"] = score.unit
    if score.reason:
        found["gen_ai.evaluation.explanation"] = score.reason
    if score.config_hash:
        found["spanwise.score.config_hash"] = score.config_hash
    if score.status == "error":
        found["error.type"] = _error_type(score)
    places = list(dict.fromkeys(one.span_id for one in score.evidence if one.span_id))[:_PLACES]
    if places:
        found["spanwise.score.evidence"] = places
    return found


def _error_type(score: Score) -> str:
    """The exception's class, which stands in front of the reason; the conventions' `_OTHER` where it is not told."""
    found = _TYPE.match(score.reason)
    return found[0] if found is not None else "_OTHER"


def span_attributes(result: RunResult, *, brief: bool = False, reasons: bool = True) -> Attributes:
    """All scores of a run, flat, as attributes of one span; in brief, values, labels and statuses only."""
    found: Attributes = {RUN_ID: result.run.run_id, REVISION: result.revision}
    for score in result.scores:
        name = PREFIX + score.name
        if score.value is not None:
            found[name] = float(score.value)
        else:
            found[f"{name}.status"] = score.status
        for key, value in (
            ("label", score.label),
            ("unit", score.unit),
            ("reason", score.reason if reasons and not brief else ""),
            *(() if brief else _details(result, score)),
        ):
            if value:
                found[f"{name}.{key}"] = value
    return found


def _details(result: RunResult, score: Score) -> tuple[tuple[str, str], ...]:
    return (
        ("id", result.id_of(score)),
        ("evaluator", score.evaluator),
        ("version", score.version),
    )


def openinference(result: RunResult, prefix: str, *, first: int = 0) -> Attributes:
    """All scores of a run as OpenInference writes evaluations: `evaluations` for the span, `trace.evaluations`."""
    found: Attributes = {}
    for number, score in enumerate(result.scores, first):
        for key, value in _evaluation(result, score):
            found[f"{prefix}.{number}.evaluation.{key}"] = value
    return found


def _evaluation(result: RunResult, score: Score) -> Iterator[tuple[str, Value]]:
    yield "name", score.name
    if score.value is not None:
        yield "score", float(score.value)
    label = score.label if score.status == "scored" else score.status
    if label:
        yield "label", label
    if score.reason:
        yield "explanation", score.reason
    yield "annotator_kind", "CODE"
    yield "identifier", result.id_of(score)


def ids_of(run: Run, wanted: Sequence[str]) -> Mapping[str, str]:
    """Whose request a run served, as far as it is wanted and known."""
    who = run.who
    known = {
        "session": ("session.id", who.session_id),
        "user": ("user.id", who.user_id),
        "request": ("spanwise.request_id", who.request_id),
    }
    return {name: value for one in wanted for name, value in (known[one],) if value}


def is_set(provider: object) -> bool:
    """An app has set this provider; otherwise the API hands out one that drops everything."""
    kind = type(provider)
    own = kind.__module__.startswith("opentelemetry.")  # others' proxies stand before providers that are set
    return not (own and kind.__name__.lstrip("_").startswith(("Proxy", "NoOp")))


def tell_missing(sink: str, kind: str, setter: str) -> None:
    """Log that the app has no provider to which a sink could give anything: once, what else is missed is counted."""
    _log.warning(
        "%s: the app has no %s provider, so it gives nothing out; set one with %s, or give it. What else is missed is "
        "counted, not logged",
        sink,
        kind,
        setter,
    )
