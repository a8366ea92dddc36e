"""Each example runs as its first lines say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RECORDING = "tests/recordings/langgraph__openinference.json"


def test_own_evaluator(root: Path) -> None:
    """The evaluator of one's own scores a recording and says why."""
    command = [sys.executable, "examples/own_evaluator.py", RECORDING]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert ("", 0) == (done.stderr, done.returncode)
    assert "scored 1.0 The answer names doc-fr-1, doc-fr-1." in done.stdout


def example(root: Path, name: str) -> subprocess.CompletedProcess[str]:
    """An example, run to its end."""
    command = [sys.executable, f"examples/{name}.py"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)


def test_live_pydantic_ai(root: Path, require: Callable[[str], str]) -> None:
    """One line, and the repeated call is told when the run has ended."""
    require("pydantic_ai")
    done = example(root, "live_pydantic_ai")
    assert (0, "18 degrees in both cities.") == (done.returncode, done.stdout.splitlines()[0]), done.stderr
    assert 'redundancy 0.67 | weather was called twice with the same arguments ({"city":"Oslo"})' in done.stdout
    assert done.stderr.startswith("spanwise  forecaster: overall 0.")


def test_live_functions(root: Path) -> None:
    """Plain functions are a run with its calls and its question."""
    done = example(root, "live_functions")
    assert 0 == done.returncode, done.stderr
    assert "['look_up', 'look_up', 'look_up'] Which of Quito and Hanoi is larger?" == done.stdout.splitlines()[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_live_worker(root: Path) -> None:
    """Each worker process scores its own tasks, under their request's ids."""
    done = example(root, "live_worker")
    assert (0, [f"task-{number}: 1 call, overall scored" for number in range(4)]) == (
        done.returncode,
        done.stdout.splitlines(),
    ), done.stderr


def test_rag_grounding(root: Path) -> None:
    """Each sentence of the answer is told with the passage behind it."""
    done = example(root, "rag_grounding")
    assert 0 == done.returncode, done.stderr
    lines = done.stdout.splitlines()
    assert "supported: You can return items within 30 days of delivery." == lines[0]
    assert "contradicted: Shipping to Norway takes 4 days and costs 12 EUR." in lines
    assert "grounding: 0.17" in lines
