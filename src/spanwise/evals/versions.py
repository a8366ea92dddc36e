"""Which versions of pydantic-evals can be served."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from spanwise.errors import SpecError

PACKAGE = "pydantic-evals"
LOWEST = (2, 4)
"""The first version whose spans have a status and whose evaluators read tool calls and model requests."""
_INSTALL = "pip install 'spanwise[pydantic-evals]'"


def require(installed: Callable[[str], str] = version) -> None:
    """Refuse an environment whose pydantic-evals is missing or too old.

    Raises:
        SpecError: It is; the message names the version found and the line that installs one that is served.
    """
    try:
        found = installed(PACKAGE)
    except PackageNotFoundError:
        raise SpecError(f"this needs {PACKAGE}; install it with: {_INSTALL}") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < LOWEST:
        least = ".".join(map(str, LOWEST))
        raise SpecError(f"{PACKAGE} {found} cannot be served, {least} or later is needed; install it with: {_INSTALL}")
