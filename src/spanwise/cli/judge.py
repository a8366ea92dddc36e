"""`spanwise judge`: how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.guard import FINE, GATE_FAILED, INTERNAL, UNUSABLE, complain
from spanwise.cli.options import AsTable, Config, Paths, TableFormat
from spanwise.cli.output import Output
from spanwise.cli.progress import Waiting
from spanwise.config import load
from spanwise.errors import SourceError, SpecError
from spanwise.judges import Judge, Panel, UnaskedError
from spanwise.judges.agreement import Limits
from spanwise.judges.audit import Audit
from spanwise.judges.audit import audit as audited
from spanwise.judges.labels import Labels, read_labels
from spanwise.model.trace import Run
from spanwise.offline.reading import Reading
from spanwise.report.encode import to_line
from spanwise.report.judge_audit import show_audit, to_audit


def audit(
    paths: Paths,
    *,
    judge: Annotated[
        str, typer.Option("--judge", metavar="NAME", help="The judge: goal, tool_choice, or one of the settings.")
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="What people say of these runs: JSON lines or CSV with trace_id, run_id, and score, value or label.",
            show_default=False,
        ),
    ] = None,
    retests: Annotated[
        int, typer.Option("--retests", min=0, max=20, help="Ask again so many times, to see whether it flips.")
    ] = 1,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check", metavar="NAME", help="A deterministic check to compare it with; may be given several times."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="Ask this model instead; may be given several times."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many runs.")] = 100,
    least_labels: Annotated[
        int, typer.Option("--least-labels", min=1, help="How many labelled runs it takes to trust a judge.")
    ] = 20,
    config: Config = None,
    format_: AsTable = TableFormat.TABLE,
) -> int:
    """Say how far a judge can be trusted: TRUSTWORTHY, NEEDS CALIBRATION or UNRELIABLE.

    It is asked about every run, whatever rules say of it, and then again, not taking what is remembered. Compared are
    its verdicts with those of deterministic checks, with its own second answers, and with people's labels (Cohen's
    kappa). Without enough labels no judge is trustworthy. Exit 1 unless it is.
    """
    found = _judge(judge, config=config, checks=check or (), models=model or ())
    known = _labels(labels, name=judge, judge=found)
    reading = Reading(paths=paths)
    with Waiting(wanted=True) as waiting:
        reading.on_error = lambda error: waiting.complain(f"error: {error}")
        reading.on_progress = waiting.tell
        try:
            done = audited(
                found,
                islice(_runs(reading), limit),
                name=judge,
                labels=known,
                retests=retests,
                limits=Limits(labels=least_labels),
            )
        except UnaskedError as error:
            waiting.complain(f"error: {judge} could not be asked: {error}")
            return INTERNAL
    return max(_show(done, as_json=format_ is TableFormat.JSON), UNUSABLE if reading.errors else FINE)


def _judge(
    name: str, *, config: Path | None, checks: list[str] | tuple[str, ...], models: list[str] | tuple[str, ...]
) -> Judge:
    settings = load(config)
    found = settings.only([name]).evaluators.get(name)
    if not isinstance(found, Judge):
        raise SpecError(f"--judge: {name!r} asks no model, so there is nothing to audit")
    if checks:
        held = settings.only(checks).evaluators
        found = replace(found, after=tuple(checks), checks={**found.checks, **held})
    panel = found.panel or Panel()
    return replace(found, panel=replace(panel, models=tuple(models)) if models else panel)


def _labels(path: Path | None, *, name: str, judge: Judge) -> Labels | None:
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", source=str(path)) from error
    return read_labels(text, source=str(path), judge=name, scale=judge.scope.scale)


def _runs(reading: Reading) -> Iterator[Run]:
    for trace in reading.traces_of():
        yield from trace.runs


def _show(done: Audit, *, as_json: bool) -> int:
    """Print what was found; the exit code."""
    if not done.runs:
        complain("error: no run was found of which the question arises")
        return UNUSABLE
    with Output() as out:
        if as_json:
            out.line(to_line(to_audit(done)))
        else:
            out.show(lambda to: show_audit(to, done))
    if all(run.error for run in done.runs):
        return INTERNAL
    return FINE if done.findings.trust == "TRUSTWORTHY" else GATE_FAILED
