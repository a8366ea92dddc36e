"""Each example runs as its first lines say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RECORDING = "tests/recordings/langgraph__openinference.json"


def test_own_evaluator(root: Path) -> None:
    """The evaluator of one's own scores a recording and says why."""
    command = [sys.executable, "examples/own_evaluator.py", RECORDING]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert ("", 0) == (done.stderr, done.returncode)
    assert "scored 1.0 The answer names doc-fr-1, doc-fr-1." in done.stdout
