"""The tests of the sources leave out a run on an installed package, which has no sources to test."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_THE_PACKAGE = ("test_entry.py", "test_import.py", "test_public_api.py")

if "SPANWISE_EXTRAS" in os.environ:
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name not in OF_THE_PACKAGE]


def list_files() -> list[Path]:
    """The files of the project: what git tracks, or would if it were told of it."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


@pytest.fixture(scope="session")
def files() -> Sequence[Path]:
    """Every file of the project."""
    return list_files()


@pytest.fixture(scope="session")
def python_files(files: Sequence[Path]) -> Sequence[Path]:
    """Every Python file of the project."""
    return [path for path in files if path.suffix == ".py"]
