"""Spans that are named by what somebody wrote."""

from __future__ import annotations

import pytest

from spanwise.conventions._named_tasks import bare_name
from tests.recordings_io import made

OPENLLMETRY = "opentelemetry.instrumentation.crewai.instrumentation"
LISTENER = "openinference.instrumentation.crewai._event_listener"


@pytest.mark.parametrize(
    ("scope", "name", "told"),
    [
        (OPENLLMETRY, "Find the number of people.task", "task"),
        (OPENLLMETRY, "researcher.agent", "researcher.agent"),
        (LISTENER, "researcher.Find the number of people..execute", "researcher.execute"),
        (LISTENER, "search.run", "search.run"),
        ("app", "nightly.task", "nightly.task"),
    ],
)
def test_bare_names(scope: str, name: str, told: str) -> None:
    """The words of a task are left out of the names that CrewAI's instrumentations make of them, and of no others."""
    assert told == bare_name(made(name, scope=scope, attributes={"graph.node.id": "researcher"}))


def test_a_task_of_nobody() -> None:
    """Where the role is not recorded, the class stands in its place, as in the instrumentation itself."""
    assert "Agent.execute" == bare_name(made("x.Find it.execute", scope=LISTENER))
