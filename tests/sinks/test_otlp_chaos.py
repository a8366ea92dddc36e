"""No score is lost on the way to an OTLP server, whatever goes wrong, and nobody is kept waiting."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.sinks import otlp_chaos
from tests.sinks.langfuse_making import a_result, five, until
from tests.sinks.otlp_making import scores_at, sink_to
from tests.sinks.otlp_server import Fault, OtlpServer

pytestmark = pytest.mark.once


def test_a_server_that_is_down(tmp_path: Path) -> None:
    """What is scored while the server is away for some seconds arrives when it is back."""
    outcome = otlp_chaos.down_for_a_minute(tmp_path / "out.db", scale=0.03)
    sys.stdout.write(f"{outcome}\n")
    assert outcome.sent > 100
    assert (0, 0) == (outcome.lost, outcome.strange)


@pytest.mark.parametrize("seed", range(3))
def test_everything_fails_half_of_the_time(seed: int, tmp_path: Path) -> None:
    """Two revisions of each run, and every second request fails in some way: all scores of both are there."""
    outcome = otlp_chaos.everything_fails(tmp_path / "out.db", seed=seed, runs=20)
    sys.stdout.write(f"{outcome}\n")
    assert (200, 0, 0) == (outcome.sent, outcome.lost, outcome.strange)


def test_a_sender_that_is_killed(tmp_path: Path) -> None:
    """What `emit` returned for before SIGKILL is delivered by the next process with the same outbox."""
    outcome = otlp_chaos.killed(tmp_path / "out.db", times=3)
    sys.stdout.write(f"{outcome}\n")
    assert outcome.sent > 100
    assert (0, 0) == (outcome.lost, outcome.traces_lost)


def test_taking_never_waits(tmp_path: Path) -> None:
    """Results are taken in milliseconds while the server hangs, and the end of the app waits no longer than it may."""
    with OtlpServer() as server:
        server.hang_s = 3.0
        server.fail = lambda kind, request: Fault("hang")
        sink = sink_to(server, tmp_path / "out.db", close_s=0.2)
        took: list[float] = []
        for number in range(1, 50):
            begun = time.perf_counter()
            sink.emit([a_result(number, five())])
            took.append(time.perf_counter() - begun)
        begun = time.monotonic()
        assert not sink.flush(0.1)
        sink.close()
        assert time.monotonic() - begun < 1.0
        assert sorted(took)[len(took) // 2] < 0.02
        server.fail = lambda kind, request: None
        later = sink_to(server, tmp_path / "out.db")
        assert until(lambda: len(scores_at(server)) == 49 * 5)
        later.close()


def test_several_share_an_outbox(tmp_path: Path) -> None:
    """Of two sinks with one outbox one delivers for both, and the other goes on where that one ends."""
    with OtlpServer() as server:
        one, two = (sink_to(server, tmp_path / "out.db") for _ in range(2))
        one.emit([a_result(1, five())])
        assert one.flush(10)
        two.emit([a_result(2, five())])
        assert until(lambda: len(scores_at(server)) == 10)
        one.close()
        two.emit([a_result(3, five())])
        assert until(lambda: len(scores_at(server)) == 15)
        two.close()
        assert {1} == set(scores_at(server).values())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork(tmp_path: Path) -> None:
    """A forked child takes and delivers scores of its own; the parent goes on."""
    with OtlpServer() as server:
        sink = sink_to(server, tmp_path / "out.db")
        sink.emit([a_result(1, five())])
        assert sink.flush(10)
        child = os.fork()
        if not child:
            try:
                sink.emit([a_result(2, five())])
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        sink.emit([a_result(3, five())])
        assert until(lambda: len(scores_at(server)) == 15)
        assert sink.flush(10)
        sink.close()
        assert 15 == len(server.received.logs)
