"""`spanwise store to-dataset`: stored runs as the cases of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.guard import FINE, UNUSABLE, complain
from spanwise.cli.store import (
    Agent,
    Below,
    Label,
    Limit,
    Request,
    ScoreName,
    Session,
    Since,
    Where,
    began_since,
    with_store,
)
from spanwise.errors import SinkError
from spanwise.evals.versions import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.model.trace import Run
    from spanwise.store.kept import KeptRun
    from spanwise.store.store import Store


def to_dataset(
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The dataset: .yaml or .json; its schema lies beside it."),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the dataset is called; as its file otherwise.")
    ] = None,
    limit: Limit = 20,
    session: Session = None,
    request: Request = None,
    agent: Agent = None,
    score: ScoreName = None,
    label: Label = None,
    below: Below = None,
    since: Since = None,
    store: Where = None,
) -> int:
    """Make a dataset of pydantic-evals out of the runs that the store has kept, the newest first.

    A case has the query as inputs, the answer as expected output, and in its metadata the tools, calls and documents of
    the run as expectations, to be edited. What is given must all hold, as of `spanwise store ls`.
    """
    require()
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
        if not found:
            complain(f"error: no run in {kept.where} is what was asked for")
            return UNUSABLE
        from spanwise.evals.datasets import dataset_of, save

        runs, lacking = _runs(kept, found)
        for reason in lacking:
            complain(f"note: left out: {reason}")
        if not runs:
            complain("error: no run is left to make a case of")
            return UNUSABLE
        save(dataset_of(runs, name=name or output.stem), output)
        complain(f"note: {len(runs)} case{'s' if len(runs) > 1 else ''} written to {output}")
        return FINE

    return with_store(store, work)


def _runs(kept: Store, found: Sequence[KeptRun]) -> tuple[list[Run], list[str]]:
    """The runs, in this order, built again from their spans; and why others cannot be."""
    runs: list[Run] = []
    lacking: list[str] = []
    for one in found:
        try:
            trace = kept.trace(one.trace_id)
        except SinkError as error:
            lacking.append(str(error))
            continue
        runs += [run for run in (trace.runs if trace is not None else ()) if run.run_id == one.run_id]
    return runs, lacking
