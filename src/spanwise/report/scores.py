"""The scores of whatever came: a table for each of a few runs, above that a summary."""

from __future__ import annotations

from rich.console import Console

from spanwise.model.result import RunResult
from spanwise.report.summary import Summary
from spanwise.report.table import FEW, show_result


class ScoreReport:
    """Takes results as they come. A run that is given again replaces itself."""

    def __init__(self, *, content: bool = True) -> None:
        self._content = content
        self._few: dict[tuple[str, str], RunResult] = {}
        self._summary: Summary | None = None

    def add(self, result: RunResult) -> None:
        """Take one run."""
        if self._summary is not None:
            self._summary.add(result)
            return
        self._few[result.run.trace.trace_id, result.run.run_id] = result
        if len(self._few) > FEW:
            self._summary = Summary(content=self._content)
            for held in self._few.values():
                self._summary.add(held)
            self._few.clear()

    def show(self, to: Console) -> None:
        """Print what came."""
        if self._summary is not None:
            self._summary.show(to)
        for result in self._few.values():
            show_result(to, result, content=self._content)
