"""The scores of many runs: how each score is distributed, and the ten worst runs with the reason.

Runs are counted as they come and not kept. A run that is given again, since spans of it came late, replaces what was
counted for it.
"""

from __future__ import annotations

import math
from array import array
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.report.contract import reason_of
from spanwise.report.table import title_of
from spanwise.report.terminal import amount, say, shown, style_of
from spanwise.stats import mean, percentile

WORST = 10
_BINS = 10
_STATUSES = ("", "scored", "not_applicable", "not_measurable", "error")
_BLOCKS = (
    " \N{LOWER ONE EIGHTH BLOCK}\N{LOWER ONE QUARTER BLOCK}\N{LOWER THREE EIGHTHS BLOCK}\N{LOWER HALF BLOCK}"
    "\N{LOWER FIVE EIGHTHS BLOCK}\N{LOWER THREE QUARTERS BLOCK}\N{LOWER SEVEN EIGHTHS BLOCK}\N{FULL BLOCK}"
)
_ASCII_BLOCKS = " .:-=+*#%"


@dataclass(slots=True)
class _Column:
    """One score over all runs: its value (NaN for none) and its status, by number of the run."""

    unit: str
    values: array[float]
    statuses: bytearray

    def put(self, row: int, score: Score) -> None:
        """Note the score of a run."""
        self.fill(row + 1)
        self.values[row] = math.nan if score.value is None else score.value
        self.statuses[row] = _STATUSES.index(score.status)
        self.unit = self.unit or score.unit

    def fill(self, rows: int) -> None:
        """Make place for so many runs."""
        lacking = rows - len(self.values)
        if lacking > 0:
            self.values.extend([math.nan] * lacking)
            self.statuses.extend(bytes(lacking))

    def forget(self, row: int) -> None:
        """Take back what was noted for a run."""
        if row < len(self.values):
            self.values[row] = math.nan
            self.statuses[row] = 0

    def known(self) -> list[float]:
        """The values of the runs that were scored."""
        return [value for value in self.values if not math.isnan(value)]

    def count(self, status: str) -> int:
        """How many runs have this status."""
        return self.statuses.count(_STATUSES.index(status))


@dataclass(frozen=True, slots=True, order=True)
class _Ranked:
    """A run among the worst: its standing, its number, and what is printed of it."""

    standing: float
    row: int
    title: str
    lowest: str
    label: str
    reason: str


class Summary:
    """What is kept of many runs: some bytes for each score of each, and the words of the worst."""

    def __init__(self, *, content: bool = True) -> None:
        self._content = content
        self._rows: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}
        self._worst: list[_Ranked] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, result: RunResult) -> None:
        """Count one run."""
        key = f"{result.run.trace.trace_id}/{result.run.run_id}"
        again = key in self._rows
        row = self._rows.setdefault(key, len(self._rows))
        if again:
            self._worst = [ranked for ranked in self._worst if ranked.row != row]
            for column in self._columns.values():
                column.forget(row)
        for score in result.scores:
            self._columns.setdefault(score.name, _Column("", array("d"), bytearray())).put(row, score)
        ranked = self._rank(result, row)
        if ranked is not None:
            insort(self._worst, ranked)
            del self._worst[WORST:]

    def _rank(self, result: RunResult, row: int) -> _Ranked | None:
        """How the run stands: its overall score, else the mean of those without a unit; None if nothing is amiss."""
        graded = [(score.value, score) for score in result.scores if score.value is not None and not score.unit]
        if not graded:
            return None
        overall = next((value for value, score in graded if score.name == "overall"), None)
        standing = mean([value for value, _ in graded]) if overall is None else overall
        value, score = min(graded, key=lambda pair: (pair[0], pair[1].name == "overall"))
        if value >= 1.0:
            return None
        return _Ranked(
            standing,
            row,
            title_of(result),
            f"{shown(score.name, limit=60)} {value:.2f}",
            score.label,
            shown(reason_of(score, content=self._content)),
        )

    def show(self, to: Console) -> None:
        """Print the distribution of each score, and the worst runs."""
        say(to, (f"{len(self):,} runs", "bold"))
        blocks = _ASCII_BLOCKS if to.options.ascii_only else _BLOCKS
        table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
        table.add_column("score", no_wrap=True)
        for name in ("scored", "n/a", "n/m", "error", "mean", "p10", "p50", "p90"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("distribution", no_wrap=True)
        for name, column in self._columns.items():
            table.add_row(*_cells(name, column, blocks=blocks))
        to.print(table)
        say(to, ("n/a: the question does not arise; n/m: the trace lacks the data. Neither enters a mean.", "dim"))
        if self._worst:
            self._show_worst(to)

    def _show_worst(self, to: Console) -> None:
        to.print()
        say(to, (f"worst {len(self._worst)}" if len(self._worst) > 1 else "worst", "bold"))
        for ranked in self._worst:
            style = style_of(ranked.label)
            say(to, (f"{ranked.standing:.2f}  ", style), (ranked.title, ""))
            say(to, (f"      {ranked.lowest}  ", style), (ranked.reason, "dim"))


def _cells(name: str, column: _Column, *, blocks: str) -> list[Text]:
    counts = [column.count(status) for status in _STATUSES[1:]]
    cells = [Text(shown(name, limit=60)), *(Text(f"{count:,}", style="" if count else "dim") for count in counts)]
    known = column.known()
    if not known:
        return [*cells, *(Text("-", style="dim") for _ in range(4)), Text("")]
    numbers = (mean(known), *(percentile(known, share) for share in (0.1, 0.5, 0.9)))
    return [
        *cells,
        *(Text(amount(number, column.unit)) for number in numbers),
        Text(bar(known, unit=column.unit, blocks=blocks)),
    ]


def bar(values: Sequence[float], *, unit: str = "", blocks: str = _BLOCKS) -> str:
    """A histogram in ten characters: over [0, 1], or from the least to the greatest value of a score with a unit."""
    low, high = (min(values), max(values)) if unit else (0.0, 1.0)
    span = high - low
    bins = [0] * _BINS
    for value in values:
        bins[min(int((value - low) / span * _BINS), _BINS - 1) if span else 0] += 1
    most = max(bins)
    return "".join(blocks[math.ceil(count / most * 8)] for count in bins)
