"""`spanwise store`: what the store has kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from spanwise.cli.guard import FINE, INTERNAL, UNUSABLE, complain
from spanwise.cli.options import AsTable, TableFormat, Width
from spanwise.cli.output import Output
from spanwise.errors import SinkError, SpecError
from spanwise.report.encode import to_line
from spanwise.report.escapes import visible
from spanwise.report.kept import show_kept, show_listed, to_kept, to_listed
from spanwise.report.terminal import rows
from spanwise.store.failures import UnusableStoreError
from spanwise.store.location import Location, locate

if TYPE_CHECKING:
    from spanwise.store.store import Store

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SHOWN = 20

Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="The store: a path, or the URL of a database; SPANWISE_STORE, else your own file, where not given.",
        show_default=False,
    ),
]
Session: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Runs of this session only.", show_default=False)
]
Request: TypeAlias = Annotated[
    str | None, typer.Option("--request", metavar="ID", help="Runs of this request only.", show_default=False)
]
Agent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Runs of this agent only.", show_default=False)
]
ScoreName: TypeAlias = Annotated[
    str | None, typer.Option("--score", metavar="NAME", help="Runs that have this score.", show_default=False)
]
Label: TypeAlias = Annotated[
    str | None,
    typer.Option("--label", metavar="LABEL", help="Runs with a score of this label: alert.", show_default=False),
]
Below: TypeAlias = Annotated[
    float | None,
    typer.Option("--below", metavar="VALUE", help="Runs with a score of less than this.", show_default=False),
]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="AGE", help="Runs that began since then: 30m, 12h, 7d.", show_default=False),
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many runs.")]


def list_runs(
    *,
    format_: AsTable = TableFormat.TABLE,
    limit: Limit = 20,
    session: Session = None,
    request: Request = None,
    agent: Agent = None,
    score: ScoreName = None,
    label: Label = None,
    below: Below = None,
    since: Since = None,
    store: Where = None,
    width: Width = None,
) -> int:
    """List the runs that the store has kept, the newest first.

    What is given must all hold; --label and --below are about the score that --score names, else about any.
    """
    since_ns = began_since(since)

    def work(kept: Store) -> int:
        found = kept.query(
            session_id=session,
            request_id=request,
            agent=agent,
            score=score,
            label=label,
            below=below,
            since_ns=since_ns,
            limit=limit,
        )
        with Output() as out:
            if format_ is TableFormat.JSON:
                for run in found:
                    out.line(to_line(to_listed(run)))
            elif found:
                out.show(lambda to: show_listed(to, found), width=width)
        if not found:
            complain(f"note: no run in {kept.where} is what was asked for")
        return FINE

    return with_store(store, work)


def show(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="The id of a trace, or its beginning.")],
    *,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="ID", help="Only this run of the trace: its span's id.", show_default=False),
    ] = None,
    format_: AsTable = TableFormat.TABLE,
    store: Where = None,
    width: Width = None,
) -> int:
    """Show the runs of a trace in full: what was asked and answered, each score with its reason, and what to do.

    JSON is one object per run and line, as of `spanwise score`.
    """

    def work(kept: Store) -> int:
        named = [one for one in kept.query(trace_id=trace, limit=_SHOWN) if run is None or one.run_id == run]
        if not trace or not named:
            complain(f"error: {kept.where} has no run of a trace {trace!r}")
            return UNUSABLE
        traces = sorted({one.trace_id for one in named})
        if len(traces) > 1:
            complain(f"error: {trace!r} is the beginning of several traces, such as {traces[0]} and {traces[1]}")
            return UNUSABLE
        found = [one for named_run in named if (one := kept.get(named_run.trace_id, named_run.run_id)) is not None]
        with Output() as out:
            for one in sorted(found, key=lambda item: item.started_ns):
                if format_ is TableFormat.JSON:
                    out.line(to_line(to_kept(one)))
                else:
                    out.show(lambda to, one=one: show_kept(to, one), width=width)
        return FINE

    return with_store(store, work)


def prune(
    *,
    max_age: Annotated[
        str, typer.Option("--max-age", metavar="AGE", help="Delete runs that were stored longer ago: 12h, 7d, 4w.")
    ] = "7d",
    max_size: Annotated[
        str, typer.Option("--max-size", metavar="SIZE", help="Delete the oldest runs until all take less: 500MB, 1GB.")
    ] = "1GB",
    format_: AsTable = TableFormat.TABLE,
    store: Where = None,
) -> int:
    """Delete old runs now, and give their room back. An app that uses the store does so by itself."""
    age_s, size = seconds_of(max_age, "--max-age"), bytes_of(max_size, "--max-size")

    def work(kept: Store) -> int:
        done = kept.prune(max_age_s=age_s, max_bytes=size)
        with Output() as out:
            if format_ is TableFormat.JSON:
                out.line(to_line({"traces": done.traces, "runs": done.runs, "bytes": done.bytes}))
            else:
                told = (
                    ("store", visible(kept.where), ""),
                    ("deleted", f"{done.runs:,} runs of {done.traces:,} traces", ""),
                    ("left", f"{done.bytes / 1e6:,.1f} MB", ""),
                )
                out.show(lambda to: rows(to, told))
        return FINE

    return with_store(store, work)


def with_store(
    where: str | None, work: Callable[[Store], int], opening: Callable[[Location], Store] | None = None
) -> int:
    """What the work gives; 2 for a store that cannot be used, 3 where something around it failed.

    The store has to be there, unless `opening` makes it.
    """
    try:
        from spanwise.store import Store

        location = locate(where)
    except SinkError as error:
        raise SpecError(str(error)) from None
    try:
        with opening(location) if opening else Store.open(location, must_exist=True) as kept:
            return work(kept)
    except SinkError as error:
        complain(f"error: {error}")
        return UNUSABLE if isinstance(error, UnusableStoreError) else INTERNAL


def began_since(age: str | None) -> int | None:
    """The moment that lies an age such as 12h back, in nanoseconds since 1970.

    Raises:
        SpecError: The text is none.
    """
    return None if age is None else time.time_ns() - round(seconds_of(age, "--since") * 1e9)


def seconds_of(text: str, option: str) -> float:
    """The seconds of an age such as 12h.

    Raises:
        SpecError: The text is none.
    """
    read = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhdw])", text.strip())
    if read is None or not float(read[1]):
        raise SpecError(f"{option}: read {text!r}, expected a number above 0 with a unit: 30m, 12h, 7d, 4w")
    return float(read[1]) * _SECONDS[read[2]]


def bytes_of(text: str, option: str) -> int:
    """The bytes of a size such as 500MB.

    Raises:
        SpecError: The text is none.
    """
    read = re.fullmatch(r"(\d{1,15}(?:\.\d+)?) ?([KMGT]?B|)", text.strip().upper())
    if read is None:
        raise SpecError(f"{option}: read {text!r}, expected a number of bytes, or with a unit: 500MB, 1GB")
    return round(float(read[1]) * _BYTES[read[2]])
