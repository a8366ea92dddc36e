"""The examples of pydantic-evals run as their first lines say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def example(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """An example, run to its end."""
    return subprocess.run(
        [sys.executable, *command], cwd=root, capture_output=True, text=True, check=False, timeout=100, encoding="utf-8"
    )


def test_a_dataset(root: Path, require: Callable[[str], str]) -> None:
    """The dataset is evaluated with ours and theirs side by side, and the repeats find the flaky case."""
    require("pydantic_ai")
    done = example(root, "examples/pydantic_evals_dataset.py")
    assert (0, "") == (done.returncode, done.stderr)
    lines = [" ".join(line.replace("│", " ").split()) for line in done.stdout.splitlines()]
    assert any("tool_selection: 1.00" in line for line in lines)
    assert any("MaxToolCalls: ✔" in line for line in lines)
    assert ["yes", "no", "no"] == [
        line.split()[-1] for line in lines if line.startswith(("two cities 3", "one city 3", "small talk 3"))
    ]


def test_a_replay(root: Path, require: Callable[[str], str]) -> None:
    """Stored runs of another framework are asked by evaluators of both sides."""
    require("pydantic_evals")
    done = example(root, "examples/replay_stored_traces.py", "tests/recordings/langgraph__openinference.json")
    assert (0, "") == (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    assert "  MaxToolCalls: False | 4 tool call(s), budget=3" in lines
    assert "  a call failed: True | " in lines
    assert any(line.startswith("  redundancy: 0.75 | 1 of 4 tool calls repeat an earlier one.") for line in lines)
