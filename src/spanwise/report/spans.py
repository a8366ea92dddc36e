"""The JSON of `spanwise inspect`, `spanwise.inspect/1`: what a run tells, and its spans as they were understood."""

from __future__ import annotations

from spanwise.conventions._named_tasks import bare_name
from spanwise.model.result import RunResult
from spanwise.model.span import Span
from spanwise.model.trace import Run
from spanwise.report.contract import to_contract

SCHEMA = "spanwise.inspect/1"
_OF_SCORES = ("scores", "issues", "recommendations")


def to_inspected(run: Run, *, content: bool = True) -> dict[str, object]:
    """The contract's object of one run without its scores, and with all its spans."""
    document = to_contract(RunResult(run=run, scores=(), source=run.trace.source), content=content)
    kept = {key: value for key, value in document.items() if key not in _OF_SCORES}
    return kept | {"schema": SCHEMA, "spans": [_span(run, span, content=content) for span in run.spans]}


def _span(run: Run, span: Span, *, content: bool) -> dict[str, object]:
    error = run.trace.facts.span_error(span)
    words = None if error is None else {"type": error.type, "message": error.message if content else None}
    return {
        "span_id": span.span_id,
        "parent_id": run.trace.spans[span.parent].span_id if span.parent >= 0 else None,
        "kind": span.kind,
        "name": span.name if content else bare_name(span.raw),
        "start_ns": span.start_ns,
        "end_ns": span.raw.end_ns or None,
        "status": run.trace.facts.status(span),
        "error": words,
    }
