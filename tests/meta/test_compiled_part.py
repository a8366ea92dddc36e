"""The compiled part: built where there is a compiler, left out where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

COMPILE = "import hatch_build; print(hatch_build._compiled())"


@pytest.fixture
def environment() -> Mapping[str, str]:
    """This process's environment, without what says how to build."""
    return {name: value for name, value in os.environ.items() if name not in {"SPANWISE_PURE", "CC"}}


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    """The sources of the compiled part and what builds it, elsewhere."""
    shutil.copy(root / "hatch_build.py", tmp_path)
    native = tmp_path / "src" / "spanwise" / "native"
    native.mkdir(parents=True)
    for file in (root / "src" / "spanwise" / "native").glob("*.[ch]"):
        shutil.copy(file, native)
    return tmp_path


def compiled(folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What the build hook says there."""
    return subprocess.run(
        [sys.executable, "-c", COMPILE], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


def test_a_compiler_makes_it_once(copied: Path, environment: Mapping[str, str], require: Callable[[str], str]) -> None:
    """The module is made where there is a compiler, without a warning, and kept while its sources are as they were."""
    require("hatchling")
    require("gcc")
    made = Path(compiled(copied, {**environment, "CC": "gcc -Werror"}).stdout.strip())
    assert made.name == f"_core{EXTENSION_SUFFIXES[0]}"
    assert [] == list(made.parent.glob("*.tmp"))
    at = made.stat().st_mtime_ns
    assert (str(made), at) == (compiled(copied, environment).stdout.strip(), made.stat().st_mtime_ns)


def test_sources_that_do_not_compile(
    copied: Path, environment: Mapping[str, str], require: Callable[[str], str]
) -> None:
    """A module of older sources does not stay: it would pass for what these say."""
    require("hatchling")
    require("gcc")
    made = Path(compiled(copied, environment).stdout.strip())
    core = copied / "src" / "spanwise" / "native" / "core.c"
    core.write_text("no C\n", encoding="utf-8")
    os.utime(core, ns=(made.stat().st_mtime_ns + 10**9,) * 2)
    assert "None\n" == compiled(copied, environment).stdout
    assert not made.exists()


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"CC": "false"}, "ended with 1"), ({"CC": "no-such-cc"}, "no-such-cc"), ({"SPANWISE_PURE": "1"}, "is set")],
)
def test_it_is_left_out(
    copied: Path,
    environment: Mapping[str, str],
    require: Callable[[str], str],
    settings: Mapping[str, str],
    why: str,
) -> None:
    """Without a compiler, or on request, the package is built without it, and says why in one line."""
    require("hatchling")
    said = compiled(copied, {**environment, **settings})
    assert "None\n" == said.stdout
    assert said.stderr.startswith("spanwise: built without its compiled part, which only makes it faster: ")
    assert why in said.stderr


def test_a_wheel_without_it_is_for_every_platform(
    root: Path, tmp_path: Path, environment: Mapping[str, str], require: Callable[[str], str]
) -> None:
    """What is built without it says so in its name, and holds no compiled file, whatever lies beside the sources."""
    require("build")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(root)]
    subprocess.run(command, env={**environment, "SPANWISE_PURE": "1"}, capture_output=True, check=True, timeout=100)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [] == [name for name in names if name.endswith((".so", ".c", ".h", ".tmp"))]
    assert "spanwise/native/__init__.py" in names
