"""What the store gives back: a run with its scores, as it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from spanwise.model.score import Score


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
