"""What libraries leave behind when they run coroutines for callers that wait."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_loop_is_left() -> Iterator[None]:
    """Close the event loop of the thread, which synchronous calls of pydantic-ai leave open for others to find."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loop = asyncio.get_event_loop()
        except RuntimeError:
            return
    if not loop.is_running():
        loop.close()
    asyncio.set_event_loop(None)
