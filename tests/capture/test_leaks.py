"""Memory does not grow with the number of traces that a live app makes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

TRACES = 5000
MOST_EACH = 30
# In a process of its own: what other tests left behind would listen, and remember.
CODE = """
import gc, json, sys, tracemalloc
import leaks_live

held = {}

def mark(percent):
    gc.collect()
    held[percent] = tracemalloc.get_traced_memory()[0]

tracemalloc.start(1)
stats = leaks_live.run(int(sys.argv[1]), mark, suite=["latency"]).stats()
print(json.dumps({"grown": held[100] - held[50], "refused": sorted(stats.refused)}))
"""


def test_memory_is_constant(root: Path) -> None:
    """Half of the traces, whole ones and others, leave no more behind than what bounded memories still take up."""
    command = [sys.executable, "-c", CODE, str(TRACES)]
    done = subprocess.run(command, cwd=root / "scripts", capture_output=True, text=True, check=True, timeout=110)
    told = json.loads(done.stdout.splitlines()[-1])
    assert ["spans_per_trace", "unfinished"] == told["refused"]
    assert told["grown"] < MOST_EACH * TRACES / 2
