"""What the tests of the service share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service import collector


@pytest.fixture(scope="session")
def otelcol() -> Path:
    """A real Collector, found or built by scripts/collector; skips with the reason where there is none."""
    found = collector.binary()
    if isinstance(found, str):
        pytest.skip(found)
    return found
