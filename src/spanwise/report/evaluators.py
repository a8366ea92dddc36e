"""Evaluators as they describe themselves."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.judges import Judge
from spanwise.report.escapes import visible
from spanwise.report.terminal import print_table

_FILLED = ("checks", "thresholds")
"""What a judge has from the settings, whatever it is given."""
_JUDGES = (
    "Judges ask a language model. They run only where they are named: spanwise score --evaluator NAME, or settings."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of an evaluator; `default` is as written in Python, empty where one must be given."""

    name: str
    type: str
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An evaluator: the question that it answers, what its value is, its parameters, and where it comes from.

    `kind` is `judge` where a model is asked: those run only where they are named. `problem` says why one of another
    package cannot be loaded.
    """

    name: str
    question: str = ""
    value: str = ""
    parameters: tuple[Parameter, ...] = ()
    origin: str = "built-in"
    problem: str = ""
    kind: Literal["evaluator", "judge"] = "evaluator"

    def to_json(self) -> dict[str, object]:
        """The description as JSON spells it."""
        return dataclasses.asdict(self)


def describe(name: str, make: Callable[..., object], *, origin: str = "built-in") -> Described:
    """What an evaluator's module and class say of it: the first line of each docstring.

    A value that is an evaluator already is described by what it says of itself.
    """
    kind: object = make if hasattr(make, "__qualname__") else type(make)
    module = sys.modules.get(getattr(kind, "__module__", ""))
    parameters = _parameters(make) if isinstance(make, type) else ()
    judge = _judge(make)
    return Described(
        name=name,
        question=judge.question if judge else _first_line(inspect.getdoc(module)),
        value=_first_line(inspect.getdoc(kind)),
        parameters=tuple(one for one in parameters if not judge or one.name not in _FILLED),
        origin=origin,
        kind="judge" if judge else "evaluator",
    )


def _judge(make: object) -> type[Judge] | None:
    kind = make if isinstance(make, type) else type(make)
    return kind if issubclass(kind, Judge) else None


def broken(name: str, *, origin: str, problem: str) -> Described:
    """An evaluator of another package that cannot be loaded."""
    return Described(name=name, origin=origin, problem=problem)


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]


def _parameters(make: Callable[..., object]) -> tuple[Parameter, ...]:
    held = {field.name: field for field in dataclasses.fields(make)} if dataclasses.is_dataclass(make) else {}
    try:
        signature = inspect.signature(cast("Callable[..., object]", make))
    except (ValueError, TypeError):  # a class without a signature
        return ()
    return tuple(
        Parameter(
            name=parameter.name,
            type="" if parameter.annotation is parameter.empty else str(parameter.annotation),
            default=_default(parameter, held.get(parameter.name)),
        )
        for parameter in signature.parameters.values()
        if not held or parameter.name in held
    )


def _default(parameter: inspect.Parameter, field: dataclasses.Field[object] | None) -> str:
    if parameter.default is parameter.empty:
        return ""
    if field is not None and field.default_factory is not dataclasses.MISSING:
        made = field.default_factory()
        return repr(dict(cast("Mapping[object, object]", made)) if isinstance(made, Mapping) else made)
    return repr(parameter.default)


def show_evaluators(to: Console, found: Iterable[Described]) -> None:
    """Print evaluators with questions and parameters, and where those of other packages come from; then the judges."""
    groups: dict[str, list[Described]] = {"evaluator": [], "judge": []}
    for one in found:
        groups[one.kind].append(one)
    _show(to, groups["evaluator"], "evaluator")
    if groups["judge"]:
        to.print(Text(_JUDGES))
        _show(to, groups["judge"], "judge")


def _show(to: Console, found: Iterable[Described], kind: str) -> None:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim", show_lines=True)
    table.add_column(kind, no_wrap=True)
    table.add_column("question and value", overflow="fold", ratio=1)
    table.add_column("parameters", overflow="fold")
    for one in found:
        text = Text.assemble(visible(one.question), "\n", (visible(one.value), "dim"))
        if one.problem:
            text = Text(f"cannot be loaded: {visible(one.problem)}", style="bold red")
        if one.origin != "built-in":
            text.append(f"\nfrom {visible(one.origin)}", style="italic")
        parameters = "\n".join(
            visible(f"{parameter.name}: {parameter.type}" + (f" = {parameter.default}" if parameter.default else ""))
            for parameter in one.parameters
        )
        table.add_row(
            Text(visible(one.name), style="bold"),
            text,
            Text(parameters or "none", style="" if parameters else "dim"),
        )
    print_table(to, table)
