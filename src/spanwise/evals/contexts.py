"""A run as the context that an evaluator of pydantic-evals is given."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_evals.evaluators import EvaluatorContext

from spanwise.evals.runs import metrics_of
from spanwise.evals.tree import tree_of
from spanwise.model.trace import Run


def context_of(
    run: Run,
    *,
    name: str | None = None,
    metadata: Mapping[str, object] | None = None,
    expected_output: object = None,
) -> EvaluatorContext[object, object, object]:
    """The context of a run: query and answer as inputs and output, its duration, and a normalised tree of its spans."""
    return EvaluatorContext(
        name=name,
        inputs=run.query,
        metadata=None if metadata is None else dict(metadata),
        expected_output=expected_output,
        output=run.answer,
        duration=(run.duration_ms or 0.0) / 1000,
        _span_tree=tree_of(run),
        attributes={},
        metrics=metrics_of(run),
    )
