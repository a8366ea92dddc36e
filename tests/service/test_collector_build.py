"""`scripts/collector` finds what it built, and says what it needs where it cannot build."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import yaml

TOOLS = ("bash", "env", "dirname", "sha256sum", "shasum", "cut", "sed", "mkdir")


def run(root: Path, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The script in a home without a Collector, on a machine without Go."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    for name in TOOLS:
        if (found := shutil.which(name)) is not None and not (tools / name).exists():
            (tools / name).symlink_to(found)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [str(root / "scripts" / "collector"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)


def test_find_builds_nothing(root: Path, tmp_path: Path) -> None:
    """`--find` leaves with 1, says nothing and makes nothing where there is no Collector."""
    done = run(root, tmp_path, "--find")
    assert (1, "", "") == (done.returncode, done.stdout, done.stderr)
    assert not (tmp_path / "cache").exists()


def test_without_go(root: Path, tmp_path: Path) -> None:
    """Without Go it leaves with 1 and one sentence that says where Go is had."""
    done = run(root, tmp_path)
    assert (1, "") == (done.returncode, done.stdout)
    assert (
        "scripts/collector: Go is not installed, and builds the Collector; install it (https://go.dev/dl)\n"
        == done.stderr
    )


def test_versions_are_pinned(root: Path) -> None:
    """Every part of the Collector, and its builder, has an exact version."""
    text = (root / "collector" / "manifest.yaml").read_text(encoding="utf-8")
    manifest = yaml.safe_load(text)
    parts = [part["gomod"] for name, found in manifest.items() if name != "dist" for part in found]
    assert parts
    assert [] == [part for part in parts if not re.fullmatch(r"\S+ v\d+\.\d+\.\d+", part)]
    assert re.search(r"^# builder: \S+@v\d+\.\d+\.\d+$", text, re.MULTILINE)
