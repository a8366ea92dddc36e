"""The run of a case: the one that a capture attached to its context, else what its span tree tells.

`attach(ctx, trace)` is what a capture calls in `CaseLifecycle.prepare_context`: the context that it gives back carries
the run in its span tree, which is normalised, so that it survives `dataclasses.replace` and reaches every evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals.otel import SpanNode, SpanTree, SpanTreeRecordingError

from spanwise.assembly.tree import build_trace
from spanwise.evals.tree import RunTree, tree_of
from spanwise.model.raw import STATUS_ERROR, STATUS_OK, STATUS_UNSET, RawSpan, Scope
from spanwise.model.trace import Run, Trace

NO_SPANS = (
    "No span of this case was captured: instrument the agent (Agent.instrument_all() for Pydantic AI), and have the"
    " case captured (lifecycle=spanwise.evals.Capture)."
)
_HELD = "_spanwise_run"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATUS = {"error": STATUS_ERROR, "ok": STATUS_OK}
_SCOPE = Scope("", "", {})


class NotCapturedError(SpanTreeRecordingError):
    """Stands for the tree of a case of which no span was captured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The run of a case, or why there is none."""

    run: Run | None = None
    why: str = ""


def run_of(ctx: EvaluatorContext[object, object, object], /) -> Run | None:
    """The run of a case: the attached one, else what the span tree tells; None where no span of it is known."""
    return found_in(ctx).run


def found_in(ctx: EvaluatorContext[object, object, object], /) -> Found:
    """The run of a case as `run_of` finds it, or why there is none."""
    try:
        tree = ctx.span_tree
    except SpanTreeRecordingError as error:
        return Found(why=error.message if isinstance(error, NotCapturedError) else NO_SPANS)
    if isinstance(tree, RunTree):
        return Found(run=tree.run)
    held = vars(tree)
    if _HELD not in held:  # one tree is asked by every evaluator of the case
        held[_HELD] = _found(tree)
    return cast("Found", held[_HELD])


def attach(
    ctx: EvaluatorContext[object, object, object], trace: Trace | Run | None, /, *, why: str = NO_SPANS
) -> EvaluatorContext[object, object, object]:
    """The context with a run, or with the one that a trace tells; evaluators of both sides read it.

    Without any span, every evaluator that asks for the tree is told why there is none: an empty tree would have limits
    on calls hold where no call could be seen.
    """
    run = run_in(trace) if isinstance(trace, Trace) else trace
    if run is None:
        return replace(ctx, _span_tree=NotCapturedError(why))
    metrics = {**ctx.metrics, **metrics_of(run)}
    return replace(ctx, _span_tree=tree_of(run), metrics=metrics)


def run_in(trace: Trace, /) -> Run | None:
    """What a case did: the run of its trace; several are taken together, as one; None for a trace without any."""
    roots: Sequence[int] = trace.run_roots
    if not roots:
        return None
    return Run(trace, roots[0] if len(roots) == 1 else -1)


def metrics_of(run: Run) -> dict[str, int | float]:
    """The metrics of pydantic-evals, each model call counted once: requests, tokens, cost, as far as recorded."""
    found: dict[str, int | float] = {}
    if run.llm_calls:
        found["requests"] = len(run.llm_calls)
    tokens = run.tokens
    if tokens is not None:
        counts = (("input_tokens", tokens.input), ("output_tokens", tokens.output))
        found |= {name: count for name, count in counts if count is not None}
    if run.cost_usd is not None:
        found["cost"] = run.cost_usd
    return found


def _found(tree: SpanTree) -> Found:
    nodes = list(tree)
    if not nodes:
        return Found(why=NO_SPANS)
    known = tree.nodes_by_id
    trace_id = nodes[0].trace_id
    run = run_in(build_trace(trace_id, [_raw(node, known, trace_id) for node in nodes]))
    return Found(run=run) if run is not None else Found(why=NO_SPANS)


def _raw(node: SpanNode, known: Mapping[str, SpanNode], trace_id: int) -> RawSpan:
    """The span that a node stands for; one above the tree is not missing, it is the evaluation's own."""
    inside = node.parent_node_key in known
    return RawSpan(
        trace_id,
        node.span_id,
        node.parent_span_id if inside else None,
        node.name,
        _ns(node.start_timestamp),
        max(_ns(node.end_timestamp), 1),  # 0 would say that it has not ended
        _STATUS.get(node.status, STATUS_UNSET),
        "",
        dict(node.attributes),
        (),
        _SCOPE,
    )


def _ns(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000
