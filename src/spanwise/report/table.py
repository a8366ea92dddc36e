"""The scores of a few runs: a table for each, with reasons, issues and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.report.contract import reason_of
from spanwise.report.escapes import visible
from spanwise.report.terminal import amount, print_table, rows, say, shown, style_of

FEW = 5
"""Up to so many runs get a table each; more get a summary."""
_NO_VALUE = {"not_applicable": "not applicable", "not_measurable": "not measurable", "error": "error"}


def show_result(to: Console, result: RunResult, *, content: bool = True) -> None:
    """Print the scores of one run."""
    say(to, (title_of(result), "bold"))
    if content and result.run.query is not None:
        to.print(Text(shown(result.run.query), style="italic"))
    print_table(to, _table(result.scores, content=content))
    if content:
        _say(to, "issues", (issue for score in result.scores for issue in score.issues))
        _say(to, "advice", (advice for score in result.scores for advice in score.recommendations))
    whole = result.run.completeness
    if not whole.complete:
        to.print(Text(f"the trace is partial: {visible('; '.join(whole.reasons))}", style="yellow"))
    to.print()


def title_of(result: RunResult) -> str:
    """Where the run came from and which one of its trace it is."""
    source = f"{visible(result.source)}, " if result.source else ""
    run = f", run {visible(result.run.run_id)}" if len(result.run.trace.run_roots) > 1 else ""
    return f"{source}trace {visible(result.run.trace.trace_id)}{run}"


def value_of(score: Score) -> str:
    """The score's value with its unit, or why there is none."""
    return _NO_VALUE[score.status] if score.value is None else amount(score.value, score.unit)


def _table(scores: Iterable[Score], *, content: bool) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column("score", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("label", no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for score in scores:
        style = style_of(score.label, score.status)
        table.add_row(
            Text(shown(score.name, limit=60)),
            Text(value_of(score), style=style),
            Text(shown(score.label, limit=30), style=style),
            Text(shown(reason_of(score, content=content))),
        )
    return table


def _say(to: Console, name: str, sentences: Iterable[str]) -> None:
    distinct = list(dict.fromkeys(sentences))
    rows(to, ((name if number == 0 else "", shown(text), "") for number, text in enumerate(distinct)))
