"""A result as rows of the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias, cast

from msgspec import structs

from spanwise.conventions._named_tasks import bare_name
from spanwise.model.raw import RawEvent, hex_id
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score, score_id
from spanwise.model.span import Span
from spanwise.model.trace import Run, Trace
from spanwise.store._classic import COLUMNS, COUNTS, classic_result
from spanwise.store._json import Encoded, at, clean, encoded, key, key_or_none, moment, real, whole

Content: TypeAlias = Literal["all", "evidence", "none"]
"""How much of what people, models and tools wrote is kept: all, quotes and reasons only, or nothing."""
Document: TypeAlias = Callable[[RunResult], Mapping[str, object]]
Row: TypeAlias = dict[str, object]

MAX_SPANS_BYTES = 16_000_000
"""Above it, the spans of a trace are kept without their attributes and events."""
_RUN, _SCORE, _FINDING = 1200, 400, 150
"""What a row takes beside its words: ids, and its place in the indexes."""
_OF_SCORES = frozenset({"scores", "issues", "recommendations"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What rows are made with: the time of writing, how much content is kept, how a run is spelt as JSON.

    `mask` is given each text that people, models and tools wrote.
    """

    now_ns: int
    content: Content = "all"
    document: Document | None = None
    mask: Callable[[str], str] | None = None

    @property
    def now(self) -> datetime:
        """The time of writing."""
        return at(self.now_ns)

    def words(self, text: str) -> str:
        """A text as it is kept."""
        return clean(text if self.mask is None or not text else self.mask(text))

    def value(self, value: object) -> object:
        """A value of an attribute as it is kept: every text in it, however deep."""
        if self.mask is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {key: self.value(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[object]", value)]
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """The rows of one run, but for those of its trace."""

    run: Row
    classic: Row
    scores: Sequence[Row]
    findings: Sequence[Row]

    @property
    def key(self) -> tuple[str, str]:
        """Which run it is."""
        return str(self.run["trace_id"]), str(self.run["run_id"])

    @property
    def revision(self) -> int:
        """How often the run was given before, plus one."""
        found = self.run["revision"]
        assert isinstance(found, int)
        return found


def run_rows(result: RunResult, shape: Shape, *, trace_bytes: int) -> RunRows:
    """The rows of a run; `trace_bytes` is what the row of its trace takes, to be shared among its runs."""
    scores: list[Row] = []
    findings: list[Row] = []
    for position, score in enumerate(result.scores):
        row = _score_row(result, score, position, shape)
        scores.append(row)
        findings += _finding_rows(str(row["id"]), score, shape)
    run = _run_row(result, shape)
    words = sum(len(str(row["reason"])) for row in scores) + sum(len(str(row["quote"])) for row in findings)
    held = len(str(run["contract"] or "")) + words + _RUN + _SCORE * len(scores) + _FINDING * len(findings)
    run["size_bytes"] = held + trace_bytes // max(len(result.run.trace.run_roots), 1)
    return RunRows(run=run, classic=_classic_row(result.run, shape), scores=scores, findings=findings)


def _run_row(result: RunResult, shape: Shape) -> Row:
    run = result.run
    tokens = run.tokens
    used = None if tokens is None else [count for count in (tokens.input, tokens.output) if count is not None]
    return {
        "trace_id": key(run.trace.trace_id),
        "run_id": key(run.run_id),
        "agent": clean(run.agents[0].name) if run.agents else None,
        "query_type": clean(result.query_type),
        "started_ns": whole(run.start_ns),
        "duration_ms": real(run.duration_ms),
        "tokens": whole(sum(used)) if used else None,
        "cost_usd": real(run.cost_usd),
        "cost_estimated": run.cost_estimated,
        "complete": run.completeness.complete,
        "reasons": encoded(run.completeness.reasons),
        "revision": min(result.revision, 2**31 - 1),
        "source": clean(result.source),
        "trace_runs": encoded(sorted({key(run.run_id), *(key(other.run_id) for other in run.trace.runs)})),
        "contract": _contract(result, shape),
        "created_at": shape.now,
    }


def _contract(result: RunResult, shape: Shape) -> Encoded | None:
    """The run as JSON, without its scores, which have tables of their own."""
    if shape.document is None or shape.content != "all":
        return None
    told = shape.document(replace(result, scores=()))
    return encoded({name: value for name, value in told.items() if name not in _OF_SCORES})


def _score_row(result: RunResult, score: Score, position: int, shape: Shape) -> Row:
    run = result.run
    if score.value is not None and not math.isfinite(score.value):
        score = structs.replace(
            score, value=None, status="error", reason=f"The value {score.value} is no finite number."
        )
    return {
        "id": result.id_of(score),
        "trace_id": key(run.trace.trace_id),
        "run_id": key(run.run_id),
        "position": position,
        "name": clean(score.name),
        "value": score.value,
        "unit": clean(score.unit),
        "label": clean(score.label),
        "status": score.status,
        "reason": shape.words(_reason(score, shape.content)),
        "evaluator": clean(score.evaluator),
        "version": clean(score.version),
        "config_hash": clean(score.config_hash),
        "revision": min(result.revision, 2**31 - 1),
        "created_at": shape.now,
    }


def _reason(score: Score, content: Content) -> str:
    """The score's reason; without content only what names the data, or the type of exception, that stood in the way."""
    if content != "none" or score.status in {"not_applicable", "not_measurable"}:
        return score.reason
    return score.reason.partition(":")[0] if score.status == "error" else ""


def _finding_rows(of: str, score: Score, shape: Shape) -> list[Row]:
    told = [("evidence", at, one) for at, one in enumerate(score.evidence)]
    if shape.content != "none":
        told += [("issue", at, Evidence(span_id="", quote=text)) for at, text in enumerate(score.issues)]
        words = enumerate(score.recommendations)
        told += [("recommendation", at, Evidence(span_id="", quote=text)) for at, text in words]
    return [
        {
            "score_id": of,
            "kind": kind,
            "position": position,
            "span_id": clean(one.span_id),
            "quote": "" if shape.content == "none" else shape.words(one.quote),
            "quote_start": one.start,
            "quote_end": one.end,
        }
        for kind, position, one in told
    ]


def classic_id(trace_id: str, run_id: str) -> str:
    """The id of a run's row of `trace_evaluation_results`."""
    return score_id(trace_id=trace_id, run_id=run_id, name="classic")


def _classic_row(run: Run, shape: Shape) -> Row:
    result = classic_result(run)
    values = {score.name: score.value for score in result.scores}
    trace_id = key(run.trace.trace_id)
    row: Row = {
        "id": classic_id(trace_id, key(run.run_id)),
        "trace_id": trace_id,
        "request_id": key_or_none(run.who.request_id),
        "issues": None,
        "recommendations": None,
        "created_at": shape.now,
    }
    for column, name in COLUMNS.items():
        value = real(values.get(name))
        row[column] = int(value) if value is not None and column in COUNTS else value
    if shape.content != "none":
        row["issues"] = _gathered((score.issues for score in result.scores), shape)
        row["recommendations"] = _gathered((score.recommendations for score in result.scores), shape)
    return row


def _gathered(lists: Iterable[Sequence[str]], shape: Shape) -> Encoded:
    return encoded(list(dict.fromkeys(shape.words(line) for lines in lists for line in lines)))


def trace_row(of: Run, shape: Shape) -> Row:
    """The row of a run's trace, told as one run whatever runs it holds."""
    trace = of.trace
    run = of if [*trace.run_roots] == [of.mark] else Run(trace, -1)
    everything = shape.content == "all"
    tokens = run.tokens
    used = None if tokens is None else [count for count in (tokens.input, tokens.output) if count is not None]
    return {
        "trace_id": key(trace.trace_id),
        "request_id": key_or_none(run.who.request_id),
        "session_id": key_or_none(run.who.session_id),
        "user_id": key_or_none(run.who.user_id),
        "query": shape.words(run.query) if everything and run.query is not None else None,
        "response": shape.words(run.answer) if everything and run.answer is not None else None,
        "total_duration_ms": real(run.duration_ms),
        "total_tool_calls": len(run.work),
        "total_tokens": whole(sum(used)) if used else None,
        "tools_used": encoded(list(dict.fromkeys(call.name for call in run.work))),
        "spans": _spans(trace, shape, content=everything),
        "started_at": moment(run.start_ns) if run.timed else None,
        "ended_at": moment(run.end_ns) if run.timed else None,
        "created_at": shape.now,
    }


def _spans(trace: Trace, shape: Shape, *, content: bool) -> Encoded:
    text = encoded([_span(trace, span, shape, content=content) for span in trace.spans])
    if content and len(text) > MAX_SPANS_BYTES:
        return encoded([_span(trace, span, shape, content=False) for span in trace.spans])
    return text


def _span(trace: Trace, span: Span, shape: Shape, *, content: bool) -> Row:
    raw = span.raw
    # A parent that is not here is named all the same: it may still come.
    row: Row = {
        "span_id": span.span_id,
        "parent_id": trace.spans[span.parent].span_id if span.parent >= 0 else hex_id(raw.parent_id) or None,
        "name": raw.name if content else bare_name(raw),
        "kind": span.kind,
        "start_ns": raw.start_ns,
        "end_ns": raw.end_ns or None,
        "status": trace.facts.status(span),
        "scope": raw.scope.name,
    }
    if raw.parent_remote:
        row["parent_remote"] = True
    if content:
        row["status_message"] = shape.value(raw.status_message)
        row["attributes"] = shape.value(dict(raw.attributes))
        row["events"] = [_event(event, shape) for event in raw.events]
    return row


def _event(event: RawEvent, shape: Shape) -> Row:
    row: Row = {"name": event.name, "time_ns": event.time_ns, "attributes": shape.value(dict(event.attributes))}
    return row if event.body is None else row | {"body": shape.value(event.body)}
