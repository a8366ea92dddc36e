"""Sinks for the tests of our own OTLP delivery, and what a server has of their scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from spanwise.sinks.otlp import OtlpSink, Pace
from tests.sinks.otlp_server import OtlpServer

FAST = Pace(linger_s=0.02, first_retry_s=0.02, longest_retry_s=0.1, denied_retry_s=0.2, timeout_s=1.0)


def sink_to(server: OtlpServer, outbox: Path | None, **more: Any) -> OtlpSink:
    """A sink in a hurry."""
    return OtlpSink(**{"endpoint": server.url, "pace": FAST, "outbox": outbox, **more})


def scores_at(server: OtlpServer) -> Counter[tuple[str, int]]:
    """How often each score is there, by its id and revision."""
    return Counter(
        (str(one.attributes["spanwise.score.id"]), int(str(one.attributes["spanwise.score.revision"])))
        for one in server.received.logs
    )


def values_at(server: OtlpServer) -> dict[str, object]:
    """The values by the scores' names."""
    return {
        str(one.attributes["gen_ai.evaluation.name"]): one.attributes.get("gen_ai.evaluation.score.value")
        for one in server.received.logs
    }
