"""What cog writes into the pages: the command line as it describes itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import cog
import typer

from spanwise.cli.main import app


def verbs() -> None:
    """Write a section for each verb: what it does, and its arguments and options."""
    for name, command in _commands(typer.main.get_command(app)):
        cog.outl(f"\n## `spanwise {name}`\n")
        cog.outl(inspect.cleandoc(command.help or "").replace("\b\n", ""))
        rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            cog.outl("\n| parameter | default | meaning |\n|---|---|---|")
            cog.outl("\n".join(rows))
        examples = inspect.cleandoc((command.epilog or "").replace("\b\n", "").removeprefix("Examples:\n"))
        if examples:
            cog.outl(f"\n```console\n{examples}\n```")


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    commands = getattr(group, "commands", None)
    if commands is None:
        yield prefix, group.load()
        return
    for name in sorted(commands):
        yield from _commands(commands[name], f"{prefix} {name}".strip())


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{(parameter.metavar or parameter.name).upper()}`"
    else:
        name = ", ".join(f"`{spelling}`" for spelling in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    shown = "" if default in (None, False, (), []) or callable(default) else f"`{getattr(default, 'value', default)}`"
    if getattr(parameter, "required", False):
        shown = "required"
    text = (parameter.help or "").replace("\n", " ").replace("|", "\\|")
    return f"| {name} | {shown} | {text} |"
