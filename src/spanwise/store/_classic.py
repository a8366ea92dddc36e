"""What the classic profile makes of a run, whatever other evaluators ran."""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.evaluators import classic
from spanwise.evaluators.overall import Overall
from spanwise.model.ports import AnyEvaluator
from spanwise.model.result import RunResult
from spanwise.model.trace import Run
from spanwise.run import evaluate

EVALUATORS: Mapping[str, AnyEvaluator] = {
    "tool_selection": classic.ToolSelection(),
    "tool_sequence": classic.ToolSequence(),
    "redundancy": classic.Redundancy(),
    "efficiency": classic.Efficiency(),
    "recovery": classic.Recovery(),
    "latency": classic.Latency(),
    "retrieval_relevance": classic.RetrievalRelevance(),
}
OVERALL = Overall(weights=classic.WEIGHTS, without=classic.WITHOUT)

COLUMNS: Mapping[str, str] = {
    "tool_selection_score": "tool_selection",
    "tool_sequence_score": "tool_sequence",
    "tool_efficiency_score": "efficiency",
    "latency_score": "latency",
    "retrieval_relevance": "retrieval_relevance",
    "overall_score": "overall",
    "redundancy_count": "redundancy",
    "error_count": "recovery_errors",
    "recovery_rate": "recovery",
    "total_latency_ms": "latency_ms",
    "avg_tool_latency_ms": "latency_tool_ms",
}
"""Columns of `trace_evaluation_results`, and the score of the classic profile that each holds."""
COUNTS = frozenset({"redundancy_count", "error_count"})


def classic_result(run: Run) -> RunResult:
    """The run with the scores of the classic profile."""
    return evaluate(run, EVALUATORS, overall=OVERALL)
