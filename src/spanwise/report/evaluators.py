"""The built-in evaluators as they describe themselves."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of an evaluator; `default` is as written in Python, empty where one must be given."""

    name: str
    type: str
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An evaluator: the question that it answers, what its value is, and its parameters."""

    name: str
    question: str
    value: str
    parameters: tuple[Parameter, ...]

    def to_json(self) -> dict[str, object]:
        """The description as JSON spells it."""
        return dataclasses.asdict(self)


def describe(name: str, make: Callable[..., object]) -> Described:
    """What an evaluator's module and class say of it: the first line of each docstring."""
    module = sys.modules.get(getattr(make, "__module__", ""))
    return Described(
        name=name,
        question=_first_line(inspect.getdoc(module)),
        value=_first_line(inspect.getdoc(make)),
        parameters=_parameters(make),
    )


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]


def _parameters(make: Callable[..., object]) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            name=parameter.name,
            type="" if parameter.annotation is parameter.empty else str(parameter.annotation),
            default="" if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in inspect.signature(make).parameters.values()
    )


def show_evaluators(to: Console, table: Mapping[str, Callable[..., object]]) -> None:
    """Print the evaluators with their questions and parameters."""
    shown = Table(box=box.ROUNDED, border_style="dim", header_style="dim", show_lines=True)
    shown.add_column("evaluator", no_wrap=True)
    shown.add_column("question and value", overflow="fold", ratio=1)
    shown.add_column("parameters", overflow="fold")
    for name, make in table.items():
        found = describe(name, make)
        text = Text.assemble(found.question, "\n", (found.value, "dim"))
        parameters = "\n".join(f"{one.name}: {one.type} = {one.default}" for one in found.parameters)
        shown.add_row(Text(name, style="bold"), text, Text(parameters or "none", style="" if parameters else "dim"))
    to.print(shown)
