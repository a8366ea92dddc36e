"""`spanwise store reconcile`: scores for traces that lack them, or whose scores are old."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.guard import FINE, INTERNAL, UNUSABLE, complain
from spanwise.cli.options import AsTable, Config, TableFormat, Width
from spanwise.cli.output import Output
from spanwise.cli.progress import Waiting
from spanwise.cli.store import Since, Where, began_since, with_store
from spanwise.config import Settings, load
from spanwise.evals.foreign import adapting
from spanwise.offline.reading import Reading
from spanwise.pipeline import Scoring
from spanwise.report.contract import to_contract
from spanwise.report.encode import to_line
from spanwise.report.reconciled import Found, to_found

if TYPE_CHECKING:
    from spanwise.model.ports import Content
    from spanwise.offline.reconcile import Reconciler
    from spanwise.store.location import Location
    from spanwise.store.store import Store


def reconcile(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Files, folders, globs, or - for standard input: what a Collector has exported, and all that spanwise"
            " score reads; the traces in the store where not given.",
            show_default=False,
        ),
    ] = None,
    *,
    since: Since = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help="Score at most so many traces; the next run goes on.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be scored and why, and write nothing.")
    ] = False,
    write_back: Annotated[
        bool,
        typer.Option("--write-back", help="Give the new scores to the sinks that the settings name, too."),
    ] = False,
    format_: AsTable = TableFormat.TABLE,
    store: Where = None,
    config: Config = None,
    width: Width = None,
) -> int:
    """Score the traces that lack scores, or whose scores are older than their evaluators or than their last spans.

    The scores go into the store, as the next revision of each run. With paths it is about the traces in these, of which
    the store may know nothing, or not all spans. JSON is one object per trace and line. A second run finds nothing.
    """
    settings = load(config, adapt=adapting)
    since_ns = began_since(since)
    back = None
    if write_back and not dry_run:
        from spanwise.cli._settings_sinks import SettingsSinks

        back = SettingsSinks(config, complain)
    listed = _narrowed(paths or [], since)

    def opened(location: Location, content: Content | None = None) -> Store:
        from spanwise.store.store import Store

        mask = settings.masking
        return Store.open(
            location,
            content=content or _content(settings),
            document=partial(to_contract, mask=mask),
            mask=mask,
            max_age_s=None,  # how long runs are kept is for the app to say that keeps them
            max_bytes=None,
            must_exist=dry_run or not listed,
        )

    def work(kept: Store) -> int:
        from spanwise.offline.reconcile import Reconciler
        from spanwise.store.location import locate

        with opened(locate(store), "none") as bare, Output() as out:
            made = Reconciler(
                kept,
                bare,
                _scoring(settings),
                dry_run=dry_run,
                limit=limit,
                since_ns=since_ns,
                give=back.give if back else None,
            )
            return _done(made, kept, listed, out, as_json=format_ is TableFormat.JSON, since_ns=since_ns, width=width)

    code = with_store(store, work, opened)
    return max(code, back.finish() if back else FINE)


def _done(
    made: Reconciler,
    kept: Store,
    paths: list[str],
    out: Output,
    *,
    as_json: bool,
    since_ns: int | None,
    width: int | None,
) -> int:
    """Reconcile, and print what was found; the exit code."""
    reading = Reading(paths=paths)
    with Waiting(wanted=not (as_json and out.is_terminal), bytes_=bool(paths)) as waiting:
        reading.on_error = lambda error: waiting.complain(f"error: {error}")
        reading.on_progress = waiting.tell
        if not paths:
            total = kept.count(since_ns=since_ns)
            made.on_progress = lambda done: waiting.tell(done, total, kept.where)
        found: Iterator[Found] = made.given(reading.traces_of()) if paths else made.stored()
        for one in found:
            if as_json:
                out.line(to_line(to_found(one)))
    for note in reading.remarks():
        waiting.complain(f"note: {note}")
    nothing = bool(paths) and not reading.traces and not reading.errors
    if nothing:
        complain("error: no trace was found in what was given")
    elif not as_json:
        out.show(made.tally.show, width=width)
    barred, refused = made.tally.of("no_content"), made.tally.of("refused")
    if barred:
        complain(f"note: {barred:,} cannot be scored again: the store keeps them without content; give their files")
    if refused:
        complain(f"error: {refused:,} could not be taken by the store {kept.where}")
    return max(UNUSABLE if reading.errors or nothing else FINE, INTERNAL if made.broke or refused else FINE)


def _narrowed(paths: list[str], since: str | None) -> list[str]:
    """The paths; of Langfuse's addresses only what is no older is asked for."""
    if since is None or not any("://" in path for path in paths):
        return paths
    from spanwise.cli._write_back import with_age
    from spanwise.sources.langfuse_api import is_address

    return with_age(paths, since) if any(map(is_address, paths)) else paths


def _content(settings: Settings) -> Content:
    """How much content the settings have the store keep."""
    for sink in settings.sinks.values():
        if sink.use == "store" and sink.content is not None:
            return sink.content
    return "all"


def _scoring(settings: Settings) -> Scoring:
    return Scoring(
        evaluators=settings.evaluators,
        overall=settings.overall,
        thresholds=settings.thresholds,
        rules=settings.rules,
        budget_ns=settings.budget_ns,
    )
