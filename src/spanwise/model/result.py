"""A run with its scores: what every sink and report is given."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.model.score import Score, score_id
from spanwise.model.trace import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The scores of one run, at one revision.

    `source` names where its spans came from, `query_type` the rule that the query matches; empty where none does.
    """

    run: Run
    scores: tuple[Score, ...]
    revision: int = 1
    source: str = ""
    query_type: str = ""

    def id_of(self, score: Score, /) -> str:
        """The score's id: the same whichever door the trace came through, and at every revision."""
        return score_id(trace_id=self.run.trace.trace_id, run_id=self.run.run_id, name=score.name)
