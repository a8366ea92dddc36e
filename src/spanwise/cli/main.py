"""The command `spanwise`: its verbs and their help."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from spanwise.cli.dataset import to_dataset
from spanwise.cli.demo import demo
from spanwise.cli.doctor import doctor
from spanwise.cli.evaluators import evaluators
from spanwise.cli.ground import ground
from spanwise.cli.guard import FINE, INTERRUPTED, guarded, silence, tell_bug
from spanwise.cli.inspect import inspect
from spanwise.cli.judge import audit
from spanwise.cli.reconcile import reconcile
from spanwise.cli.score import score
from spanwise.cli.serve import serve
from spanwise.cli.store import list_runs, prune, show

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    help="How well did your AI agent work? Spanwise scores it from the OpenTelemetry spans that it left.",
    epilog="Exit codes: 0 fine, 1 gate failed, 2 unusable input, 3 infrastructure or internal error, 130 interrupted.",
    context_settings=_HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"spanwise {version('spanwise')}\n")
        raise typer.Exit(FINE)


@app.callback()
def _options(
    print_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the verb; the version is printed by its callback."""
    del print_version


store = typer.Typer(
    help="What the store has kept.", context_settings=_HELP, rich_markup_mode=None, no_args_is_help=True
)
app.add_typer(store, name="store", short_help="Look into the store of runs.")
judge = typer.Typer(
    help="Judges that ask a language model.", context_settings=_HELP, rich_markup_mode=None, no_args_is_help=True
)
app.add_typer(judge, name="judge", short_help="Find out how far judges can be trusted.")


def _add(
    verb: Callable[..., int], brief: str, *examples: tuple[str, str], group: typer.Typer = app, name: str = ""
) -> None:
    """Make a function a verb of its name, with a brief description in the list and examples below its help."""
    wide = max(len(command) for command, _ in examples)
    lines = "\n".join(f"  {command.ljust(wide)}  {text}" for command, text in examples)
    epilog = f"\b\nExamples:\n{lines}"
    group.command(name or verb.__name__, short_help=brief, epilog=epilog, context_settings=_HELP)(guarded(verb))


_add(
    inspect,
    "Show the runs in recorded spans.",
    ("spanwise inspect traces.json", "the runs in a file"),
    ("spanwise inspect traces/ --no-content", "without what people and models wrote"),
    ("spanwise inspect - --format json < traces.json", "one JSON object per run"),
)
_add(
    score,
    "Score the runs in recorded spans, and gate on it.",
    ("spanwise score traces/", "all scores of all runs"),
    ("spanwise score traces/ --format json", "one JSON object per run and line"),
    ("spanwise score traces/ --fail-under redundancy=0.9", "exit 1 when a run scores less"),
    ("spanwise score traces/ --evaluator recovery --fail-on alert", "exit 1 on an alert"),
)
_add(
    ground,
    "Check a text against other texts.",
    ("spanwise ground --answer answer.md --evidence a.txt --evidence b.json", "each claim"),
    ("spanwise ground --answer - --evidence page.txt < answer.md", "from standard input"),
    ("spanwise ground --answer a.md --evidence b.txt --format json", "one JSON object"),
)
_add(
    evaluators,
    "List what can be scored.",
    ("spanwise evaluators", "a table"),
    ("spanwise evaluators --format json", "one JSON object per evaluator"),
)
_add(doctor, "Say what an app lacks to leave good spans.", ("spanwise doctor", "in the environment of your app"))
_add(
    demo,
    "Run a small real agent and score it.",
    ("spanwise demo", "run it"),
    ("spanwise demo --save demo.json", "and keep its spans, to try other verbs on"),
)
_add(
    serve,
    "Take spans by OTLP, score them, send the scores on.",
    ("spanwise serve", "on 127.0.0.1:4317 and 127.0.0.1:4318"),
    ("spanwise serve --scores-to http://127.0.0.1:4319", "scores to a Collector"),
    ("spanwise serve --grpc 0.0.0.0:4317 --token-file token", "for other machines"),
)
_add(
    list_runs,
    "List the runs that were kept.",
    ("spanwise store ls", "the last 20"),
    ("spanwise store ls --label alert --since 1d", "what went wrong today"),
    ("spanwise store ls --score redundancy --below 0.9", "by one score"),
    ("spanwise store ls --session s-17 --format json", "one JSON object per run"),
    group=store,
    name="ls",
)
_add(
    show,
    "Show the runs of a trace in full.",
    ("spanwise store show 4bf92f35", "by the beginning of the trace's id"),
    ("spanwise store show 4bf92f35 --format json", "as spanwise score tells them"),
    group=store,
)
_add(
    to_dataset,
    "Make a pydantic-evals dataset of runs.",
    ("spanwise store to-dataset -o cases.yaml", "of the last 20 runs"),
    ("spanwise store to-dataset --label alert --since 1d -o cases.yaml", "of what went wrong today"),
    group=store,
    name="to-dataset",
)
_add(
    reconcile,
    "Score what lacks scores, or has old ones.",
    ("spanwise store reconcile --dry-run", "what would be scored, and why"),
    ("spanwise store reconcile", "the traces in the store"),
    ("spanwise store reconcile exported/*.jsonl --since 1d", "the traces in files of a Collector"),
    ("spanwise store reconcile --write-back", "and give the scores to the sinks of the settings"),
    group=store,
)
_add(
    prune,
    "Delete old runs now.",
    ("spanwise store prune", "what is older than 7 days, or past 1 GB"),
    ("spanwise store prune --max-age 1d --max-size 100MB", "with other limits"),
    group=store,
)
_add(
    audit,
    "Say how far a judge can be trusted.",
    ("spanwise judge audit traces/ --judge goal --labels labels.csv", "against people's labels"),
    ("spanwise judge audit traces/ --judge tool_choice --retests 3", "against rules and itself"),
    group=judge,
)


def main() -> int:
    """Run the command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A character that the terminal's encoding lacks is escaped, not fatal.
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="spanwise")
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else FINE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  (what no verb caught is a bug too)
        code = tell_bug(error)
    else:
        code = FINE
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout.fileno())
    return code
