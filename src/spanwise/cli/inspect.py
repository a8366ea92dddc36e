"""`spanwise inspect`: show runs as people think of them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from spanwise.cli.guard import FINE, UNUSABLE
from spanwise.cli.options import NoContent, Paths, TreeFormat, Width
from spanwise.cli.output import Output
from spanwise.cli.progress import Waiting
from spanwise.offline.reading import Reading
from spanwise.report.encode import to_line
from spanwise.report.spans import to_inspected


def inspect(
    paths: Paths,
    *,
    format_: Annotated[
        TreeFormat, typer.Option("--format", help="A tree for people, or one JSON object per run.")
    ] = TreeFormat.TREE,
    everything: Annotated[
        bool, typer.Option("--all", help="Show the spans that only carry others too, and all of a very large run.")
    ] = False,
    no_content: NoContent = False,
    width: Width = None,
) -> int:
    """Show the runs in recorded spans: who asked what, which agents, tools and documents, what came out, what it cost.

    What the spans do not tell stands at the end of each run, with the switch that would make them tell it.
    """
    runs = 0
    with Output() as out, Waiting(wanted=not out.is_terminal) as waiting:
        reading = Reading(
            paths=paths, on_error=lambda error: waiting.complain(f"error: {error}"), on_progress=waiting.tell
        )
        for run in (run for trace in reading.traces_of() for run in trace.runs):
            runs += 1
            if format_ is TreeFormat.JSON:
                out.line(to_line(to_inspected(run, content=not no_content)))
            else:
                from spanwise.report.tree import show_run  # JSON needs nothing that draws trees

                shown = partial(show_run, run=run, everything=everything, content=not no_content)
                out.show(shown, width=width)
            if out.broken:
                return FINE
        waiting.done()
        for note in reading.remarks():
            waiting.complain(f"note: {note}")
        if not runs and not reading.errors:
            waiting.complain("error: no run was found in what was given")
    return UNUSABLE if reading.errors or (not runs and not out.broken) else FINE
