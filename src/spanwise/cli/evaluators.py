"""`spanwise evaluators`: what can be scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from spanwise import extensions
from spanwise.catalog import JUDGES, PROFILES
from spanwise.cli.guard import FINE
from spanwise.cli.options import AsTable, TableFormat
from spanwise.cli.output import Output
from spanwise.errors import SpecError
from spanwise.evaluators.overall import Overall
from spanwise.report.encode import to_line
from spanwise.report.evaluators import Described, broken, describe, show_evaluators
from spanwise.selection import OVERALL


def evaluators(
    format_: AsTable = TableFormat.TABLE,
    profile: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The evaluators of this profile: default or classic.")
    ] = "default",
) -> int:
    """List the evaluators: the question that each answers, what its value is, its parameters and their defaults.

    Those of other packages follow, with the package's name, and the judges, which ask a language model, in a group of
    their own; both run only where they are named.
    """
    if profile not in PROFILES:
        raise SpecError(f"read {profile!r}, expected a profile: {', '.join(PROFILES)}")
    with Output() as out:
        found = list(_described(profile))
        if format_ is TableFormat.JSON:
            for one in found:
                out.line(to_line(one.to_json()))
        else:
            out.show(lambda to: show_evaluators(to, found))
    return FINE


def _described(profile: str) -> Iterator[Described]:
    own = PROFILES[profile].evaluators
    for name, make in own.items():
        yield describe(name, make)
    yield describe(OVERALL, Overall)
    for name, make in JUDGES.items():
        yield describe(name, make)
    for one in extensions.listed():
        hidden = f"; hidden by the built-in {one.name}" if one.name in own else ""
        if callable(one.made):
            yield describe(one.name, one.made, origin=f"{one.origin}{hidden}")
        else:
            yield broken(one.name, origin=f"{one.origin}{hidden}", problem=one.problem)
