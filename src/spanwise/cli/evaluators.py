"""`spanwise evaluators`: what can be scored."""

from __future__ import annotations

from spanwise.catalog import EVALUATORS
from spanwise.cli.guard import FINE
from spanwise.cli.options import AsTable, TableFormat
from spanwise.cli.output import Output
from spanwise.report.encode import to_line
from spanwise.report.evaluators import describe, show_evaluators


def evaluators(format_: AsTable = TableFormat.TABLE) -> int:
    """List the evaluators: the question that each answers, what its value is, its parameters and their defaults."""
    with Output() as out:
        if format_ is TableFormat.JSON:
            for name, make in EVALUATORS.items():
                out.line(to_line(describe(name, make).to_json()))
        else:
            out.show(lambda to: show_evaluators(to, EVALUATORS))
    return FINE
