"""`import spanwise` is cheap: it loads no extra, and takes little more than the OpenTelemetry SDK itself."""

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

RATIO = 1.5
ROUNDS = 11
# The names that the design promises, and the rest of what the extras bring.
HEAVY = (
    "alembic",
    "genai_prices",
    "google.protobuf",
    "grpc",
    "langfuse",
    "logfire",
    "opentelemetry.proto",
    "pydantic",
    "pydantic_ai",
    "pydantic_evals",
    "re2",
    "rich",
    "sqlalchemy",
    "typer",
    "yaml",
    "zstandard",
)
LOADED = f"import sys, spanwise; print(*[name for name in {HEAVY!r} if name in sys.modules])"
# Processor time: what else runs on the machine does not count.
TIMED = "import time; t = time.process_time_ns(); import {module}; print(time.process_time_ns() - t)"


def run(code: str, environment: Mapping[str, str]) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The environment of a fresh interpreter that keeps its bytecode, as an installed package has it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV", "OTEL_"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(tmp_path)}


def test_import_loads_no_extra(environment: Mapping[str, str]) -> None:
    """No package of an extra, and none of the frameworks, is loaded by `import spanwise`."""
    assert "" == run(LOADED, environment)


def test_import_is_cheap(environment: Mapping[str, str]) -> None:
    """`import spanwise` takes at most 1.5 times as long as the SDK's tracing, as a median of interleaved rounds."""
    ours, theirs = (TIMED.format(module=module) for module in ("spanwise", "opentelemetry.sdk.trace"))
    for code in (ours, theirs):
        run(code, environment)
    ratios = [int(run(ours, environment)) / int(run(theirs, environment)) for _ in range(ROUNDS)]
    assert RATIO >= statistics.median(ratios)
