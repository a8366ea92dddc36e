"""The command `spanwise`: its verbs and their help."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.guard import FINE, INTERNAL, INTERRUPTED, complain, silence, tell_bug
from spanwise.cli.verbs import HELP, VERBS, Deferred

app = typer.Typer(
    help="How well did your AI agent work? Spanwise scores it from the OpenTelemetry spans that it left.",
    epilog="Exit codes: 0 fine, 1 gate failed, 2 unusable input, 3 infrastructure or internal error, 130 interrupted.",
    context_settings=HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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


store = typer.Typer(help="What the store has kept.", context_settings=HELP, rich_markup_mode=None, no_args_is_help=True)
app.add_typer(store, name="store", short_help="Look into the store of runs.")
judge = typer.Typer(
    help="Judges that ask a language model.", context_settings=HELP, rich_markup_mode=None, no_args_is_help=True
)
app.add_typer(judge, name="judge", short_help="Find out how far judges can be trusted.")


_GROUPS = {"": app, "store": store, "judge": judge}
for verb in VERBS:
    group, _, name = verb.name.rpartition(" ")
    _GROUPS[group].command(name, cls=Deferred, short_help=verb.brief)(verb.load)


def main() -> int:
    """Run the command line; the exit code."""
    _reopen()
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
    except ModuleNotFoundError:
        raise  # of a verb's module; whoever began this knows which packages belong to the extra
    except OSError as error:  # of help or the version: verbs tell of what they cannot write themselves
        code = _unwritten(error, FINE)
    except Exception as error:  # noqa: BLE001  (what no verb caught is a bug too)
        code = tell_bug(error)
    else:
        code = FINE
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error, code)
    return code


def _unwritten(error: OSError, code: int) -> int:
    """The exit code where standard output takes no more; a reader who left is no error."""
    silence(sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return code
    complain(f"error: standard output: cannot be written: {error.strerror}")
    return INTERNAL


def _reopen() -> None:
    """What is written to a standard stream that was closed (`>&-`) goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for as long as the process
