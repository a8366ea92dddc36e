"""Memory does not grow with the number of traces that a live app makes."""

import gc
import importlib.util
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest

TRACES = 5000
MOST_EACH = 30


@pytest.fixture
def leaks(root: Path) -> ModuleType:
    """What measures leaks at full length."""
    spec = importlib.util.spec_from_file_location("leaks_live", root / "scripts" / "leaks_live.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_memory_is_constant(leaks: ModuleType) -> None:
    """Half of the traces, whole ones and others, leave no more behind than what bounded memories still take up."""
    held: dict[int, int] = {}

    def mark(percent: int) -> None:
        gc.collect()
        held[percent] = tracemalloc.get_traced_memory()[0]

    tracemalloc.start(1)
    stats = leaks.run(TRACES, mark, suite=["latency"]).stats()
    tracemalloc.stop()
    assert {"spans_per_trace", "unfinished"} == set(stats.refused)
    assert held[100] - held[50] < MOST_EACH * TRACES / 2
