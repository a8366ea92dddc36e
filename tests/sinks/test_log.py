"""One log line per run."""

from __future__ import annotations

import logging

import pytest

from spanwise.sinks._line import line_of
from spanwise.sinks.log import LogSink
from tests.sinks.results import result


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The line is logged at INFO under our name."""
    given = result()
    with caplog.at_level(logging.INFO, logger="spanwise"):
        sink = LogSink()
        sink.emit([given])
        sink.close()
    assert [("spanwise", logging.INFO, line_of(given))] == caplog.record_tuples
