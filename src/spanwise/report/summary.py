"""The scores of many runs: how each is distributed, which numbers call for somebody, and the ten worst runs.

Runs are counted as they come and not kept. A run that is given again, since spans of it came late, replaces what was
counted for it.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.fleet import Aggregate, Aggregator, Check, Distribution, Sum, Wasted
from spanwise.model.result import RunResult
from spanwise.report.contract import reason_of
from spanwise.report.table import title_of
from spanwise.report.terminal import amount, dollars, duration, print_table, say, shown, style_of
from spanwise.stats import mean

WORST = 10
_TYPES = 20
_BLOCKS = (
    " \N{LOWER ONE EIGHTH BLOCK}\N{LOWER ONE QUARTER BLOCK}\N{LOWER THREE EIGHTHS BLOCK}\N{LOWER HALF BLOCK}"
    "\N{LOWER FIVE EIGHTHS BLOCK}\N{LOWER THREE QUARTERS BLOCK}\N{LOWER SEVEN EIGHTHS BLOCK}\N{FULL BLOCK}"
)
_ASCII_BLOCKS = " .:-=+*#%"


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
        self._counted = Aggregator()
        self._worst: list[_Ranked] = []

    def __len__(self) -> int:
        return len(self._counted)

    def add(self, result: RunResult) -> None:
        """Count one run."""
        before = len(self)
        row = self._counted.add(result)
        if row < before:
            self._worst = [ranked for ranked in self._worst if ranked.row != row]
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
        """Print the distribution of each score, the numbers that have targets, and the worst runs."""
        found = self._counted.done()
        say(to, (f"{found.runs:,} runs", "bold"))
        _show_scores(to, found)
        _show_checks(to, found)
        _show_types(to, found)
        if self._worst:
            self._show_worst(to)

    def _show_worst(self, to: Console) -> None:
        to.print()
        say(to, (f"worst {len(self._worst)}" if len(self._worst) > 1 else "worst", "bold"))
        for ranked in self._worst:
            style = style_of(ranked.label)
            say(to, (f"{ranked.standing:.2f}  ", style), (ranked.title, ""))
            say(to, (f"      {ranked.lowest}  ", style), (ranked.reason, "dim"))


def _show_scores(to: Console, found: Aggregate) -> None:
    blocks = _ASCII_BLOCKS if to.options.ascii_only else _BLOCKS
    table = _table("score", ("scored", "n/a", "n/m", "error", "mean", "p5", "p50", "p95"))
    table.add_column("distribution", no_wrap=True)
    for told in found.scores.values():
        table.add_row(*_cells(told, blocks=blocks))
    print_table(to, table, spare=("distribution", "p95", "p5", "p50", "error"))
    say(to, ("n/a: the question does not arise; n/m: the trace lacks the data. Neither enters a mean.", "dim"))


def _table(first: str, numbers: Iterable[str]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(told: Distribution, *, blocks: str) -> list[Text]:
    counts = (told.scored, told.not_applicable, told.not_measurable, told.error)
    cells = [Text(shown(told.name, limit=60)), *(Text(f"{count:,}", style="" if count else "dim") for count in counts)]
    numbers = (told.mean, told.p5, told.p50, told.p95)
    return [
        *cells,
        *(Text("-", style="dim") if number is None else Text(amount(number, told.unit)) for number in numbers),
        Text(bar(told.histogram, blocks=blocks)),
    ]


def _show_checks(to: Console, found: Aggregate) -> None:
    """The numbers that have targets, and what the repeats among the calls took."""
    to.print()
    table = _table("over all runs", ("value", "target", "alert"))
    table.add_column("status", no_wrap=True)
    table.add_column("from", overflow="fold")
    for check in found.checks:
        table.add_row(*_check_cells(check))
    print_table(to, table)
    said = _wasted(found.waste)
    if said:
        say(to, (f"repeated calls took {said}", ""))


def _check_cells(check: Check) -> list[Text]:
    good, bad = (">", "<") if check.above else ("<", ">")
    style = style_of(check.status, check.status)
    value, target, bound = (
        "-" if number is None else f"{number:.{places}%}" if check.percent else f"{number:.2f}"
        for number, places in ((check.value, 1), (check.target, 0), (check.alert, 0))
    )
    return [
        Text(check.name),
        Text(value, style=style),
        Text(f"{good} {target}"),
        Text(f"{bad} {bound}"),
        Text(check.status.replace("_", " "), style=style),
        Text(check.basis, style="dim"),
    ]


def _wasted(waste: Wasted) -> str:
    """What repeated calls took, of the runs that tell it; empty where nothing was repeated."""
    said = [
        _known(waste.ms, lambda ms: duration(ms * 1e6)),
        _known(waste.tokens, lambda tokens: f"{tokens:,.0f} tokens"),
        _known(waste.usd, dollars),
    ]
    return ", ".join(text for text in said if text)


def _known(total: Sum, write: Callable[[float], str]) -> str:
    if not total.value:
        return ""
    return f"{write(total.value)}{f' (not known of {_count(total.unknown)})' if total.unknown else ''}"


def _count(runs: int) -> str:
    return f"{runs:,} run{'' if runs == 1 else 's'}"


def _show_types(to: Console, found: Aggregate) -> None:
    """The means by type of query, the most frequent types first."""
    if not found.by_type:
        return
    names = [name for name in found.scores if any(name in kind.means for kind in found.by_type.values())]
    table = _table("type of query", ("runs", *(shown(name, limit=60) for name in names)))
    for name, kind in list(found.by_type.items())[:_TYPES]:
        means = (Text(f"{kind.means[score]:.2f}" if score in kind.means else "-") for score in names)
        table.add_row(Text(shown(name, limit=60)), Text(f"{kind.runs:,}"), *means)
    to.print()
    print_table(to, table)
    if len(found.by_type) > _TYPES:
        say(to, (f"and {len(found.by_type) - _TYPES} types more", "dim"))


def bar(counts: Sequence[int], *, blocks: str = _BLOCKS) -> str:
    """A histogram, a character for each count."""
    most = max(counts, default=0)
    return "".join(blocks[math.ceil(count / most * 8)] for count in counts)
