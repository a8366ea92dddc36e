"""pydantic-evals stays an extra, and a version that cannot be served is refused with its name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from spanwise.errors import SpecError
from spanwise.evals.versions import require

PATHS = """
from spanwise.config import load
from spanwise.evals.foreign import adapting

load(adapt=adapting).only(["spanwise.evaluators.loops:Loops"])
"""


@pytest.mark.parametrize("version", ["2.4.0", "2.62.0", "2.62.0b1", "3.0", "10.1"])
def test_versions_that_are_served(version: str) -> None:
    """The lowest version and every later one are served."""
    require(lambda name: version)


@pytest.mark.parametrize("version", ["0.8.1", "1.107.10", "2.3.0"])
def test_versions_that_are_too_old(version: str) -> None:
    """An older one is refused: what was found, what is needed, and the line that installs it."""
    with pytest.raises(SpecError) as caught:
        require(lambda name: version)
    assert (
        f"pydantic-evals {version} cannot be served, 2.4 or later is needed; "
        "install it with: pip install 'spanwise[pydantic-evals]'"
    ) == str(caught.value)


def test_without_the_package() -> None:
    """Where it is not installed, the line that installs it is told."""

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    with pytest.raises(SpecError, match=r"this needs pydantic-evals; install it with: pip install 'spanwise\["):
        require(absent)


@pytest.mark.parametrize(
    "code",
    [
        "import spanwise",
        "import spanwise.evals",
        "import spanwise.evals.foreign, spanwise.evals.expectations",
        "import spanwise.cli.main",
        "import spanwise; spanwise.score(sys.argv[1])",
        PATHS,
    ],
)
def test_it_is_loaded_when_it_is_used(root: Path, recordings: Path, code: str, require: Callable[[str], str]) -> None:
    """Neither the package nor the command line loads it before one of its evaluators is asked for."""
    if "cli" in code:
        require("typer")
    told = f"import sys\n{code}\nprint('pydantic_evals' in sys.modules, 'pydantic_ai' in sys.modules)"
    command = [sys.executable, "-c", told, str(recordings / "pydantic-ai__builtin.json")]
    places = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command, cwd=root, env=places, capture_output=True, text=True, check=True, timeout=60)
    assert "False False\n" == done.stdout
