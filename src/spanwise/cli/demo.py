"""`spanwise demo`: a small real agent, its tree and its scores."""

from __future__ import annotations

import tempfile
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from spanwise.catalog import PROFILES, default_evaluators
from spanwise.cli.guard import FINE
from spanwise.cli.output import Output
from spanwise.errors import SpecError
from spanwise.model.result import RunResult
from spanwise.offline.reading import Reading
from spanwise.report.escapes import visible
from spanwise.report.table import show_result
from spanwise.report.terminal import say
from spanwise.report.tree import show_run
from spanwise.run import evaluate

_LIVE = "A small agent of Pydantic AI ran here, with a function in the model's place. Its spans tell:"
_RECORDED = (
    "Pydantic AI is not installed here, so this run was recorded before. To run it: pip install pydantic-ai-slim"
)
_SCORED = "The same run, scored without a model:"
_NEXT = "Next: spanwise inspect and spanwise score read your own traces; spanwise doctor says how to record some."


def demo(
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Keep the agent's spans as OTLP/JSON.", show_default=False),
    ] = None,
) -> int:
    """Run a small real agent, show its tree and its scores. Needs no key and no network."""
    text, live = _spans()
    with Output() as out, tempfile.TemporaryDirectory(prefix="spanwise-demo-") as folder:
        path = save or Path(folder) / "demo.json"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SpecError(f"{path}: cannot be written: {error.strerror}") from error
        (trace,) = Reading(paths=[str(path)]).traces_of()
        trace.source = str(save) if save else "demo"
        result = evaluate(trace.runs[0], default_evaluators(), overall=PROFILES["default"].overall)
        out.show(partial(_show, result=result, live=live))
        out.show(lambda to: say(to, (_next(save), "")))
    return FINE


def _spans() -> tuple[str, bool]:
    """The agent's spans, and whether it ran just now."""
    try:
        from spanwise.cli._agent import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pydantic_ai":
            raise
        return resources.files("spanwise.cli").joinpath("demo.json").read_text(encoding="utf-8"), False
    return run(), True


def _show(to: Console, *, result: RunResult, live: bool) -> None:
    to.print(Text(_LIVE if live else _RECORDED, style="italic"))
    to.print()
    show_run(to, run=result.run)
    to.print(Text(_SCORED, style="italic"))
    to.print()
    show_result(to, result)


def _next(save: Path | None) -> str:
    saved = (
        f"The spans are in {visible(str(save))}: try spanwise score {visible(str(save))} --format json\n"
        if save
        else ""
    )
    return saved + _NEXT
