"""Results handed to a function."""

from __future__ import annotations

from spanwise.model.result import RunResult
from spanwise.sinks.callback import CallbackSink
from tests.sinks.results import result


def test_a_callback() -> None:
    """A function gets each result."""
    seen: list[RunResult] = []
    given = result()
    sink = CallbackSink(seen.append)
    sink.emit([given, given])
    sink.close()
    assert [given, given] == seen
