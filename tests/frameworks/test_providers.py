"""Beside Logfire, Langfuse, Phoenix and a provider that somebody else sets, whichever came first: neither is harmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import run_script

ATTACHED = "spanwise INFO: spanwise: attached to the provider that the app has set"
AGAIN = "spanwise INFO: spanwise: attached again, to the app's provider as it was configured anew"


def scored(told: dict[str, Any]) -> list[str]:
    """The agents whose runs were scored, each of which called the one tool."""
    assert {"login"} == {name for _, calls in told["scored"] for name in calls}
    return [agent for agent, _ in told["scored"]]


@pytest.mark.parametrize("vendor", ["logfire", "langfuse", "phoenix", "apm"])
@pytest.mark.parametrize("order", ["theirs", "ours"])
def test_whichever_came_first(frameworks_python: str, tmp_path: Path, vendor: str, order: str) -> None:
    """Every run is scored once and reaches the vendor whole, and flushing afterwards does not wait for us."""
    told = run_script(frameworks_python, "drive_providers.py", vendor, order, home=tmp_path)
    expected = ["between", "early", "late"] if order == "ours" else ["early", "late"]
    if vendor == "logfire":  # its own span around a run, and a second `configure`
        expected += ["own", "again"]
    assert [*(["alone"] if order == "ours" else []), *expected] == scored(told)
    whole = sorted(f"{kind} {name}" for name in expected for kind in ("execute_tool", "invoke_agent"))
    assert [*whole, *(["theirs"] if vendor == "logfire" else [])] == told["exported"]
    assert ({}, True, 2) == (told["refused"], told["flush_s"] < 2, told["after"])
    assert len(told["scored"]) == told["results"]


@pytest.mark.parametrize("vendor", ["logfire", "langfuse", "phoenix", "apm"])
def test_what_is_said_when_ours_came_first(frameworks_python: str, tmp_path: Path, vendor: str) -> None:
    """A log line says that we went along with the app's provider, and OpenTelemetry refuses nobody's."""
    lines = run_script(frameworks_python, "drive_providers.py", vendor, "ours", home=tmp_path)["lines"]
    assert "spanwise INFO: spanwise: attached to a new global provider, since the app has none yet" in lines
    assert [ATTACHED, *([AGAIN] if vendor == "logfire" else [])] == [
        line for line in lines if line in {ATTACHED, AGAIN}
    ]
    assert [] == [line for line in lines if not line.startswith("spanwise INFO")]
