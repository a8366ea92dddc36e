"""The environment that holds the frameworks, the stand-in for their models, and how one of them is driven.

The tests here run each framework for real, in a process of its own: `.build/frameworks` is made from
requirements/frameworks.txt when it is not there. Where it cannot be made, the tests are skipped and say so.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spanwise.model.trace import Run
from spanwise.offline.reading import Reading

ROOT = Path(__file__).resolve().parents[2]
INSTALL_S = 900
RUN_S = 90

# On an installed package there are no sources for the other environment to run.
if "SPANWISE_EXTRAS" in os.environ:
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of the folder may have to install the frameworks."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(INSTALL_S + RUN_S))


@pytest.fixture(scope="session")
def frameworks_python() -> str:
    """The interpreter of the environment with the frameworks."""
    folder = ROOT / ".build" / "frameworks"
    folder.parent.mkdir(exist_ok=True)
    command = ["scripts/venv", str(folder), "requirements/frameworks.txt", "--no-project"]
    with (folder.parent / "frameworks.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=INSTALL_S, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"needs {folder.name!r}, an environment that could not be made in {INSTALL_S} s")
    if made.returncode:
        pytest.skip(f"needs {folder.name!r}, an environment that could not be made: {made.stderr[-500:]}")
    return str(folder / "bin" / "python")


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The base URL of a model's stand-in, which plays the recorded scenario."""
    command = [sys.executable, "scripts/record/standin.py", "--latency-ms", "1", "--lifetime-s", str(2 * INSTALL_S)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """What came of one framework's run."""

    runs: list[Run]
    told: dict[str, Any]

    @property
    def did(self) -> list[str]:
        """What was done."""
        return self.told["did"]

    @property
    def missing(self) -> list[str]:
        """What a developer would have to do."""
        return self.told["missing"]


def run_script(python: str, script: str, *arguments: str, home: Path, **variables: str) -> dict[str, Any]:
    """What a script of this folder prints as JSON in its last line, run with the project's sources."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
    env = kept | {
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("src", "scripts/record")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_DISABLE_VERSION_CHECK": "true",
        **variables,
    }
    command = [python, str(Path(__file__).parent / script), *arguments]
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=RUN_S, check=False)
    assert 0 == done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def drive(frameworks_python: str, model_url: str, tmp_path: Path) -> Callable[..., Driven]:
    """Runs a framework's sample agent: turned on, run, undone, run again."""

    def driven(framework: str, *options: str, **variables: str) -> Driven:
        out = tmp_path / "spans.json"
        told = run_script(
            frameworks_python, "drive.py", framework, model_url, str(out), *options, home=tmp_path, **variables
        )
        runs = [run for trace in Reading(paths=[str(out)]).traces_of() for run in trace.runs] if told["spans"] else []
        return Driven(runs=runs, told=told)

    return driven
