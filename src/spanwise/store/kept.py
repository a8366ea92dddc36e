"""What the store gives back, as it was kept: a run with its scores, the runs of a trace, the spans of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from spanwise.assembly.tree import build_trace
from spanwise.model.raw import RawSpan
from spanwise.model.score import Score
from spanwise.model.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A run as the store has it.

    `query`, `answer` and `contract` (the run as JSON without its scores), and what stands behind each score, are there
    when one run is asked for, and where content was kept.
    """

    trace_id: str
    run_id: str
    agent: str | None = None
    query_type: str = ""
    session_id: str | None = None
    request_id: str | None = None
    user_id: str | None = None
    started_ns: int = 0
    duration_ms: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    cost_estimated: bool = False
    complete: bool = True
    reasons: tuple[str, ...] = ()
    revision: int = 1
    source: str = ""
    created_at: datetime
    scores: tuple[Score, ...] = ()
    query: str | None = None
    answer: str | None = None
    contract: Mapping[str, object] | None = None

    def score(self, name: str, /) -> Score | None:
        """The score of that name, if the run has it."""
        return next((score for score in self.scores if score.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTrace:
    """The runs of a trace as the store has them; none where only its spans were stored."""

    trace_id: str
    runs: tuple[KeptRun, ...] = ()

    @property
    def revision(self) -> int:
        """The highest revision of its runs; 0 where it has none."""
        return max((run.revision for run in self.runs), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSpans:
    """The spans of a trace as the store has them, their ids as hex text.

    `bare` says that they were kept without content, `unit` what was scored as one, `lost` why the trace was not whole
    when it was stored.
    """

    trace_id: str
    spans: tuple[RawSpan, ...]
    bare: bool = False
    unit: str = "run"
    lost: tuple[str, ...] = ()
    source: str = ""
    revision: int = 1

    def trace(self) -> Trace:
        """The trace with its runs, built again."""
        trace = build_trace(self.trace_id, self.spans, unit=self.unit)
        unseen = [reason for reason in self.lost if reason not in trace.completeness.reasons]
        if unseen:
            trace = build_trace(self.trace_id, [span.raw for span in trace.spans], unit=self.unit, lost=unseen)
        trace.source = self.source
        trace.revision = self.revision
        return trace
