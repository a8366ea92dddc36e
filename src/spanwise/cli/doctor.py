"""`spanwise doctor`: what is installed and configured, and what an instrumented app is missing."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from opentelemetry import trace

from spanwise.cli.guard import FINE
from spanwise.cli.options import AsTable, TableFormat
from spanwise.cli.output import Output
from spanwise.native import core
from spanwise.report.doctor import Host, show_doctor, to_doctor
from spanwise.report.encode import to_line
from spanwise.report.environment import look, normal


def doctor(format_: AsTable = TableFormat.TABLE) -> int:
    """Say what is installed and configured in this environment, and what an instrumented app would be missing.

    Run it in the environment of the app. Nothing is sent anywhere, and no value of a variable is shown.
    """
    found = look(
        installed={normal(one.name): one.version for one in metadata.distributions() if one.name},
        environ=os.environ,
        requirements=tuple(metadata.requires("spanwise") or ()),
    )
    provider = type(trace.get_tracer_provider())
    host = Host(
        spanwise=metadata.version("spanwise"),
        python=platform.python_version(),
        platform=platform.platform(),
        compiled=core is not None,
        provider=f"{provider.__module__}.{provider.__qualname__}",
    )
    with Output() as out:
        if format_ is TableFormat.JSON:
            out.line(to_line(to_doctor(host, found)))
        else:
            out.show(lambda to: show_doctor(to, host, found))
    return FINE
