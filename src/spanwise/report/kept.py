"""Runs that a store kept: as a table, one in full, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.model.score import Score, score_id
from spanwise.report.contract import SCHEMA, evidence_of
from spanwise.report.escapes import visible
from spanwise.report.table import value_of
from spanwise.report.terminal import dollars, duration, print_table, rows, say, shown, style_of
from spanwise.store.kept import KeptRun

LIST_SCHEMA = "spanwise.run/1"


def to_listed(run: KeptRun) -> dict[str, object]:
    """A run as one of many: what it was, and the value of each score."""
    return {
        "schema": LIST_SCHEMA,
        "trace_id": run.trace_id,
        "run_id": run.run_id,
        "agent": run.agent,
        "query_type": run.query_type or None,
        "session_id": run.session_id,
        "request_id": run.request_id,
        "user_id": run.user_id,
        "started_ns": run.started_ns,
        "duration_ms": run.duration_ms,
        "tokens": run.tokens,
        "cost_usd": run.cost_usd,
        "cost_estimated": run.cost_estimated,
        "completeness": {"complete": run.complete, "reasons": list(run.reasons)},
        "revision": run.revision,
        "source": run.source,
        "stored_at": run.created_at.isoformat(),
        "scores": {score.name: _brief(score) for score in run.scores},
    }


def _brief(score: Score) -> dict[str, object]:
    return {
        "value": score.value,
        "unit": score.unit or None,
        "label": score.label or None,
        "status": score.status,
        "reason": score.reason or None,
    }


def to_kept(run: KeptRun) -> dict[str, object]:
    """A run in full, as the contract of `spanwise score` spells it; what was not kept of it is null."""
    bare: dict[str, object] = {
        "schema": SCHEMA,
        "trace_id": run.trace_id,
        "run_id": run.run_id,
        "source": run.source,
        "completeness": {"complete": run.complete, "reasons": list(run.reasons)},
        "query": run.query,
        "answer": run.answer,
        "cost_usd": run.cost_usd,
        "cost_estimated": run.cost_estimated,
        "duration_ms": run.duration_ms,
        "session_id": run.session_id,
        "user_id": run.user_id,
    }
    told = dict(run.contract) if run.contract is not None else bare
    return {
        **told,
        "scores": [_score(run, score) for score in run.scores],
        "issues": list(dict.fromkeys(line for score in run.scores for line in score.issues)),
        "recommendations": list(dict.fromkeys(line for score in run.scores for line in score.recommendations)),
    }


def _score(run: KeptRun, score: Score) -> dict[str, object]:
    return {
        "name": score.name,
        **_brief(score),
        "reason": score.reason,
        "evidence": [evidence_of(one) for one in score.evidence],
        "issues": list(score.issues),
        "recommendations": list(score.recommendations),
        "evaluator": score.evaluator,
        "version": score.version,
        "config_hash": score.config_hash,
        "revision": score.revision,
        "id": score_id(trace_id=run.trace_id, run_id=run.run_id, name=score.name),
    }


def show_listed(to: Console, found: Sequence[KeptRun]) -> None:
    """Print runs, a line for each."""
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column("stored (UTC)", no_wrap=True)
    table.add_column("trace", no_wrap=True)
    table.add_column("agent", overflow="fold", ratio=1)
    for name in ("time", "tokens", "cost", "overall"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("lowest", no_wrap=True)
    for run in found:
        table.add_row(*_cells(run))
    print_table(to, table)


def _cells(run: KeptRun) -> list[Text]:
    overall = run.score("overall")
    graded = [
        (score.value, score)
        for score in run.scores
        if score.value is not None and not score.unit and score.name != "overall"
    ]
    lowest = min(graded, key=lambda pair: pair[0], default=None)
    return [
        Text(f"{run.created_at:%Y-%m-%d %H:%M}"),
        Text(shown(run.trace_id, limit=32)),
        Text(shown(run.agent or "-", limit=40)),
        Text("-" if run.duration_ms is None else duration(run.duration_ms * 1e6)),
        Text("-" if run.tokens is None else f"{run.tokens:,}"),
        Text("-" if run.cost_usd is None else dollars(run.cost_usd)),
        Text("-") if overall is None else Text(value_of(overall), style=style_of(overall.label, overall.status)),
        Text("-")
        if lowest is None
        else Text(f"{shown(lowest[1].name, limit=24)} {lowest[0]:.2f}", style=style_of(lowest[1].label)),
    ]


def show_kept(to: Console, run: KeptRun) -> None:
    """Print one run with its scores and what stands behind them."""
    agent = f"{visible(run.agent)}, " if run.agent else ""
    say(to, (f"{agent}trace {visible(run.trace_id)}, run {visible(run.run_id) or 'of the whole trace'}", "bold"))
    facts = [
        ("asked", run.query),
        ("answered", run.answer),
        ("session", run.session_id),
        ("request", run.request_id),
        ("user", run.user_id),
        ("took", None if run.duration_ms is None else duration(run.duration_ms * 1e6)),
        ("tokens", None if run.tokens is None else f"{run.tokens:,}"),
        ("cost", None if run.cost_usd is None else dollars(run.cost_usd)),
        ("partial", "; ".join(run.reasons) or None),
        ("stored", f"{run.created_at:%Y-%m-%d %H:%M:%S} UTC, revision {run.revision}"),
    ]
    rows(to, [(name, shown(text), "") for name, text in facts if text])
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column("score", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for score in run.scores:
        style = style_of(score.label, score.status)
        table.add_row(Text(shown(score.name, limit=60)), Text(value_of(score), style=style), Text(shown(score.reason)))
    print_table(to, table)
    for name, lists in (
        ("issues", [score.issues for score in run.scores]),
        ("advice", [score.recommendations for score in run.scores]),
    ):
        lines = list(dict.fromkeys(line for told in lists for line in told))
        rows(to, [(name if number == 0 else "", shown(text), "") for number, text in enumerate(lines)])
