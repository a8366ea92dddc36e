"""`spanwise score`: score runs, and gate on the scores."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spanwise.cli.guard import FINE, INTERNAL, UNUSABLE, complain
from spanwise.cli.options import AsTable, Config, NoContent, Paths, TableFormat
from spanwise.cli.output import Output
from spanwise.cli.progress import Waiting
from spanwise.config import Settings, load
from spanwise.evals.foreign import adapting
from spanwise.gate.limits import Gate, Limits, Verdict, parse_limits
from spanwise.model.result import RunResult
from spanwise.offline.reading import Reading
from spanwise.report.contract import to_contract
from spanwise.report.encode import to_line

if TYPE_CHECKING:
    from spanwise.report.scores import ScoreReport

_TOLD = 10


class Bad(StrEnum):
    """The mildest label that fails a gate."""

    ALERT = "alert"
    WARN = "warn"


class Unit(StrEnum):
    """What is scored as one."""

    RUN = "run"
    TRACE = "trace"


def score(
    paths: Paths,
    *,
    format_: AsTable = TableFormat.TABLE,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            "--evaluator",
            metavar="NAME",
            help="Run this evaluator only: a name, or the path of one (acme.checks:Refund), be it of Spanwise or of"
            " pydantic-evals; may be given several times.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME", help="The evaluators of this profile: default or classic."),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under", metavar="NAME=VALUE", help="Exit 1 if any run scores less; may be given several times."
        ),
    ] = None,
    fail_on: Annotated[
        Bad | None,
        typer.Option(
            "--fail-on", help="Exit 1 if any score of any run has this label, or a worse one.", show_default=False
        ),
    ] = None,
    allow_not_measurable: Annotated[
        bool,
        typer.Option(
            "--allow-not-measurable",
            help="Let a gate pass over scores that the spans lack the data for, instead of exit 3.",
        ),
    ] = False,
    unit: Annotated[Unit, typer.Option("--unit", help="Score each agent run, or each trace as a whole.")] = Unit.RUN,
    stitch: Annotated[
        bool,
        typer.Option(
            "--stitch",
            help="Put together runs that fell apart into several traces, by conversation, links and call ids.",
        ),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="AGE", help="Traces of langfuse:// that are no older: 12h, 7d.", show_default=False
        ),
    ] = None,
    write_back: Annotated[
        bool,
        typer.Option("--write-back", help="Send the scores to Langfuse, to the traces that they are about."),
    ] = False,
    no_content: NoContent = False,
    config: Config = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="Write the result there, not to standard output.", show_default=False
        ),
    ] = None,
) -> int:
    """Score the runs in recorded spans, or in a project of Langfuse (langfuse://), without a model.

    Up to five runs are shown with a table each, more as a summary: how each score is distributed, which numbers call
    for somebody, and the ten worst runs. JSON is one object per run and line.
    """
    settings = load(config, profile=profile or "", adapt=adapting)
    if evaluator:
        settings = settings.only(evaluator)
    limits = Limits(
        under=parse_limits(fail_under or (), evaluators=settings.score_names),
        on=_label(fail_on),
        allow_not_measurable=allow_not_measurable,
    )
    back = None
    if since is not None or write_back:
        from spanwise.cli._write_back import WriteBack, with_age

        paths = with_age(paths, since)
        back = WriteBack(paths, complain) if write_back else None
    reading = Reading(
        paths=paths,
        unit=unit.value,
        stitched=stitch,
        thresholds=settings.thresholds,
        overall=settings.overall,
        rules=settings.rules,
        budget_ns=settings.budget_ns,
    )
    with Output(output) as out:
        as_json, give = format_ is TableFormat.JSON, back.give if back else None
        code = _score(reading, settings, limits, out, as_json=as_json, content=not no_content, give=give)
    return max(code, back.finish() if back else FINE)


def _score(
    reading: Reading,
    settings: Settings,
    limits: Limits,
    out: Output,
    *,
    as_json: bool,
    content: bool,
    give: Callable[[RunResult], None] | None = None,
) -> int:
    """Score, print, and say what the gate says; the exit code."""
    gate = Gate(limits, reasons=content)
    report = None if as_json else _report(content=content)
    runs = 0
    broke = False
    with Waiting(wanted=not (as_json and out.is_terminal)) as waiting:
        reading.on_error = lambda error: waiting.complain(f"error: {error}")
        reading.on_progress = waiting.tell
        for result in reading.results(settings.evaluators):
            runs += 1
            if give is not None:
                give(result)
            gate.add(result)
            broke = broke or any(one.status == "error" for one in result.scores)
            if report is None:
                out.line(to_line(to_contract(result, content=content)))
            else:
                report.add(result)
            if out.broken and not limits and give is None:
                return FINE
    for note in reading.remarks():
        waiting.complain(f"note: {note}")
    if not runs and not reading.errors:
        waiting.complain("error: no run was found in what was given")
    if runs and report is not None:
        out.show(report.show)
    verdict = gate.verdict() if limits else Verdict(code=FINE)
    _tell(verdict, waiting)
    return max(verdict.code, UNUSABLE if reading.errors or not runs else FINE, INTERNAL if broke else FINE)


def _report(*, content: bool) -> ScoreReport:
    from spanwise.report.scores import ScoreReport  # JSON needs nothing that draws tables

    return ScoreReport(content=content)


def _label(bad: Bad | None) -> Literal["", "alert", "warn"]:
    return "" if bad is None else bad.value


def _tell(verdict: Verdict, waiting: Waiting) -> None:
    """Say on standard error what speaks against passing."""
    said = [f"gate: no answer: {text}" for text in verdict.unanswered]
    said += [f"gate: failed: {text}" for text in verdict.failed]
    for text in said[:_TOLD]:
        waiting.complain(text)
    if len(said) > _TOLD or verdict.more:
        waiting.complain(f"gate: and {max(len(said) - _TOLD, 0) + verdict.more} more")
