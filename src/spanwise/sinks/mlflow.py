"""Scores as MLflow's feedback on traces, through its own package."""

from __future__ import annotations

import importlib
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._choice import Choice, checked, is_chosen
from spanwise.sinks._otel import context_of
from spanwise.sinks._revisions import Revisions
from spanwise.sinks._tries import tried

if TYPE_CHECKING:
    from mlflow.entities import Feedback

_REMEMBERED = 50_000
_PASSING = frozenset({"RESOURCE_DOES_NOT_EXIST", "TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "INTERNAL_ERROR"})


class MlflowSink:
    """Gives each run's trace its scores as feedback, on the span of the run, through `mlflow.log_assessment`.

    MLflow makes the ids of feedback itself; those of the last 50,000 scores are remembered, so that a later revision
    changes what is there, and deletes what it no longer has. The tracking server is that of `mlflow.set_tracking_uri`,
    or of MLFLOW_TRACKING_URI. MLflow's own telemetry is left off where the app has not loaded MLflow before.

    Args:
        scores: `default` (overall, tool_selection, redundancy, latency, grounding, and any alert), `all`, or names.
            Each is a request.

    Raises:
        SinkError: MLflow is not installed, or the choice is none.
    """

    emits: ClassVar[Content] = "none"

    def __init__(self, *, scores: Choice = "default") -> None:
        if find_spec("mlflow") is None:
            raise SinkError("MLflow needs mlflow-skinny; install it with: pip install 'spanwise[mlflow]'")
        self._choice = checked(scores)
        self._revisions = Revisions()
        self._ids: OrderedDict[str, str] = OrderedDict()
        self.sent = 0
        """Scores that MLflow took."""
        self.drops: dict[str, int] = {}
        """Scores that it did not, by reason: `refused`, or `ids`, which are none of OpenTelemetry's."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Give the traces their feedback.

        Raises:
            SinkError: MLflow did not take some of it; the rest was sent.
        """
        problem = ""
        for result in results:
            problem = self._run(result) or problem
        if problem:
            raise SinkError(f"MLflow did not take scores: {problem}")

    def close(self) -> None:
        """Nothing waits here."""

    def _run(self, result: RunResult) -> str:
        gone = self._revisions.gone(result)
        if gone is None:
            return ""
        chosen = [score for score in result.scores if is_chosen(score, self._choice)]
        subject = context_of(result.run)
        if subject is None:
            self._drop("ids", len(chosen))
            return ""
        trace_id = f"tr-{subject.trace_id:032x}"
        span_id = f"{subject.span_id:016x}"
        calls: list[Callable[[], object]] = []
        for score in gone:
            known = self._ids.pop(result.id_of(score), None)
            if known is not None:
                calls.append(partial(_mlflow().delete_assessment, trace_id=trace_id, assessment_id=known))
        calls += [partial(self._put, result, score, trace_id, span_id) for score in chosen]
        return max((self._tried(call) for call in calls), key=len, default="")

    def _tried(self, call: Callable[[], object]) -> str:
        """Do it; what is wrong, if anything is."""
        try:
            tried(call, _again)
        except Exception as error:  # noqa: BLE001  (MLflow's and its transport's; the other scores are still sent)
            self._drop("refused", 1)
            return str(getattr(error, "error_code", "") or type(error).__name__)
        return ""

    def _put(self, result: RunResult, score: Score, trace_id: str, span_id: str) -> None:
        score_id = result.id_of(score)
        known = self._ids.get(score_id)
        feedback = feedback_of(result, score, span_id)
        if known is None:
            known = _mlflow().log_assessment(trace_id=trace_id, assessment=feedback).assessment_id
        else:
            _mlflow().update_assessment(trace_id=trace_id, assessment_id=known, assessment=feedback)
        self.sent += 1
        if known:
            self._ids[score_id] = known
            if len(self._ids) > _REMEMBERED:
                self._ids.popitem(last=False)

    def _drop(self, reason: str, count: int) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + count


def _again(error: Exception) -> float | None:
    return 0.0 if getattr(error, "error_code", "") in _PASSING else None


def _mlflow() -> ModuleType:
    if "mlflow" not in sys.modules:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    return importlib.import_module("mlflow")


def feedback_of(result: RunResult, score: Score, span_id: str) -> Feedback:
    """One score as feedback: what has no value is an error in MLflow's words, whose code is the status."""
    _mlflow()
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback

    metadata = {
        "spanwise.score.id": result.id_of(score),
        "spanwise.score.revision": str(result.revision),
        "spanwise.score.status": score.status,
        "spanwise.score.label": score.label,
        "spanwise.score.unit": score.unit,
        "spanwise.score.evaluator": score.evaluator,
        "spanwise.score.version": score.version,
        "spanwise.run.id": result.run.run_id,
    }
    error = None
    if score.value is None:
        error = AssessmentError(error_code=score.status.upper(), error_message=score.reason or None)
    return Feedback(
        name=score.name,
        value=None if score.value is None else float(score.value),
        error=error,
        rationale=score.reason,
        source=AssessmentSource(source_type="CODE", source_id="spanwise"),
        metadata={name: value for name, value in metadata.items() if value},
        span_id=span_id,
    )
