"""What the tests' own configuration makes of a skip."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PROBE = """
import pytest

def test_plain():
    assert True

def test_without_a_program(require):
    require("no-such-program")

def test_without_an_extra():
    raise ModuleNotFoundError("No module named 'typer'", name="typer")
"""


@pytest.fixture
def probe(tmp_path: Path, root: Path) -> Path:
    """A project of its own with the same configuration and three tests, also below a folder that needs no extra."""
    for folder in ("cli", "model"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}.py").write_text(PROBE)
    shutil.copy(root / "tests" / "conftest.py", tmp_path / "tests")
    return tmp_path


def outcome(project: Path, folder: str, **environment: str) -> dict[str, int]:
    """How many of the three tests of a folder passed, failed and were skipped."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{folder}"]
    done = subprocess.run(
        command, cwd=project, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=100
    )
    counts = [part.split() for part in done.stdout.splitlines()[-1].partition(" in ")[0].split(", ")]
    return {word: int(number) for number, word in counts}


def test_a_test_without_its_program_is_skipped(probe: Path) -> None:
    """At the desk a missing program skips its test, and a missing package fails it."""
    assert {"failed": 1, "passed": 1, "skipped": 1} == outcome(probe, "cli")


def test_a_skip_fails_where_everything_is_required(probe: Path) -> None:
    """Under SPANWISE_REQUIRE=all the skip is a failure too."""
    assert {"failed": 2, "passed": 1} == outcome(probe, "cli", SPANWISE_REQUIRE="all")


def test_an_extra_that_is_left_out_skips_what_needs_it(probe: Path) -> None:
    """Without the extra, the test that needs it is skipped even where everything else is required."""
    found = outcome(probe, "cli", SPANWISE_REQUIRE="all", SPANWISE_EXTRAS="")
    assert {"failed": 1, "passed": 1, "skipped": 1} == found


def test_the_core_needs_no_extra(probe: Path) -> None:
    """Tests of the core fail when they miss a package of an extra, whatever is installed."""
    assert {"failed": 2, "passed": 1} == outcome(probe, "model", SPANWISE_REQUIRE="all", SPANWISE_EXTRAS="")
