"""A provider's stand-in in the environment of the judges, and runs for them to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from spanwise.judges import Panel, desk
from spanwise.judges.panel import MODEL_VARIABLE
from tests.judges.standin import MODEL, Standin, serve
from tests.loops import no_loop_is_left

__all__ = ["no_loop_is_left"]


@pytest.fixture
def standin(require: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    """A stand-in that judges ask when they ask OpenAI; their connections are closed before it stops."""
    require("pydantic_ai")
    require("openai")
    with serve() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        monkeypatch.delenv(MODEL_VARIABLE, raising=False)
        yield running
        desk.close()


@pytest.fixture
def panel() -> Panel:
    """A panel of one model, which tries again once and waits little."""
    return Panel(models=(MODEL,), retries=1, timeout_s=5.0, deadline_s=20.0)
