"""Scores as Logfire's feedback annotations on the spans of the runs."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Sequence
from importlib.util import find_spec

from spanwise.errors import SinkError
from spanwise.model.ports import Content
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks._choice import Choice, checked, chosen_of
from spanwise.sinks._otel import context_of

_log = logging.getLogger("spanwise")
_REMEMBERED = 1_000
_COMMENT = 1_000


class LogfireSink:
    """Annotates the span of each run with its scores, through the app's own `logfire.configure`.

    A value is a number; where there is none, `<name>.status` is annotated with the status as a label, so that no
    average of the numbers is spoilt. Annotations cannot be changed: a later revision whose scores differ adds new
    ones, and readers keep the highest `spanwise.score.revision`; one whose scores are the same adds none.

    Args:
        scores: `default` (overall, tool_selection, redundancy, latency, grounding, and any alert), `all`, or names.

    Raises:
        SinkError: Logfire is not installed, or the choice is none.
    """

    emits: Content = "none"

    def __init__(self, *, scores: Choice = "default") -> None:
        if find_spec("logfire") is None:
            raise SinkError("annotations for Logfire need logfire; install it with: pip install 'spanwise[logfire]'")
        self._choice = checked(scores)
        self._given: OrderedDict[tuple[str, str], tuple[object, ...]] = OrderedDict()
        self.sent = 0
        """Annotations that Logfire took."""
        self.drops: dict[str, int] = {}
        """Results without annotations, by reason: `not_configured`, or `ids`, which are none of OpenTelemetry's."""

    def emit(self, results: Sequence[RunResult], /) -> None:
        """Annotate the runs. What goes wrong costs its own run, and is raised when the others are done."""
        if not _is_configured():
            self._drop("not_configured", len(results))
            return
        failure: Exception | None = None
        for result in results:
            try:
                self._run(result)
            except Exception as error:  # noqa: BLE001  (the app's processors may raise; told once the others are out)
                failure = error
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Logfire is the app's, who shuts it down."""

    def _run(self, result: RunResult) -> None:
        from logfire.experimental.annotations import record_feedback

        subject = context_of(result.run)
        if subject is None:
            self._drop("ids", 1)
            return
        chosen = chosen_of(result.scores, self._choice)
        if not self._is_news(result, chosen):
            return
        parent = f"00-{subject.trace_id:032x}-{subject.span_id:016x}-01"
        for score in chosen:
            name, value = _told(score)
            record_feedback(parent, name, value, comment=_comment_of(score), extra=_extra_of(result, score))
            self.sent += 1

    def _is_news(self, result: RunResult, chosen: Sequence[Score]) -> bool:
        """False if a run was annotated just so before: a span that came late need not change any score."""
        key = (result.run.trace.trace_id, result.run.run_id)
        now = tuple((one.name, one.value, one.status, one.label) for one in chosen)
        before = self._given.pop(key, None)
        self._given[key] = now
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)
        return now != before

    def _drop(self, reason: str, count: int) -> None:
        if reason == "not_configured" and reason not in self.drops:
            _log.warning(
                "LogfireSink: Logfire is not configured, so nothing is annotated; call logfire.configure(). "
                "Further results are counted, not logged"
            )
        self.drops[reason] = self.drops.get(reason, 0) + count


def _is_configured() -> bool:
    """Whether `logfire.configure` was called; where its private mark is gone, Logfire itself warns."""
    import logfire

    return bool(getattr(logfire.DEFAULT_LOGFIRE_INSTANCE.config, "_initialized", True))


def _told(score: Score) -> tuple[str, float | bool | str]:
    if score.value is None or not math.isfinite(score.value):
        return f"{score.name}.status", score.status if score.value is None else "error"
    if score.unit == "bool" and score.value in (0.0, 1.0):
        return score.name, bool(score.value)
    return score.name, score.value


def _comment_of(score: Score) -> str | None:
    text = "\n".join(part for part in (score.reason, *score.issues) if part)
    return text[:_COMMENT] or None


def _extra_of(result: RunResult, score: Score) -> dict[str, object]:
    found: dict[str, object] = {
        "spanwise.score.id": result.id_of(score),
        "spanwise.score.revision": result.revision,
        "spanwise.run.id": result.run.run_id,
        "spanwise.score.status": score.status,
        "spanwise.score.label": score.label,
        "spanwise.score.unit": score.unit,
        "spanwise.score.evaluator": score.evaluator,
        "spanwise.score.version": score.version,
    }
    return {key: value for key, value in found.items() if key != score.name}
