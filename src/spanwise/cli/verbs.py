"""The verbs of the command, one entry each: what lists and helps say of them, and where they are.

A verb's module is loaded when the verb is asked for, with all that it needs; a list of verbs loads none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import TypeVar, cast

import typer
from typer.core import TyperCommand

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb: its name, with its group before it; the path of its function; a line for the list; examples."""

    name: str
    path: str
    brief: str
    examples: tuple[tuple[str, str], ...]

    def load(self) -> TyperCommand:
        """The verb as a command, with its arguments, options and help."""
        from spanwise.cli.guard import guarded

        module, _, function = self.path.partition(":")
        run = cast("Callable[..., int]", getattr(import_module(module), function))
        alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        alone.command(self.name.split()[-1], epilog=self._epilog(), context_settings=HELP)(guarded(run))
        command = typer.main.get_command(alone)
        assert isinstance(command, TyperCommand)
        return command

    def _epilog(self) -> str:
        wide = max(len(command) for command, _ in self.examples)
        lines = "\n".join(f"  {command.ljust(wide)}  {text}" for command, text in self.examples)
        return f"\b\nExamples:\n{lines}"


def _by_loaded(method: F) -> F:
    """The method of a command, done by the one that a deferred one stands for."""

    @wraps(method)
    def done(self: Deferred, *args: object, **kwargs: object) -> object:
        return method(self.load(), *args, **kwargs)

    return cast("F", done)


class Deferred(TyperCommand):
    """Stands for a verb in the list: of its own it has name and brief, and its callback loads the verb."""

    def load(self) -> TyperCommand:
        """The command of the verb."""
        assert self.callback is not None
        return cast("TyperCommand", self.callback())

    # Whatever is done with a command, parsing its arguments or showing its help, begins with its context.
    make_context = _by_loaded(TyperCommand.make_context)


VERBS = (
    Verb(
        name="inspect",
        path="spanwise.cli.inspect:inspect",
        brief="Show the runs in recorded spans.",
        examples=(
            ("spanwise inspect traces.json", "the runs in a file"),
            ("spanwise inspect traces/ --no-content", "without what people and models wrote"),
            ("spanwise inspect - --format json < traces.json", "one JSON object per run"),
        ),
    ),
    Verb(
        name="score",
        path="spanwise.cli.score:score",
        brief="Score the runs in recorded spans, and gate on it.",
        examples=(
            ("spanwise score traces/", "all scores of all runs"),
            ("spanwise score traces/ --format json", "one JSON object per run and line"),
            ("spanwise score traces/ --fail-under redundancy=0.9", "exit 1 when a run scores less"),
            ("spanwise score traces/ --evaluator recovery --fail-on alert", "exit 1 on an alert"),
        ),
    ),
    Verb(
        name="ground",
        path="spanwise.cli.ground:ground",
        brief="Check a text against other texts.",
        examples=(
            ("spanwise ground --answer answer.md --evidence a.txt --evidence b.json", "each claim"),
            ("spanwise ground --answer - --evidence page.txt < answer.md", "from standard input"),
            ("spanwise ground --answer a.md --evidence b.txt --format json", "one JSON object"),
        ),
    ),
    Verb(
        name="evaluators",
        path="spanwise.cli.evaluators:evaluators",
        brief="List what can be scored.",
        examples=(
            ("spanwise evaluators", "a table"),
            ("spanwise evaluators --format json", "one JSON object per evaluator"),
        ),
    ),
    Verb(
        name="doctor",
        path="spanwise.cli.doctor:doctor",
        brief="Say what an app lacks to leave good spans.",
        examples=(("spanwise doctor", "in the environment of your app"),),
    ),
    Verb(
        name="demo",
        path="spanwise.cli.demo:demo",
        brief="Run a small real agent and score it.",
        examples=(
            ("spanwise demo", "run it"),
            ("spanwise demo --save demo.json", "and keep its spans, to try other verbs on"),
        ),
    ),
    Verb(
        name="serve",
        path="spanwise.cli.serve:serve",
        brief="Take spans by OTLP, score them, send the scores on.",
        examples=(
            ("spanwise serve", "on 127.0.0.1:4317 and 127.0.0.1:4318"),
            ("spanwise serve --scores-to http://127.0.0.1:4319", "scores to a Collector"),
            ("spanwise serve --grpc 0.0.0.0:4317 --token-file token", "for other machines"),
        ),
    ),
    Verb(
        name="store ls",
        path="spanwise.cli.store:list_runs",
        brief="List the runs that were kept.",
        examples=(
            ("spanwise store ls", "the last 20"),
            ("spanwise store ls --label alert --since 1d", "what went wrong today"),
            ("spanwise store ls --score redundancy --below 0.9", "by one score"),
            ("spanwise store ls --session s-17 --format json", "one JSON object per run"),
        ),
    ),
    Verb(
        name="store show",
        path="spanwise.cli.store:show",
        brief="Show the runs of a trace in full.",
        examples=(
            ("spanwise store show 4bf92f35", "by the beginning of the trace's id"),
            ("spanwise store show 4bf92f35 --format json", "as spanwise score tells them"),
        ),
    ),
    Verb(
        name="store to-dataset",
        path="spanwise.cli.dataset:to_dataset",
        brief="Make a pydantic-evals dataset of runs.",
        examples=(
            ("spanwise store to-dataset -o cases.yaml", "of the last 20 runs"),
            ("spanwise store to-dataset --label alert --since 1d -o cases.yaml", "of what went wrong today"),
        ),
    ),
    Verb(
        name="store reconcile",
        path="spanwise.cli.reconcile:reconcile",
        brief="Score what lacks scores, or has old ones.",
        examples=(
            ("spanwise store reconcile --dry-run", "what would be scored, and why"),
            ("spanwise store reconcile", "the traces in the store"),
            ("spanwise store reconcile exported/*.jsonl --since 1d", "the traces in files of a Collector"),
            ("spanwise store reconcile --write-back", "and give the scores to the sinks of the settings"),
        ),
    ),
    Verb(
        name="store prune",
        path="spanwise.cli.store:prune",
        brief="Delete old runs now.",
        examples=(
            ("spanwise store prune", "what is older than 7 days, or past 1 GB"),
            ("spanwise store prune --max-age 1d --max-size 100MB", "with other limits"),
        ),
    ),
    Verb(
        name="judge audit",
        path="spanwise.cli.judge:audit",
        brief="Say how far a judge can be trusted.",
        examples=(
            ("spanwise judge audit traces/ --judge goal --labels labels.csv", "against people's labels"),
            ("spanwise judge audit traces/ --judge tool_choice --retests 3", "against rules and itself"),
        ),
    ),
)
